"""Exit codes, and advice for the user, for each class of error."""

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
    TurnedAway,
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
VERIFICATION_FAILED = 6
INTERRUPTED = 130


@value
class ExitStatus:
    """Exit code of a class of errors, and what the user should do."""

    code: int
    advice: str = ""
    """Empty where the message of the error says it."""


_STATUSES: Mapping[type[GroundwireError], ExitStatus] = {
    RequestError: ExitStatus(USAGE),
    ClientWireError: ExitStatus(USAGE),
    ConfigError: ExitStatus(CONFIGURATION),
    AuthRejected: ExitStatus(
        CONFIGURATION, "Check the key or log in again; `groundwire doctor` shows where it was found."
    ),
    QuotaExhausted: ExitStatus(UPSTREAM, "Top up the account, or choose another provider with --provider."),
    RateLimited: ExitStatus(UPSTREAM, "Wait a moment, or choose another provider with --provider."),
    Overloaded: ExitStatus(UPSTREAM, "Try again in a moment, or choose another provider with --provider."),
    Refused: ExitStatus(UPSTREAM, "Change the question or the options, or choose another provider."),
    NotFound: ExitStatus(UPSTREAM, "Check --model; `groundwire providers` shows the defaults."),
    TimedOut: ExitStatus(UPSTREAM, "Try again, or allow more time: `timeout` in the configuration."),
    Unreachable: ExitStatus(UPSTREAM, "Check the network and the proxy settings (HTTPS_PROXY, NO_PROXY)."),
    Interrupted: ExitStatus(UPSTREAM, "What came before is shown; try again for the rest."),
    UpstreamWireError: ExitStatus(UPSTREAM, "Try again; if it stays, choose another provider and report it."),
    UpstreamError: ExitStatus(UPSTREAM, "Try again, or choose another provider with --provider."),
    TurnedAway: ExitStatus(FAILURE),
    GroundwireError: ExitStatus(FAILURE, "Please report it if it stays."),
}


def exit_status(error: GroundwireError) -> ExitStatus:
    """The entry of the nearest class. Several errors give their common code, else that of upstream errors."""
    if isinstance(error, AllTargetsFailed) and error.attempts:
        codes = {exit_status(attempt).code for _, attempt in error.attempts}
        code = codes.pop() if len(codes) == 1 else UPSTREAM
        return ExitStatus(
            code, "`groundwire doctor` shows what was found; --live also sends a request to each provider."
        )
    return next(_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES)
