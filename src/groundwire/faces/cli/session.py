"""From arguments to a `Groundwire`: the configuration of this run, with the command line on top."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from groundwire.config.load import load
from groundwire.config.schema import Config
from groundwire.faces.cli.console import YELLOW, Console
from groundwire.model import Event, Json, Request, SearchOptions
from groundwire.providers.policy import check_domains

if TYPE_CHECKING:
    from groundwire.client import ProviderStatus
    from groundwire.credentials.lookup import LookupResult
    from groundwire.credentials.secret import Secret
    from groundwire.engine.knowledge import BuildProgress
    from groundwire.providers.spec import ProviderSpec


_SETTINGS: Mapping[str, str] = {
    "allow": "search.allowed_domains",
    "block": "search.blocked_domains",
    "country": "search.country",
    "region": "search.region",
    "city": "search.city",
    "timezone": "search.timezone",
    "language": "search.language",
    "since": "search.since",
    "until": "search.until",
    "max_uses": "search.max_uses",
    "max_sources": "search.max_sources",
    "context": "search.context_size",
    "live": "search.live",
    "data_dir": "data_dir",
}
"""Arguments, and the settings they stand for."""


class Asker(Protocol):
    """What commands need of a `Groundwire`."""

    @property
    def config(self) -> Config: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def order(self) -> tuple[str, ...]: ...

    def stream(
        self,
        query: str | Request,
        *,
        provider: str = ...,
        model: str = ...,
        options: SearchOptions | None = ...,
    ) -> AsyncGenerator[Event, None]: ...

    def providers(self) -> list[ProviderStatus]: ...

    @property
    def keyed(self) -> tuple[str, ...]: ...

    def findings(self, name: str) -> list[LookupResult]: ...

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None: ...

    def watch_index(self, report: Callable[[BuildProgress], None]) -> None: ...

    async def aclose(self) -> None: ...


def configure(arguments: Namespace, console: Console) -> Config:
    """The configuration; what is odd about it is said."""
    now = console.clock()
    flags = _flags(arguments, now)
    config = load(console.env, console.home, console.cwd, flags, lambda: now)
    for warning in config.warnings:
        console.note(f"Warning: {warning}", YELLOW)
    return config


def connect(arguments: Namespace, console: Console) -> Asker:
    """A `Groundwire` for this run."""
    return console.connect(configure(arguments, console), console.env)


def _flags(arguments: Namespace, now: float) -> Mapping[str, Json]:
    said = {name: item for name, item in vars(arguments).items() if item is not None and item != []}
    check_domains(
        SearchOptions(
            allowed_domains=tuple(said.get("allow", ())), blocked_domains=tuple(said.get("block", ()))
        )
    )
    if "since" in said:
        # Some providers take a period with both its ends, or none at all.
        said["until"] = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return {setting: said[name] for name, setting in _SETTINGS.items() if name in said}
