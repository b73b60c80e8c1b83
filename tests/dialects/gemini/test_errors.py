"""Google's error forms, and errors encoded in Google's shape."""

from __future__ import annotations

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.dialects.json import dump_json
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
from groundwire.model import Json, JsonObject
from tests.dialects.gemini.bodies import REPLY, at


def error(status: int, name: str = "", *details: Json, message: str = "no") -> bytes:
    body: JsonObject = {"code": status, "message": message, "status": name, "details": [*details]}
    return dump_json({"error": body}).encode()


def read(status: int, body: bytes, **headers: str) -> UpstreamError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return DIALECT.decode_error(status, body, named)


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (400, "INVALID_ARGUMENT", Refused),
        (400, "FAILED_PRECONDITION", Refused),
        (401, "UNAUTHENTICATED", AuthRejected),
        (403, "PERMISSION_DENIED", AuthRejected),
        (404, "NOT_FOUND", NotFound),
        (429, "RESOURCE_EXHAUSTED", RateLimited),
        (500, "INTERNAL", Overloaded),
        (503, "UNAVAILABLE", Overloaded),
        (504, "DEADLINE_EXCEEDED", TimedOut),
        (418, "TEAPOT", Refused),
        (599, "", Overloaded),
    ],
)
def test_the_status_decides_the_class_of_the_error(status: int, name: str, kind: type) -> None:
    found = read(status, error(status, name), x_request_id="q7")
    assert type(found) is kind
    assert (found.message, found.status, found.request_id) == ("no", status, "q7")
    assert found.upstream_code == (name or str(status))


def test_a_bad_key_is_refused_though_the_status_is_400() -> None:
    found = read(400, error(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}))
    assert type(found) is AuthRejected
    assert found.upstream_code == "API_KEY_INVALID"


@pytest.mark.parametrize(("delay", "seconds"), [("48s", 48.0), ("34.4s", 34.4), ("soon", None), (7, None)])
def test_the_retry_delay_is_read_from_the_body(delay: Json, seconds: float | None) -> None:
    info: Json = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    assert read(429, error(429, "RESOURCE_EXHAUSTED", info)).retry_after == seconds


def test_a_header_is_read_where_the_body_has_no_delay() -> None:
    assert read(429, error(429), retry_after="7").retry_after == 7


@pytest.mark.parametrize(
    "violation",
    [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}, {"quotaId": "X", "quotaValue": "0"}],
)
def test_a_quota_that_is_not_refilled_soon_is_exhausted(violation: JsonObject) -> None:
    details: Json = {"violations": [violation]}
    assert type(read(429, error(429, "RESOURCE_EXHAUSTED", details))) is QuotaExhausted


@pytest.mark.parametrize("body", [b'[{"error":{"code":404,"message":"gone","status":"NOT_FOUND"}}]'])
def test_an_error_in_an_array_is_unwrapped(body: bytes) -> None:
    found = read(404, body)
    assert (type(found), found.message) == (NotFound, "gone")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>\x00<h1>Bad\x1b[31m gateway</h1></html>" + b"x" * 5000,
        b"[]",
        b"null",
        b'{"error": 7}',
        b'{"error": {"code": ' + b"9" * 5000 + b"}}",
        b'{"error": {"message": [1], "details": {"a": 1}, "status": 5, "code": true}}',
        b'{"error": {"details": [null, 7, {"violations": [7]}]}}',
        b"\xff\xfe",
    ],
)
def test_any_body_is_an_error_of_its_status(body: bytes) -> None:
    found = read(503, body)
    assert type(found) is Overloaded
    assert 0 < len(found.message) <= 200
    assert found.message.isprintable()


def test_an_error_that_is_a_plain_string_is_its_message() -> None:
    assert read(400, b'{"error": "nope"}').message == "nope"


@pytest.mark.parametrize(
    ("given", "status", "name"),
    [
        (InvalidQuery("empty"), 400, "INVALID_ARGUMENT"),
        (ClientWireError("expected a list", "$.contents"), 400, "INVALID_ARGUMENT"),
        (MissingCredential("no key"), 401, "UNAUTHENTICATED"),
        (AuthRejected("bad key"), 401, "UNAUTHENTICATED"),
        (NotFound("no model"), 404, "NOT_FOUND"),
        (RateLimited("slow", retry_after=1.5), 429, "RESOURCE_EXHAUSTED"),
        (ConfigError("broken"), 500, "INTERNAL"),
        (Interrupted("cut"), 502, "UNAVAILABLE"),
        (Overloaded("busy"), 503, "UNAVAILABLE"),
        (TimedOut("late"), 504, "DEADLINE_EXCEEDED"),
    ],
)
def test_encoded_errors_have_googles_shape(given: GroundwireError, status: int, name: str) -> None:
    encoded = DIALECT.encode_error(given, REPLY)
    assert encoded.status == status
    assert at(encoded.body, "error", "code") == status
    assert at(encoded.body, "error", "message") == given.message
    assert at(encoded.body, "error", "status") == name
    assert at(encoded.body, "error", "details", 0, "reason") == given.code


def test_json_path_and_retry_delay_are_in_the_details() -> None:
    fault = DIALECT.encode_error(ClientWireError("expected a list", "$.contents"), REPLY)
    assert at(fault.body, "error", "details", 1, "fieldViolations") == [
        {"field": "$.contents", "description": "expected a list"}
    ]
    wait = DIALECT.encode_error(RateLimited("slow", retry_after=1.5), REPLY)
    assert at(wait.body, "error", "details", 1, "retryDelay") == "1.5s"


@pytest.mark.parametrize(
    "given",
    [QuotaExhausted("spent"), RateLimited("slow", retry_after=2.0), Interrupted("cut"), NotFound("gone")],
)
def test_errors_of_groundwire_are_decoded_by_groundwire(given: UpstreamError) -> None:
    encoded = DIALECT.encode_error(given, REPLY)
    found = DIALECT.decode_error(encoded.status, dump_json(encoded.body).encode(), {})
    assert (type(found), found.message, found.retry_after) == (type(given), given.message, given.retry_after)
