"""Scans a response that is passed through, without decoding it: has it ended, and what is its usage?

Decoding everything would cost more than forwarding it. The end of a stream is visible in its bytes: quotation
marks inside of texts are escaped in JSON, so these patterns do not occur there. The usage is in few frames,
which are decoded by the dialect's own decoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import NamedTuple

from groundwire.dialects.base import Dialect
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.unsafe_urls import has_unsafe_url
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import (
    Event,
    Failed,
    Finished,
    JsonObject,
    SearchCalled,
    SearchReturned,
    Started,
    Usage,
    UsageSeen,
)
from groundwire.model.value import value
from groundwire.providers.passthrough.frames import (
    SENTINEL,
    are_plain_frames,
    frame_at,
    frame_data,
    frames_in,
    is_plain_frame,
    with_line_end,
)


class BytePattern:
    """Byte strings to search for: ten times cheaper than a regular expression."""

    __slots__ = ("_first", "stems", "variants")

    def __init__(self, *variants: bytes, stems: tuple[bytes, ...] = (), first: bool = False) -> None:
        """If `first`, a match counts only at the beginning of a line, where no content can be."""
        self.variants = variants
        self.stems = stems or variants
        """Parts of the variants: each match contains one of them, and few other bytes do."""
        self._first = first

    def find_all(self, data: bytes) -> list[int]:
        """The offsets of all matches, in order."""
        found: list[int] = []
        for stem in self.stems:
            if data.find(stem) >= 0:
                break
        else:
            return found
        for variant in self.variants:
            offset = data.find(variant)
            while offset >= 0:
                if not self._first or data[offset - 1 : offset] in (b"", b"\n", b"\r"):
                    found.append(offset)
                offset = data.find(variant, offset + 1)
        return sorted(found) if len(found) > 1 else found


@value
class ScanRules:
    """What to search for in the responses of a dialect."""

    content: str
    """The field of a whole body with the answer."""
    failure: BytePattern
    usage: BytePattern
    end: BytePattern | None = None
    """None where the connection's end is the end of the stream."""
    key: str = ""
    """The field that `end` matches."""
    settled: BytePattern | None = None
    """After this the answer is complete, and only the closing frame of the stream may be missing."""
    end_frame: bytes = b""
    after_error: BytePattern | None = None
    """What may follow an error, besides the sentinel."""
    usage_in_every_frame: bool = False
    """Then the usage is read once the answer is complete."""
    usage_type: str | None = None
    """The type of the frames that have their usage where a whole body has it; empty if these are all. None
    where such frames must be decoded."""
    searched: BytePattern | None = None
    """Matches search reports, where the usage may not count searches: such frames are decoded."""


def _field(*names: bytes, value: bytes) -> BytePattern:
    """Matches a field and the first character of its value, with or without a space before it."""
    return BytePattern(
        *(b'"' + name + b'":' + blank + value for name in names for blank in (b"", b" ")),
        stems=tuple(b'"' + name + b'":' for name in names),
    )


def _kind(key: bytes, *names: bytes) -> BytePattern:
    """Matches an event by its type field."""
    return BytePattern(
        *(b'"' + key + b'":' + blank + b'"' + name + b'"' for name in names for blank in (b"", b" ")),
        stems=tuple(b'"' + name + b'"' for name in names),
    )


_SENTINEL = BytePattern(b"data: [DONE]", b"data:[DONE]", stems=(SENTINEL,), first=True)
_ERROR = BytePattern(b'"error":')
"""Whatever its value is: the decoder decides whether it is an error, or malformed."""
_USAGE = _field(b"usage", value=b"{")

SCAN_RULES = {
    "anthropic_messages": ScanRules(
        "content",
        _kind(b"type", b"error"),
        _USAGE,
        end=_kind(b"type", b"message_stop"),
        key="type",
        settled=_field(b"stop_reason", value=b'"'),
        end_frame=b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
        usage_type="message_delta",
    ),
    "openai_responses": ScanRules(
        "output",
        _kind(b"type", b"error", b"response.failed"),
        _USAGE,
        end=_kind(b"type", b"response.completed", b"response.incomplete"),
        key="type",
        after_error=_kind(b"type", b"response.failed"),
        searched=_kind(b"type", b"web_search_call"),
    ),
    "openai_chat": ScanRules(
        "choices",
        _ERROR,
        _USAGE,
        end=_SENTINEL,
        settled=_field(b"finish_reason", value=b'"'),
        end_frame=b"data: [DONE]\n\n",
        usage_type="",
    ),
    "gemini": ScanRules(
        "candidates",
        _ERROR,
        _field(b"usageMetadata", value=b"{"),
        settled=_field(b"finishReason", b"blockReason", value=b'"'),
        usage_in_every_frame=True,
        usage_type="",
        searched=_field(b"webSearchQueries", b"groundingChunks", value=b"["),
    ),
    "gemini_interactions": ScanRules(
        "steps",
        _kind(b"event_type", b"error"),
        _USAGE,
        end=_kind(b"event_type", b"interaction.completed", b"interaction.complete"),
        key="event_type",
    ),
}


