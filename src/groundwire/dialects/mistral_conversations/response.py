"""Whole response bodies: the entries of a stream in one list."""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.citation_buffer import searches_before_text
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import Fields
from groundwire.dialects.mistral_conversations.decoder import Decoder
from groundwire.dialects.mistral_conversations.encoder import (
    LOSSES,
    conversation_id,
    encode_entries,
    entry_head,
)
from groundwire.dialects.mistral_conversations.search import NAME
from groundwire.dialects.mistral_conversations.usage import encode_usage
from groundwire.dialects.mistral_reader import BODY
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, JsonObject


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a whole body to events."""
    fields = Fields.of(body, UpstreamWireError)
    if not fields.has("outputs"):
        raise fields.fault("expected entries", "outputs")
    decoder = Decoder()
    decoder.audit(body)
    decoder.reader.read_body(fields)
    return decoder.close()


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode a whole body."""
    entries = encode_entries(searches_before_text(answer.parts, NAME), answer.citations)
    body: JsonObject = {
        "object": BODY,
        "conversation_id": conversation_id(reply),
        "outputs": [
            {**entry_head(reply, number, answer.model), **entry} for number, entry in enumerate(entries)
        ],
        "usage": encode_usage(answer.usage),
    }
    return add_extension(body, answer, LOSSES)
