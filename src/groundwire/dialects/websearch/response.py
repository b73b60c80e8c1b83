"""Whole response bodies; every response of this contract is one."""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.source_audit import with_audit_warnings
from groundwire.dialects.websearch.decoder import read_result
from groundwire.dialects.websearch.encoder import encode_result
from groundwire.model import Answer, Event, JsonObject


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a result to its events, with warnings about sources that are not read."""
    return with_audit_warnings(body, read_result(body), needs_content=False)


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode an answer as one result."""
    return encode_result(answer, reply)
