"""Refresh tasks and their outcomes as JSON, which is passed between two processes and holds no secret."""

from __future__ import annotations

from groundwire.credentials.session import RefreshTask, RefreshTimeouts
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    ConfigError,
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
)
from groundwire.model import JsonObject
from groundwire.model.value import field_names

_UPSTREAM = (
    *(AuthRejected, Interrupted, NotFound, Overloaded, QuotaExhausted, RateLimited, Refused, TimedOut),
    *(Unreachable, UpstreamError),
)
_KINDS = {kind.__name__: kind for kind in _UPSTREAM}


def encode_task(task: RefreshTask) -> bytes:
    """A task, for standard input."""
    body: JsonObject = {name: getattr(task, name) for name in field_names(RefreshTask) if name != "timeouts"}
    return dump_json(
        {**body, "timeouts": [getattr(task.timeouts, name) for name in field_names(RefreshTimeouts)]}
    ).encode()


def decode_task(data: bytes) -> RefreshTask:
    """Read a task. A truncated one, whose sender was killed while writing, is an error."""
    match load_json(data, ClientWireError):
        case {
            "store": str(store),
            "entry": str(entry),
            "origin": str(origin),
            "spends": str(spends),
            "url": str(url),
            "now": int() | float() as now,
            "until": int() | float() as until,
            "cut": bool(cut),
            "timeouts": [*numbers],
        }:
            timeouts_ = RefreshTimeouts(*(float(item) for item in numbers if isinstance(item, int | float)))
            return RefreshTask(
                store, entry, origin, spends, url, float(now), float(until), cut=cut, timeouts=timeouts_
            )
    raise ClientWireError("expected a refresh task")


def encode_outcome(error: GroundwireError | None) -> bytes:
    """The error of a task, for standard output; an empty object for success."""
    if error is None:
        return b"{}"
    body: JsonObject = {"kind": type(error).__name__, "message": error.message}
    if isinstance(error, WireError):
        body |= {"message": error.reason, "path": error.path}
    if isinstance(error, UpstreamError):
        body |= {"status": error.status, "code": error.upstream_code}
    return dump_json(body).encode()


def decode_outcome(data: bytes) -> GroundwireError | None:
    """Read the outcome of a worker process. No output means that it was killed."""
    try:
        outcome = load_json(data, UpstreamWireError)
    except WireError:
        outcome = None
    if not isinstance(outcome, dict):
        return Interrupted("the process that refreshes the session was ended; try again")
    kind, message = str(outcome.get("kind", "")), str(outcome.get("message", ""))
    if not kind:
        return None
    if kind == UpstreamWireError.__name__:
        return UpstreamWireError(message, str(outcome.get("path", "")))
    if kind == ConfigError.__name__:
        return ConfigError(message)
    status, code = outcome.get("status"), outcome.get("code")
    return _KINDS.get(kind, UpstreamError)(
        message,
        status=status if isinstance(status, int) else None,
        upstream_code=code if isinstance(code, str) else "",
    )
