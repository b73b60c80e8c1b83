"""Time values in the configuration."""

from __future__ import annotations

import pytest

from groundwire.config.kinds import parse_time
from groundwire.errors import ConfigError
from tests.config.machine import NOW

CASES = {
    "7d": "2026-09-14T14:13:20Z",
    "1h": "2026-09-21T13:13:20Z",
    "2w": "2026-09-07T14:13:20Z",
    "1m": "2026-08-22T14:13:20Z",
    "1y": "2025-09-21T14:13:20Z",
    "2026-01-31": "2026-01-31T00:00:00Z",
    " 2026-01-31 ": "2026-01-31T00:00:00Z",
    "2026-01-31T12:00:00Z": "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00+02:00": "2026-01-31T10:00:00Z",
    "2026-01-31 12:00": "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00.5Z": "2026-01-31T12:00:00Z",
}


@pytest.mark.parametrize("text", CASES)
def test_times_become_rfc_3339(text: str) -> None:
    assert parse_time(text, NOW) == CASES[text]


def test_a_day_ends_with_its_last_second() -> None:
    assert parse_time("2026-01-31", NOW, "end") == "2026-01-31T23:59:59Z"
    assert parse_time("2026-01-31T12:00:00Z", NOW, "end") == "2026-01-31T12:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "0d",
        "-1d",
        "7 d",
        "7q",
        "2026-13-01",
        "2026-02-30",
        "99999y",
        "９d",
        "0001-01-01T00:00+23:59",
    ],
)
def test_invalid_times_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected a time such as 7d"):
        parse_time(text, NOW)
