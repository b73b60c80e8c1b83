"""The live web without a key: metasearch through `ddgs`, and the pages themselves.

The package queries several public search services and blocks, so it runs in a thread, with a timeout. It is
imported with the first search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from time import time
from typing import TypeAlias

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
from groundwire.model import Location, SearchOptions
from groundwire.model.value import value
from groundwire.transport.threads import run_in_thread

NAME = "web"
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


class WebEngine:
    """Searches the live web, fetches the first pages, and returns their passages."""

    def __init__(
        self,
        opener: PageOpener,
        *,
        search: Search = search_ddgs,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time,
    ) -> None:
        self._opener = opener
        self._search = search
        self._seconds = seconds
        self._clock = clock

    @property
    def name(self) -> str:
        return NAME

    @property
    def honours(self) -> frozenset[str]:
        return DOMAIN_LISTS | {"location", "language", "since", "max_sources"}

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the best passages, at most `limit`."""
        check_query(_TITLE, query, options)
        question = self._question(query, options, limit)
        hits = await self._hits(question)
        return await self._opener.found(query, question.query, hits, options, limit)

    async def links(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the pages, best first; none is opened."""
        check_query(_TITLE, query, options)
        question = self._question(query, options, limit)
        hits = await self._hits(question)
        return self._opener.listed(query, question.query, hits, options, limit)

    async def _hits(self, question: MetasearchQuery) -> Iterable[SearchHit]:
        try:
            async with asyncio.timeout(self._seconds):
                return await run_in_thread(lambda: self._search(question), "groundwire-web")
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


def region_of(options: SearchOptions) -> str:
    """Country and language in the format of the package."""
    language = options.language[:2].lower() or "en"
    country = (options.location or Location()).country[:2].lower()
    return f"{country or _COUNTRIES.get(language, language)}-{language}"
