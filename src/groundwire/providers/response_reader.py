"""Reads a provider's response: a stream as its bytes arrive, a whole body, or an error response.

The first bytes decide between stream and body, because some servers ignore `stream` or send the wrong content
type. With passthrough the bytes are emitted as `Verbatim` events, and the response is decoded only up to the
first visible event; after that it is scanned for usage and end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from groundwire.dialects.base import Dialect, StreamDecoder
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.dialects.sse import FrameReader
from groundwire.dialects.unsafe_urls import ADDRESS_REMOVED, has_unsafe_url, remove_unsafe_urls
from groundwire.errors import (
    GroundwireError,
    Interrupted,
    Refused,
    UpstreamError,
    UpstreamWireError,
    bounded_wait,
)
from groundwire.model import Event, Failed, Finished, Started, UsageSeen, Verbatim, Warned
from groundwire.model.batch import FastPath, is_content
from groundwire.providers.passthrough.frames import FrameSplitter, end_of_frame, valid_length, with_line_end
from groundwire.providers.passthrough.scan import (
    SCAN_RULES,
    ContentCheck,
    is_early_sentinel,
    is_settled,
    scan_body,
    scan_frames,
    trailing_frames,
)
from groundwire.providers.spec import Batches
from groundwire.text.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from groundwire.transport.response import Response

_INVISIBLE = (Started, Warned, UsageSeen)
_LONG = 4096
"""Bytes from which frames of content are separated from the others."""
_FIRST_FRAMES = 12
"""How many frames are looked at one by one until an answer begins, and between its frames of content."""
_INCOMPLETE = "the stream ended before the answer was complete"


VerbatimForm: TypeAlias = Literal["", "body", "stream"]


async def read_response(
    language: Dialect,
    response: Response,
    *,
    verbatim: VerbatimForm = "",
    redact: Callable[[bytes], bytes] = bytes,
    fast_path: FastPath | None = None,
) -> list[Event] | Batches:
    """The events of a whole body, or the batches of a stream once its first bytes have arrived.

    If the response has the form `verbatim`, its bytes precede the events as `Verbatim`, after `redact`. Where
    `fast_path` is connected, content takes it.
    """
    head = await response.peek()
    if not head:
        raise UpstreamWireError("the answer is empty")
    if head.startswith(b"<"):
        raise UpstreamWireError("the provider sent a web page instead of an answer; check the base_url")
    if head.startswith(b"{"):
        return await _read_body(language, response, redact if verbatim == "body" else None)
    fast_path = fast_path or FastPath()
    if verbatim == "stream" and language.name in SCAN_RULES and not head.startswith(b"["):
        return _read_frames(FrameStream(language, redact, fast_path), response)
    return _read_events(EventStream(language, fast_path), response)


async def _read_body(
    language: Dialect, response: Response, redact: Callable[[bytes], bytes] | None
) -> list[Event]:
    data = await response.body()
    body = as_object(load_json(data, UpstreamWireError))
    warnings: list[Event] = []
    if has_unsafe_url(data):
        data, warnings = remove_unsafe_urls(data), [ADDRESS_REMOVED]
    if redact is not None and (scanned := scan_body(language, body, data)) is not None:
        return [Verbatim(redact(data)), *warnings, *scanned]
    events = [*warnings, *language.decode_response(body)]
    if _is_blank(events):
        raise UpstreamWireError(f"the response has no answer, only: {', '.join(body)[:100] or 'nothing'}")
    return [Verbatim(redact(data)), *events] if redact is not None else events


def _is_blank(events: list[Event]) -> bool:
    """Is this an answer without text and without a finish reason? Then the body is not a response."""
    return Finished("other") in events and all(
        isinstance(event, Started | Warned | UsageSeen | Finished) for event in events
    )


class EventStream:
    """A stream that is translated: bytes in, events out."""

    __slots__ = ("_decoder", "_fast_path", "_feed", "_ready")

    def __init__(self, language: Dialect, fast_path: FastPath) -> None:
        self._decoder = language.decoder()
        self._feed = self._decoder.feed
        self._fast_path = fast_path
        fast_path.usage_so_far = self._decoder.usage_so_far
        self._ready: list[Event] = []

    def receive(self, chunk: bytes) -> bool:
        """Decode a chunk. True if there are events that did not take the fast path."""
        events = self._feed(chunk)
        if not events:
            return False
        write = self._fast_path.write_events
        if write is not None and is_content(events) and write(events):
            return False
        self._ready = events
        return True

    def take(self) -> list[Event]:
        """The events that wait."""
        events, self._ready = self._ready, []
        return events

    def close(self, failure: GroundwireError | None) -> list[Event]:
        """The last events, when the bytes have ended."""
        return _with_failure(self._decoder.close(), failure)


async def _read_events(stream: EventStream, response: Response) -> Batches:
    failure: GroundwireError | None = None
    try:
        while await response.pump(stream.receive):
            batch = stream.take()
            yield batch
            if _has_ended(batch):
                await response.drain()
                return
    except GroundwireError as error:
        failure = error
    if rest := stream.close(failure):
        yield rest


class FrameStream:
    """A stream that is passed through in whole frames: no half frame is emitted, and nothing after the
    end."""

    __slots__ = (
        *("_check", "_fast_path", "_is_content", "_language", "_ready"),
        *("_redact", "_scanner", "_splitter"),
    )

    def __init__(self, language: Dialect, redact: Callable[[bytes], bytes], fast_path: FastPath) -> None:
        self._language = language
        self._check = ContentCheck(language)
        self._is_content = self._check.is_content
        self._scanner = _StreamScanner(language)
        self._splitter = FrameSplitter()
        self._redact = redact
        self._fast_path = fast_path
        self._ready = b""

    def receive(self, chunk: bytes) -> bool:
        """Split off the whole frames. True if there are some that did not take the fast path."""
        whole = self._splitter.feed(chunk)
        if not whole:
            return False
        write = self._fast_path.write_bytes
        if (
            write is not None
            and self._scanner.only_scans
            and self._is_content(whole)
            and write(self._redact(whole))
        ):
            return False
        self._ready = whole
        return True

    @property
    def over(self) -> bool:
        """Did the stream end without a terminal event?"""
        return self._scanner.over

    def take(self) -> tuple[list[Event], bytes]:
        """The events of the frames that wait, after their bytes; and the bytes after the end.

        In a long piece of a stream, the frames of content after the first visible event are passed on as they
        are; only what surrounds them is scanned.
        """
        received, self._ready = self._ready, b""
        if len(received) < _LONG:
            return self._scan(received)
        events: list[Event] = []
        start = 0
        has_begun = False
        for _ in range(_FIRST_FRAMES):
            if self._scanner.only_scans:
                has_begun = True
                end = self._check.end_of_content(received, start)
                if end > start:
                    events.append(Verbatim(self._redact(received[start:end])))
                start = end
                if len(received) - start < _LONG:
                    break
            elif has_begun:
                break  # the answer is complete
            end = end_of_frame(received, start)
            scanned, rest = self._scan(received[start:end])
            events += scanned
            start = end
            if rest or self.over or _has_ended(scanned):
                return events, rest + received[start:]
        if start == len(received):
            return events, b""
        scanned, rest = self._scan(received[start:])
        return [*events, *scanned], rest

    def _scan(self, received: bytes) -> tuple[list[Event], bytes]:
        whole = _without_unsafe_urls(received)
        events: list[Event] = []
        if whole != received and not self._scanner.warned:
            self._scanner.warned = True
            events.append(ADDRESS_REMOVED)
        if self._scanner.only_scans and self._is_content(whole):
            return [*events, Verbatim(self._redact(whole))], b""
        length, scanned = self._scanner.scan(whole)
        return [*events, Verbatim(self._redact(whole[:length])), *scanned], whole[length:]

    def trailing(self, end: Event, rest: bytes) -> list[Event]:
        """The frames after the end event that still belong to the stream."""
        trailing = trailing_frames(self._language, end, rest)
        return [Verbatim(self._redact(trailing))] if trailing else []

    @property
    def rest(self) -> bytes:
        """The bytes of an incomplete frame."""
        return self._splitter.rest

    def close(self, failure: GroundwireError | None) -> list[Event]:
        """The last events, when the bytes have ended. A last frame without its blank line counts, if it
        completes the answer."""
        rest = remove_unsafe_urls(self._splitter.rest)
        half = rest if not self.over and _is_frame(rest) else b""
        events = _with_failure(self._scanner.end(half), failure)
        if half and isinstance(events[-1], Finished):
            return [Verbatim(self._redact(half + b"\n\n")), *events]
        return events


async def _read_frames(stream: FrameStream, response: Response) -> Batches:
    failure: GroundwireError | None = None
    try:
        while not stream.over and await response.pump(stream.receive):
            batch, after = stream.take()
            if not _has_ended(batch):
                yield batch
                continue
            end = batch[-1]
            if not response.has_arrived:
                yield batch
                batch = []
            rest = after + stream.rest + await response.drain()
            batch[-1:-1] = stream.trailing(end, rest)
            if batch:
                yield batch
            return
    except GroundwireError as error:
        failure = error
    yield stream.close(failure)


class _StreamScanner:
    """Decodes a stream up to its first visible event, because until then another provider can be tried; then
    scans it for usage and end."""

    __slots__ = ("_decoder", "_language", "_settled", "only_scans", "over", "warned")

    def __init__(self, language: Dialect) -> None:
        self._language = language
        self._decoder: StreamDecoder | None = language.decoder()
        self._settled = False
        self.warned = False
        """Was the removal of an unsafe URL reported?"""
        self.over = False
        """Did the stream end without a terminal event?"""
        self.only_scans = False
        """Can frames of content pass without being looked at? Between the first visible event and the
        end."""

    def scan(self, whole: bytes) -> tuple[int, list[Event]]:
        """How many bytes of whole frames can be emitted, and their events."""
        length = valid_length(whole)
        offset, events = self._decode(whole[:length])
        if offset and not self._settled:
            self._settled = is_settled(self._language, whole[:offset])
        if not self.over and not _has_ended(events) and (rest := whole[offset:length]):
            scanned = scan_frames(self._language, rest, settled=self._settled)
            events += scanned.events
            offset += scanned.length
            self._settled = scanned.settled
            self.over = scanned.length < len(rest)
        if offset == length < len(whole) and not _has_ended(events):
            events.append(Failed(UpstreamWireError("the stream contains something that is not an event")))
        self.only_scans = self._decoder is None and not self._settled
        return offset, events

    def _decode(self, whole: bytes) -> tuple[int, list[Event]]:
        """Decode the frames up to the first visible event, whose frame may also be the last."""
        events: list[Event] = []
        offset = 0
        while self._decoder is not None and offset < len(whole):
            end = end_of_frame(whole, offset)
            if is_early_sentinel(self._language, whole[offset:end]):
                self.over = True
                break
            events += self._decoder.feed(with_line_end(whole[offset:end]))
            if any(not isinstance(event, _INVISIBLE) for event in events):
                self._decoder = None
                if _has_ended(events):
                    return end, self._verified_end(events, whole[offset:end])
                return offset, events
            offset = end
        return offset, events

    def _verified_end(self, events: list[Event], frame: bytes) -> list[Event]:
        """The events, if a client sees their end too: the decoder accepts ends that strict clients do not."""
        if isinstance(events[-1], Failed) or _has_ended(scan_frames(self._language, frame).events):
            return events
        return [*events[:-1], Failed(Interrupted(_INCOMPLETE))]

    def end(self, half: bytes) -> list[Event]:
        """The last events, when the bytes have ended."""
        events = scan_frames(self._language, half, settled=True).events
        visible_end = _has_ended(events)
        if self._decoder is not None:
            events = [*self._decoder.feed(half), *self._decoder.close()]
        if visible_end or (events and isinstance(events[-1], Failed)):
            return events
        if self._settled or is_settled(self._language, half):
            end = events.pop() if _has_ended(events) else Finished()
            return [*events, Verbatim(SCAN_RULES[self._language.name].end_frame), end]
        return [Failed(Interrupted(_INCOMPLETE))]


_URL_FIELDS = (b'url"', b'uri"', b'"source"', b'Url"', b'Uri"')


def _without_unsafe_urls(whole: bytes) -> bytes:
    """Frames without unsafe URLs. Most of an answer has no URLs, so the search begins with the first."""
    offsets = [offset for name in _URL_FIELDS if (offset := whole.find(name)) >= 0]
    if not offsets:
        return whole
    start = whole.rfind(b"\n", 0, min(offsets)) + 1
    rest = whole[start:]
    cleaned = remove_unsafe_urls(rest)
    return whole if cleaned == rest else whole[:start] + cleaned


def _has_ended(events: list[Event]) -> bool:
    return bool(events) and isinstance(events[-1], Finished | Failed)


def _is_frame(half: bytes) -> bool:
    """Is this a complete frame that only lacks its blank line?"""
    reader = FrameReader()
    frames = [*reader.feed(half), *reader.close()]
    try:
        for frame in frames:
            if frame.data != b"[DONE]":
                load_json(frame.data, UpstreamWireError)
    except UpstreamWireError:
        return False
    return bool(frames)


def _with_failure(rest: list[Event], failure: GroundwireError | None) -> list[Event]:
    """The last events of a decoder, with the transport error as the failure, if there is one."""
    if failure is None:
        return rest
    return [Failed(failure) if isinstance(event, Failed) else event for event in rest]


_MARKUP = lazy_pattern(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_PAGE = 8192


async def error_from_response(name: str, language: Dialect, response: Response, now: float) -> UpstreamError:
    """Turns an HTTP error response into an `UpstreamError`."""
    status, headers = response.status, response.headers
    if status < 400:
        return Refused(
            f"{name} sent a redirect (HTTP {status}), which is not followed; check its base_url",
            status=status,
        )
    error = language.decode_error(status, page_text(await response.error_body()), headers)
    if error.retry_after is None:
        error.retry_after = seconds_until(headers, now)
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        error.retryable = should_retry == "true"
    return error


def page_text(body: bytes) -> bytes:
    """The text of a web page; any other body unchanged."""
    if not body.lstrip().startswith(b"<"):
        return body
    from html import unescape  # noqa: PLC0415  a large table, rarely needed

    text = unescape(_MARKUP.sub(" ", body[:_PAGE].decode("utf-8", "replace")))
    return " ".join(text.split()).encode("utf-8", "replace")


def seconds_until(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until the date in `retry-after`, by the provider's `date` header if there is one."""
    due = _timestamp(headers.get("retry-after", ""))
    if due is None:
        return None
    sent = _timestamp(headers.get("date", ""))
    return bounded_wait(max(0.0, due - (now if sent is None else sent)))


def _timestamp(text: str) -> float | None:
    """Unix timestamp of an HTTP date, in any of its three forms."""
    from datetime import datetime, timedelta, timezone  # noqa: PLC0415  rarely needed
    from email.utils import parsedate_tz  # noqa: PLC0415

    parts = parsedate_tz(text)
    if parts is None:
        return None
    try:
        zone = timezone(timedelta(seconds=parts[9] or 0))
        return datetime(*parts[:6], tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
