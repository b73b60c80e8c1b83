"""Dates of pages and of searches, as seconds that compare.

A day alone is its last second when it dates a page or ends a search, and its first when it starts one: what
was published on a day is found by a search since, until and on that day.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from groundwire.errors import RequestError

_DAY_ALONE = len("2024-05-01")
_WHOLE_DAY = timedelta(days=1, seconds=-1)


def published_at(text: str) -> int | None:
    """When a page came out; None where that is not known."""
    return _seconds(text, ends=True)


def bounds(since: str, until: str) -> tuple[int | None, int | None]:
    """The first and the last moment a search asks for. Raises `RequestError` for what is no date."""
    return _bound(since, ends=False), _bound(until, ends=True)


def _bound(text: str, *, ends: bool) -> int | None:
    found = _seconds(text, ends=ends)
    if text.strip() and found is None:
        raise RequestError(f"{text!r} is no date; write 2024-05-01 or 2024-05-01T10:00:00Z")
    return found


def _seconds(text: str, *, ends: bool) -> int | None:
    text = text.strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if len(text) <= _DAY_ALONE and ends:
            moment += _WHOLE_DAY
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
