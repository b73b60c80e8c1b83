"""Documents: upload files into the embedded index, list them, remove them.

All users of this server search the same index. So where keys exist, only an admin or owner may change it.
"""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

from groundwire.chat.documents import (
    ENDINGS,
    MAX_DOCUMENT_BYTES,
    add_document,
    document_name,
    documents,
    remove_document,
)
from groundwire.errors import GroundwireError, TurnedAway
from groundwire.faces.web.auth import check_token, notice_cookie, read_form
from groundwire.faces.web.headers import TOKEN_HEADER, redirect, send_error, send_json
from groundwire.faces.web.messages import translated
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp, record_action
from groundwire.server.asgi import cancel_on_disconnect
from groundwire.text.sanitise import one_line

_SECTION = "documents"


async def show_documents(web: WebApp, request: PageRequest) -> None:
    """The documents, and the form for more."""
    listed = await asyncio.to_thread(documents, request.app.groundwire.config)
    await web.send(
        request,
        "documents",
        documents=[
            (one_line(info.title) or one_line(info.url), info.url, info.characters) for info in listed
        ],
        endings=ENDINGS,
        megabytes=MAX_DOCUMENT_BYTES // 1_000_000,
        section=_SECTION,
    )


async def upload(web: WebApp, request: PageRequest) -> None:
    """Read one document and store it. The body is the file; a query parameter has its name."""
    exchange = request.exchange
    try:
        check_token(request.visitor, exchange.headers.get(TOKEN_HEADER, ""))
        request.app.check_capacity()
        await request.app.check_rate(request.context, 0)
        name = document_name(unquote(exchange.query_param("name")))
        if not name:
            raise TurnedAway(status=400, message="the document has no name", code="INVALID_REQUEST")
        data = await exchange.read_body(MAX_DOCUMENT_BYTES)
        if not await cancel_on_disconnect(exchange, _store(web, request, name, data)):
            request.context.outcome = "left"
    except GroundwireError as error:
        request.context.outcome = error.code
        await send_error(exchange, error, web.error_text(request, error))


async def _store(web: WebApp, request: PageRequest, name: str, data: bytes) -> None:
    async with web.reading:
        result = await asyncio.to_thread(add_document, request.app.groundwire.config, name, data)
    if result.outcome != "skipped":
        await asyncio.to_thread(record_action, request.app, "document_added", request.visitor.key, name)
    texts = web.pages.texts[request.visitor.language]
    sentence = texts[f"document_{result.outcome}"]
    body = {
        "name": one_line(name),
        "outcome": result.outcome,
        "message": sentence,
        "why": translated(one_line(result.why), texts),
    }
    await send_json(request.exchange, {**body})


async def remove(_: WebApp, request: PageRequest) -> None:
    """Remove a document."""
    form = await read_form(request.visitor, request.exchange)
    url = form.get("url", "")
    if not await asyncio.to_thread(remove_document, request.app.groundwire.config, url):
        raise TurnedAway(status=404, message="there is no such document", code="NOT_FOUND")
    await asyncio.to_thread(record_action, request.app, "document_removed", request.visitor.key, url[:200])
    await redirect(request.exchange, "/documents", notice_cookie(request.exchange, "document_removed"))


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/documents", show_documents, about="The documents in the index.", role="admin"),
    PageRoute("POST", "/documents/upload", upload, about="Adds a document to the index.", role="admin"),
    PageRoute("POST", "/documents/remove", remove, about="Removes a document.", role="admin"),
)
