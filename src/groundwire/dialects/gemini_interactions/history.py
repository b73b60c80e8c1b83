"""Conversation history: `input`, which has five forms.

It is a string, a block, a list of blocks, a list of steps, or turns of an earlier revision.
The user's steps are `user_input` and `function_result`; everything between is one turn of the model. A
`function_result` may also be one of the blocks of a `user_input`.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.gemini_interactions.decoder import EventCollector, StepReader, decode_image
from groundwire.dialects.gemini_interactions.encoder import encode_image, encode_steps
from groundwire.dialects.gemini_interactions.search import NAME, marked_extras, own_extras
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

_BLOCK_TYPES = frozenset({"text", "image", "audio", "document", "video"})
_USER_STEPS = frozenset({"user_input", "function_result"})


def decode_input(body: Fields) -> tuple[Message, ...]:
    """Decode the conversation."""
    value = body.get("input")
    if isinstance(value, str):
        return (Message("user", (Text(value),)),)
    items = [body.obj("input")] if isinstance(value, dict) else list(body.objs("input"))
    if items and all(item.text("type") in _BLOCK_TYPES for item in items):
        return (Message("user", tuple(map(_decode_block, items))),)
    messages: list[Message] = []
    model_steps: list[Fields] = []
    for item in items:
        if item.has("role"):
            _end_turn(messages, model_steps)
            messages.append(_decode_turn(item))
        elif item.text("type") in _USER_STEPS:
            _end_turn(messages, model_steps)
            _add_user_step(messages, item)
        elif item.text("type"):
            model_steps.append(item)
        else:
            raise item.fault("a step needs a type", "type")
    _end_turn(messages, model_steps)
    return tuple(messages)


def encode_input(messages: Iterable[Message]) -> tuple[Json, list[str]]:
    """Encode the conversation as steps, or as a plain string; and name what could not be encoded."""
    steps: list[JsonObject] = []
    unsupported: list[str] = []
    listed = [message for message in messages if message.role in ("user", "assistant")]
    match listed:
        case [Message(role="user", parts=(Text(text, extras=extras),))] if not own_extras(extras):
            return text, unsupported
    for message in listed:
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in message.parts):
            unsupported.append("opaque_parts")
        if message.role == "user":
            steps += _encode_user(message)
        else:
            steps += _encode_model(message)
    return list[Json](steps), unsupported


def _end_turn(messages: list[Message], steps: list[Fields]) -> None:
    if steps:
        messages.append(_decode_model(steps))
        steps.clear()


def _decode_model(steps: Iterable[Fields]) -> Message:
    collector = EventCollector()
    reader = StepReader(collector, ClientWireError)
    for step in steps:
        reader.whole(step)
    return assemble(collector.events).message


def _add_user_step(messages: list[Message], step: Fields) -> None:
    """Add a user step. Consecutive results answer the calls of one turn and go into one message."""
    if step.text("type") == "user_input":
        parts: tuple[Part, ...] = _decode_blocks(step)
        messages.append(Message("user", parts))
        return
    result = _decode_result(step)
    if messages and messages[-1].role == "user" and _only_results(messages[-1]):
        messages[-1] = Message("user", (*messages[-1].parts, result))
    else:
        messages.append(Message("user", (result,)))


def _only_results(message: Message) -> bool:
    return all(isinstance(part, ToolResult) for part in message.parts)


def _decode_turn(turn: Fields) -> Message:
    if turn.text("role") != "model":
        return Message("user", _decode_blocks(turn))
    step = Fields({"type": "model_output", "content": _content_list(turn)}, ClientWireError)
    return _decode_model([step])


def _decode_blocks(holder: Fields) -> tuple[Part, ...]:
    if isinstance(holder.get("content"), str):
        return (Text(holder.text("content")),)
    return tuple(map(_decode_block, holder.objs("content")))


def _content_list(turn: Fields) -> Json:
    content = turn.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _decode_block(block: Fields) -> Part:
    match block.text("type"):
        case "text":
            rest = block.rest("type", "text")
            return Text(block.text("text"), extras=marked_extras(rest) if rest else {})
        case "image":
            return decode_image(block)
        case "function_result":
            return _decode_result(block)
        case _:
            return Opaque(NAME, block.raw)


def _decode_result(step: Fields) -> ToolResult:
    if not step.text("call_id"):
        raise step.fault("a result needs the id of its call", "call_id")
    rest = step.rest("type", "call_id", "name", "is_error", "result")
    result = step.get("result")
    content: tuple[Text | Image | Opaque, ...] = ()
    if isinstance(result, str):
        content = (Text(result),)
    elif isinstance(result, list):
        content = tuple(
            part
            for part in map(_decode_block, step.objs("result"))
            if isinstance(part, Text | Image | Opaque)
        )
    elif result is not None:
        content = (Text(dump_json(result)),)
        rest["result"] = result
    extras = marked_extras(rest) if rest else {}
    return ToolResult(step.text("call_id"), content, step.text("name"), bool(step.flag("is_error")), extras)


def _encode_user(message: Message) -> list[JsonObject]:
    """Encode tool results, and `user_input` steps for everything between them."""
    steps: list[JsonObject] = []
    blocks: list[Json] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            if blocks:
                steps.append({"type": "user_input", "content": blocks})
                blocks = []
            steps.append(_encode_result(part))
        elif block := _encode_block(part):
            blocks.append(block)
    if blocks:
        steps.append({"type": "user_input", "content": blocks})
    return steps


def _encode_model(message: Message) -> list[JsonObject]:
    native = is_native(message, NAME)
    parts = message.parts if native else readable_parts(message, NAME)
    kept = [part for part in parts if not isinstance(part, Reasoning) or NAME in part.extras]
    return encode_steps(kept, message.citations if native else ())


def _encode_block(part: Part) -> JsonObject | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text} | own_extras(part.extras)
        case Image():
            return encode_image(part)
        case Opaque(dialect, data) if dialect == NAME:
            return data
        case _:
            return None


def _encode_result(result: ToolResult) -> JsonObject:
    body: JsonObject = {"type": "function_result", "call_id": result.call_id}
    if result.name:
        body["name"] = result.name
    if result.is_error:
        body["is_error"] = True
    if all(isinstance(part, Text) for part in result.content):
        body["result"] = "".join(part.text for part in result.content if isinstance(part, Text))
    else:
        blocks = (_encode_block(part) for part in result.content)
        body["result"] = [block for block in blocks if block is not None]
    return body | own_extras(result.extras)