def _noteworthy_patterns(rules: ScanRules) -> tuple[bytes, ...]:
    rare = [pattern for pattern in (rules.failure, rules.end, rules.searched, _SENTINEL) if pattern]
    # These fields are in many frames, and only some of their values count.
    common = [rules.settled, None if rules.usage_in_every_frame else rules.usage]
    return (
        *(stem for pattern in rare for stem in pattern.stems),
        *(variant for pattern in common if pattern for variant in pattern.variants),
        b"\r",
    )


NOTEWORTHY = {name: _noteworthy_patterns(rules) for name, rules in SCAN_RULES.items()}
"""Bytes of which a frame of content has none, by dialect."""


class StreamEnd(NamedTuple):
    """The end of a stream: its event and its offset."""

    event: Finished | Failed | None
    offset: int


class ScanResult(NamedTuple):
    """The events of scanned frames, and how many bytes of the frames belong to the answer.

    If `length` is less than the data and there is no end event, the stream ends without one.
    """

    events: list[Event]
    length: int
    settled: bool
    """Is the answer complete with these frames, even if the stream has not ended?"""


def scan_body(language: Dialect, body: JsonObject, data: bytes = b"") -> list[Event] | None:
    """Usage and end of a whole body; None if it must be decoded. `data` are its bytes."""
    rules = SCAN_RULES.get(language.name)
    if rules is None or not body.get(rules.content) or body.get("error"):
        return None
    model = body.get("model") or body.get("modelVersion")
    started, usage = Started(model=model if isinstance(model, str) else ""), language.usage_of(body)
    events: list[Event] = [started]
    if (usage is None or usage.searches is None) and rules.searched and rules.searched.find_all(data):
        events += _searches_of(language.decode_response(body))
    return [*events, UsageSeen(usage), Finished()] if usage else [*events, Finished()]


def _is_content_frame(noteworthy: tuple[bytes, ...], data: bytes) -> bool:
    """Is this a frame of content alone, as nearly all are? Valid until the answer is settled."""
    if not is_plain_frame(data[:-2]):
        return False
    # `find`, because `in` raises and clears an exception for every search in bytes.
    for variant in noteworthy:  # noqa: SIM110  a generator would cost more than the search
        if data.find(variant) >= 0:
            return False
    return True


_TEXT_FIELDS = tuple(
    b'"' + name + b'":' + blank + b'"'
    for name in (b"content", b"text", b"delta", b"thinking", b"reasoning_content", b"partial_json")
    for blank in (b"", b" ")
)
"""Beginnings of the strings that are content in some dialect."""
_VALUE_ENDS = (b'"}', b'",', b'"]')


class ContentCheck:
    """Recognises frames of content. It remembers their form: most differ in a single string of text, and then
    a few comparisons are enough."""

    __slots__ = ("_after", "_before", "_form", "_noteworthy")

    def __init__(self, language: Dialect) -> None:
        self._noteworthy = NOTEWORTHY[language.name]
        self._form: FrameForm | None = None
        self._before = self._after = b""
        """What precedes and follows the text."""

    def is_content(self, data: bytes) -> bool:
        """Are these frames of content alone, without unsafe URLs? Valid until the answer is settled."""
        before, after = self._before, self._after
        if before and data.startswith(before) and data.endswith(after):  # one frame, as in most reads
            start, end = len(before), len(data) - len(after)
            if (
                data.find(b'"', start, end) < 0
                and data.find(b"\n", start, end) < 0
                and data.find(b"\r", start, end) < 0
            ):
                return start <= end
        return self.end_of_content(data, 0) == len(data)

    def end_of_content(self, data: bytes, start: int) -> int:
        """The end of the frames of content that begin at an offset."""
        if not self._before:
            start = self._end_of_next(data, start)
        start = self._end_of_known(data, start)
        if len(data) - start > _MANY_BYTES:
            start = _end_of_many(self._noteworthy, data, start)
        while (end := self._end_of_next(data, start)) > start:
            start = self._end_of_known(data, end)
        return start

    def _end_of_next(self, data: bytes, start: int) -> int:
        """The end of one frame of content, whose form is remembered; the offset if the frame has more."""
        end = data.find(b"\n\n", start) + 2
        frame = data[start:end]
        if end < 2 or not _is_content_frame(self._noteworthy, frame) or has_unsafe_url(frame):
            return start
        self._before, self._after = _form_of(frame)
        self._form = FrameForm(self._before, self._after) if self._before else None
        return end

    def _end_of_known(self, data: bytes, start: int) -> int:
        """The end of the frames of the known form that begin at an offset, a window at a time."""
        before, after = self._before, self._after
        begun = -1
        while (
            self._form is not None
            and start != begun
            and data.startswith(before, start)
            and data.endswith(after, start, data.find(b"\n\n", start) + 2)
        ):
            begun = start
            start += self._form.length_of_frames(data[start : start + _WINDOW])
        return start


