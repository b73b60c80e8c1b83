"""Errors.

An error response is `{"object": "error", "message", "type", "param", "code"}`, or `{"detail"}` if the request
is not valid. Inside a stream it is an event with a message and a status. There are no finish reasons: a
function call shows that the client must act.
"""

from __future__ import annotations

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import excerpt, request_id, retry_after
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import (
    GroundwireError,
    NotFound,
    Refused,
    UpstreamError,
    UpstreamWireError,
    WireError,
    upstream_error_class,
)
from groundwire.model import Json, JsonObject

_INVALID_MODEL = "invalid_model"
_TYPES: dict[int, str] = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    429: "rate_limited",
    503: "service_unavailable",
    504: "timeout",
}


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Decode an HTTP error response."""
    try:
        document = as_object(load_json(body, UpstreamWireError))
    except UpstreamWireError:
        document = {}
    kind = document.get("type")
    name = kind if isinstance(kind, str) else ""
    error_class = upstream_error_class(status)
    if error_class is Refused and name == _INVALID_MODEL:
        error_class = NotFound
    return error_class(
        _message(document) or excerpt(body) or f"HTTP status {status}",
        status=status,
        upstream_code=name,
        retry_after=retry_after(headers),
        request_id=request_id(headers),
    )


def _message(document: JsonObject) -> str:
    for found in (document.get("message"), document.get("detail")):
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list):
            return "; ".join(map(_validation_message, map(as_object, found)))
        if isinstance(found, dict):
            return _message(found) or dump_json(found)
    return ""


def _validation_message(error: JsonObject) -> str:
    location, message = error.get("loc"), error.get("msg")
    where = ".".join(map(str, location)) if isinstance(location, list) else ""
    return f"{where}: {message}" if where else str(message)


def encode_error(error: GroundwireError, reply: Reply) -> ErrorBody:  # noqa: ARG001 (errors have no id)
    """Encode any error as an HTTP error response."""
    param: Json = (
        error.path.removeprefix("$").removeprefix(".") or None if isinstance(error, WireError) else None
    )
    status = error.status_hint
    kind = _TYPES.get(status) or ("invalid_request_error" if 400 <= status < 500 else "internal_server_error")
    body: JsonObject = {"object": "error", "message": error.message, "type": kind, "param": param}
    return ErrorBody(status, {**body, "code": error.code.lower()})


def encode_stream_error(error: GroundwireError) -> JsonObject:
    """Encode any error as the last event of a stream."""
    return {"message": error.message, "code": error.status_hint}
