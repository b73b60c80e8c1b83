"""Error policy: what an error means for routing (retry, next target, stop), and for provider health."""

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
    """The reaction of the nearest listed class, adjusted by the provider's own `retryable`."""
    listed: Reaction = next((_REACTIONS[kind] for kind in type(error).__mro__ if kind in _REACTIONS), "stop")
    retryable = vars(error).get("retryable")
    if retryable is True:
        return "retry"
    return "next" if retryable is False and listed == "retry" else listed


def is_unhealthy(error: GroundwireError) -> bool:
    """Is the provider at fault, and not the request?"""
    return isinstance(error, _UNHEALTHY)
