"""Whole response bodies: the blocks of a stream in one list."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from groundwire.dialects.anthropic_messages.decoder import CitedDocument, Decoder, request_documents
from groundwire.dialects.anthropic_messages.encoder import (
    EXTENSION_FEATURES,
    SearchBlockWriter,
    encode_blocks,
    encode_message_head,
    encode_stop,
)
from groundwire.dialects.anthropic_messages.errors import decode_stream_error
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.usage import encode_usage
from groundwire.dialects.base import Dialect, Reply
from groundwire.dialects.citation_buffer import searches_before_text
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, Failed, JsonObject, Request
from groundwire.model.value import replace


def decode_response(body: JsonObject, documents: Iterable[CitedDocument] = ()) -> list[Event]:
    """Decode a whole message to events; an error body with status 200 becomes `Failed`.

    `documents` are those of the request, which citations may refer to by number.
    """
    message = Fields.of(body, UpstreamWireError)
    if message.text("type") == "error":
        return [Failed(decode_stream_error(message.obj("error").raw))]
    if not message.has("content") and message.text("type") != "message":
        raise message.fault("expected a message")
    decoder = Decoder(documents=documents)
    decoder.audit(body)
    decoder.start(message)
    for index, block in enumerate(message.objs("content")):
        decoder.open(index, block)
        decoder.shut(index)
    decoder.finish(message)
    decoder.stop()
    return decoder.close()


def for_request(dialect: Dialect, request: Request) -> Dialect:
    """The dialect for the response to a request, whose documents citations may refer to by number."""
    documents = request_documents(request)
    if not documents:
        return dialect
    return replace(
        dialect,
        decoder=partial(Decoder, documents=documents),
        decode_response=partial(decode_response, documents=documents),
    )


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode a whole message."""
    body = encode_message_head(answer.id, answer.model, reply)
    parts = searches_before_text(answer.parts, NAME)
    searches = SearchBlockWriter(reply.key)
    body["content"] = list(encode_blocks(parts, answer.citations, reply, searches))
    body.update(encode_stop(answer))
    body["usage"] = encode_usage(answer.usage, searches.searches)
    return add_extension(body, answer, EXTENSION_FEATURES)
