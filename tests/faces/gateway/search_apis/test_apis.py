"""Search APIs of other services: requests, results, errors."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.errors import Overloaded
from groundwire.model import SearchCall, SearchCalled, SearchResult, SearchReturned, Source
from groundwire.model.events import Finished, Started, Warned
from groundwire.model.source import Citation, Evidence
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from tests.faces.gateway.asgi_client import LOCAL, AsgiResponse, post_json, send_request
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for

LISTED = (
    Started(provider="web"),
    SearchCalled(0, SearchCall("s", ("nile",))),
    SearchReturned(
        1,
        SearchResult(
            "s",
            (
                Source(
                    "https://a.example/1",
                    "One",
                    excerpts=("First.",),
                    date="2026-01-02",
                    extras={"engine": {"score": 1.0, "service": "tavily"}},
                ),
                Source("https://b.example/2", "", excerpts=("Second.",), extras={"engine": {"score": 0.25}}),
            ),
        ),
    ),
    Warned("option_ignored", "no language"),
    Finished("stop", extras={"groundwire": {"provider": "web", "model": ""}}),
)
FORM = {"content-type": "application/x-www-form-urlencoded"}


def get(folder: Path, path: str, backend: ScriptedBackend | None = None, **headers: str) -> AsgiResponse:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    app = app_for(backend or backend_of(), folder)
    return asyncio.run(send_request(app, "GET", path, {**LOCAL, **named}))


def backend_of() -> ScriptedBackend:
    return ScriptedBackend(*LISTED, usable=("web", "gemini"))


def test_links_are_found_by_get_and_post(tmp_path: Path) -> None:
    query = urlencode(
        {
            "q": "nile",
            "provider": "web",
            "count": "2",
            "allowed_domains": "a.example, b.example",
            "live": "true",
        }
    )
    backend = backend_of()
    answer = get(tmp_path, f"/v1/find?{query}", backend)
    assert (answer.status, answer.headers["x-groundwire-provider"]) == (200, "web")
    assert answer.json == {
        "version": 1,
        "query": "nile",
        "engine": "web",
        "links": [
            {
                "title": "One",
                "url": "https://a.example/1",
                "snippet": "First.",
                "score": 1.0,
                "date": "2026-01-02",
                "engine": "tavily",
            },
            {
                "title": "https://b.example/2",
                "url": "https://b.example/2",
                "snippet": "Second.",
                "score": 0.25,
                "date": None,
                "engine": "web",
            },
        ],
        "warnings": [{"code": "option_ignored", "message": "no language"}],
        "error": None,
    }
    provider, _, request = backend.calls[0]
    assert (provider, request.links_only) == ("web", True)
    assert request.search is not None
    assert request.search.allowed_domains == ("a.example", "b.example")
    assert (request.search.max_sources, request.search.live) == (2, True)
    body = {"query": "nile", "count": 1}
    assert len(post_json(app_for(backend, tmp_path), "/v1/find", body).json["links"]) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/find", "INVALID_QUERY"),
        ("/v1/find?q=x&count=many", "INVALID_REQUEST_BODY"),
        ("/v1/find?q=x&count=0", "INVALID_TOOL_ARGUMENTS"),
        ("/v1/find?q=x&count=101", "INVALID_TOOL_ARGUMENTS"),
        ("/v1/find?q=x&provider=unknown", "INVALID_TOOL_ARGUMENTS"),
        ("/v1/find?q=x&colour=red", "INVALID_TOOL_ARGUMENTS"),
        (f"/v1/find?q={'x' * 9000}", "INVALID_QUERY"),
    ],
)
def test_wrong_parameters_are_named(tmp_path: Path, path: str, code: str) -> None:
    answer = get(tmp_path, path)
    assert answer.status == 400
    assert (answer.json["links"], answer.json["error"]["code"]) == ([], code)


def test_the_sources_of_a_model_are_links_with_their_quotes(tmp_path: Path) -> None:
    page = Source("https://a.example/x", "A")
    cited = Citation(None, (Evidence(page, quote="It is so, says A."),))
    events = [
        replace(event, citation=cited) if type(event).__name__ == "Cited" else event
        for event in answer_events("It is so.", page, query="what?")
    ]
    backend = ScriptedBackend(*events)
    (link,) = get(tmp_path, "/v1/find?q=what&provider=gemini", backend).json["links"]
    assert (link["url"], link["snippet"], link["score"]) == (page.url, "It is so, says A.", 1.0)


def test_searches_of_other_apis_go_to_the_configured_search(tmp_path: Path) -> None:
    backend = backend_of()
    config = Config(gateway=GatewaySettings(search="gemini"))
    post_json(app_for(backend, tmp_path, config), "/v1/external", {"query": "nile"})
    post_json(app_for(backend, tmp_path), "/v1/external", {"query": "nile"})
    assert [provider for provider, *_ in backend.calls] == ["gemini", "auto"]


def test_searxng_by_url_and_by_form(tmp_path: Path) -> None:
    fields = urlencode({"q": "nile", "format": "json", "language": "de-AT", "time_range": "week"})
    backend = backend_of()
    answer = get(tmp_path, f"/search?{fields}", backend)
    assert answer.status == 200
    assert answer.json["query"] == "nile"
    assert answer.json["number_of_results"] == 2
    assert [answer.json[name] for name in ("answers", "suggestions", "unresponsive_engines")] == [[], [], []]
    first, second = answer.json["results"]
    assert (first["url"], first["title"], first["content"]) == ("https://a.example/1", "One", "First.")
    assert (first["engine"], first["engines"], first["category"]) == ("tavily", ["tavily"], "general")
    assert (first["score"], first["publishedDate"]) == (1.0, "2026-01-02")
    assert first["parsed_url"] == ["https", "a.example", "/1", "", "", ""]
    assert second["publishedDate"] is None
    search = backend.calls[0][2].search
    assert search is not None
    assert search.language == "de"
    assert search.since

    app = app_for(backend, tmp_path)
    posted = asyncio.run(send_request(app, "POST", "/search", {**LOCAL, **FORM}, fields.encode()))
    assert posted.json["results"] == answer.json["results"]
    # Some clients send the parameters in the URL, and a JSON content type without a body.
    empty = post_json(app, f"/search?{fields}", b"")
    assert empty.json["results"] == answer.json["results"]


def test_searxng_pages_continue_the_results(tmp_path: Path) -> None:
    pages = tuple(Source(f"https://a.example/{number}", str(number)) for number in range(15))
    backend = ScriptedBackend(Started(), SearchReturned(1, SearchResult("s", pages)), Finished())
    second = get(tmp_path, "/search?q=x&format=json&pageno=2", backend).json
    assert [item["title"] for item in second["results"]] == ["10", "11", "12", "13", "14"]
    assert second["results"][0]["positions"] == [11]
    assert get(tmp_path, "/search?q=x&format=json&pageno=99", backend).status == 400


def test_searxng_categories_without_web_pages_find_nothing_and_cost_nothing(tmp_path: Path) -> None:
    backend = backend_of()
    assert get(tmp_path, "/search?q=x&format=json&categories=images", backend).json["results"] == []
    assert backend.calls == []
    found = get(tmp_path, "/search?q=x&format=json&categories=images,general", backend)
    assert len(found.json["results"]) == 2


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/search?q=x", 403, "format=json"),
        ("/search?q=x&format=csv", 403, "format=json"),
        ("/search?format=json", 400, "No query"),
        ("/search?q=x&format=json&time_range=decade", 400, "year"),
    ],
)
def test_searxng_errors(tmp_path: Path, path: str, status: int, words: str) -> None:
    answer = get(tmp_path, path)
    assert answer.status == status
    assert words in answer.json["error"]


APIS: list[tuple[str, dict[str, Any], dict[str, str], str]] = [
    ("/search", {"query": "nile", "time_range": "d"}, {}, "detail.error"),
    ("/search", {"query": "nile", "max_tokens_per_page": 100}, {}, "error.message"),
    ("/search", {"query": "nile"}, {"user-agent": "Perplexity/Python 0.46.1"}, "error.message"),
    ("/api/web_search", {"query": "nile"}, {}, "error"),
    ("/v1/external", {"query": "nile", "count": 1}, {}, "detail"),
    ("/v1/find", {"query": "nile"}, {}, "error.message"),
]


@pytest.mark.parametrize(("path", "body", "headers", "where"), APIS)
def test_a_failed_search_has_the_error_of_its_api(
    tmp_path: Path, path: str, body: dict[str, Any], headers: dict[str, str], where: str
) -> None:
    answer = post_json(app_for(ScriptedBackend(Overloaded("down")), tmp_path), path, body, headers)
    assert answer.status == 503
    found = answer.json
    for name in where.split("."):
        found = found[name]
    assert found == "down"
    missing = {name: value for name, value in body.items() if name != "query"}
    assert post_json(app_for(backend_of(), tmp_path), path, missing, headers).status == 400


@pytest.mark.parametrize("path", ["/search", "/extract", "/api/web_search", "/api/web_fetch", "/v1/external"])
@pytest.mark.parametrize("body", [b"[]", b"{", b'"x"', b'{"query": 5, "urls": 5, "url": 5}'])
def test_a_body_that_is_no_request_is_refused(tmp_path: Path, path: str, body: bytes) -> None:
    assert post_json(app_for(backend_of(), tmp_path), path, body).status == 400


def test_open_webui_gets_a_list(tmp_path: Path) -> None:
    answer = post_json(app_for(backend_of(), tmp_path), "/v1/external", {"query": "nile", "count": 1})
    assert answer.json == [{"link": "https://a.example/1", "title": "One", "snippet": "First."}]


def test_perplexity_dates_are_read(tmp_path: Path) -> None:
    backend = backend_of()
    body = {"query": "x", "search_after_date_filter": "3/4/2025", "search_before_date_filter": "12/31/2025"}
    post_json(app_for(backend, tmp_path), "/search", body)
    search = backend.calls[0][2].search
    assert search is not None
    assert (search.since[:10], search.until[:10]) == ("2025-03-04", "2025-12-31")


def test_a_page_of_another_site_cannot_start_a_search(tmp_path: Path) -> None:
    backend = backend_of()
    answer = get(tmp_path, "/search?q=x&format=json", backend, sec_fetch_site="cross-site")
    assert (answer.status, backend.calls) == (403, [])


def test_a_search_service_that_is_the_gateway_itself_is_refused(tmp_path: Path) -> None:
    answer = get(tmp_path, "/search?q=x&format=json", x_groundwire_hop="1")
    assert answer.status == 508
    assert "points back" in answer.json["error"]


DOCUMENTED = re.findall(
    r"^curl .*$", (Path(__file__).parents[4] / "docs" / "gateway.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize("line", DOCUMENTED)
def test_the_documented_requests_are_answered(tmp_path: Path, line: str) -> None:
    words = shlex.split(line)[1:]
    url = next(word for word in words if word.startswith("http://127.0.0.1:8484/"))
    path = url.removeprefix("http://127.0.0.1:8484")
    app = app_for(backend_of(), tmp_path)
    if "-d" not in words:
        answer = asyncio.run(send_request(app, "GET", path, LOCAL))
    else:
        answer = post_json(app, path, words[words.index("-d") + 1].encode())
    assert answer.status == 200
    assert answer.json


def test_every_search_api_has_a_documented_request() -> None:
    assert {urlsplit(shlex.split(line)[1]).path for line in DOCUMENTED} >= {
        *("/v1/find", "/search", "/extract", "/api/web_search", "/v1/external")
    }
