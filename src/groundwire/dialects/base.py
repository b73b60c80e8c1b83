"""What a dialect is: a record of pure functions and two small state machines.

A decoder turns bytes, cut anywhere, into events; an encoder turns events into bytes. The two base classes
here keep the promises that hold for every dialect, so that no dialect has to remember them:

* a stream has exactly one terminal event, and nothing follows it;
* bytes that break the dialect become a `Failed` event: what came before stands;
* a stream that just ends is told as such;
* sources that no event carried, and an answer without any content, are warned of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from groundwire.dialects.json import dump_json
from groundwire.dialects.source_audit import (
    CONTENT_EVENTS,
    EMPTY_ANSWER,
    SourceAudit,
    expects_content,
    has_content,
)
from groundwire.dialects.sse import Frame, FrameReader, encode_comment, encode_frame
from groundwire.dialects.text_buffer import TextBuffer
from groundwire.dialects.unsafe_urls import ADDRESS_REMOVED, has_unsafe_url
from groundwire.errors import GroundwireError, Interrupted, UpstreamError, WireError
from groundwire.model import (
    Answer,
    Cited,
    Event,
    Failed,
    Finished,
    JsonObject,
    Request,
    TextDelta,
    Usage,
)
from groundwire.model.answer import CITATIONS_CUT
from groundwire.model.source import MAX_EVIDENCE
from groundwire.model.value import value

if TYPE_CHECKING:
    from groundwire.dialects.features import Feature

DEFAULT_KEY = b"groundwire"

CitationPolicy: TypeAlias = Literal["exact", "live"]


@value
class Reply:
    """What an encoder must know and cannot see in the events. Identity and time come from outside."""

    id: str = "0"
    """Unique and bare; each dialect puts its own prefix before it."""
    model: str = ""
    created: int = 0
    """Seconds since the epoch."""
    request: Request = Request(())
    citations: CitationPolicy = "exact"
    key: bytes = DEFAULT_KEY
    """Signs what we make in the place of a provider's encrypted content."""


class Encoded(NamedTuple):
    """A request in a dialect's words, and the names of the search options it has no words for."""

    body: JsonObject
    unsupported: tuple[str, ...] = ()


class ErrorBody(NamedTuple):
    """An error in a dialect's words."""

    status: int
    body: JsonObject


Headers: TypeAlias = Mapping[str, str]
"""Response headers with lower-case names."""


_TERMINAL = (Finished, Failed)


class StreamDecoder(ABC):
    """Bytes in, events out."""

    needs_content = True
    """Is an answer without any content worth a warning?"""

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._events: list[Event] = []
        self._ended = False
        self._parts = 0
        self._is_empty = True
        self._audit = SourceAudit()
        self._room = MAX_EVIDENCE
        self._warned = False
        self.text_buffer = TextBuffer()

    def feed(self, data: bytes) -> list[Event]:
        """The events these bytes complete."""
        return self._collect(self._reader.feed, data)

    def close(self) -> list[Event]:
        """The events that the end of the bytes completes; after this the stream has its terminal event."""
        events = self._collect(lambda _: self._reader.close(), b"")
        events += self._collect(self._end, b"")
        return events

    def emit(self, event: Event) -> None:
        """Tell an event; whatever follows a terminal one is dropped."""
        if self._ended:
            return
        if isinstance(event, TextDelta):
            self.text_buffer.add(event.part, event.text)
        elif isinstance(event, CONTENT_EVENTS):
            if self._is_empty:
                self._is_empty = not has_content(event)
            self._audit.note(event)
            if isinstance(event, Cited):
                self._cite(event)
                return
        elif isinstance(event, _TERMINAL):
            self._ended = True
            self._warn(event)
        self._events.append(event)

    def audit(self, body: JsonObject) -> None:
        """Note the sources in a whole body."""
        self._audit.audit(body)

    def _warn(self, end: Event) -> None:
        if isinstance(end, Finished) and (warning := self._audit.warning()):
            self._events.append(warning)
        if self.needs_content and self._is_empty and expects_content(end) and not len(self.text_buffer):
            self._events.append(EMPTY_ANSWER)

    def _cite(self, event: Cited) -> None:
        """Pass a citation on while there is room for it; the first that is not is told as a warning."""
        if self._room < 0:
            return
        self._room -= len(event.citation.evidence)
        if self._room < 0:
            self._events.append(CITATIONS_CUT)
        else:
            self._events.append(event)

    def next_part(self) -> int:
        """A number for a new part."""
        self._parts += 1
        return self._parts - 1

    @abstractmethod
    def on_frame(self, frame: Frame) -> None:
        """Read one frame and `emit` what it means. May raise `WireError`, nothing else."""

    def on_end(self) -> None:
        """The bytes have ended without a terminal event: last chance to tell one."""

    def _end(self, _: bytes) -> list[Frame]:
        self.on_end()
        self.emit(Failed(Interrupted("the stream ended before the answer was complete")))
        return []

    def _is_plain(self, before: int) -> bool:
        """Did a frame tell a piece of text and nothing else, as nearly all do?"""
        events = self._events
        return len(events) == before + 1 and type(events[before]) is TextDelta

    def _collect(self, read: Callable[[bytes], list[Frame]], data: bytes) -> list[Event]:
        try:
            for frame in () if self._ended else read(data):
                if b'"http' in frame.data:
                    self._audit.audit_frame(frame.data)
                before = len(self._events)
                self.on_frame(frame)
                if not self._is_plain(before) and not self._warned and has_unsafe_url(frame.data):
                    self._warned = True
                    self._events.insert(before, ADDRESS_REMOVED)
        except (WireError, UpstreamError) as error:
            self.emit(Failed(error))
        events, self._events = self._events, []
        return events


