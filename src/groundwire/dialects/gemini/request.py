"""Requests of generateContent and streamGenerateContent.

Model and streaming are in the address, not in the body: reading leaves them open, writing leaves them out.
"""

from __future__ import annotations

import re

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini.contents import ContentReader, encode_contents, foreign_parts
from groundwire.dialects.gemini.generation import decode_generation, encode_generation
from groundwire.dialects.gemini.parts import VERBATIM
from groundwire.dialects.gemini.search import is_vertex
from groundwire.dialects.gemini.tools import SERVER_PARTS, asked_config, decode_tools, encode_tools
from groundwire.dialects.proto_json import NAME, extras_of, many, read_body
from groundwire.errors import ClientWireError
from groundwire.model import JsonObject, Message, Request, SearchCall, Text
from groundwire.model.value import replace

_KNOWN = ("model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig")
_SIGNING_MODELS = re.compile(r"gemini-(?![12][.-])")


def decode_request(body: JsonObject) -> Request:
    """A caller's body as a request."""
    fields = read_body(body, ClientWireError)
    reader = ContentReader()
    messages = tuple(reader.read(content) for content in many(fields, "contents"))
    if not messages:
        raise fields.fault("there must be at least one content", "contents")
    toolbox = decode_tools(fields)
    request = Request(
        messages,
        system=_decode_system(fields),
        tools=toolbox.tools,
        tool_choice=toolbox.choice,
        search=toolbox.search,
    )
    request, generation = decode_generation(fields.obj("generationConfig"), request)
    kept: JsonObject = {"toolConfig": toolbox.config, "generationConfig": generation}
    rest = fields.rest(*_KNOWN) | {key: value for key, value in kept.items() if value}
    return replace(request, extras=extras_of(rest))


def encode_request(request: Request) -> Encoded:
    """A request as a body."""
    extras = dict(request.extras.get(NAME, {}))
    generation, unsupported = encode_generation(request, as_object(extras.pop("generationConfig", None)))
    extras.pop("toolConfig", None)
    toolbox = encode_tools(request, asked_config(request))
    config = toolbox.config
    if _shows_server_parts(request.messages) and not is_vertex(request.search):
        config[SERVER_PARTS] = True
    system, messages = _split_system(request)
    body: JsonObject = {
        "contents": encode_contents(messages, signed=bool(_SIGNING_MODELS.search(request.model))),
        "systemInstruction": {"parts": [{"text": part.text} for part in system]} if system else None,
        "tools": toolbox.tools or None,
        "toolConfig": config or None,
        "generationConfig": generation or None,
        **extras,
    }
    unsupported += toolbox.unsupported
    if foreign_parts(request.messages):
        unsupported.append("opaque_parts")
    if request.previous_id:
        unsupported.append("previous_id")
    return Encoded({key: value for key, value in body.items() if value is not None}, tuple(unsupported))


def _decode_system(fields: Fields) -> tuple[Text, ...]:
    if isinstance(fields.get("systemInstruction"), str):
        text = fields.text("systemInstruction")
        return (Text(text),) if text else ()
    found = []
    for part in many(fields.obj("systemInstruction"), "parts"):
        if not part.has("text"):
            raise part.fault("system instructions can only be text")
        found.append(Text(part.text("text")))
    return tuple(part for part in found if part.text)


def _split_system(request: Request) -> tuple[list[Text], tuple[Message, ...]]:
    """All instructions from before the first turn; later ones are told as a user's, in their place."""
    system = list(request.system)
    for number, message in enumerate(request.messages):
        if message.role not in ("system", "developer"):
            return system, request.messages[number:]
        system += (part for part in message.parts if isinstance(part, Text))
    return system, ()


def _shows_server_parts(messages: tuple[Message, ...]) -> bool:
    """Does the history hold server tool parts? Then the flag must be set again."""
    return any(
        isinstance(part, SearchCall) and VERBATIM in part.extras.get(NAME, {})
        for message in messages
        for part in message.parts
    )
