"""Points in time as people write them: `7d`, `2026-01-01`, or RFC 3339; kept as RFC 3339."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from groundwire.errors import ConfigError

Edge: TypeAlias = Literal["start", "end"]

_AGO = re.compile(r"([1-9][0-9]{0,4})([hdwmy])")
_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400, "m": 30 * 86400, "y": 365 * 86400}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EXPECTS = "a time such as 7d (h, d, w, m, y), 2026-01-31 or 2026-01-31T12:00:00Z"


def moment(text: str, now: float, edge: Edge = "start") -> str:
    """RFC 3339 in UTC. A day without a time means its first second, or with `edge="end"` its last."""
    try:
        return _moment(text.strip(), now, edge)
    except (ValueError, OverflowError):
        raise ConfigError(f"expected {EXPECTS}") from None


def written(now: float) -> str:
    """A time as RFC 3339, in UTC."""
    from datetime import UTC, datetime  # noqa: PLC0415  few ask for a time

    return datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _moment(text: str, now: float, edge: Edge) -> str:
    from datetime import UTC, datetime, time, timedelta  # noqa: PLC0415  few ask for a time

    if ago := _AGO.fullmatch(text):
        found = datetime.fromtimestamp(now, UTC) - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
    else:
        found = datetime.fromisoformat(text)
    if _DAY.fullmatch(text) and edge == "end":
        found = datetime.combine(found, time(23, 59, 59))
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")
