"""Conversation history: `messages` to canonical messages and back.

Assistant turns are decoded by the response decoder, so that history and responses cannot diverge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from groundwire.dialects.anthropic_messages.decoder import Decoder, DocumentIndex, documents_in
from groundwire.dialects.anthropic_messages.encoder import SearchBlockWriter, encode_blocks
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.tools import block_extras, encode_id
from groundwire.dialects.base import Reply
from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.errors import ClientWireError
from groundwire.model import (
    Event,
    Image,
    Json,
    JsonObject,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolResult,
    assemble,
)
from groundwire.model.request import Role

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def decode_messages(messages: Iterable[Fields], key: bytes) -> Iterator[Message]:
    """Decode the messages. Citations of one may refer to documents of all messages before it."""
    documents = DocumentIndex()
    return (_decode_message(message, documents, key) for message in messages)


def _decode_message(message: Fields, documents: DocumentIndex, key: bytes) -> Message:
    role = _ROLES.get(message.text("role"))
    if role is None:
        raise message.fault("expected user, assistant or system", "role")
    if isinstance(message.get("content"), str):
        text = message.text("content")
        return Message(role, (Text(text),) if text else ())
    if role == "assistant":
        answer = assemble(_read_blocks(message.objs("content"), documents, key))
        return Message(role, answer.parts, answer.citations)
    parts = tuple(_decode_block(block) for block in message.objs("content"))
    documents.extend(documents_in(parts))
    return Message(role, parts)


def _read_blocks(blocks: Iterable[Fields], documents: DocumentIndex, key: bytes) -> list[Event]:
    decoder = Decoder(key, fault=ClientWireError, documents=documents)
    for index, block in enumerate(blocks):
        decoder.open(index, block)
        decoder.shut(index)
    decoder.stop()
    return decoder.close()


def _decode_text(block: Fields) -> Part:
    return Text(block.text("text"), extras=block_extras(block, "text"))


def _decode_image(block: Fields) -> Part:
    source = block.obj("source")
    kind = source.text("type")
    extras = block_extras(block, "source")
    if kind == "base64":
        return Image(source.text("media_type"), source.text("data"), extras=extras)
    if kind == "url":
        return Image(url=source.text("url"), extras=extras)
    return Opaque(NAME, block.raw)


def _decode_tool_result(block: Fields) -> Part:
    parts: Iterable[Part] = ()
    if isinstance(block.get("content"), str):
        parts = (Text(block.text("content")),)
    else:
        parts = map(_decode_block, block.objs("content"))
    return ToolResult(
        block.text("tool_use_id"),
        tuple(part for part in parts if isinstance(part, Text | Image | Opaque)),
        is_error=block.flag("is_error") or False,
        extras=block_extras(block, "tool_use_id", "content", "is_error"),
    )


_BLOCK_DECODERS: dict[str, Callable[[Fields], Part]] = {
    "text": _decode_text,
    "image": _decode_image,
    "tool_result": _decode_tool_result,
}


def _decode_block(block: Fields) -> Part:
    decode = _BLOCK_DECODERS.get(block.text("type"))
    return decode(block) if decode else Opaque(NAME, block.raw)


def encode_messages(messages: Iterable[Message]) -> Iterator[JsonObject]:
    """Encode the messages. Results of one round of calls must be in one message, also if sent one by one."""
    held: list[Json] | None = None
    for message in messages:
        content = list(_encode_content(message))
        is_result = any(isinstance(part, ToolResult) for part in message.parts)
        if message.role == "user" and held is not None and is_result:
            held.extend(content)
            continue
        held = content if is_result else None
        if content:
            yield {"role": "system" if message.role == "developer" else message.role, "content": content}


def _encode_content(message: Message) -> Iterator[Json]:
    """Encode the blocks of a message. Thinking that Anthropic did not sign would be rejected and is left
    out."""
    if message.role == "assistant":
        native = is_native(message, NAME)
        parts = message.parts if native else readable_parts(message, NAME)
        citations = message.citations if native else ()
        signed = tuple(part for part in parts if not isinstance(part, Reasoning) or NAME in part.extras)
        reply = Reply()
        yield from encode_blocks(signed, citations, reply, SearchBlockWriter(reply.key))
        return
    for part in message.parts:
        yield from _encode_block(part)


def _encode_block(part: Part) -> Iterator[JsonObject]:
    match part:
        case Text(text):
            if text:
                yield {"type": "text", "text": text, **part.extras.get(NAME, {})}
        case Image():
            yield _encode_image(part)
        case ToolResult():
            yield _encode_tool_result(part)
        case Opaque(dialect, data) if dialect == NAME:
            yield data


def _encode_image(image: Image) -> JsonObject:
    source: JsonObject = {"type": "url", "url": image.url}
    if image.data:
        source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source, **image.extras.get(NAME, {})}


def _encode_tool_result(result: ToolResult) -> JsonObject:
    block: JsonObject = {
        "type": "tool_result",
        "tool_use_id": encode_id(result.call_id),
        "content": [block for part in result.content for block in _encode_block(part)],
    }
    if result.is_error:
        block["is_error"] = True
    return {**block, **result.extras.get(NAME, {})}
