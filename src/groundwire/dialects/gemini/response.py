"""A whole answer: one candidate with its parts, then why it ended and what it rests on."""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import as_object
from groundwire.dialects.gemini.errors import encode_finish
from groundwire.dialects.gemini.grounding import encode_grounding, encode_pages
from groundwire.dialects.gemini.losses import LOSSES
from groundwire.dialects.gemini.parts import encode_parts, show_part
from groundwire.dialects.gemini.reading import AnswerReader
from groundwire.dialects.gemini.usage import encode_usage
from groundwire.dialects.proto_json import NAME, read_body
from groundwire.dialects.source_audit import with_audit_warnings
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, Json, JsonObject


def decode_response(body: JsonObject) -> list[Event]:
    """The events that a whole body tells."""
    events: list[Event] = []
    reader = AnswerReader(events.append)
    reader.read(read_body(body, UpstreamWireError))
    reader.end(whole=True)
    return with_audit_warnings(body, events)


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """The whole body of an answer."""
    shown = (show_part(part) for part in encode_parts(answer.parts))
    return encode_ending(answer, answer.text, [part for part in shown if part is not None], reply)


def encode_ending(answer: Answer, text: str, parts: list[Json], reply: Reply) -> JsonObject:
    """The object that ends an answer whose words went out as `text`."""
    body: JsonObject = {}
    feedback = answer.extras.get(NAME, {}).get("promptFeedback")
    if feedback and not answer.parts:
        body["promptFeedback"] = feedback
    else:
        body["candidates"] = [
            {
                "content": {"parts": parts, "role": "model"},
                **encode_finish_of(answer),
                "index": 0,
                **encode_metadata(answer, text),
            }
        ]
    if usage := encode_usage(answer.usage):
        body["usageMetadata"] = usage
    return add_extension({**body, **encode_head(answer.model, reply)}, answer, LOSSES)


def encode_finish_of(answer: Answer) -> JsonObject:
    """Why a candidate ended, and whatever its own dialect had said about it."""
    rest = as_object(answer.extras.get(NAME, {}).get("candidate"))
    name = encode_finish(answer.finish, answer.detail)
    if answer.detail == "CONTINUATION" and "continuationToken" in rest:
        name = answer.detail
    message = answer.error.message if answer.error else answer.detail
    told: JsonObject = {"finishMessage": message} if message not in ("", name) else {}
    return {"finishReason": name, **told, **rest}


def encode_metadata(answer: Answer, text: str) -> JsonObject:
    """What a candidate rests on."""
    metadata: JsonObject = {
        "groundingMetadata": encode_grounding(answer, text),
        "urlContextMetadata": encode_pages(answer),
    }
    return {key: value for key, value in metadata.items() if value}


def encode_head(model: str, reply: Reply) -> JsonObject:
    """What every chunk says about the answer."""
    return {"modelVersion": reply.model or model, "responseId": reply.id}
