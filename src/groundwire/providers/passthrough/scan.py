"""Looking at an answer that is passed on, without reading it: has it ended, and what did it cost?

Reading everything would cost more than passing it on. What ends a stream can be seen in its bytes: quotation
marks inside of texts are escaped in JSON, so that these patterns do not occur there. What it cost stands in
few frames, which are read by the dialect's own decoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groundwire.dialects.base import Dialect
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import (
    Event,
    Failed,
    Finished,
    JsonObject,
    SearchCalled,
    SearchReturned,
    Started,
    UsageSeen,
)
from groundwire.model.value import value
from groundwire.providers.passthrough.frames import (
    SENTINEL,
    frame_at,
    frame_data,
    frames_in,
    is_plain_frame,
    with_line_end,
)


class BytePattern:
    """Bytes to look for, in every spelling: finding them is ten times cheaper than a pattern."""

    __slots__ = ("_first", "spellings")

    def __init__(self, *spellings: bytes, first: bool = False) -> None:
        """If `first`, it counts only at the beginning of a line, where nobody's words can stand."""
        self.spellings = spellings
        self._first = first

    def places(self, data: bytes) -> list[int]:
        """Where it stands, in order."""
        found: list[int] = []
        for spelling in self.spellings:
            place = data.find(spelling)
            while place >= 0:
                if not self._first or data[place - 1 : place] in (b"", b"\n", b"\r"):
                    found.append(place)
                place = data.find(spelling, place + 1)
        return sorted(found) if len(found) > 1 else found


@value
class ScanRules:
    """Where to look in a dialect."""

    content: str
    """The field of a whole body that holds the answer."""
    failure: BytePattern
    usage: BytePattern
    end: BytePattern | None = None
    """None where a stream ends with its bytes."""
    key: str = ""
    """The field that `end` is found in."""
    settled: BytePattern | None = None
    """After this nothing is missing but the formality that ends a stream."""
    formality: bytes = b""
    follows: BytePattern | None = None
    """What may follow an error, besides the sentinel."""
    told_always: bool = False
    """Is the cost told with every frame? Then it is read when all is said."""
    searched: BytePattern | None = None
    """What reports a search, where the usage may not count them: such frames are decoded for the count."""


def _field(*names: bytes, holds: bytes) -> BytePattern:
    """A field by what it begins with, with a blank before that or without."""
    return BytePattern(*(b'"' + name + b'":' + blank + holds for name in names for blank in (b"", b" ")))


def _kind(key: bytes, *names: bytes) -> BytePattern:
    """An event by its kind."""
    return BytePattern(
        *(b'"' + key + b'":' + blank + b'"' + name + b'"' for name in names for blank in (b"", b" "))
    )


_SENTINEL = BytePattern(b"data: [DONE]", b"data:[DONE]", first=True)
_ERROR = BytePattern(*(b'"error":' + blank + holds for blank in (b"", b" ") for holds in (b"{", b'"')))
_USAGE = _field(b"usage", holds=b"{")

SCAN_RULES = {
    "anthropic_messages": ScanRules(
        "content",
        _kind(b"type", b"error"),
        _USAGE,
        end=_kind(b"type", b"message_stop"),
        key="type",
        settled=_field(b"stop_reason", holds=b'"'),
        formality=b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ),
    "openai_responses": ScanRules(
        "output",
        _kind(b"type", b"error", b"response.failed"),
        _USAGE,
        end=_kind(b"type", b"response.completed", b"response.incomplete"),
        key="type",
        follows=_kind(b"type", b"response.failed"),
        searched=_kind(b"type", b"web_search_call"),
    ),
    "openai_chat": ScanRules(
        "choices",
        _ERROR,
        _USAGE,
        end=_SENTINEL,
        settled=_field(b"finish_reason", holds=b'"'),
        formality=b"data: [DONE]\n\n",
    ),
    "gemini": ScanRules(
        "candidates",
        _ERROR,
        _field(b"usageMetadata", holds=b"{"),
        settled=_field(b"finishReason", b"blockReason", holds=b'"'),
        told_always=True,
        searched=_field(b"webSearchQueries", b"groundingChunks", holds=b"["),
    ),
    "gemini_interactions": ScanRules(
        "steps",
        _kind(b"event_type", b"error"),
        _USAGE,
        end=_kind(b"event_type", b"interaction.completed", b"interaction.complete"),
        key="event_type",
    ),
}


def _notable(glance: ScanRules) -> tuple[bytes, ...]:
    signs = (
        glance.failure,
        glance.end,
        glance.settled,
        _SENTINEL,
        glance.searched,
        None if glance.told_always else glance.usage,
    )
    return tuple(spelling for sign in signs if sign is not None for spelling in sign.spellings)


_NOTABLE = {name: _notable(glance) for name, glance in SCAN_RULES.items()}


class StreamEnd(NamedTuple):
    """How a stream ends, and where."""

    event: Finished | Failed | None
    place: int


class ScanResult(NamedTuple):
    """What frames tell, and how much of them: nothing behind an end is part of the answer. If that is not
    all though no end is told, there will be none."""

    events: list[Event]
    length: int
    settled: bool
    """Is all said with these frames or before, though the stream does not end with them?"""


def scan_body(language: Dialect, body: JsonObject, data: bytes = b"") -> list[Event] | None:
    """What can be seen of a whole answer; None if it must be read. `data` are its bytes."""
    glance = SCAN_RULES.get(language.name)
    if glance is None or not body.get(glance.content) or body.get("error"):
        return None
    model = body.get("model") or body.get("modelVersion")
    started, usage = Started(model=model if isinstance(model, str) else ""), language.usage_of(body)
    seen: list[Event] = [started]
    if (usage is None or usage.searches is None) and glance.searched and glance.searched.places(data):
        seen += _searches_of(language.decode_response(body))
    return [*seen, UsageSeen(usage), Finished()] if usage else [*seen, Finished()]