class StreamEncoder(ABC):
    """Events in, bytes out. Subclasses call `send`; the first terminal event is the last one taken."""

    content_type = "text/event-stream"

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._chunks: list[bytes] = []
        self._ended = False

    def feed(self, event: Event) -> bytes:
        """The bytes that tell this event, if any are due yet."""
        if self._ended:
            return b""
        self._ended = isinstance(event, _TERMINAL)
        self.on_event(event)
        return self._flush()

    def close(self) -> bytes:
        """End the stream; without a terminal event before, the client is told that it was cut."""
        return self.feed(Failed(Interrupted("the answer was interrupted")))

    def ping(self) -> bytes:
        """A sign of life while there is nothing to tell; empty where the dialect's clients break on it."""
        return encode_comment("keep-alive")

    @abstractmethod
    def on_event(self, event: Event) -> None:
        """Tell one event by way of `send`."""

    def send(self, name: str, payload: JsonObject) -> None:
        """Write one frame."""
        self._chunks.append(encode_frame(name, dump_json(payload)))

    def send_text(self, name: str, head: str, text: str, tail: str) -> None:
        """Write one frame whose JSON is known but for a text: the quick form of `send`."""
        self._chunks.append(encode_frame(name, head + dump_json(text) + tail))

    def send_raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._chunks.append(data)

    def _flush(self) -> bytes:
        if not self._chunks:
            return b""
        data = b"".join(self._chunks)
        self._chunks.clear()
        return data


def _as_it_is(language: Dialect, _: object) -> Dialect:
    return language


@value
class Dialect:
    """A wire language, spoken in both directions."""

    name: str
    decode_request: Callable[[JsonObject], Request]
    """A caller's body. Raises `ClientWireError` or `RequestError`."""
    encode_request: Callable[[Request], Encoded]
    decode_response: Callable[[JsonObject], list[Event]]
    """A provider's whole answer, as the events that tell it. Raises `UpstreamWireError`."""
    encode_response: Callable[[Answer, Reply], JsonObject]
    usage_of: Callable[[JsonObject], Usage | None]
    """What a provider's whole answer has cost, without reading the answer."""
    decoder: Callable[[], StreamDecoder]
    encoder: Callable[[Reply], StreamEncoder]
    decode_error: Callable[[int, bytes, Headers], UpstreamError]
    encode_error: Callable[[GroundwireError, Reply], ErrorBody]
    losses: Mapping[Feature, str]
    """What an answer may have and this dialect cannot say, and where it goes instead."""
    for_request: Callable[[Dialect, Request], Dialect] = _as_it_is
    """The dialect as it reads the answer to a request, where answers refer to parts of the request."""
    with_key: Callable[[Dialect, bytes], Dialect] = _as_it_is
    """The dialect as it reads requests that hold what it signed with this key (`Reply.key`)."""
    not_resent: str = ""
    """Which evidence of an answer its clients do not send back with the next turn; empty if they send all."""
