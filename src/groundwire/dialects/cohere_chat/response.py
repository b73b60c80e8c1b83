"""Whole response bodies: the content of a stream in one message."""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.cohere_chat.decoder import Decoder
from groundwire.dialects.cohere_chat.encoder import LOSSES, encode_message
from groundwire.dialects.cohere_chat.errors import encode_finish
from groundwire.dialects.cohere_chat.usage import encode_usage
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, JsonObject


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a whole body to events."""
    fields = Fields.of(body, UpstreamWireError)
    if not fields.has("message"):
        raise fields.fault("expected a message", "message")
    decoder = Decoder()
    decoder.audit(body)
    decoder.reader.read_body(fields)
    return decoder.close()


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode a whole body."""
    body: JsonObject = {
        "id": reply.id,
        "finish_reason": encode_finish(answer.finish, answer.detail),
        "message": encode_message(answer.parts, answer.citations),
        "usage": encode_usage(answer.usage),
    }
    return add_extension(body, answer, LOSSES)
