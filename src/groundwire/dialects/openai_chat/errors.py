"""Errors and finish reasons.

OpenAI sends `{"error": {message, type, param, code}}`. OpenRouter puts the HTTP status into `code` and the
actual error into `metadata` (`error_type`, and the upstream provider's message in `raw`). Compatible servers
send `{"error": "text"}`, `{"detail": …}` or a bare `{message, code}`. The code takes precedence over the
type, because OpenAI reports an invalid key as `invalid_request_error`; both take precedence over the status.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    GroundwireError,
    Interrupted,
    MissingCredential,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    RequestError,
    TimedOut,
    TurnedAway,
    Unreachable,
    UpstreamError,
    UpstreamWireError,
    WireError,
    upstream_error_class,
)
from groundwire.model import FinishReason, Json, JsonObject

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filtered",
}

# OpenRouter's `native_finish_reason`, where the reason of the upstream provider is more specific.
NATIVE_REASONS: dict[str, FinishReason] = {"refusal": "refused", "pause_turn": "pause", "other": "other"}
_ENCODED_REASONS: dict[FinishReason | None, tuple[str, str]] = {
    None: ("stop", ""),
    "stop": ("stop", ""),
    "length": ("length", ""),
    "tool_calls": ("tool_calls", ""),
    "filtered": ("content_filter", ""),
    "refused": ("content_filter", "refusal"),
    "pause": ("stop", "pause_turn"),
    "other": ("stop", "other"),
}
_CLASSES_BY_CODE: dict[str, type[UpstreamError]] = {
    "invalid_api_key": AuthRejected,
    "authentication": AuthRejected,
    "authentication_error": AuthRejected,
    "permission_denied": AuthRejected,
    "permission_error": AuthRejected,
    "insufficient_quota": QuotaExhausted,
    "billing_hard_limit_reached": QuotaExhausted,
    "billing_not_active": QuotaExhausted,
    "payment_required": QuotaExhausted,
    "usage_limit_reached": QuotaExhausted,
    "usage_not_included": QuotaExhausted,
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "slow_down": RateLimited,
    "server_error": Overloaded,
    "server": Overloaded,
    "server_is_overloaded": Overloaded,
    "overloaded_error": Overloaded,
    "provider_overloaded": Overloaded,
    "provider_unavailable": Overloaded,
    "model_not_found": NotFound,
    "not_found": NotFound,
    "not_found_error": NotFound,
    "timeout": TimedOut,
    "unreachable": Unreachable,
    "interrupted": Interrupted,
    "context_length_exceeded": Refused,
    "content_filter": Refused,
    "content_policy_violation": Refused,
    "invalid_request": Refused,
    "unknown_parameter": Refused,
    "unsupported_parameter": Refused,
}

# Types that are too generic to take precedence over the status.
_GENERIC_TYPES: dict[str, type[UpstreamError]] = {"invalid_request_error": Refused, "api_error": Overloaded}
_TRY_AGAIN = re.compile(r"try again in (?:(\d{1,4})m)?(\d{1,6}(?:\.\d{1,6})?)(ms|s)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_EXCERPT = 200
_MESSAGE = 2000


class _ErrorFields(NamedTuple):
    """Fields of an error body."""

    message: str
    code: str
    kinds: tuple[str, ...]
    wait: float | None


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Turn an HTTP error response with any body into an `UpstreamError`."""
    try:
        value = load_json(body, UpstreamWireError)
    except WireError:
        value = None
    error = _error_fields(value)
    wait = retry_after(headers)
    return _error_class(error, status)(
        error.message or _printable(body.decode("utf-8", "replace"), _EXCERPT) or f"HTTP status {status}",
        status=status,
        upstream_code=error.code,
        retry_after=error.wait if wait is None else wait,
        request_id=request_id(headers),
    )


def decode_stream_error(value: Json) -> UpstreamError:
    """Turn an error inside a response into an `UpstreamError`: a body, or the value of its `error`."""
    error = _error_fields(value)
    return _error_class(error, 0)(
        error.message or "the provider reported an error",
        upstream_code=error.code,
        retry_after=error.wait,
    )


def encode_error(error: GroundwireError, _reply: Reply) -> ErrorBody:
    """Encode any error as an HTTP error body in OpenAI's format."""
    return ErrorBody(error.status_hint, {"error": encode_error_object(error)})


def encode_error_object(error: GroundwireError) -> JsonObject:
    """Encode the value of `error`."""
    kind, code = _type_and_code(error)
    param = error.path.removeprefix("$").removeprefix(".") if isinstance(error, WireError) else ""
    return {"message": error.message, "type": kind, "param": param or None, "code": code}


