"""The tools end to end: the request to a provider on loopback, and the exact result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from groundwire.client import Groundwire
from groundwire.config.load import load
from groundwire.model import (
    Citation,
    Cited,
    Evidence,
    Finished,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
)
from groundwire.providers.models import default_model
from groundwire.tools import run_tool
from tests.faces.loopback import BOUND, Loopback, loopback

FAR = 4_000_000_000_000
"""Milliseconds; an expiry in the far future."""


@pytest.fixture
def provider() -> Iterator[Loopback]:
    with loopback() as script:
        yield script


class OpenCodeUser:
    """A home directory with OpenCode's files."""

    def __init__(self, home: Path, provider: Loopback) -> None:
        self.home = home
        self.env = {
            "HOME": str(home),
            "GROUNDWIRE_GEMINI_BASE_URL": provider.address,
            "GROUNDWIRE_OPENROUTER_BASE_URL": provider.address,
            "GROUNDWIRE_OPENAI_OAUTH_BASE_URL": provider.address,
        }

    def log_in(self, **records: Mapping[str, object]) -> None:
        """Write OpenCode's credentials."""
        path = self.home / ".local/share/opencode/auth.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(records))
        path.chmod(0o600)

    def configure(self, **providers: Mapping[str, object]) -> None:
        """Write OpenCode's configuration."""
        path = self.home / ".config/opencode/opencode.json"
        path.parent.mkdir(parents=True)
        path.write_text(
            json.dumps({"provider": {name: {"options": block} for name, block in providers.items()}})
        )

    def call(self, name: str, query: str = "how many?") -> Any:
        """Run a tool and return its result."""

        async def main() -> object:
            config = load(self.env, str(self.home), str(self.home))
            async with Groundwire(config, env=self.env) as groundwire:
                return await run_tool(groundwire, name, {"query": query})

        return asyncio.run(main())


@pytest.fixture
def user(tmp_path: Path, provider: Loopback) -> OpenCodeUser:
    return OpenCodeUser(tmp_path, provider)


def gemini_body(*parts: object, **grounding: object) -> bytes:
    candidate = {
        "content": {"role": "model", "parts": list(parts)},
        "finishReason": "STOP",
        "groundingMetadata": grounding,
    }
    return json.dumps({"candidates": [candidate]}).encode()


def chunk(number: int) -> dict[str, object]:
    return {"web": {"uri": f"https://s{number}.example/", "title": f"Title {number}"}}


def support(end: int, *chunks: int, text: str = "") -> dict[str, object]:
    return {"segment": {"endIndex": end, "text": text}, "groundingChunkIndices": list(chunks)}


# Gemini


def test_the_key_of_opencode_has_precedence_over_the_gemini_variable(
    provider: Loopback, user: OpenCodeUser
) -> None:
    provider.raw = gemini_body({"text": "Yes."})
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    user.call("websearch_gemini")
    user.log_in(google={"type": "api", "key": "opencode-key-1234"})
    user.call("websearch_gemini")
    keys = [request["headers"]["x-goog-api-key"] for request in provider.requests]
    assert keys == ["variable-key-123", "opencode-key-1234"]


def test_gemini_without_a_key_is_an_error_and_nothing_is_sent(provider: Loopback, user: OpenCodeUser) -> None:
    user.log_in(google={"type": "oauth", "access": "a", "refresh": "r", "expires": FAR})
    result = user.call("websearch_gemini")
    assert result["error"]["type"] == "MISSING_GEMINI_API_KEY"
    assert "GEMINI_API_KEY" in result["error"]["message"]
    assert provider.requests == []


