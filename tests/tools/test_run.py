"""Running a tool: the exact result format, including all failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from groundwire.config.schema import Config
from groundwire.errors import (
    AllTargetsFailed,
    AuthRejected,
    ConfigError,
    GroundwireError,
    Interrupted,
    MissingCredential,
    Unreachable,
)
from groundwire.model import (
    NOTHING_FOUND,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    FinishReason,
    JsonObject,
    Location,
    SearchOptions,
    Source,
    Span,
    Started,
    TextDelta,
    Warned,
)
from groundwire.tools import TOOLS, run_tool
from tests.faces.fakes import LATE, FakeClient

PROVIDER_TOOLS = [name for name in TOOLS if name != "websearch"]


def call(name: str, arguments: object, events: Sequence[Event | GroundwireError] = LATE) -> JsonObject:
    return asyncio.run(run_tool(FakeClient(events), name, arguments, lambda: 1_800_000_000.0))


def error_type(result: JsonObject) -> object:
    error = result["error"]
    assert isinstance(error, dict)
    return error["type"]


@pytest.mark.parametrize("name", TOOLS)
def test_an_answer_has_numbers_and_sources(name: str) -> None:
    assert call(name, {"query": "how many?"}) == {
        "llmContent": 'Web search results for "how many?":\n\n'
        "Köln hat 1,1 Mio. Einwohner 🏙️[1][2]. Es liegt am Rhein.[2]\n\n"
        "Sources:\n[1] Köln in Zahlen (https://stadt.example/koeln)\n"
        "[2] Großstädte (https://statistik.example/staedte)",
        "returnDisplay": 'Search results for "how many?" returned.',
        "sources": [
            {"web": {"title": "Köln in Zahlen", "uri": "https://stadt.example/koeln"}},
            {"web": {"title": "Großstädte", "uri": "https://statistik.example/staedte"}},
        ],
    }


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_answer_is_reported_as_nothing_found_without_sources(name: str, text: str) -> None:
    assert call(name, {"query": "x"}, (Started(), TextDelta(0, text), Finished())) == {
        "llmContent": 'No search results or information found for query: "x"',
        "returnDisplay": "No information found.",
    }


@pytest.mark.parametrize("name", TOOLS)
def test_an_engine_without_results_returns_the_no_results_message_of_the_contract(name: str) -> None:
    message = (Started(), TextDelta(2, "Nothing was found for “x”."), Finished("stop", NOTHING_FOUND))
    assert call(name, {"query": "x"}, message) == {
        "llmContent": 'No search results or information found for query: "x"',
        "returnDisplay": "No information found.",
    }


@pytest.mark.parametrize("reason", ["filtered", "refused"])
def test_a_blocked_query_is_reported_as_a_failure(reason: FinishReason) -> None:
    result = call("geminisearch", {"query": "x"}, (Started(), Finished(reason, "PROHIBITED_CONTENT")))
    assert result["error"] == {
        "message": "The provider blocked the query or its answer (PROHIBITED_CONTENT). "
        "Rephrase the question, or choose another provider.",
        "type": "GEMINI_WEB_SEARCH_FAILED",
    }


def test_an_answer_without_sources_has_none() -> None:
    result = call("websearch_openai_oauth", {"query": "x"}, (Started(), TextDelta(0, "Yes."), Finished()))
    assert result == {
        "llmContent": 'Web search results for "x":\n\nYes.',
        "returnDisplay": 'Search results for "x" returned.',
    }


@pytest.mark.parametrize("name", PROVIDER_TOOLS)
def test_an_extra_argument_is_refused_by_name(name: str) -> None:
    display = f"{name} only accepts a single 'query' field."
    message = "Unknown argument(s): foo, only 'query' supported."
    assert call(name, {"query": "x", "foo": 1}) == {
        "llmContent": f"Error: {display}\n\nDetails: {message}",
        "returnDisplay": display,
        "error": {"message": message, "type": "INVALID_TOOL_ARGUMENTS"},
    }


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("arguments", [{}, {"query": ""}, {"query": " \n\t"}, {"query": None}])
async def test_a_blank_query_is_refused_without_a_request(name: str, arguments: dict[str, object]) -> None:
    client = FakeClient(LATE)
    result = await run_tool(client, name, arguments)
    assert error_type(result) == "INVALID_QUERY"
    assert client.requests == []


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("arguments", [None, "x", ["x"], 7])
def test_arguments_that_are_not_an_object_are_refused(name: str, arguments: object) -> None:
    assert error_type(call(name, arguments)) == "INVALID_TOOL_ARGUMENTS"


@pytest.mark.parametrize("query", [7, ["x"], {"a": 1}])
def test_a_query_that_is_not_a_string_is_refused(query: object) -> None:
    assert error_type(call("websearch_gemini", {"query": query})) == "INVALID_TOOL_ARGUMENTS"


async def test_a_query_is_trimmed() -> None:
    client = FakeClient(LATE)
    await run_tool(client, "websearch_gemini", {"query": "  x \n"})
    assert client.requests[0][0].query == "x"


def test_an_unknown_tool_is_refused() -> None:
    assert error_type(call("websearch_bing", {"query": "x"})) == "INVALID_TOOL_ARGUMENTS"


@pytest.mark.parametrize("name", PROVIDER_TOOLS)
@pytest.mark.parametrize(
    "error",
    [
        Unreachable("no route"),
        AuthRejected("bad key"),
        AllTargetsFailed((("a", Unreachable("x")),)),
        ConfigError("x"),
    ],
)
def test_a_failure_carries_the_code_of_its_tool(name: str, error: GroundwireError) -> None:
    message = f"{error.message}. Try again later, or check the configuration: groundwire doctor"
    result = call(name, {"query": "x"}, [error])
    assert result["error"] == {"message": message, "type": TOOLS[name].failed}
    assert result["llmContent"] == f"Error: {result['returnDisplay']}\n\nDetails: {message}"
    assert str(result["returnDisplay"]).endswith("web search failed.")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [("no route", "no route. Try"), ("no route.", "no route. Try"), ("no network?", "no network? Try")],
)
def test_advice_follows_a_failure_as_a_separate_sentence(message: str, sentence: str) -> None:
    result = call("websearch_web", {"query": "x"}, [Unreachable(message)])
    assert str(result["llmContent"]).partition("Details: ")[2].startswith(sentence)


def test_a_missing_key_keeps_its_own_code() -> None:
    error = MissingCredential("no key")
    error.code = "MISSING_OPENROUTER_API_KEY"
    result = call("websearch_openrouter", {"query": "x"}, [error])
    assert error_type(result) == "MISSING_OPENROUTER_API_KEY"
    assert result["returnDisplay"] == "OpenRouter API key is missing."


def test_an_interrupted_answer_is_a_failure_and_keeps_its_partial_text() -> None:
    events = (*LATE[:6], Failed(Interrupted("cut")))
    result = call("websearch_gemini", {"query": "x"}, events)
    assert error_type(result) == "GEMINI_WEB_SEARCH_FAILED"
    extension = result["groundwire"]
    assert isinstance(extension, dict)
    assert isinstance(extension["partial"], dict)
    assert "Köln hat" in str(extension["partial"]["llmContent"])


def test_warnings_are_in_the_extension_field() -> None:
    result = call(
        "websearch", {"query": "x", "max_uses": 2}, (Warned("option_ignored", "no max_uses"), *LATE)
    )
    assert result["groundwire"] == {
        "version": 1,
        "warnings": [{"code": "option_ignored", "message": "no max_uses"}],
    }


async def test_the_unified_tool_uses_the_named_provider_and_model() -> None:
    client = FakeClient(LATE)
    await run_tool(client, "websearch", {"query": "x", "provider": "anthropic", "model": "m"})
    await run_tool(client, "websearch", {"query": "x", "provider": None, "model": ""})
    assert [(provider, model) for _, provider, model in client.requests] == [("anthropic", "m"), ("auto", "")]


def test_a_failure_of_the_unified_tool_has_the_code_of_its_provider() -> None:
    failure = [Unreachable("x")]
    assert error_type(call("websearch", {"query": "x", "provider": "anthropic"}, failure)) == (
        "ANTHROPIC_WEB_SEARCH_FAILED"
    )
    assert error_type(call("websearch", {"query": "x"}, [Unreachable("x")])) == "WEB_SEARCH_FAILED"


def test_an_unknown_provider_is_refused_with_a_list_of_known_ones() -> None:
    result = call("websearch", {"query": "x", "provider": "bing"})
    assert error_type(result) == "INVALID_TOOL_ARGUMENTS"
    assert "there are gemini, anthropic, openai" in str(result["llmContent"])


async def test_options_of_the_unified_tool_override_the_configured_ones() -> None:
    client = FakeClient(
        LATE, Config(search=SearchOptions(blocked_domains=("spam.example",), language="de", max_uses=9))
    )
    arguments = {
        "query": "x",
        "allowed_domains": ["a.com"],
        "country": "DE",
        "max_uses": 2,
        "live": False,
        "context_size": "low",
    }
    await run_tool(client, "websearch", arguments)
    assert client.requests[0][0].search == SearchOptions(
        allowed_domains=("a.com",),
        blocked_domains=("spam.example",),
        location=Location("DE"),
        language="de",
        max_uses=2,
        context_size="low",
        live=False,
    )


@pytest.mark.parametrize("name", PROVIDER_TOOLS)
async def test_a_provider_tool_keeps_the_configured_restrictions(name: str) -> None:
    options = SearchOptions(blocked_domains=("spam.example",))
    client = FakeClient(LATE, Config(search=options))
    await run_tool(client, name, {"query": "x"})
    assert client.requests[0][0].search == options


@pytest.mark.parametrize(
    ("given", "since", "until"),
    [
        ({"since": "7d"}, "2027-01-08T08:00:00Z", "2027-01-15T08:00:00Z"),
        ({"since": "2026-01-01", "until": "2026-01-31"}, "2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z"),
        ({"until": "2026-01-31"}, "", "2026-01-31T23:59:59Z"),
    ],
)
def test_times_are_made_absolute(given: dict[str, str], since: str, until: str) -> None:
    client = FakeClient(LATE)
    asyncio.run(run_tool(client, "websearch", {"query": "x", **given}, lambda: 1_800_000_000.0))
    search = client.requests[0][0].search
    assert search is not None
    assert (search.since, search.until) == (since, until)


def test_an_invalid_time_is_refused() -> None:
    assert error_type(call("websearch", {"query": "x", "since": "long ago"})) == "INVALID_TOOL_ARGUMENTS"


def test_a_source_without_a_title_has_none() -> None:
    source = Source("https://a.example/x", "", "cited")
    events = (Started(), TextDelta(0, "Yes."), Cited(Citation(Span(0, 4), (Evidence(source),))), Finished())
    result = call("websearch_openrouter", {"query": "x"}, events)
    assert result["sources"] == [{"web": {"uri": "https://a.example/x"}}]
    assert str(result["llmContent"]).endswith("Yes.[1]\n\nSources:\n[1] a.example (https://a.example/x)")
