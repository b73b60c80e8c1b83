"""The engines of one `Groundwire`, made when they are first asked: most runs need one of them, or none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from groundwire.config.schema import Config
from groundwire.credentials.lookup import Finding, Lookup, Places, explain, find
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.engine.engines.registry import API_ENGINES, api_engine
from groundwire.errors import ConfigError, NotFound
from groundwire.model import Event, Request
from groundwire.model.value import replace, value
from groundwire.providers.capabilities import Capabilities, capabilities_of_engine
from groundwire.providers.spec import Batches, OneByOne, Provider, Teller
from groundwire.text.domains import admits
from groundwire.transport.http import Http

if TYPE_CHECKING:
    from groundwire.engine.engines.api import ApiEngineSpec
    from groundwire.engine.engines.local import LocalEngine
    from groundwire.engine.engines.results import PageOpener
    from groundwire.engine.index.base import Index
    from groundwire.engine.knowledge import ReportProgress
    from groundwire.engine.pages import Engine, Page
    from groundwire.engine.read.sandbox import PageReader
    from groundwire.transport.safe_fetch import GuardedFetcher

Ask: TypeAlias = Callable[[Request], Batches]

ENGINES = (*API_ENGINES, "web", "local")
_TITLES = {"web": "live web search", "local": "embedded index"}
_ADDRESSES = {"searxng": "SEARXNG_URL"}
_LOCAL = frozenset({"allowed_domains", "blocked_domains", "since", "until", "language", "live"})
_WEB = frozenset({"allowed_domains", "blocked_domains", "location", "language", "since", "max_sources"})


@value
class ProviderStatus:
    """A provider or an engine, and whether it can be used."""

    name: str
    title: str
    usable: bool
    reason: str
    model: str
    dialect: str
    base_url: str
    capabilities: Capabilities


class EngineFactory:
    """Knows all engines by name, and holds what they share."""

    def __init__(
        self, config: Config, env: Mapping[str, str], http: Http, redactor: Redactor, places: Places
    ) -> None:
        self._config = config
        self._env = env
        self._places = places
        self._http = http
        self._redactor = redactor
        self.report: ReportProgress | None = None
        """Told how far the embedded index is while it is made."""
        self._made: dict[str, Engine] = {}
        self._fetcher: GuardedFetcher | None = None
        self._reader: PageReader | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The engines that are not switched off."""
        return tuple(name for name in ENGINES if self._config.provider(name).enabled is not False)

    @property
    def folder(self) -> Path:
        """Where the embedded index is kept."""
        return Path(self._config.data_dir) / "index"

    def engine(self, name: str) -> Engine:
        """The engine itself."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def provider(self, name: str, write: Ask | None) -> Provider:
        """The engine as a provider; what it is made of is imported when it is asked."""

        def make() -> Teller:
            from groundwire.providers.engines import EngineProvider  # noqa: PLC0415  made when asked

            return EngineProvider(self.engine(name), write)

        return OneByOne(LazyProvider(name, capabilities_of_engine(self._honours(name)), make))

    def searching(self, provider: Provider, name: str) -> Provider:
        """A model that an engine searches for."""
        if name not in self.names:
            known = ", ".join(self.names)
            raise ConfigError(
                f"providers.{provider.name}.search: there is no engine {name!r}; known: {known}"
            )
        from groundwire.routing.tool_loop.provider import SearchingProvider  # noqa: PLC0415  few need it

        capabilities = capabilities_of_engine(self._honours(name))
        return SearchingProvider(provider, lambda: self.engine(name), capabilities)

    def status(self, name: str) -> ProviderStatus:
        """What can be said of an engine without asking it."""
        if name in _TITLES:
            row_url, reason, usable = "", "needs no key", True
        else:
            row = self._row(name)
            found = find(row.lookups, self._places) if row.lookups else None
            usable = bool(row.base_url) and (found is not None or not row.lookups)
            row_url, reason = (
                row.base_url,
                found.origin if found else ("address set" if usable else row.advice),
            )
        return ProviderStatus(
            name,
            _TITLES.get(name) or self._row(name).title,
            usable,
            reason,
            "",
            "engine",
            row_url,
            capabilities_of_engine(self._honours(name)),
        )

    def lookups(self) -> dict[str, tuple[Lookup, ...]]:
        """Where the keys of engines may be."""
        return {name: self._row(name).lookups for name in self.names if name not in _TITLES}

    def findings(self, name: str) -> list[Finding]:
        """What every place that may hold an engine's key answers."""
        return [] if name in _TITLES else explain(self._row(name).lookups, self._places)

    async def page(self, url: str, *, live: bool = True) -> Page:
        """A page as it is stored; else, if `live`, as it is on the web now."""
        if "local" in self.names:
            stored = await cast("LocalEngine", self.engine("local")).page(url)
            if stored is not None:
                return stored
        if not live:
            raise NotFound("the page is not stored here")
        return await self._opener().page(url)

    async def aclose(self) -> None:
        """Let go of index and connections."""
        if (local := self._made.pop("local", None)) is not None:
            await local.close()  # type: ignore[attr-defined]
        if self._fetcher is not None:
            await self._fetcher.aclose()
            self._fetcher = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _honours(self, name: str) -> frozenset[str]:
        if name == "local":
            return _LOCAL
        return _WEB if name == "web" else self._row(name).honours | {"max_sources"}

    def _make(self, name: str) -> Engine:
        if name == "local":
            return self._local()
        if name == "web":
            from groundwire.engine.engines.web import WebEngine  # noqa: PLC0415  made when asked

            return WebEngine(self._opener())
        from groundwire.engine.engines.api import ApiEngine  # noqa: PLC0415  made when asked

        row = self._row(name)
        return ApiEngine(row, self._http, self._credential(row), self._redactor, self._opener())

    def _local(self) -> LocalEngine:
        from groundwire.engine.engines.local import LocalEngine  # noqa: PLC0415  made when asked
        from groundwire.engine.index.location import open_configured_index  # noqa: PLC0415
        from groundwire.engine.knowledge import ignore_progress  # noqa: PLC0415

        def opener(folder: Path) -> Index:
            return open_configured_index(folder, self._config.store)

        return LocalEngine(self.folder, report=self.report or ignore_progress, opener=opener)

    def _opener(self) -> PageOpener:
        from groundwire.engine.engines.results import PageOpener  # noqa: PLC0415  made when asked
        from groundwire.engine.read.sandbox import PageReader  # noqa: PLC0415

        if self._reader is None:
            self._reader = PageReader()
        return PageOpener(admits, fetcher=self.fetcher(), read=self._reader)

    def fetcher(self) -> GuardedFetcher:
        """The only way out to pages of strangers."""
        from groundwire.transport.safe_fetch import GuardedFetcher  # noqa: PLC0415  made when asked

        if self._fetcher is None:
            self._fetcher = GuardedFetcher()
        return self._fetcher

    def _row(self, name: str) -> ApiEngineSpec:
        row = api_engine(name)
        told = self._config.provider(name).base_url or self._env.get(_ADDRESSES.get(name, ""), "")
        return replace(row, base_url=told) if told else row

    def _credential(self, row: ApiEngineSpec) -> Callable[[], Awaitable[Credential | None]]:
        async def credential() -> Credential | None:
            return find(row.lookups, self._places)

        return credential


class LazyProvider:
    """Stands for a provider until it is asked."""

    model = ""

    def __init__(self, name: str, capabilities: Capabilities, make: Callable[[], Teller]) -> None:
        self.name = name
        self.capabilities = capabilities
        self._make = make

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """The answer."""
        async with aclosing(self._make().events(request)) as events:
            async for event in events:
                yield event


class LazyMapping(Mapping[str, bool]):
    """Names and what is true of them, looked up when somebody asks: few of them ever are."""

    def __init__(self, names: Mapping[str, object], look: Callable[[str], bool]) -> None:
        self._names = names
        self._look = look

    def __getitem__(self, name: str) -> bool:
        if name not in self._names:
            raise KeyError(name)
        return self._look(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
