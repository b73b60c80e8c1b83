"""The search declaration in every form."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.model import (
    Json,
    JsonObject,
    Location,
    OpaqueTool,
    Request,
    SearchOptions,
    ToolChoice,
)
from groundwire.model.value import replace

NATIVE = "openai_responses"
LOCATION: JsonObject = {"type": "approximate", "country": "DE", "city": "Berlin"}


def decoded(**body: Json) -> SearchOptions | None:
    return DIALECT.decode_request({"model": "m", "input": "Hi?", **body}).search


def round_trip(**body: Json) -> JsonObject:
    return DIALECT.encode_request(DIALECT.decode_request({"model": "m", "input": "Hi?", **body})).body


def encoded(search: SearchOptions, choice: ToolChoice | None = None) -> JsonObject:
    return DIALECT.encode_request(Request((), model="m", search=search, tool_choice=choice)).body


@pytest.mark.parametrize(
    "name",
    ["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"],
)
def test_every_name_of_the_tool_is_a_search_and_is_kept(name: str) -> None:
    tool: JsonObject = {"type": name, "search_context_size": "low", "user_location": LOCATION}
    search = decoded(tools=[tool])
    assert search == SearchOptions(
        location=Location("DE", city="Berlin"), context_size="low", extras={NATIVE: {"type": name}}
    )
    assert round_trip(tools=[tool])["tools"] == [tool]


def test_filters_and_access_are_restrictions() -> None:
    tool: JsonObject = {
        "type": "web_search",
        "filters": {"allowed_domains": ["a.com"], "blocked_domains": ["b.com"]},
        "external_web_access": False,
        "return_token_budget": "unlimited",
        "search_content_types": ["text", "image"],
    }
    search = decoded(tools=[tool])
    assert search is not None
    assert (search.allowed_domains, search.blocked_domains, search.live) == (("a.com",), ("b.com",), False)
    assert round_trip(tools=[tool])["tools"] == [tool]


def test_empty_lists_and_nulls_do_not_restrict() -> None:
    tool: JsonObject = {"type": "web_search", "filters": {"allowed_domains": []}, "user_location": None}
    assert decoded(tools=[tool]) == SearchOptions(extras={NATIVE: {"type": "web_search"}})
    assert decoded(tools=[{"type": "web_search", "filters": None}]) is not None


def test_an_unknown_location_is_not_a_missing_one() -> None:
    tool: JsonObject = {"type": "web_search", "user_location": {"type": "approximate"}}
    search = decoded(tools=[tool])
    assert search is not None
    assert search.location == Location()
    assert round_trip(tools=[tool])["tools"] == [tool]


def test_restrictions_replace_a_preview_by_the_tool_that_supports_them() -> None:
    search = SearchOptions(allowed_domains=("a.com",), extras={NATIVE: {"type": "web_search_preview"}})
    assert encoded(search)["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["a.com"]}}]


def test_openrouters_server_tool_has_parameters() -> None:
    tool: JsonObject = {
        "type": "openrouter:web_search",
        "parameters": {
            "engine": "exa",
            "max_results": 5,
            "max_uses": 3,
            "search_context_size": "medium",
            "excluded_domains": ["b.com"],
            "user_location": LOCATION,
        },
    }
    search = decoded(tools=[tool])
    assert search == SearchOptions(
        blocked_domains=("b.com",),
        location=Location("DE", city="Berlin"),
        max_uses=3,
        max_sources=5,
        context_size="medium",
        extras={NATIVE: {"type": "openrouter:web_search", "engine": "exa"}},
    )
    body = round_trip(tools=[tool], tool_choice={"type": "openrouter:web_search"})
    assert body["tools"] == [tool]
    assert body["tool_choice"] == {"type": "openrouter:web_search"}
    assert "include" not in body


def test_openrouters_plugin_is_a_search() -> None:
    plugins: list[Json] = [
        {"id": "web", "max_results": 3, "include_domains": ["a.com"], "search_prompt": "Look:"},
        {"id": "file-parser"},
    ]
    search = decoded(plugins=plugins)
    assert search == SearchOptions(
        allowed_domains=("a.com",),
        max_sources=3,
        extras={NATIVE: {"type": "plugin", "search_prompt": "Look:"}},
    )
    body = round_trip(plugins=plugins)
    assert body["plugins"] == plugins
    assert "tools" not in body
    assert "include" not in body


def test_a_disabled_plugin_is_not_a_search() -> None:
    assert decoded(plugins=[{"id": "web", "enabled": False}]) is None


def test_the_suffix_of_a_model_is_a_search() -> None:
    request = DIALECT.decode_request({"model": "openai/gpt-5:online", "input": "Hi?"})
    assert request.search is not None
    assert "tools" not in DIALECT.encode_request(request).body
    elsewhere = replace(request, model="gpt-5.5")
    assert DIALECT.encode_request(elsewhere).body["tools"] == [{"type": "web_search"}]


def test_a_provider_selects_the_form_by_the_extras() -> None:
    options = SearchOptions(blocked_domains=("b.com",), max_sources=4)
    server = replace(options, extras={NATIVE: {"type": "openrouter:web_search"}})
    assert encoded(server)["tools"] == [
        {"type": "openrouter:web_search", "parameters": {"excluded_domains": ["b.com"], "max_results": 4}}
    ]
    plugin = replace(options, extras={NATIVE: {"type": "plugin"}})
    assert encoded(plugin)["plugins"] == [{"id": "web", "exclude_domains": ["b.com"], "max_results": 4}]
    assert encoded(options)["tools"] == [{"type": "web_search", "filters": {"blocked_domains": ["b.com"]}}]


def test_a_forced_search_is_a_choice_and_a_plugin_needs_none() -> None:
    forced = ToolChoice("search")
    assert encoded(SearchOptions(), forced)["tool_choice"] == {"type": "web_search"}
    plugin = SearchOptions(extras={NATIVE: {"type": "plugin"}})
    assert "tool_choice" not in encoded(plugin, forced)


def test_the_limit_of_calls_is_the_limit_of_searches_if_search_is_the_only_tool() -> None:
    tool: JsonObject = {"type": "web_search"}
    alone = decoded(tools=[tool], max_tool_calls=2)
    assert alone is not None
    assert alone.max_uses == 2
    assert round_trip(tools=[tool], max_tool_calls=2)["max_tool_calls"] == 2
    code: JsonObject = {"type": "code_interpreter"}
    next_to_other_tool = decoded(tools=[tool, code], max_tool_calls=2)
    assert next_to_other_tool is not None
    assert next_to_other_tool.max_uses is None
    assert round_trip(tools=[tool, code], max_tool_calls=2)["max_tool_calls"] == 2


def test_a_limit_of_searches_next_to_other_tools_is_unsupported() -> None:
    request = Request(
        (),
        tools=(OpaqueTool(NATIVE, {"type": "code_interpreter"}),),
        search=SearchOptions(max_uses=2),
    )
    body, unsupported = DIALECT.encode_request(request)
    assert "max_tool_calls" not in body
    assert unsupported == ("max_uses",)


def test_unsupported_options_are_named() -> None:
    search = SearchOptions(
        language="de",
        since="2026-01-01T00:00:00Z",
        until="2026-02-01T00:00:00Z",
        max_sources=3,
        location=Location(latitude=1.0, longitude=2.0),
    )
    assert DIALECT.encode_request(Request((), search=search)).unsupported == (
        "language",
        "location",
        "max_sources",
        "since",
        "until",
    )


def test_cache_only_access_is_unsupported_by_openrouter() -> None:
    search = SearchOptions(live=False, extras={NATIVE: {"type": "openrouter:web_search"}})
    assert DIALECT.encode_request(Request((), search=search)).unsupported == ("live",)


def test_two_declarations_are_merged() -> None:
    search = decoded(
        tools=[{"type": "web_search"}],
        plugins=[{"id": "web", "max_results": 3, "exclude_domains": ["b.com"]}],
    )
    assert search is not None
    assert (search.blocked_domains, search.max_sources) == (("b.com",), 3)