def decode_finish(reason: str, native: str) -> tuple[FinishReason, str]:
    """Decode the finish reason; also the provider's native reason if that is more specific."""
    known = FINISH_REASONS.get(reason)
    if known is None:
        return "other", native or reason
    if known in ("stop", "filtered"):
        known = NATIVE_REASONS.get(native.lower(), known)
    return known, "" if known in ("stop", "tool_calls") else native


def encode_finish(finish: FinishReason | None, detail: str, *, refusal: bool, legacy: bool) -> JsonObject:
    """Encode `finish_reason`, and `native_finish_reason` if it is more specific."""
    reason, native = _ENCODED_REASONS[finish]
    if refusal and finish == "refused":
        reason = "stop"  # as OpenAI does if there is a `refusal`
    if legacy and reason == "tool_calls":
        reason = "function_call"
    body: JsonObject = {"finish_reason": reason}
    if native or detail:
        body["native_finish_reason"] = native or detail
    return body


def _error_fields(value: Json) -> _ErrorFields:
    if not isinstance(value, dict):
        return _ErrorFields("", "", (), None)
    error = value.get("error", value)
    if not isinstance(error, dict):
        error = {"message": error}
    metadata = error.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    kinds = (error.get("code"), metadata.get("error_type"), error.get("type"))
    texts = [error.get("message") or error.get("detail"), metadata.get("raw")]
    message = ": ".join(_printable(text, _MESSAGE) for text in texts if isinstance(text, str) and text)
    return _ErrorFields(
        message,
        next((str(kind) for kind in (kinds[1], kinds[0], kinds[2]) if kind and _is_code(kind)), ""),
        tuple(str(kind) for kind in kinds if _is_code(kind)),
        _wait_seconds(error, message),
    )


def _is_code(value: Json) -> bool:
    return isinstance(value, str) or (type(value) is int and 0 <= value < 10_000)


def _error_class(error: _ErrorFields, status: int) -> type[UpstreamError]:
    for kind in error.kinds:
        if kind in _CLASSES_BY_CODE:
            return _CLASSES_BY_CODE[kind]
    statuses = (status, *(int(kind) for kind in error.kinds if kind.isascii() and kind.isdigit()))
    for number in statuses:
        if number >= 400:
            return upstream_error_class(number)
    return next((_GENERIC_TYPES[kind] for kind in error.kinds if kind in _GENERIC_TYPES), Overloaded)


def _wait_seconds(error: JsonObject, message: str) -> float | None:
    seconds = error.get("resets_in_seconds")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        return float(seconds)
    match = _TRY_AGAIN.search(message)
    if match is None:
        return None
    return int(match[1] or 0) * 60 + float(match[2]) * (0.001 if match[3] == "ms" else 1)


def _printable(text: str, limit: int) -> str:
    return _CONTROL.sub(" ", text[: 4 * limit]).strip()[:limit]


_TYPES_BY_CLASS: tuple[tuple[type[GroundwireError], str, str], ...] = (
    (MissingCredential, "authentication_error", "missing_credential"),
    (AuthRejected, "authentication_error", "invalid_api_key"),
    (QuotaExhausted, "insufficient_quota", "insufficient_quota"),
    (RateLimited, "rate_limit_error", "rate_limit_exceeded"),
    (NotFound, "invalid_request_error", "model_not_found"),
    (TimedOut, "server_error", "timeout"),
    (Unreachable, "server_error", "unreachable"),
    (Interrupted, "server_error", "interrupted"),
    (Overloaded, "server_error", "server_is_overloaded"),
)
_TYPES_BY_STATUS: dict[int, tuple[str, Json]] = {
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", "permission_denied"),
    404: ("invalid_request_error", "not_found"),
    405: ("invalid_request_error", "method_not_allowed"),
    408: ("invalid_request_error", "request_timeout"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    503: ("server_error", "server_is_overloaded"),
    504: ("server_error", "timeout"),
}
"""Type and code of errors that are known by their status only; any other 4xx blames the request."""


def _type_and_code(error: GroundwireError) -> tuple[str, Json]:
    for kind, name, code in _TYPES_BY_CLASS:
        if isinstance(error, kind):
            return name, code
    if isinstance(error, Refused):
        return "invalid_request_error", error.upstream_code or "invalid_request"
    if isinstance(error, RequestError | WireError) and error.status_hint < 500:
        return "invalid_request_error", error.code.lower()
    if isinstance(error, TurnedAway) and error.status_hint in _TYPES_BY_STATUS:
        return _TYPES_BY_STATUS[error.status_hint]
    blames_client = 400 <= error.status_hint < 500
    return "invalid_request_error" if blames_client else "server_error", error.code.lower()
