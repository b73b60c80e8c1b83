"""Security headers of the web page, and functions that send its responses.

The content security policy allows neither external resources nor framing.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from urllib.parse import quote

from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.model import Json
from groundwire.server.asgi import JSON, Headers, HttpExchange
from groundwire.server.response_writer import retry_after_header
from groundwire.text.sanitise import one_line

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
    # No referrer for other origins. With `no-referrer`, browsers would send forms without an Origin.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
LINK_REL = "noopener noreferrer nofollow ugc"
"""The `rel` of links to other sites."""
TOKEN_HEADER = "x-groundwire-token"  # noqa: S105  the name of a header
STREAM_HEADERS: Headers = (
    ("content-type", "text/event-stream; charset=utf-8"),
    ("x-accel-buffering", "no"),
)
PRIVATE: Headers = (("cache-control", "no-store"),)
NOT_INDEXED: Headers = (("x-robots-tag", "noindex, nofollow, noarchive"),)
_EXPORT_BATCH = 10
"""Chunks that are written together."""
_LONGEST_NAME = 80
_NOT_IN_NAMES = re.compile(r"""[\x00-\x1f\x7f/\\:*?"<>|]+""")
_QUOTED = re.compile(r"[^A-Za-z0-9 ._,()+-]")


async def send_page(exchange: HttpExchange, html: str, *, status: int = 200, extra: Headers = ()) -> None:
    """Send an HTML page."""
    head = (("content-type", "text/html; charset=utf-8"), *SECURITY, *PRIVATE, *extra)
    await exchange.respond(status, head, html.encode("utf-8", "replace"))


async def redirect(exchange: HttpExchange, path: str, extra: Headers = ()) -> None:
    """Redirect with 303: the browser continues with GET."""
    await exchange.respond(303, (("location", path), *SECURITY, *PRIVATE, *extra), b"")


def file_name(title: str, suffix: str, fallback: str = "session") -> str:
    """The name of a download that is named after a title. It is a valid file name on every system."""
    plain = " ".join(_NOT_IN_NAMES.sub(" ", one_line(title)).split()).strip(". ")
    return (plain[:_LONGEST_NAME].rstrip(". ") or fallback) + suffix


def download_headers(name: str, content_type: str) -> Headers:
    """The headers of a download, with its name in ASCII and, if that differs, whole (RFC 6266)."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    safe = _QUOTED.sub("_", plain)
    whole = "" if safe == name else f"; filename*=UTF-8''{quote(name.encode('utf-8', 'replace'), safe='')}"
    disposition = ("content-disposition", f'attachment; filename="{safe}"{whole}')
    return (("content-type", f"{content_type}; charset=utf-8"), disposition, *SECURITY, *PRIVATE)


async def send_export(exchange: HttpExchange, name: str, content_type: str, chunks: Iterator[str]) -> None:
    """Stream a download. It is written in a thread, some chunks at a time, so that the event loop keeps
    serving."""

    def next_batch() -> bytes:
        return "".join(islice(chunks, _EXPORT_BATCH)).encode("utf-8", "replace")

    data = await asyncio.to_thread(next_batch)
    await exchange.start_response(200, download_headers(name, content_type))
    while data:
        await exchange.write(data)
        data = await asyncio.to_thread(next_batch)
    await exchange.write(b"", more=False)


async def send_file(exchange: HttpExchange, name: str, content_type: str, text: str) -> None:
    """Send a download."""
    await exchange.respond(200, download_headers(name, content_type), text.encode("utf-8", "replace"))


async def send_json(exchange: HttpExchange, body: Json) -> None:
    """Send JSON, for the scripts of the page."""
    head = (("content-type", JSON), *SECURITY, *PRIVATE)
    await exchange.respond(200, head, dump_json(body).encode("utf-8", "replace"))


async def send_error(exchange: HttpExchange, error: GroundwireError, message: str) -> None:
    """Send the message of an error as JSON, for the scripts of the page."""
    head = (("content-type", JSON), *retry_after_header(error), *SECURITY, *PRIVATE)
    await exchange.respond(error.status_hint, head, dump_json({"message": message}).encode())


def sse_event(name: str, body: Json) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {dump_json(body)}\n\n".encode("utf-8", "replace")
