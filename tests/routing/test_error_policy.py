"""The reaction to every class of error."""

from __future__ import annotations

import pytest

from groundwire import errors
from groundwire.errors import AllTargetsFailed, GroundwireError, WireError
from groundwire.routing.error_policy import Reaction, is_unhealthy, reaction

TABLE: dict[str, tuple[Reaction, bool]] = {
    "GroundwireError": ("stop", False),
    "ConfigError": ("next", False),
    "MissingCredential": ("next", False),
    "RequestError": ("stop", False),
    "InvalidQuery": ("stop", False),
    "InvalidArguments": ("stop", False),
    "UnsupportedFeature": ("next", False),
    "WireError": ("stop", False),
    "ClientWireError": ("stop", False),
    "UnknownModel": ("stop", False),
    "CostLimit": ("stop", False),
    "FetchRefused": ("stop", False),
    "ForbiddenForKey": ("stop", False),
    "TurnedAway": ("stop", False),
    "UpstreamWireError": ("retry", True),
    "UpstreamError": ("next", False),
    "AuthRejected": ("next", False),
    "QuotaExhausted": ("next", False),
    "RateLimited": ("retry", True),
    "Overloaded": ("retry", True),
    "Refused": ("stop", False),
    "NotFound": ("next", False),
    "TimedOut": ("next", True),
    "Unreachable": ("retry", True),
    "Interrupted": ("retry", True),
    "AllTargetsFailed": ("stop", False),
}


def classes() -> dict[str, type[GroundwireError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, GroundwireError)
    }


def made(kind: type[GroundwireError]) -> GroundwireError:
    if issubclass(kind, AllTargetsFailed):
        return kind(())
    return kind("x", "$") if issubclass(kind, WireError) else kind("x")


def test_the_table_has_every_class() -> None:
    assert set(TABLE) == set(classes())


@pytest.mark.parametrize("name", TABLE)
def test_every_error_has_its_reaction(name: str) -> None:
    error = made(classes()[name])
    assert (reaction(error), is_unhealthy(error)) == TABLE[name]


@pytest.mark.parametrize(("name", "row"), TABLE.items())
def test_the_providers_retry_advice_wins(name: str, row: tuple[Reaction, bool]) -> None:
    error = made(classes()[name])
    error.retryable = True
    assert reaction(error) == "retry"
    error.retryable = False
    assert reaction(error) == ("next" if row[0] == "retry" else row[0])


def test_an_unlisted_error_class_has_the_reaction_of_its_parent() -> None:
    class OutOfTokens(errors.QuotaExhausted):
        """A third party's own."""

    assert reaction(OutOfTokens("no")) == "next"
