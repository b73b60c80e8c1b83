"""Errors and finish reasons: `{"error": {code, message, status, details}}`, and why a candidate stopped.

A refused key is HTTP 400 INVALID_ARGUMENT; only the reason in its details tells it apart. A 429 has no
Retry-After header: the delay is in the details, as `"48s"` or `"34.4s"`. Streams without `alt=sse` wrap the
error in an array, and a stream that was opened with 200 may contain an error object instead of a chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    GroundwireError,
    Interrupted,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    TimedOut,
    Unreachable,
    UpstreamError,
    UpstreamWireError,
    WireError,
    upstream_error_class,
)
from groundwire.model import FinishReason, Json, JsonObject

_CLASSES_BY_REASON: dict[str, type[UpstreamError]] = {
    "API_KEY_INVALID": AuthRejected,
    "API_KEY_EXPIRED": AuthRejected,
    "API_KEY_SERVICE_BLOCKED": AuthRejected,
    "API_KEY_HTTP_REFERRER_BLOCKED": AuthRejected,
    "API_KEY_IP_ADDRESS_BLOCKED": AuthRejected,
    "ACCESS_TOKEN_EXPIRED": AuthRejected,
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": AuthRejected,
    "CONSUMER_SUSPENDED": AuthRejected,
    "CREDENTIALS_MISSING": AuthRejected,
    "SERVICE_DISABLED": AuthRejected,
    "BILLING_DISABLED": QuotaExhausted,
    "RESOURCE_QUOTA_EXCEEDED": QuotaExhausted,
    "RATE_LIMIT_EXCEEDED": RateLimited,
    **{kind.code: kind for kind in (QuotaExhausted, Interrupted, Unreachable)},  # sent by groundwire itself
}

_CLASSES_BY_STATUS: dict[str, type[UpstreamError]] = {
    "INVALID_ARGUMENT": Refused,
    "FAILED_PRECONDITION": Refused,
    "OUT_OF_RANGE": Refused,
    "ALREADY_EXISTS": Refused,
    "UNIMPLEMENTED": Refused,
    "UNAUTHENTICATED": AuthRejected,
    "PERMISSION_DENIED": AuthRejected,
    "NOT_FOUND": NotFound,
    "RESOURCE_EXHAUSTED": RateLimited,
    "DEADLINE_EXCEEDED": TimedOut,
    "ABORTED": Overloaded,
    "CANCELLED": Overloaded,
    "DATA_LOSS": Overloaded,
    "INTERNAL": Overloaded,
    "UNAVAILABLE": Overloaded,
    "UNKNOWN": Overloaded,
}

_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    504: "DEADLINE_EXCEEDED",
}

# IMAGE_* and NO_IMAGE come from image models; CONTINUATION is a token limit of one request.
FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "LANGUAGE": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "IMAGE_SAFETY": "filtered",
    "IMAGE_PROHIBITED_CONTENT": "filtered",
    "IMAGE_RECITATION": "filtered",
    "OTHER": "other",
    "IMAGE_OTHER": "other",
    "NO_IMAGE": "other",
    "MALFORMED_FUNCTION_CALL": "other",
    "MALFORMED_RESPONSE": "other",
    "MISSING_THOUGHT_SIGNATURE": "other",
    "TOO_MANY_TOOL_CALLS": "other",
    "UNEXPECTED_TOOL_CALL": "other",
}

_FINISH_NAMES: dict[FinishReason, str] = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "pause": "STOP",
    "length": "MAX_TOKENS",
    "filtered": "SAFETY",
    "refused": "SAFETY",
    "other": "OTHER",
}

# Official clients answer CONTINUATION with the token that came with it; without one they loop forever.
_NOT_FORWARDED = frozenset({"STOP", "MAX_TOKENS", "CONTINUATION"})
_DELAY = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def encode_finish(reason: FinishReason | None, detail: str) -> str:
    """Encode a finishReason: Google's own where the answer kept it."""
    if detail not in _NOT_FORWARDED and reason is not None and FINISH_REASONS.get(detail) == reason:
        return detail
    return _FINISH_NAMES[reason or "other"]


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Decode an HTTP error response, whatever its body."""
    try:
        value = load_json(body, UpstreamWireError)
    except UpstreamWireError:
        return _plain_error(status, body, headers)
    error = error_in(value)
    if error is None:
        return _plain_error(status, body, headers)
    return read_error(error, status, headers)


def error_in(value: Json) -> JsonObject | None:
    """Find the error object of a body or chunk, bare or wrapped in an array."""
    if isinstance(value, list):
        return next((found for item in value if (found := error_in(item)) is not None), None)
    error = as_object(value).get("error")
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else None


def read_error(error: JsonObject, status: int | None, headers: Headers) -> UpstreamError:
    """Decode an error object; `status` is None inside a stream."""
    code = error.get("code")
    number = code if type(code) is int else 500
    kind, name = _classify(error, status or number)
    return kind(
        _text(error.get("message")) or f"the provider answered with status {status or number}",
        status=status,
        upstream_code=name,
        retry_after=_first_not_none(_retry_delay(error), retry_after(headers)),
        request_id=request_id(headers),
    )


def _classify(error: JsonObject, status: int) -> tuple[type[UpstreamError], str]:
    name = _text(error.get("status"))
    for detail in _details(error):
        reason = _text(detail.get("reason"))
        if reason in _CLASSES_BY_REASON:
            return _CLASSES_BY_REASON[reason], reason
    kind = _CLASSES_BY_STATUS.get(name) or upstream_error_class(status)
    if kind is RateLimited and any(map(_is_quota_used_up, _details(error))):
        kind = QuotaExhausted
    return kind, name or str(error.get("code") or "")[:20]


def _is_quota_used_up(detail: JsonObject) -> bool:
    """Whether this is a daily quota or a quota of zero: a short wait helps with neither."""
    violations = detail.get("violations")
    return any(
        "PerDay" in _text(violation.get("quotaId")) or violation.get("quotaValue") == "0"
        for violation in (violations if isinstance(violations, list) else ())
        if isinstance(violation, dict)
    )


def _retry_delay(error: JsonObject) -> float | None:
    for detail in _details(error):
        match = _DELAY.fullmatch(_text(detail.get("retryDelay")))
        if match:
            return float(match[1])
    return None


def _details(error: JsonObject) -> Iterator[JsonObject]:
    details = error.get("details")
    return (item for item in (details if isinstance(details, list) else ()) if isinstance(item, dict))


def _plain_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    excerpt = _UNPRINTABLE.sub(" ", body[:2000].decode("utf-8", "replace")).strip()[:200]
    return upstream_error_class(status)(
        excerpt or f"the provider answered with status {status}",
        status=status,
        retry_after=retry_after(headers),
        request_id=request_id(headers),
    )


def encode_error(error: GroundwireError, _reply: Reply) -> ErrorBody:
    """Encode any error."""
    status = error.status_hint
    return ErrorBody(
        status,
        {
            "error": {
                "code": status,
                "message": error.message,
                "status": _STATUS_NAMES.get(
                    status, "UNAVAILABLE" if status >= 500 else "FAILED_PRECONDITION"
                ),
                "details": list(_encode_details(error)),
            }
        },
    )


def _encode_details(error: GroundwireError) -> Iterator[Json]:
    yield {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": error.code,
        "domain": "groundwire",
    }
    if isinstance(error, WireError):
        violation: JsonObject = {"field": error.path, "description": error.reason}
        yield {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}
    if isinstance(error, UpstreamError) and error.retry_after is not None:
        delay = f"{error.retry_after:.3f}".rstrip("0").rstrip(".")
        yield {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{delay}s"}


def _first_not_none(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
