"""Errors and finish reasons.

Three formats of error bodies are read: OpenAI's `{"error": {...}}`, the Codex backend's `{"detail": ...}` and
OpenRouter's, whose `code` is the HTTP status. In a stream an error may be nested, flat, or part of a failed
response. The error code decides; the status decides if there is none.
"""

from __future__ import annotations

import re

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    ConfigError,
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
    Unreachable,
    UpstreamError,
    UpstreamWireError,
    WireError,
    upstream_error_class,
)
from groundwire.model import FinishReason, Json, JsonObject

FINISH_REASONS: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "filtered",
}
"""By `incomplete_details.reason`; all others (`steered`) are the finish reason `other`."""

INCOMPLETE_REASONS: dict[FinishReason | None, str] = {
    "length": "max_output_tokens",
    "filtered": "content_filter",
}
KNOWN_REASONS = frozenset({"max_output_tokens", "max_messages", "content_filter", "steered"})
_CLASSES_BY_CODE: dict[str, type[UpstreamError]] = {
    "insufficient_quota": QuotaExhausted,
    "billing_hard_limit_reached": QuotaExhausted,
    "billing_not_active": QuotaExhausted,
    "payment_required": QuotaExhausted,
    "usage_limit_reached": QuotaExhausted,
    "usage_not_included": QuotaExhausted,
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "slow_down": Overloaded,
    "server_error": Overloaded,
    "server": Overloaded,
    "server_is_overloaded": Overloaded,
    "overloaded_error": Overloaded,
    "provider_overloaded": Overloaded,
    "provider_unavailable": Overloaded,
    "invalid_api_key": AuthRejected,
    "authentication": AuthRejected,
    "authentication_error": AuthRejected,
    "permission_denied": AuthRejected,
    "model_not_found": NotFound,
    "previous_response_not_found": NotFound,
    "timeout": TimedOut,
    "upstream_timed_out": TimedOut,
    "upstream_unreachable": Unreachable,
    "upstream_interrupted": Interrupted,
    "invalid_prompt": Refused,
    "context_length_exceeded": Refused,
    "content_policy_violation": Refused,
}
_REQUEST_ERROR_CODE = re.compile(r"invalid_|unsupported_|unknown_|image_|.*_policy")
"""Codes of stream errors that blame the request: `invalid_request_error`, `bio_policy`, …"""

_WAIT = re.compile(r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s)\s?)+)", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Turn an HTTP error response into an `UpstreamError`."""
    try:
        value = load_json(body, UpstreamWireError)
    except WireError:
        value = None
    if isinstance(value, dict):
        error = _decode_error_object(value, status)
    else:
        # A Cloudflare page with status 403 is about the network, not about the key.
        kind = Refused if status == 403 else upstream_error_class(status)
        error = kind(_printable(body.decode("utf-8", "replace")) or f"HTTP status {status}", status=status)
    wait = retry_after(headers)
    error.retry_after = error.retry_after if wait is None else wait
    error.request_id = request_id(headers) or headers.get("x-oai-request-id", "")
    return error


def decode_stream_error(value: JsonObject) -> UpstreamError:
    """Turn an `error` event of any format, or a `response.error`, into an `UpstreamError`."""
    status = value.get("status_code")
    return _decode_error_object(value, status if type(status) is int else None)


def _decode_error_object(value: JsonObject, status: int | None) -> UpstreamError:
    nested = value.get("error")
    error = nested if isinstance(nested, dict) else value
    metadata = as_object(error.get("metadata"))
    code = error.get("code")
    if type(code) is int and 400 <= code < 600:
        status = code if status is None or status < 400 else status
    codes = [
        code_name
        for code_name in (code, metadata.get("error_type"), None if error is value else error.get("type"))
        if isinstance(code_name, str) and code_name
    ]
    message = _message(error.get("message"), nested, value.get("detail"))
    wait = error.get("resets_in_seconds")
    return _error_class(codes, status)(
        message or (codes[0] if codes else "the provider reported an error"),
        status=status,
        upstream_code=codes[0] if codes else str(code) if type(code) is int and status == code else "",
        retry_after=float(wait) if type(wait) is int and 0 <= wait < 10**9 else _wait_seconds(message),
    )


