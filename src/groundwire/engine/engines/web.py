"""The live web without a key: metasearch through `ddgs`, and the pages themselves.

The package asks several public search services and blocks while it does, so it runs in a thread, under a
deadline. It is imported with the first search.
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
from groundwire.transport.threads import in_thread

NAME = "web"
SECONDS = 8.0
_MOST = 20
_EACH = 5
"""Seconds for one service."""
_TIME_LIMITS = {"day": "d", "week": "w", "month": "m", "year": "y"}
_COUNTRIES = {"en": "us", "ja": "jp", "ko": "kr", "zh": "cn", "da": "dk", "sv": "se", "cs": "cz", "uk": "ua"}
"""Where most of a language's pages are, unless the language and the country share their letters."""


@value
class MetasearchQuery:
    """What the metasearch is asked."""

    query: str
    region: str
    time_limit: str
    limit: int


Search: TypeAlias = Callable[[MetasearchQuery], Iterable[SearchHit]]
"""Blocks; raises only `GroundwireError`."""


def search_ddgs(question: MetasearchQuery) -> list[SearchHit]:
    """The results of whichever services answer."""
    try:
        import primp  # noqa: PLC0415
        from ddgs import DDGS  # noqa: PLC0415
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException  # noqa: PLC0415
    except ImportError:
        raise ConfigError("the search of the live web needs the package ddgs; install it") from None
    try:
        found = DDGS(timeout=_EACH).text(
            question.query,
            region=question.region,
            timelimit=question.time_limit or None,
            max_results=question.limit,
        )
    except RatelimitException:
        raise RateLimited("the search services want fewer questions; wait a little") from None
    except TimeoutException:
        raise TimedOut("the search services did not answer in time") from None
    except primp.PrimpError:
        raise Unreachable("the search services cannot be reached") from None
    except DDGSException as error:
        trouble = _trouble(error, (DDGSException, primp.PrimpError))
        if trouble is not None:
            raise trouble from None
        return []
    return _hits(found)


def _trouble(error: Exception, network: tuple[type[Exception], ...]) -> GroundwireError | None:
    """What went wrong. The package wraps the last error of a service; nothing found is only words."""
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
    """Finds pages of the live web, opens the first ones, and answers with their passages."""

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
        """The passages that answer best, at most `limit`."""
        check_query("the web engine", query, options)
        question = self._question(query, options, limit)
        try:
            async with asyncio.timeout(self._seconds):
                hits = await in_thread(lambda: self._search(question), "groundwire-web")
        except TimeoutError:
            raise TimedOut("the search services did not answer in time") from None
        return await self._opener.found(query, question.query, hits, options, limit)

    def _question(self, query: str, options: SearchOptions, limit: int) -> MetasearchQuery:
        today = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        return MetasearchQuery(
            with_site_operators(query.strip(), options),
            region_of(options),
            _TIME_LIMITS.get(time_span(options.since, today), ""),
            min(limit, _MOST),
        )


def region_of(options: SearchOptions) -> str:
    """Country and language, as the package wants them."""
    language = options.language[:2].lower() or "en"
    country = (options.location or Location()).country[:2].lower()
    return f"{country or _COUNTRIES.get(language, language)}-{language}"
