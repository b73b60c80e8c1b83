"""Fetches the cited pages: in parallel, within limits of time and size, and nothing that is not cited.

The web is asked through the SSRF guard. Pages of the index and of a folder are used where there is no web:
for addresses that only this machine has, offline, and if a site cannot be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

from groundwire.engine.pages import Page
from groundwire.engine.read import document_of
from groundwire.engine.read.document import ACCEPT, Document, ReadResult
from groundwire.errors import GroundwireError
from groundwire.model.value import replace
from groundwire.text.urls import domain_of, safe_url
from groundwire.transport.fetch import Fetched
from groundwire.transport.threads import run_in_thread
from groundwire.verify.addresses import (
    error_fact,
    follows,
    follows_all,
    is_written_by_scripts,
    page_fact,
    response_fact,
)
from groundwire.verify.check import PageOutcome, page_address
from groundwire.verify.facts import AddressFact
from groundwire.verify.folder import PageFolder
from groundwire.verify.pages import PageText
from groundwire.verify.policy import VerifyPolicy

AT_ONCE = 8
READ_SECONDS = 10.0
"""For reading one page."""
MOST_BYTES = 5_000_000
"""Of a page; what is beyond is cut."""
MOST_PAGES = 1000
"""Pages that are fetched for one answer."""

_LATE = AddressFact("unchecked", "there was no time left to fetch it")
_TOO_MANY = AddressFact("unchecked", f"the answer cites more than {MOST_PAGES} pages")
_OFFLINE = AddressFact("unchecked", "offline, and the page is not stored here")
_NOT_ALLOWED = AddressFact("unchecked", "it may not be fetched here")
_NO_NAMES = AddressFact("unchecked", "no host of the answer can be found: is this machine offline?")
_REACHED = frozenset({"alive", "redirected", "gone", "blocked"})
_SCRIPTED = "it has next to no text unless its scripts run"
_THREAD = "groundwire-verify"
_NOT_WEB = AddressFact("unchecked", "it is not an address of the web, and the page is not stored here")

FindPage: TypeAlias = Callable[[str], Awaitable[Page | None]]
"""A page that is stored here; None if there is none."""
ReadDocument: TypeAlias = Callable[[Document, float], ReadResult]
"""Reads a document within some seconds. Blocks."""


class PageProber(Protocol):
    """Fetches what is at a URL; `SafeFetcher` implements it."""

    async def probe(
        self, url: str, follows: Callable[[str, str], bool], *, accept: str, limit: int = ...
    ) -> Fetched:
        """The response; raises `GroundwireError`."""
        ...


class CitedPages:
    """Finds out what is at the cited addresses."""

    def __init__(self, prober: PageProber, read: ReadDocument, find_stored: FindPage) -> None:
        self._prober = prober
        self._read = read
        self._find_stored = find_stored

    async def outcomes(self, urls: Iterable[str], policy: VerifyPolicy) -> Mapping[str, PageOutcome]:
        """The outcome of every URL; the sections of a page share one. When this returns or is cancelled, no
        request is left running."""
        wanted = list(dict.fromkeys(urls))
        run = _FetchRun(self._prober, self._read, self._find_stored, policy)
        tasks = {url: asyncio.ensure_future(run.outcome(url)) for url in wanted}
        if tasks:
            try:
                await asyncio.wait(tasks.values(), timeout=policy.seconds)
            finally:
                await run.cancel(tasks.values())
        found = {
            url: PageOutcome(_LATE) if task.cancelled() else task.result() for url, task in tasks.items()
        }
        return await run.without_names(found) if _has_no_names(found) else found


class _FetchRun:
    """Fetches the pages of one answer, each address once."""

    def __init__(
        self, prober: PageProber, read: ReadDocument, find_stored: FindPage, policy: VerifyPolicy
    ) -> None:
        self._prober = prober
        self._read = read
        self._find_stored = find_stored
        self._policy = policy
        self._folder = PageFolder(Path(policy.folder)) if policy.folder else None
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._pages: dict[str, asyncio.Task[PageOutcome]] = {}

    async def cancel(self, tasks: Iterable[asyncio.Task[PageOutcome]]) -> None:
        """Cancel everything that is running."""
        running = [*tasks, *self._pages.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def outcome(self, url: str) -> PageOutcome:
        """What is at a URL. In the index, the sections of a page may be pages of their own."""
        if self._folder is not None and (copy := await self._once(url, self._copy)).page is not None:
            return copy
        is_web = bool(safe_url(url))
        if is_web and not self._policy.offline and self._policy.is_allowed(url):
            return await self._with_stored(url, await self._once(url, self._fetched))
        stored = await self._stored(url)
        if stored is not None:
            return _stored_outcome(stored)
        return PageOutcome(_NOT_WEB if not is_web else _OFFLINE if self._policy.offline else _NOT_ALLOWED)

    async def without_names(self, found: Mapping[str, PageOutcome]) -> Mapping[str, PageOutcome]:
        """The outcomes if this machine can look up no name: then a host may exist all the same."""
        return {
            url: await self._with_stored(url, PageOutcome(_NO_NAMES)) if _is_unknown(outcome) else outcome
            for url, outcome in found.items()
        }

    async def _once(self, url: str, look: Callable[[str], Awaitable[PageOutcome]]) -> PageOutcome:
        """The outcome of a page, whatever its section; each is looked up once."""
        address = page_address(url)
        key = f"{look.__name__} {address}"
        if key not in self._pages:
            if len(self._pages) >= MOST_PAGES:
                return PageOutcome(_TOO_MANY)
            self._pages[key] = asyncio.ensure_future(look(address))
        return await self._pages[key]

    async def _copy(self, address: str) -> PageOutcome:
        """The page in the folder."""
        folder = self._folder
        document = None if folder is None else await run_in_thread(lambda: folder(address), _THREAD)
        if document is None:
            return PageOutcome(_OFFLINE)
        async with self._slots:
            reading = await self._reading(document)
        return _outcome_of(AddressFact("alive", "a stored copy", origin="folder"), reading)

    async def _fetched(self, address: str) -> PageOutcome:
        """The page on the web."""
        async with self._slots:
            try:
                fetched = await self._prober.probe(
                    address, follows_all if self._policy.follow else follows, accept=ACCEPT, limit=MOST_BYTES
                )
            except GroundwireError as error:
                return PageOutcome(error_fact(error))
            known = response_fact(address, fetched)
            if known.origin != "web":
                return PageOutcome(known)
            reading = await self._reading(replace(document_of(fetched), is_complete=True))
        return _read_outcome(known, fetched, reading)

    async def _with_stored(self, url: str, outcome: PageOutcome) -> PageOutcome:
        """A page that cannot be fetched may be stored here: its text is compared, its address unchecked."""
        if outcome.page is not None or outcome.address.verdict != "unchecked":
            return outcome
        stored = await self._stored(url)
        if stored is None:
            return outcome
        return replace(_stored_outcome(stored), address=replace(outcome.address, origin="index"))

    async def _stored(self, url: str) -> Page | None:
        return await self._find_stored(url) or (
            await self._find_stored(page_address(url)) if "#" in url else None
        )

    async def _reading(self, document: Document) -> ReadResult:
        return await run_in_thread(lambda: self._read(document, READ_SECONDS), _THREAD)


def _is_unknown(outcome: PageOutcome) -> bool:
    return outcome.address.verdict == "no_such_host"


def _has_no_names(found: Mapping[str, PageOutcome]) -> bool:
    """Was no host of several found, and none reached?"""
    unknown = {domain_of(url) for url, outcome in found.items() if _is_unknown(outcome)}
    is_reached = any(outcome.address.verdict in _REACHED for outcome in found.values())
    return len(unknown) > 1 and not is_reached


def _read_outcome(known: AddressFact, fetched: Fetched, reading: ReadResult) -> PageOutcome:
    """The outcome of a page that was fetched and read."""
    page = reading.page
    if page is None:
        return _outcome_of(known, reading)
    address = page_fact(known, fetched, page.title, page.text)
    if address.verdict in ("gone", "blocked"):
        return PageOutcome(address)
    if is_written_by_scripts(fetched, page.text):
        return PageOutcome(replace(address, verdict="unchecked", evidence=_SCRIPTED, origin=""))
    return _outcome_of(address, reading)


def _stored_outcome(page: Page) -> PageOutcome:
    text = PageText(page.text, page.outline, page.title, page.language)
    return PageOutcome(AddressFact("alive", "stored in the index", origin="index"), text)


def _outcome_of(address: AddressFact, reading: ReadResult) -> PageOutcome:
    page = reading.page
    if page is None:
        return PageOutcome(replace(address, verdict="unchecked", evidence=reading.why, origin=""))
    text = PageText(page.text, page.outline, page.title, page.language, reading.aside, reading.hidden)
    return PageOutcome(address, text)
