"""Dialect interface: a record of pure functions, and the base classes of stream decoders and encoders.

A decoder turns bytes, split anywhere, into events; an encoder turns events into bytes. The base classes
guarantee what holds for every dialect:

* a stream has exactly one terminal event, and nothing follows it;
* malformed bytes become a `Failed` event; the events before it stay valid;
* a stream that ends without a terminal event becomes `Failed` with `Interrupted`;
* sources that no event carried, and an answer without any content, are reported as warnings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from groundwire.dialects.event_queue import TERMINAL, EventQueue
from groundwire.dialects.json import dump_json, quote_json
from groundwire.dialects.sse import Frame, FrameReader, encode_comment, encode_frame
from groundwire.dialects.unsafe_urls import ADDRESS_REMOVED, has_unsafe_url
from groundwire.errors import GroundwireError, Interrupted, UpstreamError, WireError
from groundwire.model import (
    Answer,
    Event,
    Failed,
    JsonObject,
    Request,
    TextDelta,
    Usage,
)
from groundwire.model.value import value

if TYPE_CHECKING:
    from groundwire.dialects.features import Feature

DEFAULT_KEY = b"groundwire"

CitationPolicy: TypeAlias = Literal["exact", "live"]


@value
class Reply:
    """What an encoder needs besides the events. Ids and timestamps are passed in, so encoders stay pure."""

    id: str = "0"
    """Unique, without a prefix; each dialect adds its own."""
    model: str = ""
    created: int = 0
    """Seconds since the epoch."""
    request: Request = Request(())
    citations: CitationPolicy = "exact"
    key: bytes = DEFAULT_KEY
    """Signs the tokens that replace a provider's encrypted content (`signed_tokens`)."""


class Encoded(NamedTuple):
    """An encoded request, and the names of the options that the dialect has no field for."""

    body: JsonObject
    unsupported: tuple[str, ...] = ()


class ErrorBody(NamedTuple):
    """An encoded error response."""

    status: int
    body: JsonObject


Headers: TypeAlias = Mapping[str, str]
"""Response headers with lower-case names."""


class StreamReader(Protocol):
    """Incremental parser of a stream: bytes split anywhere in, frames out."""

    def feed(self, data: bytes) -> list[Frame]: ...
    def close(self) -> list[Frame]: ...


