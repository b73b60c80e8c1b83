"""Answers and pages for tests of verification and comparison on the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from aiohttp import web

from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Message,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
    Span,
    Text,
    Usage,
)
from groundwire.model.value import replace
from groundwire.store.base import Session, Store, StoredMessage
from groundwire.text.urls import domain_of
from groundwire.verify.check import PageOutcome, check_answer
from groundwire.verify.facts import AddressFact, VerifyReport
from groundwire.verify.pages import PageText
from groundwire.verify.policy import VerifyPolicy


class Verify(Protocol):
    """`Groundwire.averify`."""

    def __call__(
        self, made: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> Awaitable[VerifyReport]: ...


NOW = "2026-03-01T00:00:00.000000+00:00"
TOWER = Source("https://tower.example/", "The tower", excerpts=("The tower is 324 metres tall.",))
CITY = Source("https://city.example/", "The city")
GONE = Source("https://gone.example/", "A page that is gone")
BLOCKED = Source("https://blocked.example/", "A page behind a login")
CLAIMS = (
    ("The tower is 330 metres tall.", TOWER, "The tower is 320 metres tall."),
    ("The city has two million inhabitants.", CITY, ""),
    ("It was painted in many colours.", GONE, ""),
    ("Its lifts are closed on Mondays.", BLOCKED, ""),
    ("The city lies near the wide river in the north.", CITY, ""),
)
ALIVE = AddressFact("alive", "HTTP 200", origin="web")
PAGES: Mapping[str, PageOutcome] = {
    TOWER.url: PageOutcome(ALIVE, PageText("The tower is 324 metres tall. It has three levels.")),
    CITY.url: PageOutcome(
        ALIVE, PageText("The city has two million inhabitants. A wide river runs through the north of it.")
    ),
    GONE.url: PageOutcome(AddressFact("gone", "HTTP 404")),
    BLOCKED.url: PageOutcome(AddressFact("blocked", "HTTP 403")),
}


def trust_answer(cost: float | None = 0.0123, host: str = "") -> Answer:
    """An answer whose citations have all four standings; with a host, its pages are there."""

    def at_host(source: Source) -> Source:
        return replace(source, url=f"http://{host}/{domain_of(source.url)}") if host else source

    text = " ".join(claim for claim, _, _ in CLAIMS)
    citations = []
    for claim, source, quote in CLAIMS:
        start = text.index(claim)
        evidence = (Evidence(at_host(source), quote),)
        citations.append(Citation(Span(start, start + len(claim)), evidence, "claim"))
    search = SearchCall("s1", ("how tall is the tower",))
    found = SearchResult("s1", tuple(map(at_host, (TOWER, CITY, GONE, BLOCKED))))
    usage = Usage(10, 20, searches=2, cost=cost)
    return Answer((search, found, Text(text)), tuple(citations), usage, finish="stop", model="model-1")


def store_answer(store: Store, answer: Answer, owner: str = "") -> StoredMessage:
    """Store a session with one question and this answer."""
    store.put_session(Session("s", "default", owner, "The tower", NOW, NOW))
    question = Message("user", (Text("How tall is the tower?"),))
    store.add_message(StoredMessage("sq", "s", question, "", NOW))
    return store.add_message(StoredMessage("sa", "s", answer, "p", NOW))


def verify_with(pages: Mapping[str, PageOutcome] = PAGES) -> Verify:
    """Verifies against these pages instead of the web."""

    async def averify(
        made: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        return check_answer(made, pages, options)

    return averify


@asynccontextmanager
async def real_pages() -> AsyncIterator[int]:
    """A server with the pages, each under the domain of its source; yields its port."""

    async def respond(request: web.Request) -> web.Response:
        page = next(page for url, page in PAGES.items() if domain_of(url) == request.path.strip("/"))
        if page.page is None:
            return web.Response(status=int(page.address.evidence.split()[1]))
        return web.Response(text=f"<main><p>{page.page.text}</p></main>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/{name}", respond)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port: int = runner.addresses[0][1]
        yield port
    finally:
        await runner.cleanup()