def is_content_only(language: Dialect, data: bytes) -> bool:
    """Is this one frame as nearly all are, a piece of the answer and no more? Said before all is settled."""
    if data.find(b"\n\n") != len(data) - 2 or b"\r" in data or not is_plain_frame(data[:-2]):
        return False
    for spelling in _NOTABLE[language.name]:  # noqa: SIM110  a generator would cost more than the search
        if spelling in data:
            return False
    return True


def scan_frames(language: Dialect, data: bytes, *, settled: bool = False) -> ScanResult:
    """What whole frames of a stream tell: its cost, and its end."""
    glance = SCAN_RULES[language.name]
    end, length = _first_end(language, glance, data)
    seen: list[Event] = []
    settled = settled or is_settled(language, data[:length])
    if (settled or not glance.told_always) and (places := glance.usage.places(data[:length])):
        start, stop = frame_at(data, places[-1])  # costs are told cumulatively
        decoder = language.decoder()
        told = decoder.feed(data[start:stop])
        if end is not None and stop == length and told and _is_unreadable(told[-1]):
            return ScanResult([told[-1]], start, settled)
        seen += (event for event in (*told, *decoder.close()) if isinstance(event, UsageSeen))
    if glance.searched is not None:
        seen += _searches_in(language, glance.searched, data[:length])
    if end is not None:
        seen.append(end)
    return ScanResult(seen, length, settled)


def _searches_in(language: Dialect, sign: BytePattern, data: bytes) -> list[Event]:
    """The searches that frames report. One that is reported twice has the same id."""
    found: list[Event] = []
    for start, stop in dict.fromkeys(frame_at(data, place) for place in sign.places(data)):
        decoder = language.decoder()
        found += _searches_of([*decoder.feed(with_line_end(data[start:stop])), *decoder.close()])
    return found


def _searches_of(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, SearchCalled | SearchReturned)]


def is_settled(language: Dialect, data: bytes) -> bool:
    """Is all said with these frames?"""
    settled = SCAN_RULES[language.name].settled
    return settled is not None and any(_body(data, place) for place in settled.places(data))


def trailing_frames(language: Dialect, end: Event, data: bytes) -> bytes:
    """What belongs to the end of a stream, of all that came behind it."""
    glance = SCAN_RULES[language.name]
    if glance.end is None or (glance.end is _SENTINEL and isinstance(end, Finished)) or _is_unreadable(end):
        return b""
    follows = glance.follows if isinstance(end, Failed) else None
    kept = b""
    for frame in frames_in(data):
        if SENTINEL in frame_data(frame):
            return kept + frame.rstrip(b"\r\n") + b"\n\n"
        if follows is not None and follows.places(frame) and frame.endswith((b"\n\n", b"\r\n\r\n")):
            kept, follows = kept + frame, None
    return kept


def _first_end(language: Dialect, glance: ScanRules, data: bytes) -> StreamEnd:
    """An end, or the place where a client would stop to read without one, whatever comes first."""
    first = StreamEnd(None, len(data))
    if glance.key and (over := _SENTINEL.places(data)):
        first = StreamEnd(None, frame_at(data, over[0])[0])
    for place in glance.end.places(data[: first.place]) if glance.end else ():
        if found := _finish(glance, data, place):
            first = found
            break
    for place in glance.failure.places(data[: first.place]):
        start, stop = frame_at(data, place)
        if failed := _failed(language, data[start:stop]):
            return StreamEnd(failed, start if _is_unreadable(failed) else stop)
    return first


def _failed(language: Dialect, frame: bytes) -> Failed | None:
    """The error that a frame tells, if it tells one: an argument of a call may have the same name."""
    told = language.decoder().feed(with_line_end(frame))
    return next((event for event in told if isinstance(event, Failed)), None)


def _is_unreadable(event: Event) -> bool:
    """Is this an error that was found rather than told?"""
    return isinstance(event, Failed) and isinstance(event.error, WireError)


def is_early_sentinel(language: Dialect, frame: bytes) -> bool:
    """Is this the sentinel of a dialect that tells its end before? Clients read no further."""
    return bool(SCAN_RULES[language.name].key) and bool(_SENTINEL.places(frame))


def _finish(glance: ScanRules, data: bytes, place: int) -> StreamEnd | None:
    """The good end that was found at a place, if it is the event's own kind and not of something inside."""
    start, stop = frame_at(data, place)
    # Before anything that is inside, it is: such a frame is not read here if it will be for its cost.
    first = data[start:place].count(b"{") == 1 and glance.usage.places(data[start:stop])
    if not glance.key or first:
        return StreamEnd(Finished(), stop)
    body = _body(data, place)
    if not body:
        return StreamEnd(Failed(UpstreamWireError("the end of the answer is malformed")), start)
    told = dump_json({glance.key: body.get(glance.key)}).encode()
    return StreamEnd(Finished(), stop) if glance.end and glance.end.places(told) else None


def _body(data: bytes, place: int) -> JsonObject:
    """The event in which a place lies; empty if nobody could read it."""
    start, stop = frame_at(data, place)
    try:
        return as_object(load_json(b"\n".join(frame_data(data[start:stop])), UpstreamWireError))
    except UpstreamWireError:
        return {}
