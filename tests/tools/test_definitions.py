"""`webSearch` and `googleSearch`, and lists of generic tools for every dialect."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from groundwire.errors import InvalidArguments, UnsupportedFeature
from groundwire.model import Json, Location, SearchOptions
from groundwire.tools import TOOLS
from groundwire.tools.definitions import APIS, DEFINITIONS, convert, read_tools, tools_in

WEB: dict[str, Any] = {"id": "webSearch", "isSpecialTool": True}
GOOGLE: dict[str, Any] = {"id": "googleSearch", "isSpecialTool": True}
FUNCTION: dict[str, Any] = {
    "id": "add",
    "name": {"en": "Add", "de": "Addieren"},
    "description": {"en": "Adds.", "de": "Addiert."},
    "parameters": {
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": {"en": "first", "de": "erste"}},
            "b": {"type": "number", "default": 0},
        },
        "required": ["a"],
    },
}
STRICT = {
    "type": "object",
    "properties": {"a": {"type": "number", "description": "first"}, "b": {"type": ["number", "null"]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
DIALECTS = (
    *("anthropic_messages", "openai_responses", "openai_chat", "gemini", "gemini_interactions"),
    *("bedrock_converse", "cohere_chat", "mistral_conversations"),
)


def test_the_definitions_are_marked_as_special_tools() -> None:
    assert [definition["id"] for definition in DEFINITIONS] == ["webSearch", "googleSearch"]
    assert all(definition["isSpecialTool"] is True for definition in DEFINITIONS)


def test_web_search_takes_filters_a_location_and_live_access() -> None:
    web: Any = DEFINITIONS[0]
    parameters = web["parameters"]["properties"]
    assert list(parameters) == ["filters", "user_location", "external_web_access"]
    assert parameters["filters"]["properties"]["allowed_domains"]["maxItems"] == 100
    assert list(parameters["user_location"]["properties"]) == [
        "type",
        "country",
        "city",
        "region",
        "timezone",
    ]
    assert parameters["user_location"]["properties"]["type"] == {
        "type": "string",
        "enum": ["approximate"],
        "default": "approximate",
    }
    assert parameters["external_web_access"]["type"] == "boolean"
    assert parameters["external_web_access"]["default"] is True


def texts(value: Any) -> list[dict[str, str]]:
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    if not isinstance(value, dict):
        return []
    if set(value) == {"en", "de"}:
        return [value]
    return [text for item in value.values() for text in texts(item)]


def test_the_definitions_have_both_languages() -> None:
    found = texts(list(DEFINITIONS))
    assert len(found) >= 12
    assert all(text["en"] and text["de"] for text in found)


def test_openai_gets_its_search_and_strict_functions() -> None:
    assert convert([WEB, FUNCTION], "openai_responses") == [
        {"type": "web_search"},
        {"type": "function", "name": "add", "description": "Adds.", "parameters": STRICT, "strict": True},
    ]


def test_the_options_of_web_search_become_search_options() -> None:
    tool = {
        **WEB,
        "filters": {"allowed_domains": ["openai.com", "github.com"]},
        "user_location": {"type": "approximate", "country": "DE", "city": "Köln"},
        "external_web_access": False,
    }
    assert read_tools([tool], "openai_responses").search == SearchOptions(
        allowed_domains=("openai.com", "github.com"), location=Location("DE", "", "Köln", ""), live=False
    )
    assert convert([tool], "openai_responses") == [
        {
            "type": "web_search",
            "filters": {"allowed_domains": ["openai.com", "github.com"]},
            "user_location": {"type": "approximate", "country": "DE", "city": "Köln"},
            "external_web_access": False,
        }
    ]


def test_anthropic_gets_its_own_search() -> None:
    assert convert([WEB, FUNCTION], "anthropic_messages") == [
        {
            "name": "add",
            "description": "Adds.",
            "input_schema": {
                **STRICT,
                "properties": {
                    "a": {"type": "number", "description": "first"},
                    "b": {"type": ["number", "null"], "default": 0},
                },
            },
        },
        {"type": "web_search_20250305", "name": "web_search"},
    ]


def test_chat_has_no_search_among_its_tools() -> None:
    assert convert([WEB, GOOGLE, FUNCTION], "openai_chat") == [
        {
            "type": "function",
            "function": {"name": "add", "description": "Adds.", "parameters": STRICT, "strict": True},
        }
    ]


@pytest.mark.parametrize("tool", [WEB, GOOGLE])
def test_gemini_searches_with_google_by_either_name(tool: dict[str, Any]) -> None:
    assert convert([tool], "gemini") == [{"googleSearch": {}}]
    assert convert([tool], "gemini_interactions") == [{"type": "google_search"}]


def test_gemini_gets_functions_in_its_own_format() -> None:
    (entry,) = convert([FUNCTION], "gemini")
    assert entry == {
        "functionDeclarations": [{"name": "add", "description": "Adds.", "parametersJsonSchema": STRICT}]
    }


@pytest.mark.parametrize("name", ["anthropic_messages", "openai_responses", "openai_chat"])
def test_google_search_is_dropped_for_other_vendors(name: str) -> None:
    assert convert([GOOGLE], name) == []


@pytest.mark.parametrize("name", DIALECTS)
def test_an_unknown_special_tool_is_ignored(name: str) -> None:
    assert convert([{"id": "iAssistant", "isSpecialTool": True}], name) == []


@pytest.mark.parametrize(
    "option", [{"filters": {"allowed_domains": ["a.com"]}}, {"external_web_access": False}]
)
def test_a_restriction_that_the_api_cannot_express_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedFeature):
        convert([{**WEB, **option}], "gemini")


@pytest.mark.parametrize(
    "name", ["openai-responses", "openai-chat", "openai", "anthropic", "google", "gemini"]
)
def test_an_api_is_known_by_its_alias(name: str) -> None:
    assert convert([WEB, FUNCTION], name) == convert([WEB, FUNCTION], APIS[name])


def test_an_unknown_api_is_refused_with_a_list_of_known_ones() -> None:
    with pytest.raises(InvalidArguments, match=r"'bing' is not an API that takes tools.*openai-responses"):
        convert([WEB], "bing")


def test_too_many_domains_for_an_api_are_refused() -> None:
    domains: list[Json] = [f"site{number}.example" for number in range(101)]
    allowed = {**WEB, "filters": {"allowed_domains": domains[:100]}}
    assert convert([allowed], "openai-responses")
    with pytest.raises(InvalidArguments, match="webSearch: allowed_domains: 101 domains"):
        convert([{**WEB, "filters": {"allowed_domains": domains}}], "openai-responses")


def test_the_documentation_says_what_each_api_gets() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")
    rows = [
        line.split("|")[1:4] for line in page.splitlines() if line.startswith("| `") and line.count("|") == 4
    ]
    documented = {
        name: (web.strip(), google.strip())
        for names, web, google in rows
        for name in re.findall(r"`(\w+)`", names)
        if name in DIALECTS
    }
    assert set(documented) == set(DIALECTS)
    for name, texts in documented.items():
        for tool, text in zip((WEB, GOOGLE), texts, strict=True):
            assert bool(convert([tool], name)) == (not text.startswith("nothing")), (name, text)


def test_texts_are_in_the_requested_language() -> None:
    (entry,) = convert([FUNCTION], "openai_responses", "de")
    assert isinstance(entry, dict)
    assert entry["description"] == "Addiert."
    assert "erste" in str(entry["parameters"])


def test_a_function_without_a_strict_form_is_not_strict() -> None:
    loose: dict[str, Any] = {
        "id": "f",
        "parameters": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    (entry,) = convert([loose], "openai_responses")
    assert isinstance(entry, dict)
    assert entry["strict"] is False
    assert entry["parameters"] == loose["parameters"]


def test_a_function_without_parameters_has_an_empty_schema() -> None:
    (entry,) = convert([{"name": "now", "description": "The time."}], "openai_responses")
    assert isinstance(entry, dict)
    assert entry["parameters"] == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("tool", [{}, {"description": "x"}, {**WEB, "filters": {"allowed_domains": "a.com"}}])
def test_an_invalid_tool_is_refused(tool: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        convert([tool], "openai_responses")


FORMATS = ("openai-responses", "openai-chat", "anthropic", "gemini", "mcp")


def named(form: str, language: str = "en") -> dict[str, Any]:
    entries: list[Any] = list(tools_in(form, language))
    if form == "gemini":
        (entry,) = entries
        entries = entry["functionDeclarations"]
    if form == "openai-chat":
        entries = [entry["function"] for entry in entries]
    return {entry["name"]: entry for entry in entries}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_tool_exists_in_every_format_and_language(form: str, language: str) -> None:
    found = named(form, language)
    assert list(found) == list(TOOLS)
    for name, entry in found.items():
        assert entry["description"] == TOOLS[name].description[language]


@pytest.mark.parametrize("form", ["openai-responses", "openai-chat"])
def test_openai_tools_are_strict(form: str) -> None:
    for entry in named(form).values():
        assert entry["strict"] is True
        assert entry["parameters"]["required"] == list(entry["parameters"]["properties"])


def test_mcp_tools_are_annotated_as_read_only() -> None:
    for name, entry in named("mcp").items():
        assert entry["inputSchema"] == TOOLS[name].parameters()
        assert entry["annotations"] == {"readOnlyHint": True, "openWorldHint": name != "websearch_local"}


def test_null_arguments_of_strict_models_are_accepted() -> None:
    from groundwire.dialects.websearch.request import decode_request
    from groundwire.model import SearchOptions

    properties = named("openai-responses")["websearch"]["parameters"]["properties"]
    assert decode_request({**dict.fromkeys(properties), "query": "x"}).search == SearchOptions()
