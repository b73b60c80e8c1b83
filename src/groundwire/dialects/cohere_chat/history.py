"""Conversation history: messages, their content, and documents.

Results of functions are messages of their own on this wire, and parts of a user message in the model. The
citations of an assistant message are read like those of an answer. Citations that Cohere did not make become
text, because their sources are not documents of the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from groundwire.dialects.cohere_chat.decoder import Decoder
from groundwire.dialects.cohere_chat.encoder import encode_message
from groundwire.dialects.cohere_chat.search import NAME
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
    Reasoning,
    Text,
    ToolResult,
    assemble,
)

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,([A-Za-z0-9+/=_\s-]*)", re.ASCII)
_DOCUMENT_FIELDS = ("title", "name", "url", "snippet", "text")
_ERROR = "Error: "
"""Marks the result of a function that failed; there is no field for it."""


def decode_messages(body: Fields) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
    """Decode `messages` into the system text and the turns."""
    system: list[Text] = []
    turns: list[Message] = []
    for message in body.objs("messages"):
        role = message.text("role")
        if role == "assistant":
            turns.append(_decode_assistant(message))
        elif role == "tool":
            _add_result(turns, _decode_result(message))
        elif role == "user":
            turns.append(Message("user", tuple(_decode_content(message))))
        elif role == "system":
            parts = tuple(_decode_content(message))
            texts = [part for part in parts if isinstance(part, Text)]
            if turns or len(texts) < len(parts):
                turns.append(Message("system", parts))
            else:
                system += texts
        else:
            raise message.fault("expected user, assistant, system or tool", "role")
    if not system and not turns:
        raise body.fault("expected at least one message", "messages")
    return tuple(system), tuple(turns)


def _decode_assistant(message: Fields) -> Message:
    decoder = Decoder(ClientWireError)
    decoder.reader.read_message(message)
    decoder.reader.end(message.with_raw({}))
    answer = assemble(decoder.close())
    return Message("assistant", answer.parts, answer.citations)


def _add_result(turns: list[Message], result: ToolResult) -> None:
    """Add a result to the turn of the results before it."""
    last = turns[-1] if turns else None
    if last is not None and last.role == "user" and all(isinstance(part, ToolResult) for part in last.parts):
        turns[-1] = Message("user", (*last.parts, result))
    else:
        turns.append(Message("user", (result,)))


def _decode_result(message: Fields) -> ToolResult:
    parts = tuple(_decode_content(message))
    return ToolResult(message.text("tool_call_id"), parts)


def _decode_content(message: Fields) -> Iterator[Text | Image | Opaque]:
    content = message.get("content")
    if isinstance(content, str):
        yield Text(content)
        return
    for block in message.objs("content"):
        match block.text("type", "text"):
            case "text":
                yield Text(block.text("text"))
            case "image_url":
                yield _decode_image(block.obj("image_url"))
            case "document":
                yield Text(_document_text(block.obj("document")), extras={NAME: {"document": block.raw}})
            case _:
                yield Opaque(NAME, block.raw)


def _decode_image(image: Fields) -> Image:
    rest = image.rest("url")
    inline = _DATA_URL.fullmatch(image.text("url"))
    extras = {NAME: rest} if rest else {}
    if inline:
        return Image(inline[1] or "", inline[2], extras=extras)
    return Image(url=image.text("url"), extras=extras)


def decode_documents(body: Fields) -> Iterator[Text]:
    """Decode `documents`, which are strings or objects, into system texts."""
    for number, document in enumerate(body.items("documents")):
        if isinstance(document, str):
            yield Text(document, extras={NAME: {"document": document}})
        elif isinstance(document, dict):
            text = _document_text(Fields(document, ClientWireError, body, "documents"))
            yield Text(text, extras={NAME: {"document": document}})
        elif document is not None:
            raise body.fault("expected a string or an object", "documents", number)


def _document_text(document: Fields) -> str:
    """The fields of a document, the usual ones first."""
    data = document.get("data")
    if isinstance(data, str):
        return data
    fields: JsonObject = data if isinstance(data, dict) else document.rest("id")
    names = [name for name in _DOCUMENT_FIELDS if name in fields]
    names += (name for name in fields if name not in names)
    texts = ((name, fields[name]) for name in names)
    return "\n".join(f"{name}: {text if isinstance(text, str) else dump_json(text)}" for name, text in texts)


def encode_documents(system: Iterable[Text]) -> list[Json]:
    """The documents among the system texts, as the client sent them."""
    return [text.extras[NAME]["document"] for text in system if _is_document(text)]


def _is_document(text: Text) -> bool:
    return "document" in text.extras.get(NAME, {})


def encode_messages(
    system: Iterable[Text], messages: Iterable[Message]
) -> tuple[list[Json], tuple[str, ...]]:
    """Encode the messages, and name what had to be left out."""
    omitted: dict[str, None] = {}
    texts = [text for text in system if not _is_document(text)]
    body: list[Json] = [{"role": "system", "content": _encode_content(texts)}] if texts else []
    for message in messages:
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in message.parts):
            omitted["opaque_parts"] = None
        if message.role == "assistant":
            if any(isinstance(part, Image) for part in message.parts):
                omitted["images"] = None
            if turn := _encode_assistant(message):
                body.append(turn)
        else:
            body += _encode_turn(message, omitted)
    return body, tuple(omitted)


def _encode_turn(message: Message, omitted: dict[str, None]) -> Iterator[JsonObject]:
    """Encode a turn: results first, each a message of its own."""
    for part in message.parts:
        if isinstance(part, ToolResult):
            if any(not isinstance(item, Text) for item in part.content):
                omitted["images"] = None
            yield _encode_result(part)
    parts = [
        part
        for part in message.parts
        if isinstance(part, Text | Image) or (isinstance(part, Opaque) and part.dialect == NAME)
    ]
    if parts:
        role = "user" if message.role == "user" else "system"
        yield {"role": role, "content": _encode_content(parts)}


def _encode_result(result: ToolResult) -> JsonObject:
    texts = [item for item in result.content if isinstance(item, Text)]
    if result.is_error:
        texts = [Text(_ERROR + "".join(item.text for item in texts))]
    return {"role": "tool", "tool_call_id": result.call_id, "content": _encode_content(texts)}


def _encode_content(parts: Iterable[Text | Image | Opaque]) -> Json:
    """A string where that is equivalent to the list."""
    blocks = [_encode_block(part) for part in parts]
    if not blocks:
        return ""
    only = blocks[0] if len(blocks) == 1 else {}
    return only["text"] if set(only) == {"type", "text"} else [*blocks]


def _encode_block(part: Text | Image | Opaque) -> JsonObject:
    match part:
        case Text(text, extras=extras):
            kept = extras.get(NAME, {}).get("document")
            return kept if isinstance(kept, dict) else {"type": "text", "text": text}
        case Image():
            url = f"data:{part.media_type};base64,{part.data}" if part.data else part.url
            return {"type": "image_url", "image_url": {"url": url, **part.extras.get(NAME, {})}}
    return part.data


def _encode_assistant(message: Message) -> JsonObject:
    """Encode an assistant turn; empty if nothing of it can be sent. Plain text is a string."""
    native = is_native(message, NAME)
    parts = message.parts if native else readable_parts(message, NAME)
    own = (part for part in parts if not isinstance(part, Reasoning) or NAME in part.extras)
    turn = encode_message(own, message.citations if native else ())
    content = turn.get("content")
    if isinstance(content, list):
        texts = [block for block in content if isinstance(block, dict) and block.get("type") == "text"]
        if len(content) == len(texts) == 1:
            turn["content"] = texts[0]["text"]
    return turn if len(turn) > 1 else {}
