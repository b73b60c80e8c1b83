"""Search declarations: every spelling is decoded, every option is encoded or named as unsupported."""

from __future__ import annotations

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.model import (
    Extras,
    Json,
    JsonObject,
    Location,
    Message,
    OpaqueTool,
    Request,
    SearchOptions,
    Text,
)
from groundwire.model.value import replace
from tests.dialects.gemini.bodies import at

ASK = Request((Message("user", (Text("q"),)),))
SINCE, UNTIL = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
VERTEX: Extras = {"gemini": {"vertex": True}}


def read(*tools: Json, config: Json = None) -> Request:
    return DIALECT.decode_request(
        {"contents": [{"parts": [{"text": "q"}]}], "tools": [*tools], "toolConfig": config}
    )


def encode_search(search: SearchOptions) -> tuple[JsonObject, tuple[str, ...]]:
    encoded = DIALECT.encode_request(replace(ASK, search=search))
    return encoded.body, encoded.unsupported


@pytest.mark.parametrize("tool", [{"googleSearch": {}}, {"google_search": {}}])
def test_search_is_on_in_either_spelling(tool: JsonObject) -> None:
    request = read(tool)
    assert (request.search, request.tools) == (SearchOptions(), ())


@pytest.mark.parametrize("tool", [{"googleSearch": None}, {}])
def test_a_search_that_is_null_is_no_search(tool: JsonObject) -> None:
    assert read(tool).search is None


@pytest.mark.parametrize(
    "tool",
    [
        {
            "googleSearchRetrieval": {
                "dynamicRetrievalConfig": {"mode": "MODE_DYNAMIC", "dynamicThreshold": 0.3}
            }
        },
        {"enterpriseWebSearch": {"excludeDomains": []}},
        {"googleSearch": {"blockingConfidence": "BLOCK_HIGH_AND_ABOVE", "searchTypes": {"imageSearch": {}}}},
    ],
)
def test_other_search_tools_are_searches_and_are_sent_back_unchanged(tool: JsonObject) -> None:
    request = read(tool)
    assert request.search is not None
    body = DIALECT.encode_request(request).body
    [name] = tool
    expected = {key: value for key, value in _object(tool[name]).items() if value != []}
    assert at(body, "tools") == [{name: expected}]


def _object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value


def test_the_first_search_is_the_search_and_another_one_is_kept() -> None:
    request = read({"googleSearch": {}, "urlContext": {}}, {"enterpriseWebSearch": {}})
    assert request.search == SearchOptions()
    assert request.tools == (
        OpaqueTool("gemini", {"urlContext": {}}),
        OpaqueTool("gemini", {"enterpriseWebSearch": {}}),
    )
    tools = at(DIALECT.encode_request(request).body, "tools")
    assert isinstance(tools, list)
    assert {"googleSearch": {}} in tools
    assert len(tools) == 3


def test_tools_that_do_not_search_turn_nothing_on() -> None:
    request = read({"urlContext": {}}, {"codeExecution": {}}, {"tool_of_tomorrow": {"x": 1}})
    assert request.search is None
    assert [tool.data for tool in request.tools if isinstance(tool, OpaqueTool)] == [
        {"urlContext": {}},
        {"codeExecution": {}},
        {"tool_of_tomorrow": {"x": 1}},
    ]


def test_a_time_range_needs_both_ends_or_is_unsupported() -> None:
    body, unsupported = encode_search(SearchOptions(since=SINCE, until=UNTIL))
    assert at(body, "tools", 0, "googleSearch") == {"timeRangeFilter": {"startTime": SINCE, "endTime": UNTIL}}
    assert unsupported == ()
    assert encode_search(SearchOptions(since=SINCE)) == (encode_search(SearchOptions())[0], ("since",))
    assert encode_search(SearchOptions(until=UNTIL)) == (encode_search(SearchOptions())[0], ("until",))
    assert encode_search(SearchOptions(since=SINCE, until=UNTIL, extras=VERTEX))[1] == ("since", "until")


def test_domains_can_be_excluded_only_on_vertex() -> None:
    blocked = SearchOptions(blocked_domains=("a.test", "b.test"))
    body, unsupported = encode_search(blocked)
    assert (at(body, "tools"), unsupported) == ([{"googleSearch": {}}], ("blocked_domains",))
    body, unsupported = encode_search(replace(blocked, extras=VERTEX))
    assert at(body, "tools") == [{"googleSearch": {"excludeDomains": ["a.test", "b.test"]}}]
    assert unsupported == ()


def test_excluded_domains_are_blocked_domains() -> None:
    search = read({"googleSearch": {"exclude_domains": ["a.test", ""]}}).search
    assert search is not None
    assert search.blocked_domains == ("a.test",)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (SearchOptions(allowed_domains=("a.test",)), "allowed_domains"),
        (SearchOptions(max_uses=3), "max_uses"),
        (SearchOptions(max_uses=0), "max_uses"),
        (SearchOptions(max_sources=3), "max_sources"),
        (SearchOptions(context_size="high"), "context_size"),
        (SearchOptions(live=False), "live"),
        (SearchOptions(location=Location(country="DE", city="Köln")), "location"),
        (SearchOptions(location=Location(latitude=1.0)), "location"),
    ],
)
def test_unsupported_options_are_named(options: SearchOptions, name: str) -> None:
    assert encode_search(options) == (encode_search(SearchOptions())[0], (name,))


def test_the_location_is_in_the_tool_config() -> None:
    body, unsupported = encode_search(
        SearchOptions(location=Location("DE", latitude=0.0, longitude=6.9), language="de")
    )
    assert at(body, "toolConfig") == {
        "retrievalConfig": {"latLng": {"latitude": 0.0, "longitude": 6.9}, "languageCode": "de"}
    }
    assert unsupported == ()


def test_a_location_without_a_search_is_kept_verbatim() -> None:
    config: JsonObject = {"retrievalConfig": {"latLng": {"latitude": 1, "longitude": 2}}}
    request = read({"googleMaps": {}}, config=config)
    assert request.search is None
    assert at(DIALECT.encode_request(request).body, "toolConfig") == config
