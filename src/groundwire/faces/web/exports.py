"""Sessions to take along. They are written beside the loop, piece by piece: others go on being served."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice

from groundwire.chat.export import session_as_json, session_as_markdown
from groundwire.faces.gateway.asgi import Inbound
from groundwire.faces.web.app import Face, Page, PageRequest
from groundwire.faces.web.headers import PRIVATE, SECURITY

_AT_ONCE = 10
"""Turns that are sent together."""


async def export_markdown(face: Face, request: PageRequest) -> None:
    """A session as Markdown."""
    conversation = await face.chat.read_session(request.visit.owner, request.names["id"])
    pieces = session_as_markdown(conversation, request.visit.language)
    await _send(request.inbound, f"{conversation.session.id}.md", "text/markdown", pieces)


async def export_json(face: Face, request: PageRequest) -> None:
    """A session as JSON."""
    conversation = await face.chat.read_session(request.visit.owner, request.names["id"])
    pieces = session_as_json(conversation)
    await _send(request.inbound, f"{conversation.session.id}.json", "application/json", pieces)


async def _send(inbound: Inbound, name: str, kind: str, pieces: Iterator[str]) -> None:
    """A file as it is written. The name is made of our own letters."""
    head = (
        ("content-type", f"{kind}; charset=utf-8"),
        ("content-disposition", f'attachment; filename="{name}"'),
        *SECURITY,
        *PRIVATE,
    )

    def written() -> bytes:
        return "".join(islice(pieces, _AT_ONCE)).encode("utf-8", "replace")

    data = await asyncio.to_thread(written)
    await inbound.begin(200, head)
    while data:
        await inbound.write(data)
        data = await asyncio.to_thread(written)
    await inbound.write(b"", more=False)


PAGES: tuple[Page, ...] = (
    Page("GET", "/chat/{id}/export.md", export_markdown, about="A session as Markdown."),
    Page("GET", "/chat/{id}/export.json", export_json, about="A session as JSON."),
)
