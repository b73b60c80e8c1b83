"""What error responses of all dialects share: retry delay and request id in headers, body excerpts."""

from __future__ import annotations

from groundwire.dialects.base import Headers
from groundwire.errors import bounded_wait


def retry_after(headers: Headers) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after`. Dates need a clock and are not read here."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if (wait := bounded_wait(seconds)) is not None:
            return wait
    return None


def request_id(headers: Headers) -> str:
    """The provider's id of the request, for its support."""
    return headers.get("x-request-id") or headers.get("request-id") or ""


def excerpt(body: bytes) -> str:
    """The beginning of a body that is not an error of the dialect, as one line."""
    text = " ".join(body[:400].decode("utf-8", "replace").split())
    return "".join(character for character in text if character.isprintable())[:200]
