"""Conversation history: entries of messages, calls, results and executions.

Entries of the assistant that follow each other are one turn. Results of functions are entries of their own on
this wire, and parts of a user message in the model. Searches and citations that Mistral did not make become
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.mistral_conversations.decoder import Decoder
from groundwire.dialects.mistral_conversations.encoder import encode_entries, encode_image
from groundwire.dialects.mistral_conversations.search import NAME
from groundwire.dialects.mistral_reader import decode_image
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

_ERROR = "Error: "
"""Marks the result of a function that failed; there is no field for it."""


def decode_inputs(body: Fields) -> tuple[Message, ...]:
    """Decode `inputs`: a question, or entries."""
    inputs = body.get("inputs")
    if isinstance(inputs, str):
        return (Message("user", (Text(inputs),)),)
    turns: list[Message] = []
    decoder: Decoder | None = None
    for number, entry in enumerate(body.objs("inputs")):
        kind, role = entry.text("type", "message.input"), entry.text("role", "user")
        if kind == "message.input" and role not in ("user", "assistant"):
            raise entry.fault("expected user or assistant", "role")
        if kind == "function.result" or (kind == "message.input" and role == "user"):
            turns += _finished_turn(decoder)
            decoder = None
            _add_turn(turns, entry, kind)
        else:
            decoder = decoder or Decoder(ClientWireError)
            decoder.reader.read_entry(entry, f"entry_{number}")
    turns += _finished_turn(decoder)
    if not turns:
        raise body.fault("expected at least one entry", "inputs")
    return tuple(turns)


def _finished_turn(decoder: Decoder | None) -> Iterator[Message]:
    if decoder is not None:
        decoder.reader.finish()
        answer = assemble(decoder.close())
        yield Message("assistant", answer.parts, answer.citations)


def _add_turn(turns: list[Message], entry: Fields, kind: str) -> None:
    """Add a message of the user, or a result to the turn of the results before it."""
    if kind != "function.result":
        turns.append(Message("user", tuple(_decode_content(entry))))
        return
    result = ToolResult(entry.text("tool_call_id"), (Text(entry.text("result")),))
    last = turns[-1] if turns else None
    if last is not None and last.role == "user" and all(isinstance(part, ToolResult) for part in last.parts):
        turns[-1] = Message("user", (*last.parts, result))
    else:
        turns.append(Message("user", (result,)))


def _decode_content(entry: Fields) -> Iterator[Part]:
    content = entry.get("content")
    if isinstance(content, str):
        yield Text(content)
        return
    for chunk in entry.objs("content"):
        match chunk.text("type", "text"):
            case "text":
                yield Text(chunk.text("text"))
            case "image_url":
                yield decode_image(chunk)
            case _:
                yield Opaque(NAME, chunk.raw)


def encode_inputs(messages: Iterable[Message]) -> tuple[list[Json], tuple[str, ...]]:
    """Encode the conversation as entries, and name what had to be left out."""
    omitted: dict[str, None] = {}
    entries: list[Json] = []
    for message in messages:
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in message.parts):
            omitted["opaque_parts"] = None
        if message.role == "assistant":
            entries += _encode_assistant(message)
        elif message.role == "user":
            entries += _encode_user(message, omitted)
    return entries, tuple(omitted)


def _encode_user(message: Message, omitted: dict[str, None]) -> Iterator[JsonObject]:
    """Encode a turn of the user: results first, each an entry of its own."""
    content: list[Json] = []
    for part in message.parts:
        match part:
            case ToolResult():
                if any(not isinstance(item, Text) for item in part.content):
                    omitted["images"] = None
                yield _encode_result(part)
            case Text(text):
                content.append({"type": "text", "text": text})
            case Image():
                content.append(encode_image(part))
            case Opaque(dialect, data) if dialect == NAME:
                content.append(data)
    if content:
        yield {"role": "user", "content": _as_text(content)}


def _as_text(content: list[Json]) -> Json:
    """The text of chunks that are nothing but text, else the chunks."""
    texts = [chunk["text"] for chunk in content if isinstance(chunk, dict) and chunk.get("type") == "text"]
    if len(texts) < len(content):
        return content
    return "".join(text for text in texts if isinstance(text, str))


def _encode_result(result: ToolResult) -> JsonObject:
    text = "".join(item.text for item in result.content if isinstance(item, Text))
    shown = _ERROR + text if result.is_error else text
    return {"type": "function.result", "tool_call_id": result.call_id, "result": shown}


def _encode_assistant(message: Message) -> Iterator[JsonObject]:
    """Encode a turn of the assistant. Plain text is a string; reasoning is sent if Mistral signed it."""
    native = is_native(message, NAME)
    parts = message.parts if native else readable_parts(message, NAME)
    kept = tuple(part for part in parts if not isinstance(part, Reasoning) or NAME in part.extras)
    for entry in encode_entries(kept, message.citations if native else ()):
        content = entry.get("content")
        text = _as_text(content) if isinstance(content, list) else content
        if isinstance(text, str):
            yield {"role": "assistant", "content": text}
        else:
            yield entry
