"""`groundwire find`."""

from __future__ import annotations

import json

from groundwire.errors import Unreachable
from groundwire.model import Finished, SearchResult, SearchReturned, Source, Started
from tests.faces.fakes import LATE, Bench, FakeClient
from tests.faces.gateway.search_apis.test_apis import LISTED


def test_links_are_printed_with_their_details() -> None:
    bench = Bench(FakeClient(LISTED))
    assert bench.run("find", "the", "nile", "--count", "2") == 0
    assert bench.stdout == (
        "1. One\n   https://a.example/1\n   2026-01-02 · tavily\n   First.\n"
        "2. https://b.example/2\n   https://b.example/2\n   web\n   Second.\n"
    )
    assert bench.stderr == "Warning: no language\n"
    request, provider, _ = bench.client.requests[0]
    assert (request.query, request.links_only, provider) == ("the nile", True, "auto")
    assert request.search is not None
    assert request.search.max_sources == 2
    assert bench.client.closed


def test_json_is_the_object_of_the_gateway() -> None:
    bench = Bench(FakeClient(LISTED))
    assert bench.run("find", "nile", "--json") == 0
    found = json.loads(bench.stdout)
    assert found["engine"] == "web"
    assert [link["url"] for link in found["links"]] == ["https://a.example/1", "https://b.example/2"]


def test_the_sources_of_a_model_are_links() -> None:
    bench = Bench(FakeClient(LATE))
    bench.run("find", "cologne", "--provider", "gemini", "--json")
    assert [link["engine"] for link in json.loads(bench.stdout)["links"]] == ["gemini", "gemini"]


def test_control_characters_do_not_reach_the_terminal() -> None:
    source = Source("https://a.example/", "\x1b[31mred", excerpts=("\x1b]0;title\x07",))
    result = SearchResult("s", (source,))
    bench = Bench(FakeClient((Started(), SearchReturned(1, result), Finished())))
    bench.run("find", "nile")
    assert "red" in bench.stdout
    assert "\x1b" not in bench.stdout


def test_nothing_found_and_errors_have_their_exit_codes() -> None:
    bench = Bench(FakeClient((Started(), Finished())))
    assert bench.run("find", "nile") == 3
    bench = Bench(FakeClient((Unreachable("no network"),)))
    assert bench.run("find", "nile", "--json") == 5
    assert json.loads(bench.stdout)["error"]["message"] == "no network"
    bench = Bench(FakeClient(LISTED))
    assert bench.run("find", "nile", "--provider", "unknown") == 2
    assert "`groundwire providers --all` lists all" in bench.stderr
