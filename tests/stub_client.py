"""`StubClient`: a `SearchClient` for tests. Subclasses override what a test needs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from decimal import Decimal
from time import monotonic

from groundwire.client import search_request
from groundwire.client_protocol import AnswerStream
from groundwire.compare.comparison import Comparison
from groundwire.compare.run import ComparePolicy, Progress, compare_providers
from groundwire.config.schema import Config
from groundwire.credentials.lookup import LookupResult
from groundwire.credentials.secret import Secret
from groundwire.engine.knowledge import BuildProgress
from groundwire.engine.knowledge.background import BuildStatus
from groundwire.engine.pages import Page
from groundwire.errors import NotFound
from groundwire.model import Answer, Event, Request, SearchOptions
from groundwire.providers.catalog import ENGINES
from groundwire.providers.spec import ProviderSpec, ProviderStatus
from groundwire.routing.cache import ResponseCache
from groundwire.routing.health import ProviderHealth
from groundwire.routing.resolve import AUTO, ResolvedTarget, resolve
from groundwire.verify.facts import VerifyReport
from groundwire.verify.policy import VerifyPolicy


class StubClient:
    """Has no provider. `answer` yields the batches of every request; names are really resolved and cached."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()
        self.closed = False
        self.sent = Request(())
        """The last request."""
        self.among: tuple[str, ...] = ()
        """The providers to which it was limited."""
        self._cache: ResponseCache | None = None

    async def answer(
        self,
        request: Request,
        *,
        provider: str,
        model: str,
    ) -> AsyncGenerator[Sequence[Event], None]:
        """The batches of an answer."""
        yield ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.usable())

    @property
    def order(self) -> tuple[str, ...]:
        return self.config.order

    @property
    def engines(self) -> frozenset[str]:
        return ENGINES

    @property
    def keyed(self) -> tuple[str, ...]:
        return self.names

    def can_search(self, provider: str) -> bool:
        return provider == AUTO or self.config.provider(provider).search != "none"

    def resolve(self, model: str = "", *, provider: str = AUTO) -> ResolvedTarget:
        return resolve(model, self.config.aliases, self.usable(), provider)

    def batches(
        self,
        request: Request,
        *,
        provider: str = AUTO,
        model: str = "",
        target: ResolvedTarget | None = None,
        cached: bool = False,
        among: tuple[str, ...] = (),
    ) -> AnswerStream:
        provider, model = target or (provider, model)
        self.sent, self.among = request, among
        stream = AnswerStream(ResolvedTarget(provider, model))
        if not cached:
            return stream.attach(self.answer(request, provider=provider, model=model))
        if self._cache is None:
            self._cache = ResponseCache(self.answer, self.config.gateway.cache_seconds, monotonic)
        return stream.attach(
            self._cache.batches(request, provider=provider, model=model, note=stream.cache.set)
        )

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = AUTO,
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
    ) -> AsyncGenerator[Event, None]:
        assert isinstance(query, Request)
        async with aclosing(self.batches(query, provider=provider, model=model)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    async def count_tokens(
        self,
        request: Request,
        *,
        provider: str,
        model: str,
    ) -> int | None:
        return None

    async def acompare(
        self,
        query: str | Request,
        providers: Sequence[str],
        *,
        options: SearchOptions | None = None,
        policy: ComparePolicy | None = None,
        report: Progress | None = None,
    ) -> Comparison:
        request = query if isinstance(query, Request) else search_request(query, options or SearchOptions())
        return await compare_providers(self, request, providers, policy, report)

    async def averify(
        self, answer: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        return VerifyReport()

    async def resolve_redirects(self, answer: Answer) -> Answer:
        return answer

    async def page(self, url: str, *, live: bool = True) -> Page:
        raise NotFound(f"no page {url}")

    def usable(self) -> Mapping[str, bool]:
        return {}

    def providers(self) -> list[ProviderStatus]:
        return []

    def default_model(self, provider: str) -> str:
        return next((status.model for status in self.providers() if status.name == provider), "")

    def health(self) -> Mapping[str, ProviderHealth]:
        return {}

    def findings(self, name: str) -> list[LookupResult]:
        return []

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """Nothing is added."""

    def build_index(self) -> BuildStatus | None:
        return None

    def watch_index(self, report: Callable[[BuildProgress], None]) -> None:
        """No index is built."""

    def find_servers(self) -> None:
        """There are none."""

    def prepare(self) -> None:
        """Nothing is imported."""

    async def aclose(self) -> None:
        self.closed = True
