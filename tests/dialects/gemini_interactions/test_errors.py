"""Errors of the Interactions API, in both of its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini_interactions import DIALECT
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
    UpstreamError,
)
from groundwire.model import JsonObject


def failed(status: int, body: JsonObject) -> UpstreamError:
    return DIALECT.decode_error(status, json.dumps(body).encode(), {})


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_request", Refused),
        (400, "parameter_unknown", Refused),
        (401, "authentication", AuthRejected),
        (402, "payment_required", QuotaExhausted),
        (403, "permission_denied", AuthRejected),
        (404, "model_not_found", NotFound),
        (409, "aborted", Overloaded),
        (429, "rate_limit_exceeded", RateLimited),
        (429, "quota_exceeded", QuotaExhausted),
        (499, "cancelled", Interrupted),
        (500, "api_error", Overloaded),
        (503, "service_unavailable", Overloaded),
        (504, "deadline_exceeded", TimedOut),
        (400, "safety", Refused),
        (418, "teapot", Refused),
        (500, "teapot", Overloaded),
    ],
)
def test_each_code_has_an_error_class(status: int, code: str, kind: type[UpstreamError]) -> None:
    error = failed(status, {"error": {"code": code, "message": "No."}})
    assert type(error) is kind
    assert (error.message, error.status, error.upstream_code) == ("No.", status, code)


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("error-400-api-key-invalid.json", 400, AuthRejected),
        ("error-404-model.json", 404, NotFound),
        ("error-429-vercel.json", 429, RateLimited),
        ("error-400-vertex-context.json", 400, Refused),
    ],
)
def test_recorded_errors_of_the_older_form_are_read(
    recordings: Path, name: str, status: int, kind: type[UpstreamError]
) -> None:
    body = (recordings / "gemini" / name).read_bytes()
    error = DIALECT.decode_error(status, body, {})
    document = json.loads(body)
    document = document[0] if isinstance(document, list) else document
    assert type(error) is kind
    assert error.message == document["error"]["message"]


def test_the_retry_delay_is_read_from_the_body() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}
    error: JsonObject = {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "x",
        "details": [dict(detail)],
    }
    assert failed(429, {"error": error}).retry_after == 34.4
    bare: JsonObject = {"code": "rate_limit_exceeded", "message": "Please retry in 48.9s."}
    assert failed(429, {"error": bare}).retry_after == 48.9


def test_headers_take_precedence_over_the_body() -> None:
    body = b'{"error": {"code": "rate_limit_exceeded", "message": "Please retry in 48.9s."}}'
    error = DIALECT.decode_error(429, body, {"retry-after": "3", "x-request-id": "r1"})
    assert (error.retry_after, error.request_id) == (3.0, "r1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>\x00Bad gateway</html>",
        b"[]",
        b"null",
        b'{"error": "no"}',
        b'{"error": {"code": ' + b"9" * 5000 + b"}}",
        b'{"error": {"code": [], "message": {}, "details": 3}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_any_body_is_an_error(body: bytes) -> None:
    error = DIALECT.decode_error(502, body, {})
    assert isinstance(error, Overloaded)
    assert error.status == 502
    assert len(error.message) <= 200
    assert error.message.isprintable()
    assert error.message


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (AuthRejected("x"), 401, "authentication"),
        (MissingCredential("x"), 401, "authentication"),
        (QuotaExhausted("x"), 429, "quota_exceeded"),
        (RateLimited("x"), 429, "rate_limit_exceeded"),
        (Overloaded("x"), 503, "service_unavailable"),
        (NotFound("x"), 404, "not_found"),
        (TimedOut("x"), 504, "deadline_exceeded"),
        (InvalidQuery("x"), 400, "invalid_request"),
        (ClientWireError("x", "$.a"), 400, "invalid_request"),
        (ConfigError("x"), 500, "api_error"),
        (Interrupted("x"), 502, "api_error"),
    ],
)
def test_every_error_has_a_code(error: GroundwireError, status: int, code: str) -> None:
    assert DIALECT.encode_error(error, Reply()) == (
        status,
        {"error": {"code": code, "message": error.message}},
    )
