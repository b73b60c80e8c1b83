"""What to do about an error, as a table: try again, ask somebody else, or give up."""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    Interrupted,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    RequestError,
    TimedOut,
    Unreachable,
    UnsupportedFeature,
    UpstreamError,
    UpstreamWireError,
)

Reaction: TypeAlias = Literal["retry", "next", "stop"]

_REACTIONS: dict[type[GroundwireError], Reaction] = {
    RateLimited: "retry",
    Overloaded: "retry",
    TimedOut: "next",
    Unreachable: "retry",
    Interrupted: "retry",
    UpstreamWireError: "retry",
    AuthRejected: "next",
    QuotaExhausted: "next",
    NotFound: "next",
    ConfigError: "next",
    UnsupportedFeature: "next",
    Refused: "stop",
    UpstreamError: "next",
    RequestError: "stop",
}

_UNHEALTHY = (Overloaded, RateLimited, TimedOut, Unreachable, Interrupted, UpstreamWireError)


def reaction(error: GroundwireError) -> Reaction:
    """The entry of the nearest class, unless the provider itself said better; what is not listed stops."""
    listed: Reaction = next((_REACTIONS[kind] for kind in type(error).__mro__ if kind in _REACTIONS), "stop")
    told = vars(error).get("retryable")
    if told is True:
        return "retry"
    return "next" if told is False and listed == "retry" else listed


def is_unhealthy(error: GroundwireError) -> bool:
    """Does this error speak against the provider, rather than against the request?"""
    return isinstance(error, _UNHEALTHY)
