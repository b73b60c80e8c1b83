"""Errors as results."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.websearch import DIALECT
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    GroundwireError,
    InvalidArguments,
    InvalidQuery,
    MissingCredential,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    UpstreamError,
)
from groundwire.model import Answer, Failed, JsonObject, assemble


def of_tool(error: GroundwireError, code: str) -> GroundwireError:
    error.code = code
    return error


def body_of(error: GroundwireError) -> JsonObject:
    return DIALECT.encode_error(error, Reply()).body


@pytest.mark.parametrize(
    ("code", "display"),
    [
        ("MISSING_GEMINI_API_KEY", "Gemini API key is missing."),
        ("MISSING_OPENROUTER_API_KEY", "OpenRouter API key is missing."),
        ("MISSING_OPENAI_OAUTH_SESSION", "OpenAI OAuth session is missing."),
        ("GEMINI_WEB_SEARCH_FAILED", "Gemini web search failed."),
        ("OPENAI_OAUTH_WEB_SEARCH_FAILED", "OpenAI (OAuth) web search failed."),
        ("OPENROUTER_WEB_SEARCH_FAILED", "OpenRouter web search failed."),
        ("NEVER_HEARD_OF", "Web search failed."),
    ],
)
def test_every_code_has_a_display_text(code: str, display: str) -> None:
    assert body_of(of_tool(UpstreamError("HTTP 500"), code)) == {
        "llmContent": f"Error: {display}\n\nDetails: HTTP 500",
        "returnDisplay": display,
        "error": {"message": "HTTP 500", "type": code},
    }


@pytest.mark.parametrize(
    "error",
    [
        InvalidQuery("no query"),
        MissingCredential("no key"),
        AuthRejected("bad key"),
        RateLimited("slow down"),
        QuotaExhausted("none left"),
        UpstreamError("odd"),
    ],
)
def test_known_errors_come_back_as_themselves(error: GroundwireError) -> None:
    body = DIALECT.encode_response(Answer(error=error), Reply())
    assert DIALECT.decode_response(body)[-1] == Failed(error)


@pytest.mark.parametrize(
    "error",
    [
        of_tool(UpstreamError("HTTP 500"), "GEMINI_WEB_SEARCH_FAILED"),
        InvalidArguments("odd"),
        ClientWireError("odd", "$.x"),
    ],
)
def test_any_error_is_encoded_again_as_it_was(error: GroundwireError) -> None:
    body = DIALECT.encode_response(Answer(error=error), Reply())
    after = assemble(DIALECT.decode_response(body))
    assert after.error is not None
    assert DIALECT.encode_response(after, Reply()) == body


def test_the_status_is_the_errors_own() -> None:
    assert DIALECT.encode_error(RateLimited("x"), Reply()).status == 429
    assert DIALECT.encode_error(InvalidQuery("x"), Reply()).status == 400


def test_an_answer_with_an_error_status_is_read() -> None:
    body = json.dumps(body_of(RateLimited("slow down"))).encode()
    error = DIALECT.decode_error(429, body, {"retry-after": "2", "x-request-id": "r"})
    assert error == RateLimited(
        "slow down", status=429, upstream_code=RateLimited.code, retry_after=2.0, request_id="r"
    )
    tool = json.dumps(body_of(of_tool(UpstreamError("x"), "GEMINI_WEB_SEARCH_FAILED"))).encode()
    assert DIALECT.decode_error(400, tool, {}) == Refused(
        "x", status=400, upstream_code="GEMINI_WEB_SEARCH_FAILED"
    )


@pytest.mark.parametrize(
    "body", [b"", b"<html>\x1b[0m</html>", b"[]", b'{"error": 3}', b"[" * 100_000, b"9" * 5000]
)
def test_any_body_is_an_error(body: bytes) -> None:
    error = DIALECT.decode_error(502, body, {})
    assert isinstance(error, Overloaded)
    assert error.message.isprintable()
    assert 0 < len(error.message) <= 200
