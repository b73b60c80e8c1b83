"""Errors and the reasons why an answer ended.

Three shapes of body are read alike: OpenAI's `{"error": {...}}`, the Codex backend's `{"detail": ...}` and
OpenRouter's, whose `code` is the HTTP status. Inside a stream an error may be nested, flat, or part of a
failed response. The provider's own word decides; the status decides where there is none.
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

INCOMPLETE: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "filtered",
}
"""`incomplete_details.reason`; what is not listed (`steered`) counts as another reason."""

CUT: dict[FinishReason | None, str] = {"length": "max_output_tokens", "filtered": "content_filter"}
WIRE_REASONS = frozenset({"max_output_tokens", "max_messages", "content_filter", "steered"})

_BY_WORD: dict[str, type[UpstreamError]] = {
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

_REFUSING = re.compile(r"invalid_|unsupported_|unknown_|image_|.*_policy")
"""Words of a stream's errors that blame the request: `invalid_request_error`, `bio_policy`, …"""

_WAIT = re.compile(r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s)\s?)+)", re.IGNORECASE)
_STRETCH = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """What an HTTP error means."""
    try:
        value = load_json(body, UpstreamWireError)
    except WireError:
        value = None
    if isinstance(value, dict):
        error = _read_error(value, status)
    else:
        # A page of Cloudflare's with status 403 is about the network, not about the key.
        kind = Refused if status == 403 else upstream_error_class(status)
        error = kind(_excerpt(body.decode("utf-8", "replace")) or f"HTTP status {status}", status=status)
    wait = retry_after(headers)
    error.retry_after = error.retry_after if wait is None else wait
    error.request_id = request_id(headers) or headers.get("x-oai-request-id", "")
    return error


def decode_stream_error(value: JsonObject) -> UpstreamError:
    """What an error inside an answer means: an `error` event of either shape, or `response.error`."""
    status = value.get("status_code")
    return _read_error(value, status if type(status) is int else None)


def _read_error(value: JsonObject, status: int | None) -> UpstreamError:
    nested = value.get("error")
    error = nested if isinstance(nested, dict) else value
    metadata = as_object(error.get("metadata"))
    code = error.get("code")
    if type(code) is int and 400 <= code < 600:
        status = code if status is None or status < 400 else status
    words = [
        word
        for word in (code, metadata.get("error_type"), None if error is value else error.get("type"))
        if isinstance(word, str) and word
    ]
    message = _message(error.get("message"), nested, value.get("detail"))
    wait = error.get("resets_in_seconds")
    return _kind_of(words, status)(
        message or (words[0] if words else "the provider reported an error"),
        status=status,
        upstream_code=words[0] if words else str(code) if type(code) is int and status == code else "",
        retry_after=float(wait) if type(wait) is int and 0 <= wait < 10**9 else _told_wait(message),
    )


def _kind_of(words: list[str], status: int | None) -> type[UpstreamError]:
    for word in words:
        if word in _BY_WORD:
            return _BY_WORD[word]
    if status is not None:
        return upstream_error_class(status)
    return Refused if any(_REFUSING.match(word) for word in words) else Overloaded


def _message(*candidates: Json) -> str:
    for candidate in candidates:
        if isinstance(candidate, str) and candidate:
            return candidate
        if isinstance(candidate, list) and candidate:
            return _message(as_object(candidate[0]).get("msg"), candidate[0])
    return ""


def _told_wait(message: str) -> float | None:
    """OpenAI says how long to wait in its sentence: `try again in 1.5s`, `in 6m0s`, `in 20ms`."""
    match = _WAIT.search(message)
    if match is None:
        return None
    stretches = _STRETCH.findall(match[1])
    return sum(min(float(number), 1e9) * _SECONDS[unit.lower()] for number, unit in stretches)


def _excerpt(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text[:1000]).strip()[:200]


_WORDS: dict[type[GroundwireError], tuple[str, str]] = {
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


_WORDS_BY_STATUS: dict[int, tuple[str, str]] = {
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
"""For errors that are known by their status alone; any other 4xx blames the request."""


def encode_error(error: GroundwireError, _: Reply) -> ErrorBody:
    """An error as the body of an HTTP answer."""
    return ErrorBody(error.status_hint, {"error": encode_problem(error)})


def encode_problem(error: GroundwireError) -> JsonObject:
    """The error object itself, as it stands in a body and in an `error` event."""
    kind, code = _words_of(error)
    param = error.path.removeprefix("$").lstrip(".") if isinstance(error, ClientWireError) else ""
    return {"message": error.message, "type": kind, "param": param or None, "code": code or None}


def encode_failure(error: GroundwireError) -> JsonObject:
    """The `error` of a failed response, which needs a code."""
    kind, code = _words_of(error)
    return {"code": code or kind, "message": error.message}


def _words_of(error: GroundwireError) -> tuple[str, str]:
    for kind in type(error).__mro__:
        if kind in _WORDS:
            word, code = _WORDS[kind]
            own = error.upstream_code if isinstance(error, UpstreamError) else ""
            return word, own if _BY_WORD.get(own, Refused) is kind else code
    status = error.status_hint
    other = ("invalid_request_error", "") if 400 <= status < 500 else ("server_error", "server_error")
    return _WORDS_BY_STATUS.get(status, other)
