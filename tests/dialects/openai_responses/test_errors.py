"""Errors: decoded in all formats, encoded in the format of OpenAI."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    ConfigError,
    GroundwireError,
    Interrupted,
    InvalidQuery,
    MissingCredential,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    TimedOut,
    Unreachable,
    UpstreamError,
    UpstreamWireError,
)
from groundwire.model import JsonObject
from tests.dialects.openai_responses.wire import REPLY


def decoded(status: int, body: JsonObject | bytes, **headers: str) -> UpstreamError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return DIALECT.decode_error(
        status, data, {key.replace("_", "-"): value for key, value in headers.items()}
    )


def openai(code: str | None, kind: str = "invalid_request_error", message: str = "No.") -> JsonObject:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, openai("invalid_api_key"), AuthRejected),
        (400, openai("model_not_found"), NotFound),
        (404, openai("model_not_found"), NotFound),
        (400, openai("context_length_exceeded"), Refused),
        (400, openai("unsupported_parameter"), Refused),
        (400, openai(None), Refused),
        (429, openai("insufficient_quota", "insufficient_quota"), QuotaExhausted),
        (429, openai("rate_limit_exceeded", "tokens"), RateLimited),
        (429, openai("slow_down"), Overloaded),
        (503, openai("server_is_overloaded", "server_error"), Overloaded),
        (500, openai(None, "server_error"), Overloaded),
        (400, {"detail": "Stream must be set to true"}, Refused),
        (401, {"detail": "Unauthorized"}, AuthRejected),
        (404, {"error": {"type": "usage_limit_reached", "message": "No."}}, QuotaExhausted),
        (429, {"error": {"type": "usage_limit_reached", "message": "No."}}, QuotaExhausted),
        (402, {"error": {"code": 402, "message": "No credits"}}, QuotaExhausted),
        (429, {"error": {"code": 429, "message": "No.", "metadata": {"raw": "x"}}}, RateLimited),
        (502, {"error": {"code": 502, "metadata": {"error_type": "provider_unavailable"}}}, Overloaded),
        (408, {"error": {"code": 408, "message": "No."}}, TimedOut),
        (403, b"<html><title>Attention Required! | Cloudflare</title></html>", Refused),
        (502, b"", Overloaded),
        (418, b"[1]", Refused),
    ],
)
def test_an_error_is_classified_by_its_code_and_else_by_its_status(
    status: int, body: JsonObject | bytes, expected: type[UpstreamError]
) -> None:
    error = decoded(status, body)
    assert type(error) is expected
    assert error.status == status
    assert error.message


def test_messages_codes_and_request_ids_are_kept() -> None:
    error = decoded(400, openai("unknown_parameter", message="What?"), x_request_id="req_1")
    assert (error.message, error.upstream_code, error.request_id) == ("What?", "unknown_parameter", "req_1")
    assert decoded(400, {"detail": [{"msg": "field required"}]}).message == "field required"
    assert decoded(401, openai(None), x_oai_request_id="oai_1").request_id == "oai_1"


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 6m0s. Visit", 360.0),
        ("Try again in 1h2m3s", 3723.0),
        ("Try again tomorrow.", None),
    ],
)
def test_the_retry_delay_may_be_in_the_message(message: str, seconds: float | None) -> None:
    assert decoded(429, openai("rate_limit_exceeded", message=message)).retry_after == seconds


def test_the_retry_delay_of_the_headers_takes_precedence() -> None:
    body = openai("rate_limit_exceeded", message="Please try again in 9s.")
    assert decoded(429, body, retry_after="3").retry_after == 3.0
    assert decoded(429, body, retry_after_ms="250").retry_after == 0.25
    reset: JsonObject = {
        "error": {"type": "usage_limit_reached", "message": "No.", "resets_in_seconds": 3600}
    }
    assert decoded(429, reset).retry_after == 3600.0


def test_a_page_becomes_a_short_plain_message() -> None:
    error = decoded(500, b"<html>\x00\x1b[31m\n" + b"x" * 5000)
    assert len(error.message) <= 200
    assert error.message.isprintable()


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (InvalidQuery("Ask something."), 400, "invalid_request_error", None),
        (MissingCredential("No key."), 401, "authentication_error", "invalid_api_key"),
        (AuthRejected("No."), 401, "authentication_error", "invalid_api_key"),
        (QuotaExhausted("No."), 429, "insufficient_quota", "insufficient_quota"),
        (RateLimited("No."), 429, "requests", "rate_limit_exceeded"),
        (Overloaded("No."), 503, "server_error", "server_is_overloaded"),
        (NotFound("No."), 404, "invalid_request_error", "model_not_found"),
        (Refused("No.", upstream_code="bio_policy"), 400, "invalid_request_error", "bio_policy"),
        (ConfigError("No."), 500, "server_error", "server_error"),
        (UpstreamWireError("No."), 502, "server_error", "server_error"),
    ],
)
def test_our_errors_are_encoded_with_openais_codes(
    error: GroundwireError, status: int, kind: str, code: str | None
) -> None:
    encoded = DIALECT.encode_error(error, REPLY)
    assert encoded.status == status
    assert encoded.body == {"error": {"message": error.message, "type": kind, "param": None, "code": code}}


def test_a_callers_mistake_names_the_parameter() -> None:
    encoded = DIALECT.encode_error(ClientWireError("expected a string", "$.input[0].text"), REPLY)
    assert encoded.body["error"] == {
        "message": "$.input[0].text: expected a string",
        "type": "invalid_request_error",
        "param": "input[0].text",
        "code": None,
    }


@pytest.mark.parametrize(
    "error",
    [
        AuthRejected("No."),
        QuotaExhausted("No."),
        RateLimited("No."),
        Overloaded("No."),
        Refused("No."),
        NotFound("No."),
        TimedOut("No."),
        Unreachable("No."),
        Interrupted("No."),
    ],
)
def test_our_own_encoded_error_is_decoded_as_the_same_error(error: UpstreamError) -> None:
    status, body = DIALECT.encode_error(error, REPLY)
    assert type(DIALECT.decode_error(status, json.dumps(body).encode(), {})) is type(error)
