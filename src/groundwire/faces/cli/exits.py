"""How a command ends: exit codes, and what a person should do next, by the kind of error."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.errors import (
    AllTargetsFailed,
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
    RequestError,
    TimedOut,
    Unreachable,
    UpstreamError,
    UpstreamWireError,
)
from groundwire.model.value import value

OK = 0
FAILURE = 1
USAGE = 2
NOTHING_FOUND = 3
CONFIGURATION = 4
UPSTREAM = 5
INTERRUPTED = 130


@value
class Ending:
    """What a kind of error means for the exit code and for the person."""

    code: int
    advice: str = ""
    """What to do next; empty where the message itself says it."""


_ENDINGS: Mapping[type[GroundwireError], Ending] = {
    RequestError: Ending(USAGE),
    ClientWireError: Ending(USAGE),
    ConfigError: Ending(CONFIGURATION),
    AuthRejected: Ending(
        CONFIGURATION, "Check the key or log in again; `groundwire doctor` says where it was found."
    ),
    QuotaExhausted: Ending(UPSTREAM, "Top up the account, or choose another provider with --provider."),
    RateLimited: Ending(UPSTREAM, "Wait a moment, or choose another provider with --provider."),
    Overloaded: Ending(UPSTREAM, "Try again in a moment, or choose another provider with --provider."),
    Refused: Ending(UPSTREAM, "Change the question or the options, or choose another provider."),
    NotFound: Ending(UPSTREAM, "Check --model; `groundwire providers` shows the defaults."),
    TimedOut: Ending(UPSTREAM, "Try again, or allow more time: `timeout` in the configuration."),
    Unreachable: Ending(UPSTREAM, "Check the network and the proxy settings (HTTPS_PROXY, NO_PROXY)."),
    Interrupted: Ending(UPSTREAM, "What came before is shown; try again for the rest."),
    UpstreamWireError: Ending(UPSTREAM, "Try again; if it stays, choose another provider and report it."),
    UpstreamError: Ending(UPSTREAM, "Try again, or choose another provider with --provider."),
    GroundwireError: Ending(FAILURE, "Please report it if it stays."),
}


def ending_of(error: GroundwireError) -> Ending:
    """The entry of the nearest class. Several failures end as one if they agree, else as the network's."""
    if isinstance(error, AllTargetsFailed) and error.attempts:
        codes = {ending_of(attempt).code for _, attempt in error.attempts}
        code = codes.pop() if len(codes) == 1 else UPSTREAM
        return Ending(code, "`groundwire doctor` says what was found where; --live also asks each provider.")
    return next(_ENDINGS[kind] for kind in type(error).__mro__ if kind in _ENDINGS)
