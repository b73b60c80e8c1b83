"""Retry delays in headers, and the error types that clients of each vendor expect."""

from __future__ import annotations

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.fields import as_object
from groundwire.dialects.registry import dialect
from groundwire.errors import TurnedAway


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_delays_are_decoded_and_invalid_ones_ignored(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({}, ""),
        ({"x-request-id": "a"}, "a"),
        ({"request-id": "b"}, "b"),
        ({"x-request-id": "a", "request-id": "b"}, "a"),
    ],
)
def test_the_request_id_is_the_one_of_the_provider(headers: dict[str, str], name: str) -> None:
    assert request_id(headers) == name


OPENAI = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    408: "invalid_request_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    421: "invalid_request_error",
    426: "invalid_request_error",
    431: "invalid_request_error",
    500: "server_error",
    503: "server_error",
}
EXPECTED: dict[tuple[str, str], dict[int, str]] = {
    ("anthropic_messages", "type"): {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        405: "invalid_request_error",
        413: "request_too_large",
        415: "invalid_request_error",
        421: "invalid_request_error",
        426: "invalid_request_error",
        429: "rate_limit_error",
        500: "api_error",
        503: "overloaded_error",
    },
    ("openai_responses", "type"): {**OPENAI, 429: "requests"},
    ("openai_chat", "type"): {**OPENAI, 429: "rate_limit_error"},
    ("gemini", "status"): {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        405: "FAILED_PRECONDITION",
        413: "INVALID_ARGUMENT",
        421: "FAILED_PRECONDITION",
        429: "RESOURCE_EXHAUSTED",
        503: "UNAVAILABLE",
    },
    ("gemini_interactions", "code"): {
        400: "invalid_request",
        401: "authentication",
        403: "permission_denied",
        404: "not_found",
        405: "invalid_request",
        413: "invalid_request",
        421: "invalid_request",
        429: "rate_limit_exceeded",
        500: "api_error",
        503: "service_unavailable",
    },
}


@pytest.mark.parametrize(
    ("name", "field", "status", "expected"),
    [
        (name, field, status, type_name)
        for (name, field), types in EXPECTED.items()
        for status, type_name in types.items()
    ],
)
def test_a_status_has_the_type_of_its_vendor(name: str, field: str, status: int, expected: str) -> None:
    found = dialect(name).encode_error(TurnedAway("no", status=status), Reply(id="1"))
    assert as_object(found.body.get("error"))[field] == expected
