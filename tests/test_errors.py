"""The error tree: codes, statuses, equality."""

from __future__ import annotations

import pytest

from groundwire import errors
from groundwire.errors import (
    AllTargetsFailed,
    AuthRejected,
    ClientWireError,
    GroundwireError,
    InvalidQuery,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    RequestError,
    TimedOut,
    UpstreamError,
    UpstreamWireError,
    WireError,
    bounded_wait,
    upstream_error_class,
)

CLASSES = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GroundwireError)
]


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind is not AllTargetsFailed])
def test_every_error_has_its_message_as_text(kind: type[GroundwireError]) -> None:
    assert "what happened" in str(kind("what happened"))


def test_every_error_has_a_code_of_its_own_and_a_status() -> None:
    codes = [kind.code for kind in CLASSES]
    assert len(codes) == len(set(codes))
    assert all(code == code.upper() and code.replace("_", "").isalpha() for code in codes)
    assert all(400 <= kind.status_hint <= 599 for kind in CLASSES)


def test_caller_errors_are_4xx_and_not_retryable() -> None:
    assert all(
        400 <= kind.status_hint < 500 and not kind.retryable
        for kind in CLASSES
        if issubclass(kind, RequestError | ClientWireError)
    )
    assert not QuotaExhausted.retryable
    assert RateLimited.retryable


def test_a_wire_error_names_path_and_reason() -> None:
    error = UpstreamWireError("expected a string", "$.a[1]")
    assert str(error) == error.message == "$.a[1]: expected a string"
    assert (error.path, error.reason) == ("$.a[1]", "expected a string")


def test_failed_attempts_are_listed_in_order_and_retryable_if_one_is() -> None:
    error = AllTargetsFailed((("a", RateLimited("slow")), ("b", AuthRejected("no key"))))
    assert str(error) == "a: slow; b: no key"
    assert (error.status_hint, error.retryable) == (AuthRejected.status_hint, True)
    assert not AllTargetsFailed((("b", AuthRejected("no key")),)).retryable


def test_errors_are_values() -> None:
    assert RateLimited("x", retry_after=1.0) == RateLimited("x", retry_after=1.0)
    assert RateLimited("x", retry_after=1.0) != RateLimited("x", retry_after=2.0)
    assert RateLimited("x") != Overloaded("x")
    assert InvalidQuery("x") != "x"
    assert len({Refused("x"), Refused("x"), Refused("y")}) == 2
    assert WireError("x", "$.a") != WireError("x", "$.b")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, AuthRejected),
        (402, QuotaExhausted),
        (403, AuthRejected),
        (404, NotFound),
        (408, TimedOut),
        (409, Refused),
        (413, Refused),
        (422, Refused),
        (429, RateLimited),
        (500, Overloaded),
        (502, Overloaded),
        (503, Overloaded),
        (504, TimedOut),
        (524, TimedOut),
        (529, Overloaded),
    ],
)
def test_a_bare_status_gives_a_class(status: int, kind: type[UpstreamError]) -> None:
    assert upstream_error_class(status) is kind


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [
        (0.0, 0.0),
        (30, 30),
        (86_401, 86_400.0),
        (1e300, 86_400.0),
        (float("inf"), None),
        (-1, None),
        (None, None),
    ],
)
def test_a_retry_delay_is_at_most_one_day(seconds: float | None, kept: float | None) -> None:
    assert RateLimited("slow down", retry_after=seconds).retry_after == kept
    assert bounded_wait(seconds) == kept


def test_a_retry_delay_that_is_not_a_number_is_ignored() -> None:
    assert RateLimited("slow down", retry_after=float("nan")).retry_after is None
