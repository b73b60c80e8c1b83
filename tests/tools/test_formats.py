"""Our tools as definitions for other APIs."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.tools import TOOLS
from groundwire.tools.definitions import tools_in

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
def test_every_tool_is_there_in_every_format_and_language(form: str, language: str) -> None:
    found = named(form, language)
    assert list(found) == list(TOOLS)
    for name, entry in found.items():
        assert entry["description"] == TOOLS[name].description[language]


@pytest.mark.parametrize("form", ["openai-responses", "openai-chat"])
def test_openai_s_are_strict(form: str) -> None:
    for entry in named(form).values():
        assert entry["strict"] is True
        assert entry["parameters"]["required"] == list(entry["parameters"]["properties"])


def test_mcp_s_say_that_they_change_nothing() -> None:
    for name, entry in named("mcp").items():
        assert entry["inputSchema"] == TOOLS[name].parameters()
        assert entry["annotations"] == {"readOnlyHint": True, "openWorldHint": name != "websearch_local"}


def test_what_a_strict_model_fills_in_is_understood() -> None:
    from groundwire.dialects.websearch.request import decode_request
    from groundwire.model import SearchOptions

    properties = named("openai-responses")["websearch"]["parameters"]["properties"]
    assert decode_request({**dict.fromkeys(properties), "query": "x"}).search == SearchOptions()
