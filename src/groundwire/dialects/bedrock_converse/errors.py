"""Errors and stop reasons.

An error is `{"message"}`; its name is in the header `x-amzn-errortype`, or in the field `__type`. Inside a
stream it is a message of the type `exception`.
"""

from __future__ import annotations

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import excerpt, retry_after
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
    "accessdeniedexception": AuthRejected,
    "expiredtokenexception": AuthRejected,
    "incompletesignatureexception": AuthRejected,
    "invalidsignatureexception": AuthRejected,
    "missingauthenticationtokenexception": AuthRejected,
    "unrecognizedclientexception": AuthRejected,
    "internalserverexception": Overloaded,
    "modelerrorexception": Overloaded,
    "modelnotreadyexception": Overloaded,
    "modelstreamerrorexception": Overloaded,
    "modeltimeoutexception": TimedOut,
    "resourcenotfoundexception": NotFound,
    "servicequotaexceededexception": QuotaExhausted,
    "serviceunavailableexception": Overloaded,
    "throttlingexception": RateLimited,
    "validationexception": Refused,
}
"""By lower-case name: a stream writes the first letter small."""

_UNKNOWN_MODEL = ("model identifier is invalid", "isn't supported", "isn’t supported", "end of its life")
"""What a `ValidationException` says about a model that does not exist, is not in the region, or is gone."""

_ERROR_NAMES: dict[int, str] = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
    504: "ModelTimeoutException",
}

_STREAM_ERRORS: dict[str, str] = {
    "ValidationException": "validationException",
    "ThrottlingException": "throttlingException",
    "ServiceUnavailableException": "serviceUnavailableException",
    "InternalServerException": "internalServerException",
}
"""The exceptions that a stream can carry; the others are sent as `modelStreamErrorException`."""
STREAM_ERROR = "modelStreamErrorException"

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
}

STOP_REASONS: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "pause": "end_turn",
    "filtered": "content_filtered",
    "refused": "content_filtered",
    "other": "end_turn",
}


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Decode an HTTP error response."""
    try:
        document = as_object(load_json(body, UpstreamWireError))
    except UpstreamWireError:
        document = {}
    name = headers.get("x-amzn-errortype") or _text(document.get("__type")) or _text(document.get("code"))
    # The name may be followed by an address, and preceded by a namespace.
    name = name.partition(":")[0].rpartition("#")[2]
    message = _text(document.get("message")) or _text(document.get("Message"))
    return _error_class(name, message, upstream_error_class(status))(
        message or excerpt(body) or name or f"HTTP {status}",
        status=status,
        upstream_code=name,
        retry_after=retry_after(headers),
        request_id=headers.get("x-amzn-requestid", ""),
    )


def decode_stream_error(name: str, detail: JsonObject) -> UpstreamError:
    """Decode an exception inside a stream."""
    message = _text(detail.get("message")) or _text(detail.get("originalMessage"))
    name = _text(detail.get("code")) or name
    return _error_class(name, message, Overloaded)(message or name, upstream_code=name)


def _error_class(name: str, message: str, default: type[UpstreamError]) -> type[UpstreamError]:
    kind = _ERROR_CLASSES.get(name.lower(), default)
    return NotFound if kind is Refused and any(phrase in message for phrase in _UNKNOWN_MODEL) else kind


def encode_error(error: GroundwireError, reply: Reply) -> ErrorBody:  # noqa: ARG001 (errors have no id)
    """Encode any error as an HTTP error response."""
    return ErrorBody(error.status_hint, {"__type": _error_name(error), "message": error.message})


def encode_stream_error(error: GroundwireError) -> tuple[str, JsonObject]:
    """Encode any error as an exception inside a stream: its name and its fields."""
    return _STREAM_ERRORS.get(_error_name(error), STREAM_ERROR), {"message": error.message}


def _error_name(error: GroundwireError) -> str:
    status = error.status_hint
    return _ERROR_NAMES.get(status) or _ERROR_NAMES[400 if 400 <= status < 500 else 500]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
