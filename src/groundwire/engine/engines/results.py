"""Results of search services: hits, and their pages, fetched in parallel and cut into passages.

Only URLs that a search service returned are fetched, never links in pages. If a page cannot be fetched, the
snippet of the service is used. All pages share one deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from threading import Thread
from typing import Protocol, TypeAlias, runtime_checkable

from groundwire.engine.pages import EngineResult, Page, Passage, page_passages
from groundwire.errors import GroundwireError, NotFound, TimedOut
from groundwire.model import SearchOptions, Source, Warned
from groundwire.model.value import replace, value
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.urls import domain_of, safe_url
from groundwire.transport.fetch import Fetched, Fetcher, fetch_all
from groundwire.transport.threads import run_in_thread

Admits: TypeAlias = Callable[[SearchOptions, Source], bool]
"""Do the domain lists allow this source?"""

_DAY = lazy_pattern(r"\d{4}-\d\d-\d\d")
_NAMED_DAY = lazy_pattern(r"([A-Z][a-z]{2})[a-z]*\.? (\d{1,2}), (\d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TAG = lazy_pattern(r"</?[a-zA-Z][^<>]*>")


@value
class SearchHit:
    """One result of a search service."""

    url: str
    title: str
    snippet: str = ""
    text: str = ""
    """The text of the page, if the service returns it."""
    published: str = ""
    language: str = ""


def make_hit(url: str, title: str, **fields: str) -> SearchHit | None:
    """A hit with a safe URL; None if the URL is not safe."""
    address = safe_url(url)
    if not address:
        return None
    fields["published"] = day_of(fields.get("published", ""))
    return SearchHit(address, title.strip() or domain_of(address), **fields)


def strip_markup(text: str) -> str:
    """Text without the markup that services put around matches."""
    from html import unescape  # noqa: PLC0415  a large table, which the embedded engine does not need

    return unescape(_TAG.sub("", text)).strip()


def day_of(text: str) -> str:
    """The day of an ISO or RFC 5322 date, or of one like `Mar 4, 2025`; empty if it is none of these."""
    found = _DAY.match(text.strip())
    if found:
        return found[0]
    if (named := _NAMED_DAY.fullmatch(text.strip())) and named[1] in _MONTHS:
        return f"{named[3]}-{_MONTHS.index(named[1]) + 1:02}-{int(named[2]):02}"
    from email.utils import parsedate  # noqa: PLC0415  slow, and few services need it

    parts = parsedate(text) if text else None
    return f"{parts[0]:04}-{parts[1]:02}-{parts[2]:02}" if parts else ""


def is_in_date_range(options: SearchOptions, published: str) -> bool:
    """Is a date within the requested range? An unknown date is."""
    day = published[:10]
    if not day:
        return True
    return day >= options.since[:10] and (not options.until or day <= options.until[:10])


def filter_hits(
    hits: Iterable[SearchHit], options: SearchOptions, admits: Admits
) -> tuple[tuple[SearchHit, ...], tuple[Warned, ...]]:
    """The hits that the options allow, each URL once, and warnings about the rest."""
    kept: dict[str, SearchHit] = {}
    outside: dict[str, None] = {}
    for hit in hits:
        if not admits(options, Source(hit.url)):
            outside[domain_of(hit.url)] = None
        elif is_in_date_range(options, hit.published):
            kept.setdefault(hit.url, hit)
    warnings = (Warned("source_removed", f"a source on {domain} was not allowed") for domain in outside)
    return tuple(kept.values())[: options.max_sources], tuple(warnings)


Read: TypeAlias = Callable[[Fetched], Page | None]


@runtime_checkable
class WarmedReader(Protocol):
    """A reader that can start its worker processes in advance."""

    def __call__(self, fetched: Fetched, /) -> Page | None:
        """The page."""
        ...

    def warm(self, count: int) -> None:
        """Prepares for this many pages at once."""
        ...


Cut: TypeAlias = Callable[[str, Page], Iterable[Passage]]
"""The passages of a page that match a query, best first."""

ACCEPT = "text/html, application/xhtml+xml, text/plain, text/markdown"
_PASSAGES_OF_A_PAGE = 3
_READING = 3.5
"""Seconds for reading the fetched pages."""


def best_passages(query: str, page: Page) -> list[Passage]:
    """The passages of a page with the most query words; none if no passage has one."""
    from groundwire.engine.words import stop_words, tokenize  # noqa: PLC0415  slow; listing engines needs none

    words = frozenset(tokenize(query))
    wanted = words - stop_words() or words
    found = []
    for passage in page_passages(page):
        shared = len(wanted & set(tokenize(f"{passage.section} {passage.text}")))
        if shared:
            found.append(replace(passage, score=shared / len(wanted)))
    return sorted(found, key=lambda passage: -passage.score)[:_PASSAGES_OF_A_PAGE]


class PageOpener:
    """Turns hits into passages. Without a fetcher and a reader, only the snippets of the service are used."""

    def __init__(
        self,
        admits: Admits,
        *,
        fetcher: Fetcher | None = None,
        read: Read | None = None,
        cut_page: Cut = best_passages,
        pages: int = 6,
        within: float = 5.0,
    ) -> None:
        self._admits = admits
        self._fetcher = fetcher
        self._read = read
        self._cut = cut_page
        self._most = pages
        self._within = within

    async def found(
        self, query: str, sent_query: str, hits: Iterable[SearchHit], options: SearchOptions, limit: int
    ) -> EngineResult:
        """The passages of the hits, best first. A page that redirects out of the domain lists, or whose
        date is out of range, is not used."""
        kept, warnings = filter_hits(hits, options, self._admits)
        pages, unread = await self._opened(kept, options)
        passages = passages_of(query, kept, pages, self._cut, options)
        return EngineResult(tuple(passages[:limit]), (sent_query,), (*warnings, *unread))

    def listed(
        self, query: str, sent_query: str, hits: Iterable[SearchHit], options: SearchOptions, limit: int
    ) -> EngineResult:
        """The hits in the order of the service, each with what the service quotes; no page is fetched."""
        kept, warnings = filter_hits(hits, options, self._admits)
        passages = (_as_passage(query, hit, rank) for rank, hit in enumerate(kept[:limit]))
        return EngineResult(tuple(passages), (sent_query,), warnings)

    async def page(self, url: str, within: float = 15.0) -> Page:
        """Fetches and reads one page; raises the error that prevents it."""
        if self._fetcher is None or self._read is None:
            raise NotFound("Fetching pages is not enabled.")
        outcome = (await fetch_all(self._fetcher, [url], within=within, accept=ACCEPT))[url]
        if isinstance(outcome, GroundwireError):
            raise outcome
        page = (await _pages({url: outcome}, self._read))[url]
        if page is None:
            raise NotFound(f"There is nothing to read at {url}.")
        if isinstance(page, GroundwireError):
            raise NotFound(f"{url} cannot be read: {page.message}")
        return page

    async def _opened(
        self, hits: tuple[SearchHit, ...], options: SearchOptions
    ) -> tuple[dict[str, Page], list[Warned]]:
        """Pages by the URL of their hit, and a warning for each that cannot be read."""
        wanted = [hit.url for hit in hits if not hit.text][: self._most]
        if self._fetcher is None or self._read is None or not wanted:
            return {}, []
        if isinstance(self._read, WarmedReader):
            # The worker processes start while the pages are fetched.
            Thread(target=self._read.warm, args=(min(len(wanted), 2),), daemon=True).start()
        outcomes = await fetch_all(
            self._fetcher, wanted, at_once=self._most, within=self._within, accept=ACCEPT
        )
        fetched = {
            url: outcome
            for url, outcome in outcomes.items()
            if isinstance(outcome, Fetched) and self._admits(options, Source(outcome.url))
        }
        read = await _pages(fetched, self._read)
        unread = [
            Warned("page_unreadable", f"{url} was not read: {page.message}")
            for url, page in read.items()
            if isinstance(page, GroundwireError)
        ]
        return {url: page for url, page in read.items() if isinstance(page, Page)}, unread


async def _pages(fetched: Mapping[str, Fetched], read: Read) -> dict[str, Page | GroundwireError | None]:
    """Reads pages concurrently; one that fails or takes too long does not affect the rest."""
    if not fetched:
        return {}

    async def page_of(item: Fetched) -> Page | GroundwireError | None:
        try:
            page = await run_in_thread(lambda: read(item), "groundwire-reading")
        except GroundwireError as error:
            return error
        # The canonical URL it declares is not trusted: it may belong to another site.
        return None if page is None else replace(page, url=item.url)

    tasks = {url: asyncio.ensure_future(page_of(item)) for url, item in fetched.items()}
    try:
        await asyncio.wait(tasks.values(), timeout=_READING)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    late = TimedOut("it took too long")
    return {url: late if task.cancelled() else task.result() for url, task in tasks.items()}


def passages_of(
    query: str, hits: tuple[SearchHit, ...], pages: Mapping[str, Page], cut_page: Cut, options: SearchOptions
) -> list[Passage]:
    """Passages of the fetched pages, and of the snippets of the rest. The rank of the service counts for a
    third: 2 for the match of the passage, 1 for the rank (chosen by hand)."""
    found: list[Passage] = []
    for rank, hit in enumerate(hits):
        page = pages.get(hit.url)
        if page is not None and not is_in_date_range(options, page.published):
            continue
        own = Page(hit.url, hit.title, hit.text or hit.snippet, hit.published, hit.language)
        if page is None and hit.text:
            page = own
        pieces = list(cut_page(query, _named(page, hit))) if page else []
        top = max([piece.score for piece in pieces] + [1.0])  # scores of a custom cutter may have any size
        found += (
            replace(piece, score=2 * piece.score / top + 1 / (1 + rank))
            for piece in pieces or _quoted(query, own)
        )
    return sorted(found, key=lambda passage: -passage.score)


def _as_passage(query: str, hit: SearchHit, rank: int) -> Passage:
    """A hit as one passage: its snippet, else the best passage of its text. The score is that of the rank."""
    quoted = [] if hit.snippet else _quoted(query, Page(hit.url, hit.title, hit.text))
    text, start = (quoted[0].text, quoted[0].start) if quoted else (hit.snippet, 0)
    return Passage(hit.url, hit.title, text, start, 1 / (1 + rank), hit.published, hit.language)


def _named(page: Page, hit: SearchHit) -> Page:
    """A page with title, date and language of the hit where it declares none."""
    return replace(
        page,
        title=page.title or hit.title,
        published=page.published or hit.published,
        language=page.language or hit.language,
    )


def _quoted(query: str, page: Page) -> list[Passage]:
    """Passages of a snippet; its beginning if no passage has a query word."""
    return best_passages(query, page) or [*islice(page_passages(page), 1)]
