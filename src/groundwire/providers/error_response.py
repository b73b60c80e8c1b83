"""What an answer that is none says beyond its dialect: when to come back, whether to, and in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundwire.dialects.base import Dialect
from groundwire.errors import Refused, UpstreamError, bounded_wait

if TYPE_CHECKING:
    from groundwire.transport.response import Response

_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_PAGE = 8192


async def refusal(name: str, language: Dialect, exchange: Response, now: float) -> UpstreamError:
    """The error that a status other than success means."""
    status, headers = exchange.status, exchange.headers
    if status < 400:
        return Refused(
            f"{name} points elsewhere (HTTP {status}), which is not followed; check its base_url",
            status=status,
        )
    error = language.decode_error(status, readable(await exchange.error_body()), headers)
    if error.retry_after is None:
        error.retry_after = wait_until(headers, now)
    advice = headers.get("x-should-retry")
    if advice in ("true", "false"):
        error.retryable = advice == "true"
    return error


def readable(body: bytes) -> bytes:
    """The words of a web page; anything else as it is."""
    if not body.lstrip().startswith(b"<"):
        return body
    from html import unescape  # noqa: PLC0415  has two thousand names, and pages are rare

    text = unescape(_MARKUP.sub(" ", body[:_PAGE].decode("utf-8", "replace")))
    return " ".join(text.split()).encode("utf-8", "replace")


def wait_until(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to the date that `retry-after` names, by the provider's own clock if it tells the time."""
    moment = _moment(headers.get("retry-after", ""))
    if moment is None:
        return None
    told = _moment(headers.get("date", ""))
    return bounded_wait(max(0.0, moment - (now if told is None else told)))


def _moment(text: str) -> float | None:
    """Seconds since the epoch of an HTTP date, in any of its three forms."""
    from datetime import datetime, timedelta, timezone  # noqa: PLC0415  needed once in a blue moon
    from email.utils import parsedate_tz  # noqa: PLC0415

    parts = parsedate_tz(text)
    if parts is None:
        return None
    try:
        zone = timezone(timedelta(seconds=parts[9] or 0))
        return datetime(*parts[:6], tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