@pytest.mark.parametrize(
    ("block", "model"),
    [
        ({"websearch": {"model": "gemini-3-flash"}}, "gemini-3-flash"),
        ({"websearch": {"model": " "}}, default_model("gemini")),
        ({"websearch": {"model": 7}}, default_model("gemini")),
        ({}, default_model("gemini")),
    ],
)
def test_gemini_requests_have_the_configured_model_and_the_native_search(
    provider: Loopback, user: OpenCodeUser, block: dict[str, object], model: str
) -> None:
    provider.raw = gemini_body({"text": "Yes."})
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    user.configure(google=block)
    user.call("websearch_gemini")
    (request,) = provider.requests
    assert request["path"] == f"/v1beta/models/{model}:generateContent"
    assert request["headers"]["content-type"] == "application/json"
    assert request["body"] == {
        "contents": [{"role": "user", "parts": [{"text": "how many?"}]}],
        "tools": [{"googleSearch": {}}],
    }


def test_gemini_grounding_supports_become_numbered_citations(provider: Loopback, user: OpenCodeUser) -> None:
    provider.raw = gemini_body(
        {"text": "Let me think.", "thought": True},
        {"text": "Köln ist groß. "},
        {"text": "東京も。"},
        groundingChunks=[chunk(1), chunk(2)],
        groundingSupports=[
            support(16, 1, 0, 1, text="Köln ist groß."),
            {"segment": {"startIndex": 17, "endIndex": 29, "text": "東京も。"}, "groundingChunkIndices": [1]},
        ],
    )
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    assert user.call("websearch_gemini") == {
        "llmContent": 'Web search results for "how many?":\n\nKöln ist groß.[1][2] 東京も。[2]\n\n'
        "Sources:\n[1] Title 1 (https://s1.example/)\n[2] Title 2 (https://s2.example/)",
        "returnDisplay": 'Search results for "how many?" returned.',
        "sources": [chunk(1), chunk(2)],
    }


def test_gemini_grounding_chunks_are_sources_even_if_nothing_is_cited(
    provider: Loopback, user: OpenCodeUser
) -> None:
    provider.raw = gemini_body({"text": "Yes."}, groundingChunks=[chunk(1), chunk(2)])
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    assert user.call("geminisearch")["sources"] == [chunk(1), chunk(2)]


@pytest.mark.parametrize("parts", [[], [{"text": " \n"}], [{"text": "hm", "thought": True}]])
def test_an_empty_answer_of_gemini_is_reported_as_no_results(
    provider: Loopback, user: OpenCodeUser, parts: list[object]
) -> None:
    provider.raw = gemini_body(*parts)
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    assert user.call("websearch_gemini") == {
        "llmContent": 'No search results or information found for query: "how many?"',
        "returnDisplay": "No information found.",
    }


def test_a_failure_of_gemini_is_reported_with_its_details(provider: Loopback, user: OpenCodeUser) -> None:
    provider.status = 400
    provider.error_body = b'{"error": {"code": 400, "message": "model is not found", "status": "NOT_FOUND"}}'
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    result = user.call("websearch_gemini")
    assert result["error"]["type"] == "GEMINI_WEB_SEARCH_FAILED"
    assert "model is not found" in result["error"]["message"]
    assert "check the configuration" in result["error"]["message"]
    assert result["returnDisplay"] == "Gemini web search failed."
    assert (
        result["llmContent"] == f"Error: Gemini web search failed.\n\nDetails: {result['error']['message']}"
    )


async def test_cancelling_the_tool_cancels_the_request(provider: Loopback, user: OpenCodeUser) -> None:
    provider.events = (Started(), TextDelta(0, "Yes."), Finished())
    provider.stall_after(0)
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    user.log_in(
        openai={"type": "oauth", "access": "a" * 20, "refresh": "r", "expires": FAR, "accountId": "i"}
    )

    async def main() -> None:
        config = load(user.env, str(user.home), str(user.home))
        async with Groundwire(config, env=user.env) as groundwire:
            task = asyncio.create_task(run_tool(groundwire, "websearch_openai_oauth", {"query": "x"}))
            assert await asyncio.to_thread(provider.stalled.wait, BOUND)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    await main()
    assert provider.disconnected.wait(BOUND)


# ChatGPT, with the session that OpenCode or Codex CLI stores


def session(**more: object) -> dict[str, object]:
    return {
        "type": "oauth",
        "access": "session-token-123",
        "refresh": "r",
        "expires": FAR,
        "accountId": "acc",
        **more,
    }


