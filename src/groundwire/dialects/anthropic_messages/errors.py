"""Errors and stop reasons.

An error is `{"type":"error","error":{"type","message"},"request_id"}`, with an HTTP status or, once a
stream has begun, as an `error` event. Clients read `error.type`, so every error is sent with one of
Anthropic's types.
"""

from __future__ import annotations

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import excerpt, request_id, retry_after
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    GroundwireError,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    TimedOut,
    UpstreamError,
    UpstreamWireError,
    upstream_error_class,
)
from groundwire.model import FinishReason, Json, JsonObject

_ERROR_CLASSES: dict[str, type[UpstreamError]] = {
    "invalid_request_error": Refused,
    "authentication_error": AuthRejected,
    "billing_error": QuotaExhausted,
    "permission_error": AuthRejected,
    "not_found_error": NotFound,
    "request_too_large": Refused,
    "rate_limit_error": RateLimited,
    "api_error": Overloaded,
    "timeout_error": TimedOut,
    "overloaded_error": Overloaded,
}

_ERROR_TYPES: dict[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refused",
}

STOP_REASONS: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "pause": "pause_turn",
    "filtered": "refusal",
    "refused": "refusal",
    "other": "end_turn",
}


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Decode an HTTP error response."""
    try:
        document = as_object(load_json(body, UpstreamWireError))
    except UpstreamWireError:
        document = {}
    detail = as_object(document.get("error"))
    kind, message = _text(detail.get("type")), _text(detail.get("message"))
    # Known types decide, whatever the status; unknown types are classified by status.
    return _ERROR_CLASSES.get(kind, upstream_error_class(status))(
        message or excerpt(body) or f"HTTP {status}",
        status=status,
        upstream_code=kind,
        retry_after=retry_after(headers),
        request_id=_text(document.get("request_id")) or request_id(headers),
    )


def decode_stream_error(detail: JsonObject) -> UpstreamError:
    """Decode the `error` object of an event inside a stream."""
    kind = _text(detail.get("type"))
    message = _text(detail.get("message")) or kind or "the provider reported an error without a message"
    return _ERROR_CLASSES.get(kind, Overloaded)(message, upstream_code=kind)


def encode_error(error: GroundwireError, reply: Reply) -> ErrorBody:
    """Encode any error as an HTTP error response."""
    body = encode_error_event(error)
    body["request_id"] = f"req_{reply.id}"
    return ErrorBody(529 if error.status_hint == 503 else error.status_hint, body)


def encode_error_event(error: GroundwireError) -> JsonObject:
    """Encode any error as an event inside a stream."""
    blames_client = 400 <= error.status_hint < 500
    kind = _ERROR_TYPES.get(error.status_hint, "invalid_request_error" if blames_client else "api_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