class FrameForm:
    """Frames that differ only in a text without quotation marks.

    They are split at the end of what precedes the text: a search for all of it, which is often longer than a
    hundred bytes, would prepare tables for every frame.
    """

    __slots__ = ("_after", "_gap", "_head", "_mark")

    def __init__(self, before: bytes, after: bytes) -> None:
        # It ends with the first field that has a text, so it occurs once in what precedes the text.
        self._mark = before[-_MARK_BYTES:]
        self._head = before[:-_MARK_BYTES]
        self._after = after
        self._gap = after + self._head
        """What is between a text and the mark of the next frame."""

    def length_of_frames(self, data: bytes) -> int:
        """The length of the frames of this form at the beginning of bytes that begin with one."""
        _, *pieces = data.split(self._mark)
        last = pieces.pop()
        if not _are_texts(pieces, self._gap):
            pieces = list(takewhile(lambda piece: _are_texts([piece], self._gap), pieces))
            last = b""
        length = len(self._mark) * len(pieces) + sum(map(len, pieces))
        if last and _are_texts([last], self._after):
            length += len(self._head) + len(self._mark) + len(last)
        return length


_WINDOW = 32 * 1024
_MARK_BYTES = 32
_MANY_BYTES = 2048


def _end_of_many(noteworthy: tuple[bytes, ...], data: bytes, start: int) -> int:
    """The end of frames of content that begin at an offset. All are searched together; the offset if that
    does not tell."""
    end = _end_of_last(data, start, len(data))
    for pattern in noteworthy:
        if (found := data.find(pattern, start, end)) >= 0:
            end = _end_of_last(data, start, found)
    content = data[start:end]
    return end if content and are_plain_frames(content) and not has_unsafe_url(content) else start


def _end_of_last(data: bytes, start: int, stop: int) -> int:
    """The end of the last frame between two offsets; the first offset if no frame ends there."""
    blank = data.rfind(b"\n\n", start, stop)
    return blank + 2 if blank >= 0 else start


def _are_texts(pieces: list[bytes], after: bytes) -> bool:
    """Is each of the pieces a text, followed by these bytes? All are looked at together."""
    stop = -len(after)
    texts = [piece[:stop] for piece in pieces]
    if b"".join([text + after for text in texts]) != b"".join(pieces):
        return False
    text = b"".join(texts)
    # No quotation mark: each text is one string, even if it contains the name of a field.
    return text.find(b'"') < 0 and text.find(b"\n") < 0 and text.find(b"\r") < 0


def _form_of(data: bytes) -> tuple[bytes, bytes]:
    """What precedes and follows the text in one frame; empty if there is none."""
    for field in _TEXT_FIELDS:
        if (offset := data.find(field)) >= 0:
            start = offset + len(field)
            end = data.find(b'"', start)
            return (data[:start], data[end:]) if data.startswith(_VALUE_ENDS, end) else (b"", b"")
    return b"", b""


def scan_frames(language: Dialect, data: bytes, *, settled: bool = False) -> ScanResult:
    """Usage and end in whole frames of a stream."""
    rules = SCAN_RULES[language.name]
    end, length = _first_end(language, rules, data)
    events: list[Event] = []
    decoded: dict[tuple[int, int], list[Event]] = {}
    settled = settled or is_settled(language, data[:length])
    if (settled or not rules.usage_in_every_frame) and (offsets := rules.usage.find_all(data[:length])):
        start, stop = frame_at(data, offsets[-1])  # usage is cumulative
        if usage := _plain_usage(language, rules, data[start:stop]):
            events.append(UsageSeen(usage))
        else:
            decoder = language.decoder()
            fed = decoder.feed(data[start:stop])
            if end is not None and stop == length and fed and _is_malformed(fed[-1]):
                return ScanResult([fed[-1]], start, settled)
            decoded[start, stop] = [*fed, *decoder.close()]
            events += (event for event in decoded[start, stop] if isinstance(event, UsageSeen))
    if rules.searched is not None:
        events += _searches_in(language, rules.searched, data[:length], decoded)
    if end is not None:
        events.append(end)
    return ScanResult(events, length, settled)


