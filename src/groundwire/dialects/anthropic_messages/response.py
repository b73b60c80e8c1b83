"""Whole messages: the blocks of a stream in one list."""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.dialects.anthropic_messages.cutting import Cutter
from groundwire.dialects.anthropic_messages.ending import LOSSES, encode_ending, encode_head
from groundwire.dialects.anthropic_messages.errors import decode_stream_error
from groundwire.dialects.anthropic_messages.parts import (
    decode_arguments,
    encode_citation,
    encode_id,
    encode_search_call,
    encode_search_id,
    encode_search_result,
)
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.stream import Decoder
from groundwire.dialects.anthropic_messages.tokens import seal
from groundwire.dialects.anthropic_messages.usage import encode_usage
from groundwire.dialects.base import Reply
from groundwire.dialects.extension import extend
from groundwire.dialects.fields import Fields
from groundwire.dialects.late import searches_first
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
    SearchCall,
    SearchResult,
    Span,
    Text,
    ToolCall,
)


def decode_response(body: JsonObject) -> list[Event]:
    """The events that tell a whole message; an error body with status 200 tells a failure."""
    message = Fields.of(body, UpstreamWireError)
    if message.text("type") == "error":
        return [Failed(decode_stream_error(message.obj("error").raw))]
    if not message.has("content") and message.text("type") != "message":
        raise message.fault("expected a message")
    decoder = Decoder()
    decoder.look(body)
    decoder.start(message)
    for index, block in enumerate(message.objs("content")):
        decoder.open(index, block)
        decoder.shut(index)
    decoder.finish(message)
    decoder.stop()
    return decoder.close()


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """A whole message."""
    body = encode_head(answer.id, answer.model, reply)
    parts = searches_first(answer.parts, NAME)
    body["content"] = list(encode_blocks(parts, answer.citations, reply))
    body.update(encode_ending(answer))
    body["usage"] = encode_usage(answer.usage)
    return extend(body, answer, LOSSES)


def encode_blocks(
    parts: tuple[Part, ...], citations: tuple[Citation, ...], reply: Reply
) -> Iterator[JsonObject]:
    """The blocks of an answer, or of a turn that goes back to its maker."""
    cutter = Cutter()
    for citation in citations:
        if citation.span is not None:
            cutter.add(citation)
    calls = {part.id: part for part in parts if isinstance(part, SearchCall)}
    position = 0
    for part in parts:
        if isinstance(part, Text):
            yield from _encode_text(part, cutter, position, reply)
            position += len(part.text)
        else:
            yield from _encode_part(part, calls, reply)


def _encode_text(part: Text, cutter: Cutter, position: int, reply: Reply) -> Iterator[JsonObject]:
    for piece in cutter.pieces(part.text, position):
        block: JsonObject = {"type": "text", "text": piece.text}
        if piece.citations:
            block["citations"] = [
                encode_citation(item, citation.span or Span(0, 0), reply.key)
                for citation in piece.citations
                for item in citation.evidence
            ]
        yield {**block, **part.extras.get(NAME, {})}


def _encode_part(part: Part, calls: dict[str, SearchCall], reply: Reply) -> Iterator[JsonObject]:
    match part:
        case Reasoning():
            yield _encode_reasoning(part, reply)
        case ToolCall(call_id, name, arguments):
            block: JsonObject = {"type": "tool_use", "id": encode_id(call_id), "name": name}
            yield {**block, "input": decode_arguments(arguments), **part.extras.get(NAME, {})}
        case SearchCall():
            yield encode_search_call(part, encode_search_id(part.id))
        case SearchResult():
            block_id = encode_search_id(part.call_id)
            yield encode_search_result(part, calls.get(part.call_id), block_id, reply.key)
        case Opaque(dialect, data) if dialect == NAME:
            yield data


def _encode_reasoning(part: Reasoning, reply: Reply) -> JsonObject:
    kept = part.extras.get(NAME, {})
    if kept.get("type") == "redacted_thinking":
        return kept
    signature = kept.get("signature", seal({}, reply.key))
    return {"type": "thinking", "thinking": part.text, **kept, "signature": signature}
