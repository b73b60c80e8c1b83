"""The store at an address: `sqlite:///path` or `postgresql://…`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from groundwire.errors import ConfigError
from groundwire.store.base import Store


def open_store(address: str) -> Store:
    """Open a store. Raises `ConfigError` for an address of neither kind, without repeating it."""
    scheme, _, rest = address.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        from groundwire.store.sqlite import open_sqlite  # noqa: PLC0415

        return open_sqlite(Path(unquote(rest[1:])).expanduser())
    if scheme in ("postgresql", "postgres"):
        from groundwire.store.postgres import open_postgres  # noqa: PLC0415

        return open_postgres(address)
    raise ConfigError("the store is neither sqlite:///PATH nor postgresql://HOST/DATABASE")
