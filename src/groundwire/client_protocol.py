"""`SearchClient`: the client interface that gateway, web chat, MCP, tools and command line depend on.

`Groundwire` implements it; tests implement it with fakes. The module imports nothing heavy at runtime, so
that commands that never search start fast.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from groundwire.providers.passthrough.writer import PassthroughWriter
from groundwire.providers.quota import Quota
from groundwire.routing.health import ProviderHealth
from groundwire.routing.resolve import ResolvedTarget

if TYPE_CHECKING:
    from decimal import Decimal

    from groundwire.compare.comparison import Comparison
    from groundwire.compare.run import ComparePolicy, Progress
    from groundwire.config.schema import Config
    from groundwire.credentials.lookup import LookupResult
    from groundwire.credentials.secret import Secret
    from groundwire.engine.knowledge import BuildProgress
    from groundwire.engine.knowledge.background import BuildStatus
    from groundwire.engine.pages import Page
    from groundwire.model import Answer, Event, Request, SearchOptions
    from groundwire.providers.spec import ProviderSpec, ProviderStatus
    from groundwire.routing.cache import CacheStatus
    from groundwire.verify.facts import VerifyReport
    from groundwire.verify.policy import VerifyPolicy

__all__ = [
    "AnswerStream",
    "PassthroughWriter",
    "ProviderHealth",
    "Quota",
    "ResolvedTarget",
    "SearchClient",
    "no_model_message",
]

_NO_MODEL = (
    "no model can answer without searching: {advice}, or configure the key of a model's provider "
    "(see: groundwire doctor)"
)


def no_model_message(advice: str) -> str:
    """The error message for a request without web search where only engines can be used."""
    return _NO_MODEL.format(advice=advice)


class CacheStatusCell:
    """Where the response cache reports the status of an answer. The generator of the batches refers to it
    instead of the `AnswerStream`, which would be a reference cycle."""

    __slots__ = ("callback", "status")

    def __init__(self) -> None:
        self.status: CacheStatus | None = None
        self.callback: Callable[[CacheStatus], None] | None = None

    def set(self, status: CacheStatus) -> None:
        """Record where the answer comes from."""
        self.status = status
        if self.callback is not None:
            self.callback(status)


class AnswerStream(AsyncGenerator["Sequence[Event]", None]):
    """The batches of an answer, with the target that was resolved and the status of the response cache.

    Iterating uses the wrapped generator directly; this class adds nothing to the path of a batch.
    """

    __slots__ = ("_batches", "cache", "target")

    def __init__(self, target: ResolvedTarget) -> None:
        self.target = target
        self.cache = CacheStatusCell()
        self._batches: AsyncGenerator[Sequence[Event], None]

    @property
    def cache_status(self) -> CacheStatus | None:
        """Set before the first batch if the request was looked up in the response cache."""
        return self.cache.status

    def attach(self, batches: AsyncGenerator[Sequence[Event], None]) -> AnswerStream:
        """Set the generator that the batches come from."""
        self._batches = batches
        return self

    def __aiter__(self) -> AsyncGenerator[Sequence[Event], None]:
        return self._batches

    async def __anext__(self) -> Sequence[Event]:
        return await anext(self._batches)

    async def asend(self, value: None, /) -> Sequence[Event]:
        """The next batch."""
        return await self._batches.asend(value)

    async def athrow(self, *error: Any) -> Sequence[Event]:
        """Raise an exception inside the generator."""
        return await self._batches.athrow(*error)

    async def aclose(self) -> None:
        """Cancel the request upstream, unless other clients share it."""
        await self._batches.aclose()


class SearchClient(Protocol):
    """Resolves model names, and answers requests with cited web search."""

    @property
    def config(self) -> Config: ...

    @property
    def names(self) -> tuple[str, ...]:
        """The providers that are known."""
        ...

    @property
    def order(self) -> tuple[str, ...]:
        """The providers that `auto` tries, in order."""
        ...

    @property
    def engines(self) -> frozenset[str]:
        """The providers that only find pages: no model writes their answers."""
        ...

    @property
    def keyed(self) -> tuple[str, ...]:
        """The providers whose key can be stored with `groundwire login`."""
        ...

    def resolve(self, model: str = "", *, provider: str = ...) -> ResolvedTarget:
        """The provider and model that a name means. Raises `UnknownModel` or `RequestError`."""
        ...

    def batches(
        self,
        request: Request,
        *,
        provider: str = ...,
        model: str = ...,
        target: ResolvedTarget | None = None,
        cached: bool = False,
        among: tuple[str, ...] = (),
    ) -> AnswerStream:
        """The answer, in the batches in which its events arrived; `cached` uses the response cache.

        `target` replaces `provider` and `model` if they are resolved already. `among` are the only providers
        that the default target may try; empty for all.
        """
        ...

    def stream(
        self,
        query: str | Request,
        *,
        provider: str = ...,
        model: str = ...,
        options: SearchOptions | None = ...,
        max_cost: Decimal | float | None = ...,
    ) -> AsyncGenerator[Event, None]:
        """The events of an answer, one by one; raises `CostLimit` if it could cost more than `max_cost`
        USD."""
        ...

    async def acompare(
        self,
        query: str | Request,
        providers: Sequence[str],
        *,
        options: SearchOptions | None = None,
        policy: ComparePolicy | None = None,
        report: Progress | None = None,
    ) -> Comparison:
        """Ask several providers at once, and compare their answers."""
        ...

    async def averify(
        self, answer: Answer, *, options: SearchOptions | None = ..., policy: VerifyPolicy | None = ...
    ) -> VerifyReport:
        """The facts about each citation of an answer, from the pages it cites."""
        ...

    async def resolve_redirects(self, answer: Answer) -> Answer:
        """The answer with the addresses of pages instead of redirect addresses."""
        ...

    async def count_tokens(self, request: Request, *, provider: str, model: str) -> int | None:
        """The input tokens of a request as the provider counts them; None if it has no such endpoint."""
        ...

    def can_search(self, provider: str) -> bool:
        """Can the provider search the web? True for `auto`, which chooses one that can."""
        ...

    async def page(self, url: str, *, live: bool = ...) -> Page:
        """A page from the index, or from the web if `live`."""
        ...

    def usable(self) -> Mapping[str, bool]:
        """Every provider that may be named, and whether it can be used now."""
        ...

    def providers(self) -> list[ProviderStatus]:
        """The status of every known provider."""
        ...

    def default_model(self, provider: str) -> str:
        """The default model of a provider; empty if it has none."""
        ...

    def health(self) -> Mapping[str, ProviderHealth]:
        """The circuit breaker, the last error and the rate limits of every provider that was called."""
        ...

    def findings(self, name: str) -> list[LookupResult]:
        """What each credential lookup of a provider found."""
        ...

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """Add a provider that is used only by its name."""
        ...

    def watch_index(self, report: Callable[[BuildProgress], None]) -> None:
        """Receive the progress while the embedded index is built."""
        ...

    def build_index(self) -> BuildStatus | None:
        """Complete the embedded index in the background; returns how far it is, None if that is off."""
        ...

    def find_servers(self) -> None:
        """Find out which model servers run on this machine."""
        ...

    def prepare(self) -> None:
        """Import now what the first request would wait for."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
