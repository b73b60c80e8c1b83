"""What goes with every answer of the page: nothing is loaded from elsewhere, and nobody frames it."""

from __future__ import annotations

from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.faces.gateway.asgi import JSON, Headers, Inbound
from groundwire.faces.gateway.response_writer import retry_after
from groundwire.model import Json

CSP = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
SECURITY: Headers = (
    ("content-security-policy", CSP),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    # Nothing goes to others; a page that hides itself from us too would send its forms without an Origin.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
PRIVATE: Headers = (("cache-control", "no-store"),)


async def send_page(inbound: Inbound, html: str, *, status: int = 200, more: Headers = ()) -> None:
    """A page."""
    head = (("content-type", "text/html; charset=utf-8"), *SECURITY, *PRIVATE, *more)
    await inbound.respond(status, head, html.encode("utf-8", "replace"))


async def send_away(inbound: Inbound, path: str, more: Headers = ()) -> None:
    """Somewhere else, by GET."""
    await inbound.respond(303, (("location", path), *SECURITY, *PRIVATE, *more), b"")


async def send_file(inbound: Inbound, name: str, kind: str, text: str) -> None:
    """Something to keep. The name is made of our own letters."""
    disposition = ("content-disposition", f'attachment; filename="{name}"')
    head = (("content-type", f"{kind}; charset=utf-8"), disposition, *SECURITY, *PRIVATE)
    await inbound.respond(200, head, text.encode("utf-8", "replace"))


async def send_refusal(inbound: Inbound, error: GroundwireError, message: str) -> None:
    """Why something was not done, for the script of the page."""
    head = (("content-type", JSON), *retry_after(error), *SECURITY, *PRIVATE)
    await inbound.respond(error.status_hint, head, dump_json({"message": message}).encode())


def event(name: str, body: Json) -> bytes:
    """One event of a stream to the page."""
    return f"event: {name}\ndata: {dump_json(body)}\n\n".encode("utf-8", "replace")
