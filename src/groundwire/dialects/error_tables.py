"""How long a provider asks us to wait, as its headers say."""

from __future__ import annotations

from groundwire.dialects.base import Headers
from groundwire.errors import bounded_wait


def retry_after(headers: Headers) -> float | None:
    """Seconds, from `retry-after-ms` or `retry-after`; dates need a clock and are left to who has one."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if (wait := bounded_wait(seconds)) is not None:
            return wait
    return None


def request_id(headers: Headers) -> str:
    """The provider's name for the request, for its support desk."""
    return headers.get("x-request-id") or headers.get("request-id") or ""
