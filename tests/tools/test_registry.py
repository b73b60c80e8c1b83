"""The registry of tools."""

from __future__ import annotations

import pytest

from groundwire.dialects.websearch.tools import UNIFIED_ARGUMENTS
from groundwire.tools import TOOLS
from groundwire.tools.registry import ARGUMENTS, DESCRIPTIONS

NAMES = (
    *("websearch", "websearch_gemini", "websearch_openai_oauth", "websearch_openrouter", "websearch_openai"),
    *("websearch_anthropic", "websearch_copilot", "websearch_web", "websearch_local", "geminisearch"),
)
PROVIDER_TOOLS = [name for name in NAMES if name != "websearch"]


def test_every_documented_tool_is_registered() -> None:
    assert sorted(TOOLS) == sorted(NAMES)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("websearch_gemini", "GEMINI_WEB_SEARCH_FAILED"),
        ("websearch_openai_oauth", "OPENAI_OAUTH_WEB_SEARCH_FAILED"),
        ("websearch_openrouter", "OPENROUTER_WEB_SEARCH_FAILED"),
        ("websearch_openai", "OPENAI_WEB_SEARCH_FAILED"),
        ("websearch_anthropic", "ANTHROPIC_WEB_SEARCH_FAILED"),
        ("websearch_copilot", "COPILOT_WEB_SEARCH_FAILED"),
        ("websearch_web", "WEB_WEB_SEARCH_FAILED"),
        ("websearch_local", "LOCAL_WEB_SEARCH_FAILED"),
        ("geminisearch", "GEMINI_WEB_SEARCH_FAILED"),
        ("websearch", "WEB_SEARCH_FAILED"),
    ],
)
def test_failure_codes_follow_one_pattern(name: str, code: str) -> None:
    assert TOOLS[name].failed == code


@pytest.mark.parametrize("name", PROVIDER_TOOLS)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_provider_tool_takes_a_query_and_nothing_else(name: str, language: str) -> None:
    schema = TOOLS[name].parameters(language)
    assert list(schema["properties"]) == ["query"]  # type: ignore[arg-type]
    assert schema["required"] == ["query"]
    assert schema["additionalProperties"] is False


def test_the_unified_tool_takes_every_option() -> None:
    schema = TOOLS["websearch"].parameters()
    assert tuple(schema["properties"]) == UNIFIED_ARGUMENTS  # type: ignore[arg-type]
    assert schema["required"] == ["query"]


def test_geminisearch_is_described_as_callers_expect() -> None:
    assert TOOLS["geminisearch"].description["en"] == (
        "Performs a web search using Google Search (via the Gemini API) and returns the results. "
        "This tool is useful for finding information on the internet based on a query."
    )


@pytest.mark.parametrize("texts", [*DESCRIPTIONS.values(), *ARGUMENTS.values()])
def test_every_text_exists_in_both_languages(texts: dict[str, str]) -> None:
    assert sorted(texts) == ["de", "en"]
    assert texts["de"] != texts["en"]
    assert all(text.endswith(".") for text in texts.values())
