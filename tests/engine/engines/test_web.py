"""The live web: requests to the metasearch package, its errors, and the pages that are opened."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic

import pytest
from ddgs.ddgs import DDGS
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

from groundwire.engine.engines import tavily
from groundwire.engine.engines.results import PageOpener, SearchHit
from groundwire.engine.engines.web import MetasearchQuery, WebEngine, region_of, search_ddgs
from groundwire.engine.pages import EngineResult
from groundwire.engine.read import read_page
from groundwire.errors import (
    ConfigError,
    GroundwireError,
    InvalidQuery,
    RateLimited,
    TimedOut,
    Unreachable,
    UnsupportedFeature,
    UpstreamWireError,
)
from groundwire.model import JsonObject, Location, SearchOptions
from groundwire.testing.script import json_response
from tests.engine.engines.fakes import ANY, NOW, FakeFetcher, admits, fetched, opener, read, service
from tests.transport.bounded import run
from tests.transport.canaries import page, small_web

pytestmark = pytest.mark.server

SOURCE = Path(__file__).parents[3] / "src"
QUESTION = MetasearchQuery("asyncio timeout", "us-en", "", 10)
A, B, C = "https://a.example.com/1", "https://b.example.org/2", "https://c.example.net/3"
HITS = [
    SearchHit(A, "A", "Snippet about asyncio timeout."),
    SearchHit(B, "B", "Another snippet."),
    SearchHit(C, "C", "A third one, with timeout."),
]


def found(
    options: SearchOptions = ANY, pages: FakeFetcher | None = None, hits: list[SearchHit] | None = None
) -> tuple[EngineResult, MetasearchQuery]:
    requested: list[MetasearchQuery] = []

    def search(question: MetasearchQuery) -> list[SearchHit]:
        requested.append(question)
        return HITS if hits is None else hits

    opening = opener() if pages is None else PageOpener(admits, fetcher=pages, read=read)
    engine = WebEngine(opening, search=search, clock=lambda: NOW)
    return run(engine.find("asyncio timeout", options)), requested[0]


def test_a_fetched_page_gives_passages_and_a_failed_one_keeps_its_snippet() -> None:
    text = "Nothing.\n\nAn asyncio timeout raises TimeoutError. See http://169.254.169.254/latest and " + C
    pages = FakeFetcher({A: text, B: TimedOut("late"), C: fetched(C, "gone", 404)})
    answer, _ = found(pages=pages)
    assert [passage.url for passage in answer.passages][:1] == [A]
    by_url = {passage.url: passage for passage in answer.passages}
    first = by_url[A]
    assert text[first.start : first.start + len(first.text)] == first.text
    assert "raises TimeoutError" in first.text
    assert by_url[B].text == "Another snippet."
    assert by_url[C].text == "A third one, with timeout."
    assert pages.requested == [A, B, C]  # and no links in a page


def test_a_page_is_cited_under_the_address_it_came_from_not_the_one_it_claims() -> None:
    moved = "https://a.example.com/moved"
    answer, _ = found(pages=FakeFetcher({A: fetched(moved, "asyncio timeout, moved")}), hits=HITS[:1])
    assert [passage.url for passage in answer.passages] == [moved]


def test_a_redirect_out_of_the_domain_lists_is_not_read() -> None:
    options = SearchOptions(allowed_domains=("example.com",))
    away = fetched("https://evil.example.org/", "asyncio timeout, elsewhere")
    answer, _ = found(options, FakeFetcher({A: away}))
    assert [(passage.url, passage.text) for passage in answer.passages] == [(A, HITS[0].snippet)]
    assert {warning.code for warning in answer.warnings} == {"source_removed"}


def test_a_page_without_a_word_of_the_query_keeps_the_snippet() -> None:
    answer, _ = found(pages=FakeFetcher({A: "Cookies! Accept?"}), hits=HITS[:1])
    assert [passage.text for passage in answer.passages] == [HITS[0].snippet]


async def test_real_pages_are_fetched_under_the_guard_and_read() -> None:
    html = (
        "<html><head><title>Timeouts</title><link rel=canonical href='https://bank.example/'></head><body>"
        "<nav>Home</nav><main><h1>Timeouts</h1><p>An asyncio timeout raises TimeoutError, as the manual says "
        "at some length, so that this paragraph is taken for the text of the page.</p></main></body></html>"
    )

    async with small_web(page(html)) as web:
        hits = [
            SearchHit(f"http://127.0.0.2:{web.port}/", "Inside", "A snippet that leads inside."),
            SearchHit(web.url("/doc"), "", "A snippet."),
        ]
        opening = PageOpener(admits, fetcher=web.fetcher, read=read_page)
        answer = await WebEngine(opening, search=lambda _: hits).find("asyncio timeout", ANY)
        by_url = {passage.url: passage for passage in answer.passages}
        assert "raises TimeoutError" in by_url[web.url("/doc")].text
        assert by_url[web.url("/doc")].title == "Timeouts"
        assert by_url[hits[0].url].text == "A snippet that leads inside."
        assert [seen.path for seen in web.upstream.requests] == ["/doc"]


def test_only_the_first_pages_are_opened() -> None:
    hits = [SearchHit(f"https://{n}.example.com/", "t", "asyncio") for n in range(15)]
    pages = FakeFetcher({})
    found(pages=pages, hits=hits)
    assert pages.requested == [hit.url for hit in hits[:6]]


def test_domain_lists_become_operators_and_are_checked_afterwards() -> None:
    options = SearchOptions(
        allowed_domains=("example.com", "example.org"), blocked_domains=("b.example.org",)
    )
    answer, question = found(options)
    assert question.query == ("asyncio timeout (site:example.com OR site:example.org) -site:b.example.org")
    assert answer.queries == (question.query,)
    assert {passage.url for passage in answer.passages} == {A}
    many = SearchOptions(allowed_domains=tuple(f"{n}.com" for n in range(40)))
    answer, question = found(many)
    assert (question.query, answer.passages) == ("asyncio timeout", ())


@pytest.mark.parametrize(
    ("since", "limit"),
    [("2025-11-15", "d"), ("2025-11-09", "w"), ("2025-10-20", "m"), ("2025-01-01", "y"), ("2019-01-01", "")],
)
def test_since_becomes_the_shortest_span_that_covers_it(since: str, limit: str) -> None:
    assert found(SearchOptions(since=since))[1].time_limit == limit


@pytest.mark.parametrize(
    ("options", "region"),
    [
        (ANY, "us-en"),
        (SearchOptions(language="de"), "de-de"),
        (SearchOptions(language="ja"), "jp-ja"),
        (SearchOptions(language="de", location=Location("AT")), "at-de"),
        (SearchOptions(location=Location("GB")), "gb-en"),
    ],
)
def test_language_and_country_become_a_region(options: SearchOptions, region: str) -> None:
    assert region_of(options) == region


def test_unsupported_options_of_the_live_web_are_refused() -> None:
    with pytest.raises(UnsupportedFeature):
        found(SearchOptions(live=False))
    with pytest.raises(InvalidQuery):
        run(WebEngine(opener()).find(" ", ANY))


async def test_a_search_without_a_response_times_out() -> None:
    ended = threading.Event()

    def search(_: MetasearchQuery) -> list[SearchHit]:
        ended.wait(60)
        return []

    began = monotonic()
    with pytest.raises(TimedOut):
        await WebEngine(opener(), search=search, seconds=0.1).find("q", ANY)
    assert monotonic() - began < 20
    ended.set()


def wrapped(inner: Exception | str) -> DDGSException:
    """The error of the package if no service has a result."""
    return DDGSException(inner)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RatelimitException("202"), RateLimited),
        (TimeoutException("timed out"), TimedOut),
        (wrapped(DDGSException("ConnectError: refused")), Unreachable),
        (wrapped(ValueError("not HTML")), UpstreamWireError),
    ],
)
def test_the_package_s_errors_become_ours(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[GroundwireError]
) -> None:
    def text(*_: object, **__: object) -> list[dict[str, str]]:
        raise error

    monkeypatch.setattr(DDGS, "text", text)
    with pytest.raises(kind) as caught:
        search_ddgs(QUESTION)
    assert type(caught.value) is kind


def test_an_empty_result_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(*_: object, **__: object) -> list[dict[str, str]]:
        raise wrapped("No results found.")

    monkeypatch.setattr(DDGS, "text", text)
    assert search_ddgs(QUESTION) == []


def test_results_of_the_package_become_hits_and_the_query_has_its_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call: dict[str, object] = {}

    def text(_: DDGS, query: str, **options: object) -> list[dict[str, object]]:
        call.update(options, query=query)
        return [
            {"title": "A", "href": A, "body": "about"},
            {"title": "", "href": B, "body": None},
            {"title": "bad", "href": "javascript:alert(1)", "body": "x"},
            {},
        ]

    monkeypatch.setattr(DDGS, "text", text)
    hits = search_ddgs(MetasearchQuery("q", "at-de", "w", 7))
    assert hits == [SearchHit(A, "A", "about"), SearchHit(B, "b.example.org")]
    assert call == {"query": "q", "region": "at-de", "timelimit": "w", "max_results": 7}


CLOSED = """
import sys
sys.path.insert(0, {source!r})
import asyncio, groundwire.engine.engines.web as web
from groundwire.engine.engines.results import PageOpener
from groundwire.errors import GroundwireError
from groundwire.model import SearchOptions
loaded = [name for name in ("ddgs", "primp", "lxml", "idna") if name in sys.modules]
assert not loaded, loaded
engine = web.WebEngine(PageOpener(lambda options, source: True))
try:
    asyncio.run(engine.find("asyncio timeout", SearchOptions()))
