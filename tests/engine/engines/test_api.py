"""Search services: their requests, documented responses, and errors."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from groundwire.engine.engines import (
    brave,
    exa,
    firecrawl,
    google_pse,
    jina,
    linkup,
    ollama_search,
    parallel,
    searxng,
    serper,
    tavily,
    you,
)
from groundwire.engine.engines.api import ApiEngineSpec
from groundwire.engine.engines.results import PageOpener
from groundwire.engine.pages import EngineResult
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    InvalidQuery,
    MissingCredential,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    TimedOut,
    UnsupportedFeature,
    UpstreamError,
    UpstreamWireError,
)
from groundwire.model import Json, JsonObject, Location, SearchOptions
from groundwire.model.value import replace
from groundwire.testing.script import ScriptedResponse, json_response
from groundwire.testing.upstream import Received
from groundwire.transport.http import Deadlines
from tests.engine.engines.fakes import ANY, KEY, FakeFetcher, admits, read, service
from tests.transport.bounded import run

pytestmark = pytest.mark.server

MODULES = (
    *(searxng, brave, tavily, exa, serper, google_pse, linkup, parallel, you, jina, firecrawl, ollama_search),
)
ENGINE_ID = "017576662512468239146:omuauf_lfve"
ROWS: dict[str, ApiEngineSpec] = {
    module.SPEC.name: replace(module.SPEC, settings=dict.fromkeys(module.SPEC.variables, ENGINE_ID))
    for module in MODULES
}
UNDATED = frozenset({"linkup", "firecrawl", "ollama_search"})
"""Services whose results have no date."""
PAGE = "https://docs.example.com/timeouts"
WORDS = "asyncio.timeout() limits the time spent waiting on something."

ANSWERS: dict[str, JsonObject] = {
    "searxng": {
        "query": "q",
        "number_of_results": 0,
        "results": [
            {
                "url": PAGE,
                "title": "Timeouts",
                "content": WORDS,
                "publishedDate": "2025-03-04T00:00:00",
                "engine": "duckduckgo",
                "engines": ["duckduckgo", "brave"],
                "score": 4.0,
                "category": "general",
            }
        ],
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [["google", "timeout"]],
    },
    "brave": {
        "type": "search",
        "query": {"original": "q", "more_results_available": True},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": "Timeouts",
                    "url": PAGE,
                    "description": WORDS.replace("asyncio.timeout", "<strong>asyncio.timeout</strong>"),
                    "page_age": "2025-03-04T14:22:41",
                    "age": "March 4, 2025",
                    "language": "en",
                    "extra_snippets": ["Time&#x27;s up."],
                    "meta_url": {"hostname": "docs.example.com"},
                }
            ],
            "family_friendly": True,
        },
        "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0, "all": False}]},
    },
    "tavily": {
        "query": "q",
        "answer": None,
        "images": [],
        "results": [
            {
                "title": "Timeouts",
                "url": PAGE,
                "content": "A summary.",
                "raw_content": WORDS,
                "score": 0.81,
                "published_date": "Tue, 04 Mar 2025 10:00:00 GMT",
            }
        ],
        "response_time": "1.67",
        "request_id": "123e4567",
    },
    "exa": {
        "requestId": "b5947044",
        "resolvedSearchType": "neural",
        "results": [
            {
                "id": PAGE,
                "title": "Timeouts",
                "url": PAGE,
                "publishedDate": "2025-03-04T01:36:32.547Z",
                "author": None,
                "text": WORDS,
                "highlights": ["limits the time"],
                "highlightScores": [0.4],
            }
        ],
        "costDollars": {"total": 0.005},
    },
    "serper": {
        "searchParameters": {"q": "q", "type": "search", "engine": "google"},
        "organic": [
            {"title": "Timeouts", "link": PAGE, "snippet": WORDS, "date": "Mar 4, 2025", "position": 1}
        ],
        "relatedSearches": [{"query": "asyncio"}],
        "credits": 1,
    },
    "google_pse": {
        "kind": "customsearch#search",
        "searchInformation": {"totalResults": "1"},
        "items": [
            {
                "kind": "customsearch#result",
                "title": "Timeouts",
                "htmlTitle": "<b>Timeouts</b>",
                "link": PAGE,
                "displayLink": "docs.example.com",
                "snippet": WORDS,
                "pagemap": {"metatags": [{"article:published_time": "2025-03-04T10:00:00Z"}]},
            }
        ],
    },
    "linkup": {
        "results": [
            {"type": "text", "name": "Timeouts", "url": PAGE, "content": WORDS, "favicon": ""},
            {"type": "image", "name": "A picture", "url": "https://docs.example.com/p.png"},
        ]
    },
    "parallel": {
        "search_id": "search_fcb2b4f3",
        "results": [
            {"url": PAGE, "title": "Timeouts", "publish_date": "2025-03-04", "excerpts": [WORDS, "More."]}
        ],
        "warnings": None,
    },
    "you": {
        "results": {
            "web": [
                {
                    "url": PAGE,
                    "title": "Timeouts",
                    "description": "A summary.",
                    "snippets": [WORDS, "More."],
                    "page_age": "2025-03-04T00:00:00",
                    "favicon_url": "https://ydc-index.io/favicon",
                }
            ]
        },
        "metadata": {"search_uuid": "a1b2", "query": "q", "latency": 0.2},
    },
    "jina": {
        "code": 200,
        "status": 20000,
        "data": [
            {
                "title": "Timeouts",
                "url": PAGE,
                "description": "A summary.",
                "date": "Mar 4, 2025",
                "content": WORDS,
                "usage": {"tokens": 20},
            }
        ],
    },
    "firecrawl": {
        "success": True,
        "data": {"web": [{"url": PAGE, "title": "Timeouts", "description": WORDS, "position": 1}]},
        "creditsUsed": 2,
    },
    "ollama_search": {"results": [{"title": "Timeouts", "url": PAGE, "content": WORDS}]},
}
EMPTY: dict[str, JsonObject] = {
    "searxng": {"results": []},
    "brave": {"type": "search", "query": {"original": "q"}},
    "tavily": {"results": [], "answer": None},
    "exa": {"results": []},
    "serper": {"organic": []},
    "google_pse": {"searchInformation": {"totalResults": "0"}},
    "linkup": {"results": []},
    "parallel": {"results": []},
    "you": {"results": {}},
    "jina": {"code": 200, "data": []},
    "firecrawl": {"success": True, "data": {}},
    "ollama_search": {"results": []},
}
NAMES = pytest.mark.parametrize("name", ROWS)


async def requested(
    name: str,
    answer: Json | ScriptedResponse,
    options: SearchOptions = ANY,
    limit: int = 20,
    query: str = "asyncio timeout",
) -> tuple[EngineResult, Received]:
    response = answer if isinstance(answer, ScriptedResponse) else json_response(answer)
    async with service(ROWS[name], response) as (engine, upstream):
        found = await engine.find(query, options, limit)
        (received,) = upstream.requests
        return found, received


def failed(name: str, response: ScriptedResponse, row: ApiEngineSpec | None = None) -> GroundwireError:
    async def main() -> GroundwireError:
        async with service(row or ROWS[name], response) as (engine, _):
            with pytest.raises(GroundwireError) as caught:
                await engine.find("q", ANY)
            return caught.value

    return run(main())


def fields_of(received: Received) -> dict[str, str]:
    return {name: texts[0] for name, texts in parse_qs(urlsplit(received.target).query).items()}


@NAMES
async def test_a_documented_answer_becomes_a_passage(name: str) -> None:
    found, _ = await requested(name, ANSWERS[name])
    (passage,) = found.passages
    assert (passage.url, passage.title) == (PAGE, "Timeouts")
    assert passage.published == ("" if name in UNDATED else "2025-03-04")
    assert passage.text.startswith(WORDS)
    assert passage.start == 0
    assert (found.queries, found.warnings) == (("asyncio timeout",), ())


async def test_brave_s_marks_and_entities_are_not_part_of_the_page() -> None:
    found, _ = await requested("brave", ANSWERS["brave"])
    assert found.passages[0].text == f"{WORDS}\n\nTime's up."
    assert found.passages[0].language == "en"


@NAMES
async def test_finding_nothing_is_not_an_error(name: str) -> None:
    found, _ = await requested(name, EMPTY[name])
    assert found.passages == ()


async def test_searxng_requests_are_as_documented() -> None:
    options = SearchOptions(
        allowed_domains=("a.com", "*.b.org"), blocked_domains=("c.net",), language="de", since="2025-11-10"
    )
    _, received = await requested("searxng", EMPTY["searxng"], options)
    assert (received.method, received.path) == ("GET", "/search")
    assert fields_of(received) == {
        "q": "asyncio timeout (site:a.com OR site:b.org) -site:c.net",
        "format": "json",
        "language": "de",
        "time_range": "week",
    }


async def test_brave_requests_are_as_documented() -> None:
    options = SearchOptions(
        allowed_domains=("a.com",),
        location=Location("de", "Hessen", "Köln", "Europe/Berlin", 50.0, 8.5),
        language="de",
        since="2025-01-01T00:00:00Z",
    )
    _, received = await requested("brave", EMPTY["brave"], options, 50)
    assert (received.method, received.path) == ("GET", "/res/v1/web/search")
    assert received.headers["x-subscription-token"] == KEY
    assert received.headers["x-loc-timezone"] == "Europe/Berlin"
    assert received.headers["x-loc-lat"] == "50.0"
    assert "x-loc-city" not in received.headers  # headers are ASCII
    fields = fields_of(received)
    assert fields["q"] == "asyncio timeout site:a.com"
    assert fields["freshness"] == "2025-01-01to2025-11-15"
    assert (fields["country"], fields["search_lang"], fields["count"]) == ("DE", "de", "20")
    assert (fields["extra_snippets"], fields["text_decorations"]) == ("true", "false")


@pytest.mark.parametrize("query", ["word " * 80, "x" * 900])
async def test_a_query_longer_than_brave_takes_is_cut(query: str) -> None:
    _, received = await requested(
        "brave", EMPTY["brave"], SearchOptions(allowed_domains=("a.com",)), query=query
    )
    sent = fields_of(received)["q"]
    assert len(sent) <= 400
    assert len(sent.split()) <= 50
    assert query.startswith(sent)


async def test_tavily_requests_are_as_documented() -> None:
    options = SearchOptions(
        allowed_domains=("a.com/docs/*",), blocked_domains=("c.net",), since="2025-01-01", until="2025-02-01"
    )
    _, received = await requested("tavily", EMPTY["tavily"], options, 7)
    assert (received.method, received.path) == ("POST", "/search")
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.json == {
        "query": "asyncio timeout",
        "max_results": 7,
        "include_raw_content": "text",
        "include_domains": ["a.com/docs"],
        "exclude_domains": ["c.net"],
        "start_date": "2025-01-01",
        "end_date": "2025-02-01",
    }


async def test_exa_requests_are_as_documented() -> None:
    options = SearchOptions(
        blocked_domains=("c.net",), location=Location("de"), since="2025-01-01", until="2025-02-01T10:00:00Z"
    )
    _, received = await requested("exa", EMPTY["exa"], options, 7)
    assert (received.method, received.path) == ("POST", "/search")
    assert received.headers["x-api-key"] == KEY
    assert received.json == {
        "query": "asyncio timeout",
        "numResults": 7,
        "contents": {"text": {"maxCharacters": 20000}},
        "excludeDomains": ["c.net"],
        "startPublishedDate": "2025-01-01T00:00:00.000Z",
        "endPublishedDate": "2025-02-01T10:00:00Z",
        "userLocation": "DE",
    }


OPTIONS = SearchOptions(
    allowed_domains=("a.com",),
    blocked_domains=("c.net",),
    location=Location("de"),
    language="de",
    since="2025-01-01T00:00:00Z",
    until="2025-02-01",
)
GOOGLE_DATES = "cdr:1,cd_min:01/01/2025,cd_max:02/01/2025"
OPERATORS = "asyncio timeout site:a.com -site:c.net"
BODIES: dict[str, tuple[str, str, JsonObject]] = {
    "serper": (
        "/search",
        "x-api-key",
        {"q": OPERATORS, "num": 7, "gl": "de", "hl": "de", "tbs": GOOGLE_DATES},
    ),
    "linkup": (
        "/search",
        "authorization",
        {
            "q": "asyncio timeout",
            "depth": "standard",
            "outputType": "searchResults",
            "maxResults": 7,
            "includeDomains": ["a.com"],
            "excludeDomains": ["c.net"],
            "fromDate": "2025-01-01",
            "toDate": "2025-02-01",
        },
    ),
    "parallel": (
        "/v1/search",
        "x-api-key",
        {
            "objective": "asyncio timeout",
            "search_queries": ["asyncio timeout"],
            "mode": "basic",
            "advanced_settings": {
                "max_results": 7,
                "location": "de",
                "source_policy": {"include_domains": ["a.com"], "after_date": "2025-01-01"},
            },
        },
    ),
    "you": (
        "/v1/search",
        "x-api-key",
        {
            "query": "asyncio timeout",
            "count": 7,
            "country": "DE",
            "language": "DE",
            "freshness": "2025-01-01to2025-02-01",
            "include_domains": ["a.com"],
        },
    ),
    "jina": ("/", "authorization", {"q": OPERATORS, "num": 7, "gl": "DE", "hl": "de"}),
    "firecrawl": (
        "/v2/search",
        "authorization",
        {
            "query": "asyncio timeout",
            "limit": 7,
            "sources": [{"type": "web"}],
            "country": "DE",
            "tbs": GOOGLE_DATES,
            "includeDomains": ["a.com"],
        },
    ),
    "ollama_search": ("/api/web_search", "authorization", {"query": OPERATORS, "max_results": 7}),
}


@pytest.mark.parametrize("name", BODIES)
async def test_requests_with_a_json_body_are_as_documented(name: str) -> None:
    path, header, body = BODIES[name]
    _, received = await requested(name, EMPTY[name], OPTIONS, 7)
    assert (received.method, received.path, received.json) == ("POST", path, body)
    assert received.headers[header] == (f"Bearer {KEY}" if header == "authorization" else KEY)
    assert received.headers["x-groundwire-hop"] == "1"


async def test_google_requests_are_as_documented() -> None:
    _, received = await requested("google_pse", EMPTY["google_pse"], OPTIONS, 50)
    assert (received.method, received.path) == ("GET", "/customsearch/v1")
    assert received.headers["x-goog-api-key"] == KEY
    assert fields_of(received) == {
        "cx": ENGINE_ID,
        "q": OPERATORS,
        "num": "10",
        "gl": "de",
        "lr": "lang_de",
        "sort": "date:r:20250101:20250201",
    }


async def test_google_without_the_id_of_an_engine_says_which_variable_is_missing() -> None:
    row = replace(ROWS["google_pse"], settings={})
    async with service(row, ScriptedResponse()) as (engine, upstream):
        with pytest.raises(MissingCredential, match="GOOGLE_PSE_ENGINE_ID is not set"):
            await engine.find("q", ANY)
        assert upstream.requests == []


async def test_a_service_that_reports_nothing_found_as_an_error_finds_nothing() -> None:
    body: JsonObject = {"statusCode": 400, "error": {"code": "SEARCH_QUERY_NO_RESULT", "message": "none"}}
    found, _ = await requested("linkup", json_response(body, 400))
    assert found.passages == ()


async def test_excerpts_are_quoted_and_their_pages_are_not_opened() -> None:
    for name in ("parallel", "you", "linkup", "jina", "ollama_search"):
        pages = FakeFetcher({})
        async with service(ROWS[name], json_response(ANSWERS[name])) as (engine, _):
            engine._opener = PageOpener(admits, fetcher=pages, read=read)
            found = await engine.find("asyncio timeout", ANY)
        assert pages.requested == [], name
        assert found.passages[0].text.startswith(WORDS), name


@NAMES
async def test_links_are_listed_in_the_order_of_the_service(name: str) -> None:
    async with service(ROWS[name], json_response(ANSWERS[name])) as (engine, _):
        engine._opener = PageOpener(admits, fetcher=FakeFetcher({}), read=read)
        found = await engine.links("something else", ANY)
    (passage,) = found.passages
    assert (passage.url, passage.title, passage.score) == (PAGE, "Timeouts", 1.0)
    assert passage.text


@NAMES
async def test_results_outside_the_lists_are_left_out_whatever_the_service_returns(name: str) -> None:
    found, _ = await requested(name, ANSWERS[name], SearchOptions(allowed_domains=("other.org",)))
    assert found.passages == ()
    assert [warning.code for warning in found.warnings] == ["source_removed"]
    found, _ = await requested(name, ANSWERS[name], SearchOptions(blocked_domains=("example.com",)))
    assert found.passages == ()
    assert {"allowed_domains", "blocked_domains", "max_sources"} <= await _honours(name)


async def _honours(name: str) -> frozenset[str]:
    async with service(ROWS[name], ScriptedResponse()) as (engine, _):
        assert engine.name == name
        return engine.honours


@pytest.mark.parametrize("name", sorted(ROWS.keys() - UNDATED))
async def test_results_outside_the_date_range_are_left_out(name: str) -> None:
    for options in (SearchOptions(since="2025-03-05"), SearchOptions(until="2025-03-03")):
        found, _ = await requested(name, ANSWERS[name], options)
        assert found.passages == ()
    found, _ = await requested(name, ANSWERS[name], SearchOptions(since="2025-03-04", until="2025-03-04"))
    assert len(found.passages) == 1


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "", "//x"])
async def test_a_result_with_an_unsafe_url_is_dropped(url: str) -> None:
    answer: JsonObject = {"results": [{"url": url, "title": "x", "content": "asyncio"}]}
    found, _ = await requested("searxng", answer)
    assert found.passages == ()


STATUSES: list[tuple[int, type[UpstreamError]]] = [
    (400, Refused),
    (401, AuthRejected),
    (402, QuotaExhausted),
    (429, RateLimited),
    (500, Overloaded),
    (503, Overloaded),
    (302, Refused),
]


@NAMES
@pytest.mark.parametrize(("status", "kind"), STATUSES)
def test_a_status_becomes_its_error_and_no_key_is_in_it(
    name: str, status: int, kind: type[UpstreamError]
) -> None:
    body: JsonObject = {"error": f"no {KEY}", "detail": {"error": KEY}, "tag": KEY}
    echo = KEY if ROWS[name].lookups else "r1"  # without a key there is none to echo
    error = failed(
        name, json_response(body, status, {"retry-after": "7", "x-request-id": echo, "location": "/"})
    )
    assert type(error) is kind
    assert isinstance(error, UpstreamError)
    assert error.status == status
    assert error.retry_after == (None if status == 302 else 7.0)
    assert KEY not in f"{error!r} {vars(error)}"
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("name", "status", "body", "kind", "words"),
    [
        (
            "tavily",
            432,
            {"detail": {"error": "exceeds your plan"}},
            QuotaExhausted,
            "Tavily: exceeds your plan",
        ),
        ("tavily", 433, {"detail": {"error": "pay"}}, QuotaExhausted, "Tavily: pay"),
        (
            "tavily",
            401,
            {"detail": {"error": "Unauthorized: invalid API key."}},
            AuthRejected,
            "invalid API key",
        ),
        (
            "exa",
            401,
            {"requestId": "r", "error": "Invalid key", "tag": "INVALID_API_KEY"},
            AuthRejected,
            "Invalid",
        ),
        ("exa", 402, {"error": "No credits", "tag": "NO_MORE_CREDITS"}, QuotaExhausted, "Exa: No credits"),
        ("exa", 429, {"error": "Slow down"}, RateLimited, "Exa: Slow down"),
        (
            "brave",
            422,
            {"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "bad token"}},
            AuthRejected,
            "Brave Search: bad token",
        ),
        ("brave", 429, {"error": {"code": "QUOTA_LIMITED", "detail": "month"}}, QuotaExhausted, "month"),
        ("brave", 429, {"error": {"code": "RATE_LIMITED", "detail": "fast"}}, RateLimited, "fast"),
        ("brave", 403, "<html>", AuthRejected, "Brave Search: HTTP 403"),
        ("serper", 403, {"message": "Unauthorized.", "statusCode": 403}, AuthRejected, "Unauthorized"),
        ("serper", 400, {"message": "Not enough credits", "statusCode": 400}, QuotaExhausted, "credits"),
        (
            "google_pse",
            400,
            {
                "error": {
                    "code": 400,
                    "message": "API key not valid.",
                    "errors": [{"reason": "badRequest"}],
                    "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
                }
            },
            AuthRejected,
            "API key not valid",
        ),
        (
            "google_pse",
            429,
            {"error": {"message": "Quota exceeded", "errors": [{"reason": "dailyLimitExceeded"}]}},
            QuotaExhausted,
            "Quota exceeded",
        ),
        ("linkup", 429, {"error": {"code": "TOO_MANY_REQUESTS", "message": "wait"}}, RateLimited, "wait"),
        ("parallel", 401, {"type": "error", "error": {"message": "Bad key"}}, AuthRejected, "Bad key"),
        ("you", 401, {"detail": "Invalid key"}, AuthRejected, "You.com: Invalid key"),
        (
            "jina",
            402,
            {"name": "InsufficientBalanceError", "readableMessage": "Recharge"},
            QuotaExhausted,
            "Recharge",
        ),
        ("firecrawl", 402, {"success": False, "error": "No credits"}, QuotaExhausted, "No credits"),
        ("ollama_search", 401, {"error": "unauthorized"}, AuthRejected, "unauthorized"),
    ],
)
def test_error_responses_of_each_service_are_classified(
    name: str, status: int, body: Json, kind: type[UpstreamError], words: str
) -> None:
    error = failed(name, json_response(body, status))
    assert type(error) is kind
    assert words in error.message


def test_the_retry_delay_of_brave_is_read() -> None:
    error = failed("brave", json_response({}, 429, {"x-ratelimit-reset": "1, 1419704"}))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 1.0
    error = failed("brave", json_response({}, 429, {"x-ratelimit-reset": "soon"}))
    assert isinstance(error, RateLimited)
    assert error.retry_after is None


def test_a_searxng_without_json_is_an_error_with_advice() -> None:
    error = failed("searxng", ScriptedResponse(403, {"content-type": "text/html"}, b"<h1>Forbidden</h1>"))
    assert isinstance(error, ConfigError)
    assert "search.formats" in error.message


SPOILT = b'{"results": 5, "web": 5, "organic": 5, "items": 5, "data": 5}'
GARBAGE = [b"", b"<html>hello</html>", b"[]", b"null", SPOILT, b"{", b'{"a":' * 5000]


@NAMES
@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_is_a_wire_error(name: str, body: bytes) -> None:
    error = failed(name, ScriptedResponse(headers={"content-type": "application/json"}, body=body))
    assert isinstance(error, UpstreamWireError)


@NAMES
def test_a_service_without_a_response_times_out(name: str) -> None:
    row = replace(ROWS[name], deadlines=Deadlines(first_byte=0.1, total=0.2))
    assert isinstance(failed(name, ScriptedResponse(delay=float("inf")), row), TimedOut)


_VARIABLES = {"searxng": "SEARXNG_URL", "you": "YDC_API_KEY", "ollama_search": "OLLAMA_API_KEY"}


@NAMES
async def test_a_missing_key_or_url_is_an_error_that_names_the_setting(name: str) -> None:
    async def main() -> GroundwireError:
        row = ROWS[name]
        async with service(row, ScriptedResponse(), key="") as (engine, upstream):
            if not row.lookups:
                engine._row = row  # it needs only the URL, and its row has none
            with pytest.raises(MissingCredential) as caught:
                await engine.find("q", ANY)
            assert upstream.requests == []
            return caught.value

    error = await main()
    variable = _VARIABLES.get(name, f"{name.upper()}_API_KEY")
    assert error.code == f"MISSING_{variable}"
    assert f"Set {variable}" in error.message


@NAMES
async def test_unsupported_options_are_refused_before_a_request(name: str) -> None:
    async with service(ROWS[name], ScriptedResponse()) as (engine, upstream):
        with pytest.raises(UnsupportedFeature):
            await engine.find("q", SearchOptions(live=False))
        with pytest.raises(InvalidQuery):
            await engine.find("  ", ANY)
        assert upstream.requests == []


@NAMES
def test_a_call_does_not_show_its_key(name: str) -> None:
    from groundwire.credentials.secret import Secret
    from groundwire.engine.engines.api import ServiceQuery

    call = ROWS[name].request(ServiceQuery("q", ANY, "https://x.example", Secret(KEY), 5, "2025-11-15"))
    assert KEY not in repr(call)
    assert KEY not in call.url
    assert KEY not in call.body.decode()


async def test_pages_are_opened_where_the_service_only_quotes_them() -> None:
    async def main() -> EngineResult:
        text = "Intro.\n\n" + "Filler without meaning. " * 60 + "\n\nThe asyncio timeout is explained here."
        async with service(ROWS["searxng"], json_response(ANSWERS["searxng"]), pages={PAGE: text}) as (
            engine,
            _,
        ):
            found = await engine.find("asyncio timeout", ANY)
            for passage in found.passages:
                assert text[passage.start : passage.start + len(passage.text)] == passage.text
            return found

    found = await main()
    assert "explained here" in found.passages[0].text
    assert {passage.url for passage in found.passages} == {PAGE}
    assert found.passages[0].title == "Timeouts"


async def test_the_number_of_pages_and_passages_is_limited() -> None:
    results: list[Json] = [
        {"url": f"https://{n}.example.com/", "title": "t", "content": "asyncio timeout"} for n in range(9)
    ]
    found, _ = await requested("searxng", {"results": results}, SearchOptions(max_sources=4))
    assert len({passage.url for passage in found.passages}) == 4
    found, _ = await requested("searxng", {"results": [*results, *results]}, limit=5)
    assert [passage.url for passage in found.passages] == [f"https://{n}.example.com/" for n in range(5)]