class StreamDecoder(ABC):
    """Base class of decoders: bytes in, events out."""

    needs_content = True
    """Whether an answer without any content is reported as a warning."""

    def __init__(self) -> None:
        self._reader: StreamReader = FrameReader()
        self._warned_unsafe_url = False
        self.queue = queue = EventQueue(needs_content=self.needs_content)
        self.emit, self.emit_text, self.next_part = queue.emit, queue.emit_text, queue.next_part
        self.text_buffer = queue.text_buffer

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete."""
        return self._collect(self._reader.feed, data)

    def close(self) -> list[Event]:
        """Return the events that the end of the bytes completes, the terminal event among them."""
        events = self._collect(lambda _: self._reader.close(), b"")
        events += self._collect(self._end, b"")
        return events

    def usage_so_far(self) -> Usage | None:
        """The usage that was reported but not emitted yet; of an answer that is aborted, it is the last."""
        return None

    def audit(self, body: JsonObject) -> None:
        """Collect the sources in a whole body for the source audit."""
        self.queue.audit.audit(body)

    @abstractmethod
    def on_frame(self, frame: Frame) -> None:
        """Decode one frame and `emit` its events. May raise `WireError`, nothing else."""

    def on_end(self) -> None:
        """Called when the bytes end without a terminal event: the last chance to emit one."""

    def _end(self, _: bytes) -> list[Frame]:
        self.on_end()
        self.emit(Failed(Interrupted("the stream ended before the answer was complete")))
        return []

    def _collect(self, read: Callable[[bytes], list[Frame]], data: bytes) -> list[Event]:
        queue = self.queue
        try:
            events, on_frame = queue.events, self.on_frame
            for frame in () if queue.has_ended else read(data):
                document = frame.data
                if b'"http' in document:
                    queue.audit.audit_frame(document)
                before = len(events)
                on_frame(frame)
                if len(events) == before + 1 and type(events[before]) is TextDelta:
                    continue  # a text delta and nothing else, as nearly all frames
                if not self._warned_unsafe_url and has_unsafe_url(document):
                    self._warned_unsafe_url = True
                    events.insert(before, ADDRESS_REMOVED)
        except (WireError, UpstreamError) as error:
            self.emit(Failed(error))
        return queue.take()


class StreamEncoder(ABC):
    """Base class of encoders: events in, bytes out. Events after the first terminal one are ignored."""

    content_type = "text/event-stream"
    extra_headers: tuple[tuple[str, str], ...] = ()
    """Response headers that its clients expect."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._chunks: list[bytes] = []
        self._ended = False

    def feed(self, event: Event) -> bytes:
        """Return the bytes for this event; may be empty while the encoder is buffering."""
        if self._ended:
            return b""
        self._ended = isinstance(event, TERMINAL)
        self.on_event(event)
        return self._take()

    def feed_all(self, events: Iterable[Event]) -> bytes:
        """Return the bytes for these events, in one piece."""
        for event in events:
            if self._ended:
                break
            if type(event) is not TextDelta:
                self._ended = isinstance(event, TERMINAL)
            self.on_event(event)
        return self._take()

    def close(self) -> bytes:
        """End the stream; without a terminal event before, send an interruption error."""
        return self.feed(Failed(Interrupted("the answer was interrupted")))

    def ping(self) -> bytes:
        """Return a keep-alive; empty where the clients of the dialect fail on it."""
        return encode_comment("keep-alive")

    @abstractmethod
    def on_event(self, event: Event) -> None:
        """Encode one event with the `send` methods."""

    def send(self, name: str, payload: JsonObject) -> None:
        """Queue one frame."""
        self._chunks.append(encode_frame(name, dump_json(payload)))

    def send_text(self, head: bytes, text: str, tail: bytes) -> None:
        """Queue one frame of a template and a text: the fast form of `send`."""
        self._chunks.append(head + quote_json(text) + tail)

    def send_raw(self, data: bytes) -> None:
        """Queue bytes verbatim."""
        self._chunks.append(data)

    def _take(self) -> bytes:
        chunks = self._chunks
        if not chunks:
            return b""
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        return data


def _unchanged(dialect: Dialect, _: object) -> Dialect:
    return dialect


@value
class Dialect:
    """A wire format, in both directions."""

    name: str
    decode_request: Callable[[JsonObject], Request]
    """Decodes a client's request body. Raises `ClientWireError` or `RequestError`."""
    encode_request: Callable[[Request], Encoded]
    decode_response: Callable[[JsonObject], list[Event]]
    """Decodes a provider's whole response body to events. Raises `UpstreamWireError`."""
    encode_response: Callable[[Answer, Reply], JsonObject]
    usage_of: Callable[[JsonObject], Usage | None]
    """Reads the usage of a whole response body, without decoding the rest."""
    decoder: Callable[[], StreamDecoder]
    encoder: Callable[[Reply], StreamEncoder]
    decode_error: Callable[[int, bytes, Headers], UpstreamError]
    encode_error: Callable[[GroundwireError, Reply], ErrorBody]
    losses: Mapping[Feature, str]
    """The features that this dialect cannot express, and where they go instead."""
    for_request: Callable[[Dialect, Request], Dialect] = _unchanged
    """Returns the dialect for decoding the response to a request, where responses refer to its parts."""
    with_key: Callable[[Dialect, bytes], Dialect] = _unchanged
    """Returns the dialect for decoding requests with tokens signed with this key (`Reply.key`)."""
    not_resent: str = ""
    """Which evidence of an answer clients do not send back with the next turn; empty if they send all."""
