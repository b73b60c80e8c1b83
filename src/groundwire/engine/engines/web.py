"""The live web without a key: metasearch through `ddgs`, else another service, and the pages themselves.

The package queries several public search services and blocks, so it runs in a thread, with a timeout. It is
imported with the first search. Such services limit how often an address may ask: then the next one is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from time import time
from typing import NamedTuple, Protocol, TypeAlias

from groundwire.engine.engines.api import DOMAIN_LISTS, check_query, time_span, with_site_operators
from groundwire.engine.engines.results import PageOpener, SearchHit, make_hit
from groundwire.engine.pages import EngineResult
from groundwire.errors import (
    ConfigError,
    GroundwireError,
    RateLimited,
    TimedOut,
    Unreachable,
    UpstreamWireError,
)
from groundwire.model import Location, SearchOptions, Warned
from groundwire.model.value import replace, value
from groundwire.transport.threads import run_in_thread

NAME = "web"
METASEARCH = "ddgs"
_TITLE = "the web engine"
SECONDS = 8.0
_MOST = 20
_EACH = 5
"""Seconds for one service."""
_TIME_LIMITS = {"day": "d", "week": "w", "month": "m", "year": "y"}
_COUNTRIES = {"en": "us", "ja": "jp", "ko": "kr", "zh": "cn", "da": "dk", "sv": "se", "cs": "cz", "uk": "ua"}
"""The main country of a language, if its code differs from that of the language."""


@value
class MetasearchQuery:
    """A query to the metasearch."""

    query: str
    region: str
    time_limit: str
    limit: int


Search: TypeAlias = Callable[[MetasearchQuery], Iterable[SearchHit]]
"""Blocks; raises only `GroundwireError`."""


def search_ddgs(question: MetasearchQuery) -> list[SearchHit]:
    """Searches with `ddgs`: the results of all services that respond."""
    try:
        import primp  # noqa: PLC0415
        from ddgs import DDGS  # noqa: PLC0415
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException  # noqa: PLC0415
    except ImportError:
        raise ConfigError("Searching the live web needs the package ddgs. Install it.") from None
    try:
        found = DDGS(timeout=_EACH).text(
            question.query,
            region=question.region,
            timelimit=question.time_limit or None,
            max_results=question.limit,
        )
    except RatelimitException:
        raise RateLimited("The search services limit the request rate. Wait a little.") from None
    except TimeoutException:
        raise TimedOut("the search services did not answer in time") from None
    except primp.PrimpError:
        raise Unreachable("the search services cannot be reached") from None
    except DDGSException as error:
        failure = _network_error(error, (DDGSException, primp.PrimpError))
        if failure is not None:
            raise failure from None
        return []
    return _hits(found)


def _network_error(error: Exception, network: tuple[type[Exception], ...]) -> GroundwireError | None:
    """The error of a search. The package wraps the last error of a service; without one, nothing was
    found."""
    inner = error.args[0] if error.args else None
    if isinstance(inner, network):
        return Unreachable("the search services cannot be reached; is there a network?")
    if isinstance(inner, Exception):
        return UpstreamWireError("the search services answered what cannot be read")
    return None


def _hits(found: Iterable[Mapping[str, object]]) -> list[SearchHit]:
    hits = (
        make_hit(_text(item, "href"), _text(item, "title"), snippet=_text(item, "body")) for item in found
    )
    return [hit for hit in hits if hit]


def _text(item: Mapping[str, object], name: str) -> str:
    text = item.get(name)
    return text if isinstance(text, str) else ""


class KeylessService(Protocol):
    """A search service on the web that needs no key."""

    @property
    def name(self) -> str: ...

    async def hits(self, query: str, options: SearchOptions, limit: int) -> Sequence[SearchHit]:
        """The results as the service returns them."""
        ...


class ServiceHits(NamedTuple):
    """The hits of the service that answered, and warnings about those before it."""

    hits: Sequence[SearchHit]
    service: str
    sent_query: str
    warnings: tuple[Warned, ...] = ()


class WebEngine:
    """Searches the live web, fetches the first pages, and returns their passages.

    If the metasearch fails or finds nothing, the `others` are asked, in order.
    """

    def __init__(
        self,
        opener: PageOpener,
        *,
        search: Search = search_ddgs,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time,
        others: Sequence[KeylessService] = (),
    ) -> None:
        self._opener = opener
        self._search = search
        self._seconds = seconds
        self._clock = clock
        self._others = others

    @property
    def name(self) -> str:
        return NAME

    @property
    def honours(self) -> frozenset[str]:
        return DOMAIN_LISTS | {"location", "language", "since", "max_sources"}

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the best passages, at most `limit`."""
        question = self._question(query, options, limit)
        found = await self._hits(query, question, options)
        result = await self._opener.found(query, found.sent_query, found.hits, options, limit)
        return _attributed(result, found)

    async def links(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the pages, best first; none is opened."""
        question = self._question(query, options, limit)
        found = await self._hits(query, question, options)
        result = self._opener.listed(query, found.sent_query, found.hits, options, limit)
        return _attributed(result, found)

    async def _hits(self, query: str, question: MetasearchQuery, options: SearchOptions) -> ServiceHits:
        """The hits of the first service that finds something. Raises the first error if none does."""
        check_query(_TITLE, query, options)
        error: GroundwireError | None = None
        try:
            if hits := await self._metasearch(question):
                return ServiceHits(hits, METASEARCH, question.query)
        except GroundwireError as caught:
            error = caught
        for service in self._others:
            try:
                hits = await service.hits(query, options, question.limit)
            except GroundwireError as caught:
                error = error or caught
                continue
            if hits:
                return ServiceHits(hits, service.name, query, (_replaced(service.name, error),))
        if error is not None:
            raise error
        return ServiceHits((), METASEARCH, question.query)

    async def _metasearch(self, question: MetasearchQuery) -> Sequence[SearchHit]:
        try:
            async with asyncio.timeout(self._seconds):
                return tuple(await run_in_thread(lambda: self._search(question), "groundwire-web"))
        except TimeoutError:
            raise TimedOut("the search services did not answer in time") from None

    def _question(self, query: str, options: SearchOptions, limit: int) -> MetasearchQuery:
        today = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        return MetasearchQuery(
            with_site_operators(query.strip(), options),
            region_of(options),
            _TIME_LIMITS.get(time_span(options.since, today), ""),
            min(limit, _MOST),
        )


def _replaced(service: str, error: GroundwireError | None) -> Warned:
    why = error.message.rstrip(".") if error is not None else "it found nothing"
    return Warned("search_service_replaced", f"{METASEARCH} was replaced by {service}: {why}")


def _attributed(result: EngineResult, found: ServiceHits) -> EngineResult:
    return replace(result, service=found.service, warnings=(*found.warnings, *result.warnings))


def region_of(options: SearchOptions) -> str:
    """Country and language in the format of the package."""
    language = options.language[:2].lower() or "en"
    country = (options.location or Location()).country[:2].lower()
    return f"{country or _COUNTRIES.get(language, language)}-{language}"