except GroundwireError as error:
    print(type(error).__name__, "ddgs" in sys.modules)
"""


def test_the_package_is_loaded_with_the_first_search_and_a_closed_network_noticed_at_once() -> None:
    # The real package with a proxy that refuses every connection, so that no request leaves this machine.
    environment = {**os.environ, "DDGS_PROXY": "http://127.0.0.1:9"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", CLOSED.format(source=str(SOURCE))],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["Unreachable", "True"]


def test_a_missing_package_is_an_error_that_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(ConfigError, match="ddgs"):
        search_ddgs(QUESTION)


class OtherService:
    """A keyless service with fixed hits, or an error."""

    name = "other"

    def __init__(self, found: list[SearchHit] | GroundwireError) -> None:
        self._found = found
        self.queries: list[str] = []

    async def hits(self, query: str, options: SearchOptions, limit: int) -> list[SearchHit]:
        self.queries.append(query)
        if isinstance(self._found, GroundwireError):
            raise self._found
        return self._found


def failing(_: MetasearchQuery) -> list[SearchHit]:
    raise RateLimited("The search services limit the request rate. Wait a little.")


ALLOWED = SearchOptions(allowed_domains=("example.com",))


def test_the_next_service_is_asked_if_the_first_fails_and_the_result_says_so() -> None:
    other = OtherService(HITS[:1])
    engine = WebEngine(opener(), search=failing, others=(other,))
    for find in (engine.find, engine.links):
        answer = run(find("asyncio timeout", ALLOWED))
        assert [passage.url for passage in answer.passages] == [A]
        assert (answer.service, answer.queries) == ("other", ("asyncio timeout",))
        (warning,) = answer.warnings
        assert warning.code == "search_service_replaced"
        assert warning.message.startswith("ddgs was replaced by other: The search services limit")


def test_the_next_service_is_asked_if_the_first_finds_nothing() -> None:
    answer = run(WebEngine(opener(), search=lambda _: [], others=(OtherService(HITS[:1]),)).find("q", ANY))
    assert answer.service == "other"


def test_the_first_service_is_enough_if_it_finds_something() -> None:
    other = OtherService(HITS)
    answer = run(WebEngine(opener(), search=lambda _: HITS[:1], others=(other,)).links("q", ANY))
    assert (answer.service, answer.warnings, other.queries) == ("ddgs", (), [])


def test_the_first_error_is_raised_if_every_service_fails() -> None:
    engine = WebEngine(opener(), search=failing, others=(OtherService(TimedOut("late")),))
    with pytest.raises(RateLimited):
        run(engine.find("q", ANY))


async def test_tavily_answers_without_a_key() -> None:
    body: JsonObject = {
        "results": [{"url": A, "title": "A", "content": "x", "raw_content": "asyncio timeout"}]
    }
    async with service(tavily.KEYLESS, json_response(body), key="") as (engine, upstream):
        answer = await WebEngine(opener(), search=failing, others=(engine,)).find("asyncio timeout", ANY)
        assert [passage.text for passage in answer.passages] == ["asyncio timeout"]
        assert answer.service == "tavily"
        (received,) = upstream.requests
        assert received.headers["x-tavily-access-mode"] == "keyless"
        assert "authorization" not in received.headers


async def test_the_limit_of_tavily_without_a_key_is_an_error() -> None:
    limit: JsonObject = {"error": {"code": "keyless_limit", "message": "Daily limit", "window": "day"}}
    async with service(tavily.KEYLESS, json_response(limit, 429), key="") as (engine, _):
        with pytest.raises(RateLimited, match="Tavily without a key: Daily limit"):
            await engine.find("q", ANY)