def answer(text: str, *citations: Citation) -> tuple[Any, ...]:
    return (Started(), TextDelta(0, text), *map(Cited, citations), TextSettled(0), Finished())


def test_chatgpt_requests_use_the_stored_session(provider: Loopback, user: OpenCodeUser) -> None:
    provider.events = answer("Yes.")
    user.log_in(openai=session())
    user.configure(openai={"websearch": {"model": "openai/gpt-5.4"}})
    result = user.call("websearch_openai_oauth")
    assert result == {
        "llmContent": 'Web search results for "how many?":\n\nYes.',
        "returnDisplay": 'Search results for "how many?" returned.',
    }
    (request,) = provider.requests
    assert request["path"] == "/responses"
    assert request["headers"]["authorization"] == "Bearer session-token-123"
    assert request["headers"]["chatgpt-account-id"] == "acc"
    assert request["headers"]["content-type"] == "application/json"
    assert request["body"]["model"] == "gpt-5.4"
    assert "how many?" in json.dumps(request["body"]["input"])
    assert request["body"]["tools"] == [{"type": "web_search"}]


@pytest.mark.parametrize("block", [{}, {"websearch": {"model": ""}}, {"websearch": []}])
def test_chatgpt_has_a_default_model(
    provider: Loopback, user: OpenCodeUser, block: dict[str, object]
) -> None:
    provider.events = answer("Yes.")
    user.log_in(openai=session())
    user.configure(openai=block)
    user.call("websearch_openai_oauth")
    assert provider.requests[0]["body"]["model"].startswith("gpt-5")


@pytest.mark.parametrize("record", [None, {"type": "api", "key": "sk-0123456789"}])
def test_chatgpt_without_a_session_is_an_error_even_with_a_key(
    provider: Loopback, user: OpenCodeUser, record: dict[str, object] | None
) -> None:
    user.env["OPENAI_API_KEY"] = "sk-0123456789"
    if record:
        user.log_in(openai=record)
    result = user.call("websearch_openai_oauth")
    assert result["error"]["type"] == "MISSING_OPENAI_OAUTH_SESSION"
    assert provider.requests == []


def test_chatgpt_links_become_sources(provider: Loopback, user: OpenCodeUser) -> None:
    link = "([a.example](https://a.example/x))"
    text = f"Yes {link}."
    cited = Citation(
        Span(4, 4 + len(link)), (Evidence(Source("https://a.example/x", "A", "cited")),), "marker"
    )
    provider.events = answer(text, cited)
    user.log_in(openai=session())
    result = user.call("websearch_openai_oauth")
    assert result["sources"] == [{"web": {"title": "A", "uri": "https://a.example/x"}}]
    assert result["llmContent"].endswith("\n\nYes [1].\n\nSources:\n[1] A (https://a.example/x)")


def test_a_failure_of_chatgpt_has_its_own_code(provider: Loopback, user: OpenCodeUser) -> None:
    provider.status = 403
    provider.error_body = b'{"detail": "not allowed here"}'
    user.log_in(openai=session())
    result = user.call("websearch_openai_oauth")
    assert result["error"]["type"] == "OPENAI_OAUTH_WEB_SEARCH_FAILED"
    assert "not allowed here" in result["error"]["message"]


# OpenRouter


def openrouter_body(text: str, *annotations: object) -> bytes:
    content = {"type": "output_text", "text": text, "annotations": list(annotations)}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [content]}
    return json.dumps({"id": "r", "object": "response", "status": "completed", "output": [message]}).encode()


def url_citation(url: str, start: int, end: int, **more: object) -> dict[str, object]:
    return {"type": "url_citation", "url": url, "start_index": start, "end_index": end, **more}


def test_openrouter_requests_have_its_key_and_its_search(provider: Loopback, user: OpenCodeUser) -> None:
    provider.raw = openrouter_body("Yes.")
    user.env["OPENROUTER_API_KEY"] = "or-key-0123456789"
    user.call("websearch_openrouter")
    (request,) = provider.requests
    assert request["path"] == "/responses"
    assert request["headers"]["authorization"] == "Bearer or-key-0123456789"
    assert request["headers"]["content-type"] == "application/json"
    assert request["body"]["model"] == default_model("openrouter")
    assert "how many?" in json.dumps(request["body"]["input"])
    assert [tool["type"] for tool in request["body"]["tools"]] == ["openrouter:web_search"]


