"""Whole response bodies: the blocks of a stream in one list."""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.bedrock_converse.decoder import Decoder, read_block
from groundwire.dialects.bedrock_converse.encoder import LOSSES, encode_blocks, encode_stop
from groundwire.dialects.bedrock_converse.search import NAME
from groundwire.dialects.bedrock_converse.usage import encode_usage
from groundwire.dialects.citation_buffer import searches_before_text
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, JsonObject


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a whole body to events."""
    fields = Fields.of(body, UpstreamWireError)
    if not fields.has("output"):
        raise fields.fault("expected the output of a conversation", "output")
    decoder = Decoder()
    decoder.audit(body)
    decoder.start()
    for index, block in enumerate(fields.obj("output").obj("message").objs("content")):
        read_block(decoder, index, block)
    decoder.count(fields.obj("usage"))
    decoder.finish(fields)
    decoder.stop()
    return decoder.close()


def encode_response(answer: Answer, reply: Reply) -> JsonObject:  # noqa: ARG001 (a body has no id and no model)
    """Encode a whole body."""
    content = list(encode_blocks(searches_before_text(answer.parts, NAME), answer.citations))
    body: JsonObject = {
        "output": {"message": {"role": "assistant", "content": [*content]}},
        **encode_stop(answer),
        "usage": encode_usage(answer.usage),
        "metrics": {"latencyMs": 0},
    }
    return add_extension(body, answer, LOSSES)