def _error_class(codes: list[str], status: int | None) -> type[UpstreamError]:
    for code in codes:
        if code in _CLASSES_BY_CODE:
            return _CLASSES_BY_CODE[code]
    if status is not None:
        return upstream_error_class(status)
    return Refused if any(_REQUEST_ERROR_CODE.match(code) for code in codes) else Overloaded


def _message(*candidates: Json) -> str:
    for candidate in candidates:
        if isinstance(candidate, str) and candidate:
            return candidate
        if isinstance(candidate, list) and candidate:
            return _message(as_object(candidate[0]).get("msg"), candidate[0])
    return ""


def _wait_seconds(message: str) -> float | None:
    """Retry delay in OpenAI's error message: `try again in 1.5s`, `in 6m0s`, `in 20ms`."""
    match = _WAIT.search(message)
    if match is None:
        return None
    stretches = _DURATION.findall(match[1])
    return sum(min(float(number), 1e9) * _SECONDS[unit.lower()] for number, unit in stretches)


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text[:1000]).strip()[:200]


_CODES_BY_CLASS: dict[type[GroundwireError], tuple[str, str]] = {
    MissingCredential: ("authentication_error", "invalid_api_key"),
    ConfigError: ("server_error", "server_error"),
    AuthRejected: ("authentication_error", "invalid_api_key"),
    QuotaExhausted: ("insufficient_quota", "insufficient_quota"),
    RateLimited: ("requests", "rate_limit_exceeded"),
    Overloaded: ("server_error", "server_is_overloaded"),
    NotFound: ("invalid_request_error", "model_not_found"),
    TimedOut: ("server_error", "timeout"),
    Unreachable: ("server_error", "upstream_unreachable"),
    Interrupted: ("server_error", "upstream_interrupted"),
    Refused: ("invalid_request_error", ""),
    RequestError: ("invalid_request_error", ""),
    ClientWireError: ("invalid_request_error", ""),
}
_CODES_BY_STATUS: dict[int, tuple[str, str]] = {
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", "permission_denied"),
    404: ("invalid_request_error", "not_found"),
    405: ("invalid_request_error", "method_not_allowed"),
    408: ("invalid_request_error", "request_timeout"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("server_error", "server_is_overloaded"),
    504: ("server_error", "timeout"),
}
"""Type and code of errors that are known by their status only; any other 4xx blames the request."""


def encode_error(error: GroundwireError, _: Reply) -> ErrorBody:
    """Encode an error as an HTTP error body."""
    return ErrorBody(error.status_hint, {"error": encode_error_object(error)})


def encode_error_object(error: GroundwireError) -> JsonObject:
    """Encode the error object of a body or an `error` event."""
    kind, code = _type_and_code(error)
    param = error.path.removeprefix("$").lstrip(".") if isinstance(error, ClientWireError) else ""
    return {"message": error.message, "type": kind, "param": param or None, "code": code or None}


def encode_response_error(error: GroundwireError) -> JsonObject:
    """Encode the `error` of a failed response, which requires a code."""
    kind, code = _type_and_code(error)
    return {"code": code or kind, "message": error.message}


def _type_and_code(error: GroundwireError) -> tuple[str, str]:
    for kind in type(error).__mro__:
        if kind in _CODES_BY_CLASS:
            error_type, code = _CODES_BY_CLASS[kind]
            upstream_code = error.upstream_code if isinstance(error, UpstreamError) else ""
            return error_type, upstream_code if _CLASSES_BY_CODE.get(upstream_code, Refused) is kind else code
    status = error.status_hint
    other = ("invalid_request_error", "") if 400 <= status < 500 else ("server_error", "server_error")
    return _CODES_BY_STATUS.get(status, other)
