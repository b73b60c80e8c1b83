"""Errors: decoded in all formats, encoded in the format of OpenAI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.base import Reply
from groundwire.dialects.fields import as_object
from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    ConfigError,
    GroundwireError,
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
)
from tests.model.strategies import examples


def _decode(status: int, body: object, headers: dict[str, str] | None = None) -> UpstreamError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return DIALECT.decode_error(status, data, headers or {})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            401,
            {"error": {"message": "m", "type": "invalid_request_error", "code": "invalid_api_key"}},
            AuthRejected,
        ),
        (
            429,
            {"error": {"message": "m", "type": "insufficient_quota", "code": "insufficient_quota"}},
            QuotaExhausted,
        ),
        (429, {"error": {"message": "m", "type": "tokens", "code": "rate_limit_exceeded"}}, RateLimited),
        (404, {"error": {"message": "m", "type": "usage_limit_reached"}}, QuotaExhausted),
        (400, {"error": {"message": "m", "type": "invalid_request_error", "code": None}}, Refused),
        (
            400,
            {"error": {"message": "m", "type": "invalid_request_error", "code": "model_not_found"}},
            NotFound,
        ),
        (403, {"error": {"code": 403, "message": "m"}}, AuthRejected),
        (
            403,
            {"error": {"code": 403, "message": "m", "metadata": {"error_type": "content_policy_violation"}}},
            Refused,
        ),
        (402, {"error": {"code": 402, "message": "m"}}, QuotaExhausted),
        (502, {"error": {"code": 502, "message": "m"}}, Overloaded),
        (529, {"error": {"code": 529, "message": "m"}}, Overloaded),
        (200, {"error": {"code": 408, "message": "m"}}, TimedOut),
        (422, {"detail": "m"}, Refused),
        (400, {"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, Refused),
        (500, {"error": "m"}, Overloaded),
    ],
)
def test_each_error_has_its_class_and_message(status: int, body: object, kind: type[UpstreamError]) -> None:
    error = _decode(status, body)
    assert type(error) is kind
    assert (error.message, error.status) == ("m", status)


def test_the_message_of_the_upstream_provider_is_included() -> None:
    body = {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "wait a bit"}}}
    assert _decode(429, body).message == "Provider returned error: wait a bit"


@pytest.mark.parametrize(
    ("body", "headers", "seconds"),
    [
        ({"error": {"message": "Please try again in 1.5s."}}, {}, 1.5),
        ({"error": {"message": "Please try again in 20ms."}}, {}, 0.02),
        ({"error": {"message": "Please try again in 6m0s."}}, {}, 360),
        ({"error": {"message": "m", "resets_in_seconds": 90}}, {}, 90),
        ({"error": {"message": "Please try again in 1.5s."}}, {"retry-after": "7"}, 7),
        ({"error": {"message": "m"}}, {}, None),
    ],
)
def test_the_retry_delay_is_read(body: object, headers: dict[str, str], seconds: float | None) -> None:
    error = _decode(429, body, {**headers, "x-request-id": "r"})
    assert error.retry_after == seconds
    assert error.request_id == "r"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "HTTP status 503"),
        (b"<html>\x1b[31m\r\nblocked</html>", "<html> [31m blocked</html>"),
        (b"x" * 5000, "x" * 200),
        (b"[1, 2]", "[1, 2]"),
        (b'{"error": []}', '{"error": []}'),
        (b'{"error": {"code": ' + b"9" * 5000 + b"}}", '{"error": {"code": ' + "9" * 181),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_any_body_gives_a_short_plain_message(body: bytes, message: str) -> None:
    error = _decode(503, body)
    assert type(error) is Overloaded
    assert error.message == message


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(100, 999), st.binary(max_size=60))
def test_no_body_breaks_the_decoder(status: int, body: bytes) -> None:
    assert len(_decode(status, body).message) <= 200


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openai-chat/error-400-empty-messages", Refused),
        ("openai-chat/error-400-model-not-supported", Refused),
        ("openai-chat/error-400-unsupported-parameter", Refused),
        ("openai-chat/error-404-unknown-model", NotFound),
        ("openrouter-chat/error-400-context-length", Refused),
        ("openrouter-chat/error-401", AuthRejected),
        ("openrouter-chat/error-429-upstream", RateLimited),
    ],
)
def test_recorded_errors(recordings: Path, name: str, kind: type[UpstreamError]) -> None:
    data = (recordings / f"{name}.json").read_bytes()
    status = json.loads((recordings / f"{name}.meta.json").read_text())["status"]
    error = DIALECT.decode_error(status, data, {})
    assert type(error) is kind
    assert error.message.startswith(json.loads(data)["error"]["message"])


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (
            ClientWireError("expected a string", "$.messages[0].role"),
            400,
            "invalid_request_error",
            "invalid_request_body",
        ),
        (InvalidQuery("empty"), 400, "invalid_request_error", "invalid_query"),
        (MissingCredential("no key"), 401, "authentication_error", "missing_credential"),
        (AuthRejected("bad key"), 401, "authentication_error", "invalid_api_key"),
        (QuotaExhausted("no money"), 429, "insufficient_quota", "insufficient_quota"),
        (RateLimited("slow"), 429, "rate_limit_error", "rate_limit_exceeded"),
        (NotFound("which"), 404, "invalid_request_error", "model_not_found"),
        (Refused("no", upstream_code="content_filter"), 400, "invalid_request_error", "content_filter"),
        (Overloaded("busy"), 503, "server_error", "server_is_overloaded"),
        (ConfigError("odd"), 500, "server_error", "invalid_config"),
    ],
)
def test_errors_are_encoded_in_openais_format(
    error: GroundwireError, status: int, kind: str, code: str
) -> None:
    encoded = DIALECT.encode_error(error, Reply())
    body = as_object(encoded.body["error"])
    assert encoded.status == status
    assert (body["type"], body["code"], body["message"]) == (kind, code, error.message)
    assert body["param"] == ("messages[0].role" if isinstance(error, ClientWireError) else None)


@pytest.mark.parametrize(
    "kind", [AuthRejected, QuotaExhausted, RateLimited, NotFound, Refused, TimedOut, Unreachable, Overloaded]
)
def test_an_error_passed_on_is_still_the_same_error(kind: type[UpstreamError]) -> None:
    encoded = DIALECT.encode_error(kind("m"), Reply())
    assert type(_decode(encoded.status, encoded.body)) is kind
