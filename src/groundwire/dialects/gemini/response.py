"""Whole response bodies: a whole body is a stream of one chunk."""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini.decoder import ResponseReader
from groundwire.dialects.gemini.encoder import client_part, encode_ending, encode_parts
from groundwire.dialects.proto_json import read_body
from groundwire.dialects.source_audit import with_audit_warnings
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, JsonObject


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a whole body to events."""
    events: list[Event] = []
    reader = ResponseReader(events.append)
    reader.read(read_body(body, UpstreamWireError))
    reader.end(whole=True)
    return with_audit_warnings(body, events)


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode a whole body."""
    client_parts = (client_part(part) for part in encode_parts(answer.parts))
    return encode_ending(answer, answer.text, [part for part in client_parts if part is not None], reply)
