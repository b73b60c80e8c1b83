"""Opening what was found: pages fetched in parallel, read, and cut to the passages that answer.

Only addresses that a search service named are fetched, never one that stands in a page; a page that does not
come keeps the words the service quoted from it. Everything together has one deadline.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from html import unescape
from threading import Thread
from typing import Protocol, TypeAlias, runtime_checkable

from groundwire.engine.pages import EngineResult, Page, Passage, split_passages, strip_passage
from groundwire.engine.words import stop_words, tokenize
from groundwire.errors import GroundwireError, NotFound, TimedOut
from groundwire.model import SearchOptions, Source, Warned
from groundwire.model.value import replace, value
from groundwire.text.urls import domain_of, safe_address
from groundwire.transport.fetch import Fetched, Fetcher, fetch_all
from groundwire.transport.threads import in_thread

Admits: TypeAlias = Callable[[SearchOptions, Source], bool]
"""Do the domain lists allow this source?"""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@value
class SearchHit:
    """One result, as the service tells it."""

    url: str
    title: str
    snippet: str = ""
    text: str = ""
    """The page itself, where the service sends it along."""
    published: str = ""
    language: str = ""


def make_hit(url: str, title: str, **told: str) -> SearchHit | None:
    """A result whose address can be shown; None otherwise."""
    address = safe_address(url)
    if not address:
        return None
    told["published"] = day_of(told.get("published", ""))
    return SearchHit(address, title.strip() or domain_of(address), **told)


def strip_markup(text: str) -> str:
    """Words without the marks that services put around what was searched for."""
    return unescape(_TAG.sub("", text)).strip()


def day_of(text: str) -> str:
    """The day that a date begins with, or names in the form of mail; empty if it names none."""
    found = _DAY.match(text.strip())
    if found:
        return found[0]
    from email.utils import parsedate  # noqa: PLC0415  few services write dates so

    parts = parsedate(text) if text else None
    return f"{parts[0]:04}-{parts[1]:02}-{parts[2]:02}" if parts else ""


def is_in_date_range(options: SearchOptions, published: str) -> bool:
    """Does a date lie in the time asked for? One that is not known may."""
    day = published[:10]
    if not day:
        return True
    return day >= options.since[:10] and (not options.until or day <= options.until[:10])


def filter_hits(
    hits: Iterable[SearchHit], options: SearchOptions, admits: Admits
) -> tuple[tuple[SearchHit, ...], tuple[Warned, ...]]:
    """The results that the options allow, each address once, and what is to be said about the others."""
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
    """A reader that is quicker if it is told beforehand."""

    def __call__(self, fetched: Fetched, /) -> Page | None:
        """The page."""
        ...

    def warm(self, count: int) -> None:
        """Get ready for so many pages at once."""
        ...


Cut: TypeAlias = Callable[[str, Page], Iterable[Passage]]
"""The passages of a page that answer a query, best first."""

ACCEPT = "text/html, application/xhtml+xml, text/plain, text/markdown"
_PASSAGES_OF_A_PAGE = 3
_READING = 3.5
"""Seconds for turning what was fetched into text."""


def best_passages(query: str, page: Page) -> list[Passage]:
    """The pieces of a page with the most words of the query in them; none without any."""
    wanted = _words(query)
    found = []
    for start, end in split_passages(page.text):
        before, text = strip_passage(page.text[start:end])
        shared = len(wanted & set(tokenize(text)))
        if shared:
            found.append(_passage(page, text, start + before, shared / len(wanted)))
    return sorted(found, key=lambda passage: -passage.score)[:_PASSAGES_OF_A_PAGE]


class PageOpener:
    """From results to passages. Without a fetcher and a reader, the words quoted by the service are all."""

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
        self, query: str, asked: str, hits: Iterable[SearchHit], options: SearchOptions, limit: int
    ) -> EngineResult:
        """What the results come to under the options, best first. A page that a redirect led out of the
        domain lists, or whose date is not one asked for, is not used."""
        kept, warnings = filter_hits(hits, options, self._admits)
        pages, unread = await self._opened(kept, options)
        passages = passages_of(query, kept, pages, self._cut, options)
        return EngineResult(tuple(passages[:limit]), (asked,), (*warnings, *unread))

    async def page(self, url: str, within: float = 15.0) -> Page:
        """One page, whole; raises what kept it from being read."""
        if self._fetcher is None or self._read is None:
            raise NotFound("pages are not fetched here")
        outcome = (await fetch_all(self._fetcher, [url], within=within, accept=ACCEPT))[url]
        if isinstance(outcome, GroundwireError):
            raise outcome
        page = (await _pages({url: outcome}, self._read))[url]
        if page is None:
            raise NotFound(f"there is nothing to read at {url}")
        if isinstance(page, GroundwireError):
            raise NotFound(f"{url} cannot be read: {page.message}")
        return page

    async def _opened(
        self, hits: tuple[SearchHit, ...], options: SearchOptions
    ) -> tuple[dict[str, Page], list[Warned]]:
        """Pages by the address under which they were found, and a warning for each that cannot be read."""
        wanted = [hit.url for hit in hits if not hit.text][: self._most]
        if self._fetcher is None or self._read is None or not wanted:
            return {}, []
        if isinstance(self._read, WarmedReader):
            # While the pages are on their way, the processes that will read them start.
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
    """Each page, read beside the others; one that takes too long, or fails, costs the others nothing."""
    if not fetched:
        return {}

    async def page_of(item: Fetched) -> Page | GroundwireError | None:
        try:
            page = await in_thread(lambda: read(item), "groundwire-reading")
        except GroundwireError as error:
            return error
        # Its own word for its address is not taken: it might be another's.
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
    """Passages of the pages that are there, and of the words quoted from the others. The service's own order
    counts for a third."""
    found: list[Passage] = []
    for rank, hit in enumerate(hits):
        page = pages.get(hit.url)
        if page is not None and not is_in_date_range(options, page.published):
            continue
        own = Page(hit.url, hit.title, hit.text or hit.snippet, hit.published, hit.language)
        if page is None and hit.text:
            page = own
        pieces = list(cut_page(query, _named(page, hit))) if page else []
        top = max([piece.score for piece in pieces] + [1.0])  # scores of another's making may have any size
        found += (
            replace(piece, score=2 * piece.score / top + 1 / (1 + rank))
            for piece in pieces or _quoted(query, own)
        )
    return sorted(found, key=lambda passage: -passage.score)


def _named(page: Page, hit: SearchHit) -> Page:
    """A page with what the service knows of it where it does not say so itself."""
    return replace(
        page,
        title=page.title or hit.title,
        published=page.published or hit.published,
        language=page.language or hit.language,
    )


def _quoted(query: str, page: Page) -> list[Passage]:
    """Passages of the words a service quoted; their beginning, where none has a word of the query."""
    found = best_passages(query, page)
    if found or not page.text.strip():
        return found
    start, end = next(iter(split_passages(page.text)))
    before, text = strip_passage(page.text[start:end])
    return [_passage(page, text, start + before, 0.0)]


def _passage(page: Page, text: str, start: int, score: float) -> Passage:
    return Passage(page.url, page.title, text, start, score, page.published, page.language)


def _words(query: str) -> frozenset[str]:
    words = frozenset(tokenize(query))
    return words - stop_words() or words