def test_openrouter_without_a_key_is_an_error_and_nothing_is_sent(
    provider: Loopback, user: OpenCodeUser
) -> None:
    assert user.call("websearch_openrouter")["error"]["type"] == "MISSING_OPENROUTER_API_KEY"
    assert provider.requests == []


def test_openrouter_uses_the_key_of_opencode(provider: Loopback, user: OpenCodeUser) -> None:
    provider.raw = openrouter_body("Yes.")
    user.log_in(openrouter={"type": "api", "key": "opencode-key-1234"})
    user.call("websearch_openrouter")
    assert provider.requests[0]["headers"]["authorization"] == "Bearer opencode-key-1234"


def test_openrouter_annotations_become_numbers_and_each_page_has_one(
    provider: Loopback, user: OpenCodeUser
) -> None:
    text = "東京は大きい。 Yes it is."
    provider.raw = openrouter_body(
        text,
        url_citation("https://a.example/x?utm_source=openai", 0, 7, title="A"),
        url_citation("https://b.example/", 8, 18),
        url_citation("https://www.a.example/x", 8, 18, title="A again"),
        {"type": "file_citation", "file_id": "f"},
    )
    user.env["OPENROUTER_API_KEY"] = "or-key-0123456789"
    result = user.call("websearch_openrouter")
    assert result["llmContent"].partition("\n\nSources:\n") == (
        'Web search results for "how many?":\n\n東京は大きい。[1] Yes it is.[1][2]',
        "\n\nSources:\n",
        "[1] A (https://a.example/x?utm_source=openai)\n[2] b.example (https://b.example/)\n[3] f",
    )
    assert result["sources"] == [
        {"web": {"title": "A", "uri": "https://a.example/x?utm_source=openai"}},
        {"web": {"uri": "https://b.example/"}},
        {"web": {"title": "f"}},
    ]
    assert result["returnDisplay"] == 'Search results for "how many?" returned.'


def test_a_failure_of_openrouter_contains_its_message(provider: Loopback, user: OpenCodeUser) -> None:
    provider.status = 402
    provider.error_body = b'{"error": {"code": 402, "message": "Insufficient credits"}}'
    user.env["OPENROUTER_API_KEY"] = "or-key-0123456789"
    result = user.call("websearch_openrouter")
    assert result["error"]["type"] == "OPENROUTER_WEB_SEARCH_FAILED"
    assert "Insufficient credits" in result["error"]["message"]


# All providers


@pytest.mark.parametrize("name", ["websearch_gemini", "websearch_openrouter", "geminisearch"])
def test_an_unreachable_provider_is_a_failure_of_its_tool(user: OpenCodeUser, name: str) -> None:
    user.env |= {
        "GEMINI_API_KEY": "variable-key-123",
        "OPENROUTER_API_KEY": "or-key-0123456789",
        "GROUNDWIRE_GEMINI_BASE_URL": "http://127.0.0.1:9",
        "GROUNDWIRE_OPENROUTER_BASE_URL": "http://127.0.0.1:9",
    }
    result = user.call(name)
    assert result["error"]["type"].endswith("_WEB_SEARCH_FAILED")


@pytest.mark.parametrize("query", ['say "hi"', "two\nlines", "emoji 🏙️ und Umlaute äöü"])
def test_the_result_repeats_the_query_unchanged(provider: Loopback, user: OpenCodeUser, query: str) -> None:
    provider.raw = gemini_body({"text": "Yes."})
    user.env["GEMINI_API_KEY"] = "variable-key-123"
    result = user.call("websearch_gemini", query)
    assert result["llmContent"] == f'Web search results for "{query}":\n\nYes.'
    assert result["returnDisplay"] == f'Search results for "{query}" returned.'
