"""Looking at an answer that is passed on, without reading it: has it ended, and what did it cost?

Reading everything would cost more than passing it on. What ends a stream can be seen in its bytes: quotation
marks inside of texts are escaped in JSON, so that these patterns do not occur there. What it cost stands in
few frames, which are read by the dialect's own decoder.
"""

from __future__ import annotations

import re

from groundwire.dialects.base import Dialect
from groundwire.model import Event, Failed, Finished, JsonObject, Started, UsageSeen
from groundwire.model.value import value


@value
class Glance:
    """Where to look in a dialect."""

    content: str
    """The field of a whole body that holds the answer."""
    end: re.Pattern[bytes]
    failure: re.Pattern[bytes]
    usage: re.Pattern[bytes]
    settled: re.Pattern[bytes] | None = None
    """After this nothing is missing but the formality that ends a stream."""
    formality: bytes = b""


def _type(names: bytes) -> re.Pattern[bytes]:
    return re.compile(rb'"type":\s*"(?:' + names + rb')"')


def _event_type(names: bytes) -> re.Pattern[bytes]:
    return re.compile(rb'"event_type":\s*"(?:' + names + rb')"')


_ERROR = re.compile(rb'"error":\s*\{')
_USAGE = re.compile(rb'"usage":\s*\{')

GLANCES = {
    "anthropic_messages": Glance(
        "content",
        _type(rb"message_stop"),
        _type(rb"error"),
        _USAGE,
        settled=re.compile(rb'"stop_reason":\s*"'),
        formality=b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ),
    "openai_responses": Glance(
        "output", _type(rb"response\.(?:completed|incomplete)"), _type(rb"error|response\.failed"), _USAGE
    ),
    "openai_chat": Glance(
        "choices",
        re.compile(rb"data:\s*\[DONE\]"),
        _ERROR,
        _USAGE,
        settled=re.compile(rb'"finish_reason":\s*"'),
        formality=b"data: [DONE]\n\n",
    ),
    "gemini": Glance(
        "candidates", re.compile(rb'"finishReason":\s*"'), _ERROR, re.compile(rb'"finishReason":\s*"')
    ),
    "gemini_interactions": Glance(
        "steps", _event_type(rb"interaction\.completed?"), _event_type(rb"error"), _USAGE
    ),
}


def glance_at_body(language: Dialect, body: JsonObject) -> list[Event] | None:
    """What can be seen of a whole answer; None if it must be read."""
    glance = GLANCES.get(language.name)
    if glance is None or not body.get(glance.content) or body.get("error"):
        return None
    # Lists are what an answer says and stands on; its head and its cost are none.
    rest: JsonObject = {name: item for name, item in body.items() if not isinstance(item, list)}
    rest[glance.content] = [{"index": 0, "message": {}}] if language.name == "openai_chat" else []
    told = language.decode_response(rest)
    seen: list[Event] = [event for event in told if isinstance(event, Started | UsageSeen)]
    return [*seen, Finished()]


def glance_at_frames(language: Dialect, data: bytes) -> list[Event]:
    """What whole frames of a stream tell: its cost, and its end."""
    glance = GLANCES[language.name]
    seen: list[Event] = []
    if frame := _last_with(glance.usage, data):
        decoder = language.decoder()
        told = (*decoder.feed(frame), *decoder.close())
        seen += (event for event in told if isinstance(event, UsageSeen))
    if (frame := _last_with(glance.failure, data)) and (failed := _failed(language, frame)):
        seen.append(failed)
    elif glance.end.search(data):
        seen.append(Finished())
    return seen


def is_settled(language: Dialect, data: bytes) -> bool:
    """Is all said with these frames, though the stream does not end with them?"""
    settled = GLANCES[language.name].settled
    return settled is not None and settled.search(data) is not None


def _failed(language: Dialect, frame: bytes) -> Failed | None:
    """The error that a frame tells, if it tells one: an argument of a call may have the same name."""
    told = language.decoder().feed(frame)
    return next((event for event in told if isinstance(event, Failed)), None)


def _last_with(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    """The last frame in which something stands; costs are told cumulatively."""
    place = -1
    for match in pattern.finditer(data):
        place = match.start()
    if place < 0:
        return b""
    start = max(data.rfind(b"\n\n", 0, place) + 2, data.rfind(b"\r\n\r\n", 0, place) + 4)
    end = data.find(b"\n\n", place)
    return data[start if start > 3 or data[:start].isspace() else 0 : end + 2 if end >= 0 else len(data)]
