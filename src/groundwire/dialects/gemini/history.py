"""Conversation history: `contents` to canonical messages and back.

A model turn is read by the response decoder. Calls and results may come without ids; then they are
numbered, and a result answers the first open call of its name. Gemini 3 rejects a function call without a
signature, so a turn of another model gets the placeholder that Google documents for such histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.gemini.decoder import SIGNATURE, ContentReader, decode_blob, decode_file
from groundwire.dialects.gemini.encoder import encode_parts
from groundwire.dialects.gemini.search import NAME, extras_of
from groundwire.dialects.gemini.tools import NO_ID, parse_object
from groundwire.dialects.json import dump_json
from groundwire.dialects.proto_json import many
from groundwire.model import (
    Event,
    Image,
    Json,
    JsonObject,
    Message,
    Opaque,
    Part,
    Reasoning,
    SearchReturned,
    Text,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    assemble,
)
from groundwire.model.request import Role

SKIP_SIGNATURE = "skip_thought_signature_validator"

_ROLES: dict[str, Role] = {
    "": "user",
    "user": "user",
    "function": "user",
    "model": "assistant",
    "system": "system",
}

_RESULT_TEXT_KEYS = ("output", "result", "content", "error")


class HistoryDecoder:
    """Decodes contents in order, and tracks which calls are still open."""

    def __init__(self) -> None:
        self._call_count = 0
        self._open_calls: list[tuple[str, str]] = []

    def read(self, content: Fields) -> Message:
        """Decode one content."""
        role = _ROLES.get(content.text("role"))
        if role is None:
            raise content.fault("expected user or model", "role")
        if role == "assistant":
            return Message(role, self._read_model(content))
        return Message(role, tuple(self._read_part(part) for part in many(content, "parts")))

    def _read_model(self, content: Fields) -> tuple[Part, ...]:
        events: list[Event] = []
        reader = ContentReader(events.append)
        reader.make_call_id = self._make_call_id
        reader.read(content)
        events += (SearchReturned(number, result) for number, result in reader.results)
        self._open_calls += ((event.id, event.name) for event in events if isinstance(event, ToolCallDelta))
        return assemble(events).parts

    def _make_call_id(self) -> str:
        self._call_count += 1
        return f"call_{self._call_count - 1}"

    def _read_part(self, part: Fields) -> Part:
        if part.has("functionResponse"):
            return self._read_result(part)
        if part.has("inlineData"):
            return decode_blob(part)
        if part.has("fileData"):
            return decode_file(part)
        if part.has("text") and not part.flag("thought"):
            return Text(part.text("text"), extras=extras_of(part.rest("text", "thought")))
        return Opaque(NAME, part.raw)

    def _read_result(self, part: Fields) -> ToolResult:
        response = part.obj("functionResponse")
        name = response.text("name")
        call_id = response.text("id")
        text, is_error, rest = _decode_response_object(response.obj("response").raw)
        rest |= part.rest("functionResponse")
        if inside := response.rest("id", "name", "response", "parts"):
            rest["functionResponse"] = inside
        if not call_id:
            rest[NO_ID] = True
        pieces = (_decode_result_part(piece) for piece in many(response, "parts"))
        content = ((Text(text),) if text else ()) + tuple(pieces)
        return ToolResult(self._close_call(call_id, name), content, name, is_error, extras_of(rest))

    def _close_call(self, call_id: str, name: str) -> str:
        """Return the id of the call that a result answers, and close that call."""
        found = next(
            (call for call in self._open_calls if call_id == call[0] or (not call_id and name == call[1])),
            None,
        )
        if found is None:
            return call_id or self._make_call_id()
        self._open_calls.remove(found)
        return found[0]


def _decode_response_object(response: JsonObject) -> tuple[str, bool, JsonObject]:
    """Decode a function response: text under one of the usual keys, or JSON; whether it is an error; the
    key."""
    is_error = "error" in response
    if len(response) == 1:
        key, value = next(iter(response.items()))
        if key in _RESULT_TEXT_KEYS and isinstance(value, str):
            return value, is_error, {"key": key}
    return (dump_json(response) if response else ""), is_error, {}


def _decode_result_part(piece: Fields) -> Image | Opaque:
    if piece.has("inlineData"):
        return decode_blob(piece)
    return decode_file(piece) if piece.has("fileData") else Opaque(NAME, piece.raw)


def encode_contents(messages: Iterable[Message], *, signed: bool) -> list[Json]:
    """Encode the messages; results of one round are in one content. With `signed`, unsigned calls get a
    signature."""
    messages = list(messages)
    names = {
        part.id: part.name for message in messages for part in message.parts if isinstance(part, ToolCall)
    }
    contents: list[Json] = []
    results: list[Json] | None = None
    for message in messages:
        parts: list[Json] = [*_encode_message(message, names, signed=signed)]
        is_answer = bool(parts) and all(isinstance(part, ToolResult) for part in message.parts)
        if is_answer and results is not None:
            results += parts
            continue
        results = parts if is_answer else None
        if parts:
            contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
    return contents


def _encode_message(message: Message, names: dict[str, str], *, signed: bool) -> Iterator[JsonObject]:
    if message.role == "assistant":
        parts = message.parts if is_native(message, NAME) else readable_parts(message, NAME)
        own = (part for part in parts if not isinstance(part, Reasoning) or NAME in part.extras)
        yield from _add_signature(encode_parts(own)) if signed else encode_parts(own)
        return
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield _encode_result(part, part.name or names.get(part.call_id) or part.call_id)
        else:
            yield from encode_parts([part])


def _add_signature(parts: list[JsonObject]) -> list[JsonObject]:
    """Add the placeholder signature to the first call of a turn, if no call has a signature."""
    calls = [part for part in parts if "functionCall" in part]
    if calls and not any(SIGNATURE in part for part in calls):
        calls[0][SIGNATURE] = SKIP_SIGNATURE
    return parts


def _encode_result(result: ToolResult, name: str) -> JsonObject:
    rest = dict(result.extras.get(NAME, {}))
    key = rest.pop("key", None)
    inside = rest.pop("functionResponse", None)
    response: JsonObject = {} if rest.pop(NO_ID, False) else {"id": result.call_id}
    response |= {"name": name, "response": _encode_response_object(result, key)}
    pieces: list[Json] = [*encode_parts(part for part in result.content if not isinstance(part, Text))]
    if pieces:
        response["parts"] = pieces
    return {"functionResponse": {**response, **(inside if isinstance(inside, dict) else {})}, **rest}


def _encode_response_object(result: ToolResult, key: Json) -> JsonObject:
    text = "\n".join(part.text for part in result.content if isinstance(part, Text))
    if isinstance(key, str):
        return {key: text}
    found = parse_object(text)
    if found is not None and (not result.is_error or "error" in found):
        return found
    return {"error" if result.is_error else "output": text} if text else {}


def has_foreign_parts(messages: Iterable[Message]) -> bool:
    """Whether there is a part that only another dialect understands."""
    return any(
        isinstance(part, Opaque) and part.dialect != NAME
        for message in messages
        for holder in message.parts
        for part in (holder.content if isinstance(holder, ToolResult) else (holder,))
    )
