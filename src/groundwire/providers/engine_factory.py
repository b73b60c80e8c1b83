"""Engine factory: creates search engines on first use, and what they share (page fetcher, page reader).

Most runs need one engine or none, so everything an engine is made of is imported when it is created.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from groundwire.credentials.lookup import CredentialFinder, Lookup
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.errors import NotFound
from groundwire.model import Request
from groundwire.model.value import replace, value
from groundwire.providers.policy import Capabilities, engine_capabilities
from groundwire.providers.spec import Batches, Provider, ProviderPlugin
from groundwire.text.domains import admits
from groundwire.transport.http import Http

if TYPE_CHECKING:
    from groundwire.engine.engines.api import ApiEngineSpec
    from groundwire.engine.engines.local import LocalEngine
    from groundwire.engine.engines.results import PageOpener
    from groundwire.engine.index.base import Index
    from groundwire.engine.knowledge import ReportProgress
    from groundwire.engine.knowledge.background import BackgroundBuild
    from groundwire.engine.pages import Engine, Page
    from groundwire.engine.read.document import Document, ReadResult
    from groundwire.engine.read.sandbox import PageReader
    from groundwire.transport.safe_fetch import SafeFetcher

StreamModel: TypeAlias = Callable[[Request], Batches]
"""Sends a request to the model that writes answers from passages."""


@value
class EngineContext:
    """What the `create` function of an `EngineSpec` receives."""

    base_url: str
    http: Http
    redactor: Redactor
    credential: Callable[[], Awaitable[Credential | None]]
    opener: Callable[[], PageOpener]
    """Fetches pages through the SSRF guard and selects passages."""
    index_folder: Path
    store: str
    """The database URL of the index; empty for SQLite in `index_folder`."""
    report: ReportProgress
    """Receives the progress while the embedded index is built."""
    environment: Mapping[str, str] = {}
    background: BackgroundBuild | None = None
    """Completes the embedded index; None if nothing is built in the background."""


@value
class EngineSpec:
    """Describes a search engine."""

    name: str
    title: str
    honours: frozenset[str]
    """The search options (fields of `SearchOptions`) that the engine applies itself."""
    create: Callable[[EngineContext], Engine]
    needs_base_url: bool = False
    base_url: str = ""
    base_url_env: str = ""
    """Environment variable with the base URL."""
    lookups: tuple[Lookup, ...] = ()
    variables: tuple[str, ...] = ()
    """Further environment variables that it needs."""
    advice: str = ""
    """What the user should do where the key or the base URL is missing."""
    searches_parts: bool = False
    """Is each part of a question searched on its own? Only where searches cost nothing."""


def _create_web(context: EngineContext) -> Engine:
    from groundwire.engine.engines.api import ApiEngine  # noqa: PLC0415  imported on first use
    from groundwire.engine.engines.tavily import KEYLESS  # noqa: PLC0415
    from groundwire.engine.engines.web import WebEngine  # noqa: PLC0415

    opener = context.opener()
    keyless = replace(KEYLESS, base_url=context.base_url)
    tavily = ApiEngine(keyless, context.http, context.credential, context.redactor, opener)
    return WebEngine(opener, others=(tavily,))


def _create_local(context: EngineContext) -> Engine:
    from groundwire.engine.engines.local import LocalEngine  # noqa: PLC0415  imported on first use
    from groundwire.engine.index.location import open_configured_index  # noqa: PLC0415

    def opener(folder: Path) -> Index:
        return open_configured_index(folder, context.store)

    return LocalEngine(
        context.index_folder, report=context.report, opener=opener, background=context.background
    )


WEB = EngineSpec(
    name="web",
    title="live web search",
    honours=frozenset({"allowed_domains", "blocked_domains", "location", "language", "since", "max_sources"}),
    create=_create_web,
    base_url="https://api.tavily.com",  # of its second service
)
LOCAL = EngineSpec(
    name="local",
    title="embedded index",
    honours=frozenset({"allowed_domains", "blocked_domains", "since", "until", "language", "live"}),
    create=_create_local,
    searches_parts=True,
)


def api_engine_spec(row: ApiEngineSpec) -> EngineSpec:
    """The `EngineSpec` of a search service with an HTTP API."""

    def create(context: EngineContext) -> Engine:
        from groundwire.engine.engines.api import ApiEngine  # noqa: PLC0415  imported on first use

        settings = {name: context.environment.get(name, "") for name in row.variables}
        configured = replace(row, base_url=context.base_url, settings=settings)
        return ApiEngine(configured, context.http, context.credential, context.redactor, context.opener())

    return EngineSpec(
        name=row.name,
        title=row.title,
        honours=row.honours | {"max_sources"},
        create=create,
        needs_base_url=True,
        base_url=row.base_url,
        base_url_env=row.base_url_env,
        lookups=row.lookups,
        variables=row.variables,
        advice=row.advice,
    )


@value
class IndexSettings:
    """Where the embedded index is, and whether it is completed in the background."""

    folder: Path
    store: str = ""
    """The database URL of the index; empty for SQLite in `folder`."""
    is_built: bool = False


class EngineFactory:
    """Creates the engines of one client by name, and closes what they share."""

    def __init__(
        self,
        specs: Mapping[str, EngineSpec],
        http: Http,
        redactor: Redactor,
        finder: CredentialFinder,
        index: IndexSettings,
    ) -> None:
        self._specs = specs
        self._http = http
        self._redactor = redactor
        self._finder = finder
        self._index = index
        self._background: BackgroundBuild | None = None
        self.report: ReportProgress | None = None
        """Receives the progress while the embedded index is built."""
        self._engines: dict[str, Engine] = {}
        self._fetcher: SafeFetcher | None = None
        self._reader: PageReader | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The engines that are not disabled."""
        return tuple(self._specs)

    def engine(self, name: str) -> Engine:
        """The engine of a name, created on first use."""
        if name not in self._engines:
            self._engines[name] = self._specs[name].create(self._context(self._specs[name]))
        return self._engines[name]

    def capabilities(self, name: str) -> Capabilities:
        """What the engine's searches support."""
        return engine_capabilities(self._specs[name].honours)

    def plugin(self, name: str, write: StreamModel | None) -> ProviderPlugin:
        """The engine as a provider; `write` sends requests to the model that writes its answers, if any."""
        spec = self._specs[name]

        def create() -> Provider:
            from groundwire.providers.engine_provider import EngineProvider  # noqa: PLC0415  on first use

            return EngineProvider(self.engine(name), write, searches_parts=spec.searches_parts)

        return ProviderPlugin(
            LazyProvider(name, self.capabilities(name), create),
            spec.title,
            is_usable=lambda: self._is_usable(spec),
            reason=lambda: self._reason(spec),
            lookups=spec.lookups,
            dialect="engine",
            base_url=spec.base_url,
        )

    async def page(self, url: str, *, live: bool = True) -> Page:
        """A page from the embedded index; if it is not there and `live` is set, from the web."""
        if LOCAL.name in self._specs:
            stored = await cast("LocalEngine", self.engine(LOCAL.name)).page(url)
            if stored is not None:
                return stored
        if not live:
            raise NotFound("the page is not stored here")
        return await self._opener().page(url)

    async def stored_page(self, url: str) -> Page | None:
        """A page of the embedded index; None if it is not there. An index is not built for this."""
        if not self._index.store and not self._index.folder.is_dir():
            return None
        try:
            return await self.page(url, live=False)
        except NotFound:
            return None

    def background(self) -> BackgroundBuild | None:
        """The background build of the embedded index; None if it is switched off."""
        if self._index.is_built and LOCAL.name in self._specs and self._background is None:
            from groundwire.engine.knowledge.background import BackgroundBuild  # noqa: PLC0415  on first use

            self._background = BackgroundBuild(self._index.folder, self._index.store)
        return self._background

    async def aclose(self) -> None:
        """Close the index, the connections and the page reader."""
        if (local := self._engines.pop(LOCAL.name, None)) is not None:
            await cast("LocalEngine", local).close()
        if self._fetcher is not None:
            await self._fetcher.aclose()
            self._fetcher = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def fetcher(self) -> SafeFetcher:
        """The SSRF-safe fetcher, through which all pages of the web are read."""
        from groundwire.transport.safe_fetch import SafeFetcher  # noqa: PLC0415  imported on first use

        if self._fetcher is None:
            self._fetcher = SafeFetcher()
        return self._fetcher

    def read_document(self, document: Document, seconds: float) -> ReadResult:
        """Reads a document in a worker process. Blocks."""
        from groundwire.engine.read.sandbox import PageReader, read_isolated  # noqa: PLC0415  on first use

        if self._reader is None:
            self._reader = PageReader()
        return read_isolated(document, seconds)

    def _opener(self) -> PageOpener:
        from groundwire.engine.engines.results import PageOpener  # noqa: PLC0415  imported on first use
        from groundwire.engine.read.sandbox import PageReader  # noqa: PLC0415

        if self._reader is None:
            self._reader = PageReader()
        return PageOpener(admits, fetcher=self.fetcher(), read=self._reader)

    def _context(self, spec: EngineSpec) -> EngineContext:
        from groundwire.engine.knowledge import ignore_progress  # noqa: PLC0415  imported on first use

        async def credential() -> Credential | None:
            return self._credential(spec)

        return EngineContext(
            base_url=spec.base_url,
            http=self._http,
            redactor=self._redactor,
            credential=credential,
            opener=self._opener,
            index_folder=self._index.folder,
            store=self._index.store,
            report=self.report or ignore_progress,
            environment=self._finder.context.env,
            background=self.background() if spec.name == LOCAL.name else None,
        )

    def _credential(self, spec: EngineSpec) -> Credential | None:
        return self._finder.find(spec.lookups) if spec.lookups else None

    def _is_usable(self, spec: EngineSpec) -> bool:
        if spec.needs_base_url and not spec.base_url:
            return False
        if not all(self._finder.context.env.get(name) for name in spec.variables):
            return False
        return not spec.lookups or self._credential(spec) is not None

    def _reason(self, spec: EngineSpec) -> str:
        if not self._is_usable(spec):
            return spec.advice
        credential = self._credential(spec)
        if credential is not None:
            return credential.origin
        return "address set" if spec.needs_base_url else "needs no key"


class LazyProvider:
    """A provider that is created when it receives its first request."""

    model = ""

    def __init__(self, name: str, capabilities: Capabilities, create: Callable[[], Provider]) -> None:
        self.name = name
        self.capabilities = capabilities
        self._create = create

    def batches(self, request: Request) -> Batches:
        """The answer."""
        return self._create().batches(request)


class LazyMapping(Mapping[str, bool]):
    """A mapping that computes the value of a name when it is read: most names are never read."""

    def __init__(self, names: Mapping[str, object], compute: Callable[[str], bool]) -> None:
        self._names = names
        self._compute = compute

    def __getitem__(self, name: str) -> bool:
        if name not in self._names:
            raise KeyError(name)
        return self._compute(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
