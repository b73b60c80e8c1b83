"""Whole response bodies.

Real responses have their search steps after the text; nothing here relies on the order.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.decoder import EventCollector, StepReader, read_interaction
from groundwire.dialects.gemini_interactions.encoder import LOSSES, encode_interaction, encode_steps
from groundwire.dialects.source_audit import with_audit_warnings
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, Json, JsonObject


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a whole interaction to events."""
    collector = EventCollector()
    read_interaction(Fields.of(body, UpstreamWireError), collector, StepReader(collector, UpstreamWireError))
    return with_audit_warnings(body, collector.events)


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode a whole interaction."""
    body = encode_interaction(answer, reply)
    body["steps"] = list[Json](encode_steps(answer.parts, answer.citations))
    return add_extension(body, answer, LOSSES)
