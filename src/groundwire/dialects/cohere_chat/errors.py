"""Errors and finish reasons.

An error response is `{"id", "message"}`; its status says what it is. Inside a stream, the last event has the
finish reason `ERROR` or `TIMEOUT`, and the message.
"""

from __future__ import annotations

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.cohere_reader import FINISH_REASONS
from groundwire.dialects.error_tables import excerpt, request_id, retry_after
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    GroundwireError,
    QuotaExhausted,
    TimedOut,
    UpstreamError,
    UpstreamWireError,
    upstream_error_class,
)
from groundwire.model import FinishReason, JsonObject

_INVALID_TOKEN = 498
_MONTHLY_LIMIT = "calls / month"
"""In the message of a 429 about the limit of a trial key, for which waiting a minute does not help."""

_ENCODED_REASONS: dict[FinishReason, str] = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "pause": "COMPLETE",
    "filtered": "ERROR_TOXIC",
    "refused": "ERROR_TOXIC",
    "other": "COMPLETE",
}
"""Version 2 has no reason for a filtered answer; `ERROR_TOXIC` is that of version 1."""


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Decode an HTTP error response."""
    try:
        document = as_object(load_json(body, UpstreamWireError))
    except UpstreamWireError:
        document = {}
    found = document.get("message")
    message = found if isinstance(found, str) else ""
    identity = document.get("id")
    return _error_class(status, message)(
        message or excerpt(body) or f"HTTP status {status}",
        status=status,
        retry_after=retry_after(headers),
        request_id=request_id(headers) or (identity if isinstance(identity, str) else ""),
    )


def _error_class(status: int, message: str) -> type[UpstreamError]:
    if status == _INVALID_TOKEN:
        return AuthRejected
    kind = upstream_error_class(status)
    return QuotaExhausted if status == 429 and _MONTHLY_LIMIT in message else kind


def encode_error(error: GroundwireError, reply: Reply) -> ErrorBody:
    """Encode any error as an HTTP error response."""
    return ErrorBody(error.status_hint, {"id": reply.id, "message": error.message})


def encode_stream_error(error: GroundwireError) -> JsonObject:
    """Encode any error for the last event of a stream."""
    return {"finish_reason": "TIMEOUT" if isinstance(error, TimedOut) else "ERROR", "error": error.message}


def encode_finish(finish: FinishReason | None, detail: str) -> str:
    """Encode the finish reason; Cohere's own reason is kept."""
    reason = finish or "other"
    return detail if FINISH_REASONS.get(detail) == reason else _ENCODED_REASONS[reason]
