"""Decodes the request of `useChat`: messages with parts, and the fields that the page adds to the body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.dialects.fields import Fields
from groundwire.dialects.websearch.search import decode_search
from groundwire.errors import ClientWireError
from groundwire.model import (
    Citation,
    Evidence,
    Image,
    JsonObject,
    Message,
    Part,
    Request,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
    Text,
)
from groundwire.model.request import Role
from groundwire.model.source import Span
from groundwire.text.offsets import to_points

TOOL = "web_search"
CITATION = "data-citation"
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,(.+)", re.DOTALL)


def decode_request(body: JsonObject) -> Request:
    """Decode a body. Raises `ClientWireError`.

    `model`, `system`, `webSearch` and `search` are fields that a page adds. Web search is on unless
    `webSearch` is false.
    """
    fields = Fields(body, ClientWireError)
    messages = tuple(_decode_message(message) for message in fields.objs("messages"))
    if not any(message.role == "user" and message.parts for message in messages):
        raise fields.fault("expected a message of the user with text", "messages")
    system = fields.text("system").strip()
    return Request(
        messages,
        fields.text("model").strip() or "auto",
        system=(Text(system),) if system else (),
        search=_decode_search_options(fields),
        stream=True,
    )


def _decode_search_options(fields: Fields) -> SearchOptions | None:
    return None if fields.flag("webSearch") is False else decode_search(fields.obj("search"))


def _decode_message(message: Fields) -> Message:
    role = _ROLES.get(message.text("role"))
    if role is None:
        raise message.fault(f"expected one of {', '.join(_ROLES)}", "role")
    parts = list(message.objs("parts"))
    decoded = tuple(item for part in parts for item in _decode_part(part))
    text = "".join(part.text for part in decoded if isinstance(part, Text))
    return Message(role, decoded, tuple(_decode_citations(parts, text)) if role == "assistant" else ())


def _decode_part(part: Fields) -> Iterator[Part]:
    """The parts that a provider needs; steps, reasoning, sources and data of the page are not among them."""
    kind = part.text("type")
    if kind == "text":
        if text := part.text("text"):
            yield Text(text)
    elif kind == "file":
        yield from _decode_file(part)
    elif kind == f"tool-{TOOL}":
        yield from _decode_search(part)


def _decode_file(part: Fields) -> Iterator[Part]:
    media_type, url = part.text("mediaType"), part.text("url")
    if not media_type.startswith("image/"):
        raise part.fault("only images can be attached", "mediaType")
    inline = _DATA_URL.fullmatch(url)
    yield Image(inline[1], inline[2]) if inline else Image(media_type, url=url)


def _decode_search(part: Fields) -> Iterator[Part]:
    call_id = part.text("toolCallId")
    given = part.obj("input")
    query = given.text("query")
    queries = given.texts("queries") or ((query,) if query else ())
    yield SearchCall(call_id, queries, url=given.text("url"))
    if part.text("state") == "output-available":
        sources = tuple(_decode_source(source) for source in part.obj("output").objs("sources"))
        yield SearchResult(call_id, sources)


def _decode_source(source: Fields) -> Source:
    return Source(source.text("url"), source.text("title"), date=source.text("date"))


def _decode_citations(parts: list[Fields], text: str) -> Iterator[Citation]:
    """Citations with their spans, from our own data parts; otherwise the sources of the whole answer."""
    sources = {
        part.text("sourceId"): Source(part.text("url"), part.text("title"), state="cited")
        for part in parts
        if part.text("type") in ("source-url", "source-document")
    }
    placed = [part.obj("data") for part in parts if part.text("type") == CITATION]
    for citation in placed:
        named = [item for item in citation.objs("sources") if item.text("sourceId") in sources]
        evidence = tuple(Evidence(sources[item.text("sourceId")], item.text("quote")) for item in named)
        start, end = citation.offset("start"), citation.offset("end")
        if evidence and start is not None and end is not None and start <= end:
            yield Citation(Span(*to_points(text, (start, end), "utf16")), evidence)
        elif evidence:
            yield Citation(None, evidence)
    if not placed and sources:
        yield Citation(None, tuple(Evidence(source) for source in sources.values()))
