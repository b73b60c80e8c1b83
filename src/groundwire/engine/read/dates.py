"""When a page was published, as RFC 3339, out of the many ways in which pages say it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)? ?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
_EARLIEST, _LATEST = 1970, 2200


def normal_date(text: str) -> str:
    """A moment with its offset, or the day alone; empty if it is neither."""
    text = text.strip()[:60]
    moment = _MOMENT.match(text)
    if moment and moment[3]:
        return _moment(f"{moment[1]}T{moment[2]}{moment[3].upper()}")
    day = _DAY.match(text)
    return _day(int(day[1]), int(day[2]), int(day[3])) if day else ""


def _moment(text: str) -> str:
    try:
        found = datetime.fromisoformat(text)
        utc = found.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    if not _EARLIEST <= found.year <= _LATEST:
        return ""
    return utc.isoformat(timespec="seconds").replace("+00:00", "Z")


def _day(year: int, month: int, day: int) -> str:
    try:
        found = datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return ""
    return found.date().isoformat() if _EARLIEST <= year <= _LATEST else ""
