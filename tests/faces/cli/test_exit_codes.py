"""Every error has an exit code and says what to do next."""

from __future__ import annotations

import inspect

import pytest

from groundwire import errors
from groundwire.errors import (
    AllTargetsFailed,
    AuthRejected,
    ClientWireError,
    ConfigError,
    GroundwireError,
    InvalidArguments,
    InvalidQuery,
    MissingCredential,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    TimedOut,
    Unreachable,
    UnsupportedFeature,
    UpstreamWireError,
)
from groundwire.faces.cli.exit_codes import exit_status


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidQuery("x"), 2),
        (InvalidArguments("x"), 2),
        (UnsupportedFeature("x"), 2),
        (ClientWireError("x"), 2),
        (ConfigError("x"), 4),
        (MissingCredential("x"), 4),
        (AuthRejected("x"), 4),
        (QuotaExhausted("x"), 5),
        (RateLimited("x"), 5),
        (Overloaded("x"), 5),
        (Refused("x"), 5),
        (NotFound("x"), 5),
        (TimedOut("x"), 5),
        (Unreachable("x"), 5),
        (UpstreamWireError("x"), 5),
        (GroundwireError("x"), 1),
    ],
)
def test_the_kind_of_error_decides_the_exit_code(error: GroundwireError, code: int) -> None:
    assert exit_status(error).code == code


def test_failures_of_one_kind_have_the_exit_code_of_that_kind() -> None:
    both = AllTargetsFailed((("a", AuthRejected("x")), ("b", MissingCredential("x"))))
    assert exit_status(both).code == 4


def test_failures_of_different_kinds_have_the_exit_code_of_provider_errors() -> None:
    mixed = AllTargetsFailed((("a", AuthRejected("x")), ("b", Unreachable("x"))))
    assert exit_status(mixed).code == 5


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.UpstreamError | errors.UpstreamWireError)
    ],
)
def test_every_provider_error_has_advice(kind: type[GroundwireError]) -> None:
    assert exit_status(kind("x")).advice.endswith(".")