def _plain_usage(language: Dialect, rules: ScanRules, frame: bytes) -> Usage | None:
    """The usage of a frame that has it where a whole body has it; None if the frame must be decoded."""
    if rules.usage_type is None:
        return None
    body = _parsed(frame)
    if "error" in body or (rules.usage_type and body.get(rules.key) != rules.usage_type):
        return None
    try:
        usage = language.usage_of(body)
    except WireError:
        return None
    return None if usage == Usage() else usage


def _searches_in(
    language: Dialect, pattern: BytePattern, data: bytes, decoded: Mapping[tuple[int, int], list[Event]]
) -> list[Event]:
    """The searches that frames report. A search that is reported twice has the same id."""
    found: list[Event] = []
    for start, stop in dict.fromkeys(frame_at(data, offset) for offset in pattern.find_all(data)):
        events = decoded.get((start, stop))
        if events is None:
            decoder = language.decoder()
            events = [*decoder.feed(with_line_end(data[start:stop])), *decoder.close()]
        found += _searches_of(events)
    return found


def _searches_of(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, SearchCalled | SearchReturned)]


def is_settled(language: Dialect, data: bytes) -> bool:
    """Is the answer complete with these frames?"""
    settled = SCAN_RULES[language.name].settled
    offsets = settled.find_all(data) if settled is not None else ()
    return bool(offsets) and any(_body(data, offset) for offset in offsets)


def trailing_frames(language: Dialect, end: Event, data: bytes) -> bytes:
    """The frames after the end event that still belong to the stream, such as the sentinel."""
    rules = SCAN_RULES[language.name]
    if rules.end is None or (rules.end is _SENTINEL and isinstance(end, Finished)) or _is_malformed(end):
        return b""
    after_error = rules.after_error if isinstance(end, Failed) else None
    kept = b""
    for frame in frames_in(data):
        if SENTINEL in frame_data(frame):
            return kept + frame.rstrip(b"\r\n") + b"\n\n"
        if after_error is not None and after_error.find_all(frame) and frame.endswith((b"\n\n", b"\r\n\r\n")):
            kept, after_error = kept + frame, None
    return kept


def _first_end(language: Dialect, rules: ScanRules, data: bytes) -> StreamEnd:
    """The first end, or the offset where a client would stop reading without one."""
    first = StreamEnd(None, len(data))
    if rules.key and (sentinels := _SENTINEL.find_all(data)):
        first = StreamEnd(None, frame_at(data, sentinels[0])[0])
    for offset in rules.end.find_all(data[: first.offset]) if rules.end else ():
        if found := _finish(rules, data, offset):
            first = found
            break
    for offset in rules.failure.find_all(data[: first.offset]):
        start, stop = frame_at(data, offset)
        if failed := _failed(language, data[start:stop]):
            return StreamEnd(failed, start if _is_malformed(failed) else stop)
    return first


def _failed(language: Dialect, frame: bytes) -> Failed | None:
    """The error in a frame, if there is one: an argument of a tool call may have the same name."""
    decoded = language.decoder().feed(with_line_end(frame))
    return next((event for event in decoded if isinstance(event, Failed)), None)


def _is_malformed(event: Event) -> bool:
    """Is this an error in the wire format, rather than one that the provider reported?"""
    return isinstance(event, Failed) and isinstance(event.error, WireError)


def is_early_sentinel(language: Dialect, frame: bytes) -> bool:
    """Is this the sentinel of a dialect whose end is an event? Clients stop reading there."""
    return bool(SCAN_RULES[language.name].key) and bool(_SENTINEL.find_all(frame))


def _finish(rules: ScanRules, data: bytes, offset: int) -> StreamEnd | None:
    """The normal end that matched at an offset, if it is the type of the event and not of a nested object."""
    start, stop = frame_at(data, offset)
    # Before any nested object it is the type of the event. A frame with usage is decoded anyway.
    top_level = data[start:offset].count(b"{") == 1 and rules.usage.find_all(data[start:stop])
    if not rules.key or top_level:
        return StreamEnd(Finished(), stop)
    body = _body(data, offset)
    if not body:
        return StreamEnd(Failed(UpstreamWireError("the end of the answer is malformed")), start)
    field = dump_json({rules.key: body.get(rules.key)}).encode()
    return StreamEnd(Finished(), stop) if rules.end and rules.end.find_all(field) else None


def _body(data: bytes, offset: int) -> JsonObject:
    """The JSON object of the frame around an offset; empty if it is malformed."""
    start, stop = frame_at(data, offset)
    return _parsed(data[start:stop])


def _parsed(frame: bytes) -> JsonObject:
    """The JSON object of a frame; empty if it is malformed."""
    try:
        return as_object(load_json(b"\n".join(frame_data(frame)), UpstreamWireError))
    except UpstreamWireError:
        return {}
