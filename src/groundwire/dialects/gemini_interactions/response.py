"""A whole interaction, and the events it tells.

The search steps of a real answer stand after its text; nothing here relies on their order.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import add_extension
from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.errors import (
    decode_ending,
    decode_error_object,
    encode_ending,
    encode_error_object,
    is_blocked,
)
from groundwire.dialects.gemini_interactions.interaction import encode_head, encode_steps, encode_times
from groundwire.dialects.gemini_interactions.losses import LOSSES
from groundwire.dialects.gemini_interactions.notes import Notes, Teller
from groundwire.dialects.gemini_interactions.parts import NAME, own
from groundwire.dialects.gemini_interactions.steps import Steps
from groundwire.dialects.gemini_interactions.usage import decode_usage, encode_usage
from groundwire.dialects.source_audit import with_audit_warnings
from groundwire.errors import UpstreamError, UpstreamWireError
from groundwire.model import Answer, Event, Failed, Finished, Json, JsonObject, Started, UsageSeen

_KEPT = ("service_tier", "continuation_token", "environment_id")


def decode_response(body: JsonObject) -> list[Event]:
    """The events of a whole interaction."""
    notes = Notes()
    read_whole(Fields.of(body, UpstreamWireError), notes, Steps(notes, UpstreamWireError))
    return with_audit_warnings(body, notes.events)


def read_whole(body: Fields, teller: Teller, steps: Steps) -> None:
    """Tell a body that is an interaction, or an error in its place."""
    tell_start(body, teller)
    if body.has("error"):
        tell_error(body.obj("error"), teller)
        return
    if not body.has("status"):
        raise body.fault("expected an interaction", "status")
    tell_end(body, teller, steps)


def tell_start(body: Fields, teller: Teller) -> None:
    """Who answers, under which name."""
    teller.emit(Started(body.text("id"), body.text("model") or body.text("agent")))


def tell_end(body: Fields, teller: Teller, steps: Steps) -> None:
    """Steps that have not been told yet, counts, and how it ended."""
    if not steps.any:
        for step in body.objs("steps"):
            steps.whole(step)
    steps.finish()
    if body.has("usage"):
        teller.emit(UsageSeen(decode_usage(body.obj("usage"))))
    ending = decode_ending(body.text("status"), list(body.objs("errors")), called=steps.called)
    if isinstance(ending, UpstreamError):
        teller.emit(Failed(ending))
    else:
        kept: JsonObject = {name: body.get(name) for name in _KEPT if body.has(name)}
        teller.emit(Finished(ending.reason, ending.detail, {NAME: kept} if kept else {}))


def tell_error(body: Fields, teller: Teller) -> None:
    """An error that ends the answer; blocked output is an ending of its own."""
    error = decode_error_object(body)
    if is_blocked(error):
        teller.emit(Finished("filtered", error.upstream_code))
    else:
        teller.emit(Failed(error))


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """A whole interaction."""
    body = encode_end(answer, reply)
    body["steps"] = list[Json](encode_steps(answer.parts, answer.citations))
    return add_extension(body, answer, LOSSES)


def encode_end(answer: Answer, reply: Reply) -> JsonObject:
    """The interaction without its steps, as the last event of a stream has it."""
    body = encode_head(reply, "")
    body["model"] = reply.model or answer.model
    if answer.error is not None:
        body |= {"status": "failed", "errors": [encode_error_object(answer.error)]}
    else:
        body |= encode_ending(answer.finish, answer.detail)
    usage = encode_usage(answer.usage)
    if usage:
        body["usage"] = usage
    return body | encode_times(reply) | own(answer.extras)
