"""An errand and its outcome, as they pass between two processes: JSON, with no secret in it."""

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


def encode_task(errand: RefreshTask) -> bytes:
    """An errand for standard input."""
    body: JsonObject = {name: getattr(errand, name) for name in field_names(RefreshTask) if name != "pace"}
    return dump_json(
        {**body, "pace": [getattr(errand.pace, name) for name in field_names(RefreshTimeouts)]}
    ).encode()


def decode_task(data: bytes) -> RefreshTask:
    """The errand in a text; half of one, from somebody who was killed while writing, is an error."""
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
            "pace": [*pace],
        }:
            paced = RefreshTimeouts(*(float(item) for item in pace if isinstance(item, int | float)))
            return RefreshTask(
                store, entry, origin, spends, url, float(now), float(until), cut=cut, pace=paced
            )
    raise ClientWireError("expected an errand")


def encode_outcome(error: GroundwireError | None) -> bytes:
    """What went wrong, for standard output; an empty object if nothing did."""
    if error is None:
        return b"{}"
    body: JsonObject = {"kind": type(error).__name__, "message": error.message}
    if isinstance(error, WireError):
        body |= {"message": error.reason, "path": error.path}
    if isinstance(error, UpstreamError):
        body |= {"status": error.status, "code": error.upstream_code}
    return dump_json(body).encode()


def decode_outcome(data: bytes) -> GroundwireError | None:
    """What a process apart said before it ended; nothing at all if it was killed."""
    try:
        said = load_json(data, UpstreamWireError)
    except WireError:
        said = None
    if not isinstance(said, dict):
        return Interrupted("the process that refreshes the session was ended; try again")
    kind, message = str(said.get("kind", "")), str(said.get("message", ""))
    if not kind:
        return None
    if kind == UpstreamWireError.__name__:
        return UpstreamWireError(message, str(said.get("path", "")))
    if kind == ConfigError.__name__:
        return ConfigError(message)
    status, code = said.get("status"), said.get("code")
    return _KINDS.get(kind, UpstreamError)(
        message,
        status=status if isinstance(status, int) else None,
        upstream_code=code if isinstance(code, str) else "",
    )
