"""Whole messages: the blocks of a stream in one list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from groundwire.dialects.anthropic_messages.citations import CitationWriter
from groundwire.dialects.anthropic_messages.cutting import Cutter
from groundwire.dialects.anthropic_messages.documents import Document, documents_of
from groundwire.dialects.anthropic_messages.ending import EXTENDED, encode_ending, encode_head
from groundwire.dialects.anthropic_messages.errors import decode_stream_error
from groundwire.dialects.anthropic_messages.pairs import SearchWriter
from groundwire.dialects.anthropic_messages.parts import decode_arguments, encode_id
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.stream import Decoder
from groundwire.dialects.anthropic_messages.usage import encode_usage
from groundwire.dialects.base import Dialect, Reply
from groundwire.dialects.citation_buffer import searches_before_text
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import Fields
from groundwire.dialects.signed_tokens import seal
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Event,
    Failed,
    JsonObject,
    Opaque,
    Part,
    Reasoning,
    Request,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)
from groundwire.model.value import replace


def decode_response(body: JsonObject, documents: Iterable[Document] = ()) -> list[Event]:
    """The events that tell a whole message; an error body with status 200 tells a failure.

    `documents` are those of the request, which citations may name by number.
    """
    message = Fields.of(body, UpstreamWireError)
    if message.text("type") == "error":
        return [Failed(decode_stream_error(message.obj("error").raw))]
    if not message.has("content") and message.text("type") != "message":
        raise message.fault("expected a message")
    decoder = Decoder(documents=documents)
    decoder.audit(body)
    decoder.start(message)
    for index, block in enumerate(message.objs("content")):
        decoder.open(index, block)
        decoder.shut(index)
    decoder.finish(message)
    decoder.stop()
    return decoder.close()


def for_request(language: Dialect, request: Request) -> Dialect:
    """The dialect with the documents of a request, which citations of its answer may name by number."""
    documents = documents_of(request)
    if not documents:
        return language
    return replace(
        language,
        decoder=partial(Decoder, documents=documents),
        decode_response=partial(decode_response, documents=documents),
    )


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """A whole message."""
    body = encode_head(answer.id, answer.model, reply)
    parts = searches_before_text(answer.parts, NAME)
    searches = SearchWriter(reply.key)
    body["content"] = list(encode_blocks(parts, answer.citations, reply, searches))
    body.update(encode_ending(answer))
    body["usage"] = encode_usage(answer.usage, searches.searches)
    return add_extension(body, answer, EXTENDED)


def encode_blocks(
    parts: tuple[Part, ...], citations: tuple[Citation, ...], reply: Reply, searches: SearchWriter
) -> Iterator[JsonObject]:
    """The blocks of an answer, or of a turn that goes back to its maker."""
    cutter = Cutter()
    for citation in citations:
        if citation.span is not None:
            cutter.add(citation)
    citing = CitationWriter(reply)
    searches.know(parts)
    # The last search lists the pages that are cited and that no search found; without one, a pair of its own.
    listing = next((part for part in reversed(parts) if searches.can_list(part)), None)
    pages = citations
    position = 0
    for part in parts:
        if part is listing or (listing is None and isinstance(part, Text)):
            searches.cite(pages)
            pages = ()
        if isinstance(part, Text):
            yield from searches.flush() if listing else searches.rest()
            yield from _encode_text(part, cutter, position, citing)
            position += len(part.text)
        else:
            yield from _encode_part(part, searches, reply)
    searches.cite(pages)
    yield from searches.rest()


def _encode_text(part: Text, cutter: Cutter, position: int, citing: CitationWriter) -> Iterator[JsonObject]:
    for piece in cutter.pieces(part.text, position):
        block: JsonObject = {"type": "text", "text": piece.text}
        if piece.citations:
            block["citations"] = [
                citing.encode(item, citation.span)
                for citation in piece.citations
                for item in citation.evidence
            ]
        yield {**block, **part.extras.get(NAME, {})}


def _encode_part(part: Part, searches: SearchWriter, reply: Reply) -> Iterator[JsonObject]:
    match part:
        case SearchCall():
            yield from searches.call(part)
        case SearchResult():
            yield from searches.result(part)
        case Reasoning():
            yield from searches.flush()
            yield _encode_reasoning(part, reply)
        case ToolCall(call_id, name, arguments):
            yield from searches.flush()
            block: JsonObject = {"type": "tool_use", "id": encode_id(call_id), "name": name}
            yield {**block, "input": decode_arguments(arguments), **part.extras.get(NAME, {})}
        case Opaque(dialect, data) if dialect == NAME:
            yield from searches.flush()
            yield data


def _encode_reasoning(part: Reasoning, reply: Reply) -> JsonObject:
    kept = part.extras.get(NAME, {})
    if kept.get("type") == "redacted_thinking":
        return kept
    signature = kept.get("signature", seal({}, reply.key))
    return {"type": "thinking", "thinking": part.text, **kept, "signature": signature}
