"""Token counting by the provider: the body of the client is sent, and the number returned."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import AuthRejected, UpstreamWireError
from groundwire.model import Json, Request, Wire
from groundwire.model.value import replace
from groundwire.providers import anthropic, gemini, openai
from groundwire.providers.count_tokens import count_tokens
from groundwire.providers.spec import ProviderSpec
from groundwire.testing.script import ScriptedResponse, json_response
from groundwire.testing.upstream import Received, Upstream
from groundwire.transport.http import Http

pytestmark = pytest.mark.server

KEY = "key-0123456789-canary"
CLAUDE: dict[str, Any] = {
    "model": "claude-x",
    "messages": [{"role": "user", "content": "q?"}],
    "new_field": 1,
}
CONTENTS: dict[str, Any] = {"contents": [{"parts": [{"text": "q?"}]}]}


def _request(dialect: str, body: dict[str, Json], model: str) -> Request:
    headers = (("anthropic-beta", "some-beta"), ("authorization", "Bearer theirs"), ("x-api-key", "theirs"))
    return Request((), model, wire=Wire(dialect, body, json.dumps(body).encode(), headers))


def _count(
    row: ProviderSpec, request: Request, *responses: ScriptedResponse
) -> tuple[int | None, list[Received]]:
    async def run() -> tuple[int | None, list[Received]]:
        redactor, credential = Redactor(), Credential(Secret(KEY), "api", "test")
        redactor.add_credential(credential)
        async with Upstream(responses) as upstream:
            http = Http({})
            try:
                there = replace(row, base_url=upstream.url)
                return await count_tokens(there, http, credential, redactor, request), upstream.requests
            finally:
                await http.aclose()

    return asyncio.run(run())


def test_anthropic_counts_the_body_of_its_client() -> None:
    request = _request("anthropic_messages", CLAUDE, "claude-y")
    count, received = _count(anthropic.ANTHROPIC, request, json_response({"input_tokens": 42}))
    assert count == 42
    assert received[0].path == "/v1/messages/count_tokens"
    assert json.loads(received[0].body) == {**CLAUDE, "model": "claude-y"}
    assert received[0].headers["x-api-key"] == KEY
    assert received[0].headers["anthropic-beta"] == "some-beta"
    assert "theirs" not in str(received[0].headers)


def test_gemini_counts_the_body_of_its_client() -> None:
    request = _request("gemini", CONTENTS, "gemini-x")
    count, received = _count(gemini.GEMINI, request, json_response({"totalTokens": 7}))
    assert count == 7
    assert received[0].path == "/v1beta/models/gemini-x:countTokens"
    assert json.loads(received[0].body) == CONTENTS
    assert received[0].headers["x-goog-api-key"] == KEY


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_the_endpoint_has_not_counted(status: int) -> None:
    request = _request("anthropic_messages", CLAUDE, "claude-y")
    assert _count(anthropic.ANTHROPIC, request, json_response({}, status))[0] is None


@pytest.mark.parametrize(
    ("row", "request_"),
    [
        (gemini.GEMINI, _request("anthropic_messages", CLAUDE, "x")),
        (openai.OPENAI, _request("openai_responses", {"input": "q?"}, "x")),
        (anthropic.ANTHROPIC, _request("anthropic_messages", {**CLAUDE, "system": "gw1.ours"}, "x")),
        (anthropic.ANTHROPIC, Request(())),
    ],
    ids=["another dialect", "no such endpoint", "blocks of ours", "no body"],
)
def test_a_provider_that_cannot_count_gets_no_request(row: ProviderSpec, request_: Request) -> None:
    count, received = _count(row, request_, json_response({"input_tokens": 42}))
    assert (count, received) == (None, [])


def test_a_refusal_is_reported_without_the_key() -> None:
    body: Json = {"type": "error", "error": {"type": "authentication_error", "message": f"bad key {KEY}"}}
    with pytest.raises(AuthRejected, match="bad key") as caught:
        _count(anthropic.ANTHROPIC, _request("anthropic_messages", CLAUDE, "x"), json_response(body, 401))
    assert KEY not in str(caught.value)


def test_an_answer_without_a_number_is_none() -> None:
    with pytest.raises(UpstreamWireError, match="no token count"):
        _count(gemini.GEMINI, _request("gemini", CONTENTS, "x"), json_response({"total": 1}))
