"""Conversation history: messages and their content blocks.

Bedrock wants the roles to alternate, and no text that is blank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.dialects.bedrock_converse.decoder import Decoder, decode_image, read_block
from groundwire.dialects.bedrock_converse.encoder import encode_blocks, encode_image
from groundwire.dialects.bedrock_converse.search import NAME, encode_id
from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.json import dump_json
from groundwire.errors import ClientWireError
from groundwire.model import (
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


def decode_messages(messages: Iterable[Fields]) -> Iterator[Message]:
    """Decode the messages."""
    return map(_decode_message, messages)


def _decode_message(message: Fields) -> Message:
    role = _ROLES.get(message.text("role"))
    if role is None:
        raise message.fault("expected user, assistant or system", "role")
    if role == "assistant":
        decoder = Decoder(fault=ClientWireError)
        for index, block in enumerate(message.objs("content")):
            read_block(decoder, index, block)
        decoder.stop()
        answer = assemble(decoder.close())
        return Message(role, answer.parts, answer.citations)
    return Message(role, tuple(map(_decode_block, message.objs("content"))))


def _decode_block(block: Fields) -> Part:
    if block.has("text"):
        return Text(block.text("text"))
    if block.has("image"):
        return decode_image(block.obj("image")) or Opaque(NAME, block.raw)
    if block.has("toolResult"):
        return _decode_result(block.obj("toolResult"))
    return Opaque(NAME, block.raw)


def _decode_result(result: Fields) -> ToolResult:
    content = (_decode_content(block) for block in result.objs("content"))
    return ToolResult(
        result.text("toolUseId"),
        tuple(part for part in content if isinstance(part, Text | Image | Opaque)),
        is_error=result.text("status") == "error",
    )


def _decode_content(block: Fields) -> Part:
    return Text(dump_json(block.get("json"))) if block.has("json") else _decode_block(block)


def encode_messages(messages: Iterable[Message]) -> list[Json]:
    """Encode the messages; neighbours of one role become one message."""
    turns: list[tuple[str, list[Json]]] = []
    for message in messages:
        content: list[Json] = [*_encode_content(message)]
        if turns and turns[-1][0] == message.role:
            turns[-1][1].extend(content)
        elif content:
            turns.append((message.role, content))
    return [{"role": role, "content": content} for role, content in turns]


def _encode_content(message: Message) -> Iterator[JsonObject]:
    """Encode the blocks of a message. Reasoning that Bedrock did not sign would be rejected."""
    if message.role != "assistant":
        for part in message.parts:
            yield from _encode_block(part)
        return
    native = is_native(message, NAME)
    citations = message.citations if native else ()
    parts = message.parts if native else readable_parts(message, NAME)
    signed = tuple(part for part in parts if not isinstance(part, Reasoning) or NAME in part.extras)
    for block in encode_blocks(signed, citations):
        if not _is_blank(block):
            yield block


def _is_blank(block: JsonObject) -> bool:
    text = block.get("text")
    return isinstance(text, str) and not text.strip()


def _encode_block(part: Part) -> Iterator[JsonObject]:
    match part:
        case Text(text) if text.strip():
            yield {"text": text}
        case Image():
            yield from filter(None, (encode_image(part),))
        case ToolResult(call_id, content):
            blocks: list[Json] = [block for item in content for block in _encode_block(item)]
            status = "error" if part.is_error else "success"
            yield {"toolResult": {"toolUseId": encode_id(call_id), "content": blocks, "status": status}}
        case Opaque(dialect, data) if dialect == NAME:
            yield data
