"""Open a store by its URL (`sqlite:///path`, `postgresql://…`), and check its readiness."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from urllib.parse import unquote

from groundwire.errors import ConfigError, GroundwireError
from groundwire.store.base import Store
from groundwire.transport.threads import run_in_thread

_POSTGRES = ("postgresql", "postgres")


def is_shared(address: str) -> bool:
    """Is this a store that gateways on several machines can use?"""
    return address.partition("://")[0] in _POSTGRES


def store_address(configured: str, data_dir: str) -> str:
    """The configured address; without one, a file in the data directory."""
    return configured or f"sqlite:///{data_dir}/groundwire.db"


def sqlite_path(address: str) -> Path | None:
    """The file of a SQLite store; None for another URL."""
    scheme, _, rest = address.partition("://")
    return Path(unquote(rest[1:])).expanduser() if scheme == "sqlite" and rest.startswith("/") else None


def open_store(address: str) -> Store:
    """Open a store. Raises `ConfigError` for another URL, without repeating it: it may hold a password."""
    if path := sqlite_path(address):
        from groundwire.store.sqlite import open_sqlite  # noqa: PLC0415

        return open_sqlite(path)
    if is_shared(address):
        from groundwire.store.postgres import open_postgres  # noqa: PLC0415

        return open_postgres(address)
    raise ConfigError("the store is neither sqlite:///PATH nor postgresql://HOST/DATABASE")


log = logging.getLogger("groundwire.store")

PATIENCE = 2.0
"""Seconds within which a store must respond to be ready."""


class StoreProbe:
    """Readiness check of a store. Concurrent checks share one thread."""

    def __init__(self, store: Store, patience: float = PATIENCE) -> None:
        self._store = store
        self._patience = patience
        self._checking: asyncio.Task[str] | None = None

    async def problem(self) -> str:
        """Empty if the store responds in time, else a sentence. The details are in the log."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        checking = self._checking
        await asyncio.wait([checking], timeout=self._patience)
        return checking.result() if checking.done() else "the store does not answer"

    async def _check(self) -> str:
        try:
            await run_in_thread(self._store.check, "groundwire-probe")
        except GroundwireError as error:
            log.warning("the store does not answer: %s", error.message)
            return "the store does not answer"
        return ""
