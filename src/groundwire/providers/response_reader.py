"""Reading a provider's answer: a stream as its bytes arrive, or a whole body.

The first bytes decide which it is, because servers ignore `stream` and name the wrong content type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from groundwire.dialects.base import Dialect, StreamDecoder
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.dialects.sse import FrameReader
from groundwire.dialects.unsafe_urls import ADDRESS_REMOVED, has_unsafe_address, without_unsafe_addresses
from groundwire.errors import (
    GroundwireError,
    Interrupted,
    Refused,
    UpstreamError,
    UpstreamWireError,
    bounded_wait,
)
from groundwire.model import Event, Failed, Finished, Started, UsageSeen, Verbatim, Warned
from groundwire.providers.passthrough.frames import FrameSplitter, end_of_frame, valid_length, with_line_end
from groundwire.providers.passthrough.scan import (
    SCAN_RULES,
    is_content_only,
    is_early_sentinel,
    is_settled,
    scan_body,
    scan_frames,
    trailing_frames,
)
from groundwire.providers.spec import Batches

if TYPE_CHECKING:
    from groundwire.transport.response import Response

_INVISIBLE = (Started, Warned, UsageSeen)
_CUT = "the stream ended before the answer was complete"


VerbatimForm: TypeAlias = Literal["", "body", "stream"]


async def read_response(language: Dialect, exchange: Response, *, verbatim: VerbatimForm = "") -> Batches:
    """The answer when its first bytes are there. If it has the form `verbatim` also the bytes that told its
    events, ahead of them: in another form they are of no use to who asked, and are only read."""
    head = await exchange.head()
    if not head:
        raise UpstreamWireError("the answer is empty")
    if head.startswith(b"<"):
        raise UpstreamWireError("a web page came in the place of an answer; check the base_url")
    if head.startswith(b"{"):
        return _read_body(language, exchange, verbatim=verbatim == "body")
    if verbatim == "stream" and language.name in SCAN_RULES and not head.startswith(b"["):
        return _read_frames(language, exchange)
    return _read_stream(language, exchange)


async def _read_body(language: Dialect, exchange: Response, *, verbatim: bool) -> Batches:
    data = await exchange.body()
    body = as_object(load_json(data, UpstreamWireError))
    warned: list[Event] = []
    if has_unsafe_address(data):
        data, warned = without_unsafe_addresses(data), [ADDRESS_REMOVED]
    if verbatim and (seen := scan_body(language, body, data)) is not None:
        yield [Verbatim(data), *warned, *seen]
        return
    told = [*warned, *language.decode_response(body)]
    if _is_blank(told):
        raise UpstreamWireError(f"there is no answer in it, only: {', '.join(body)[:100] or 'nothing'}")
    yield [Verbatim(data), *told] if verbatim else told


def _is_blank(events: list[Event]) -> bool:
    """Is this an end without a reason, of an answer without a word? Then the document was something else."""
    return Finished("other") in events and all(
        isinstance(event, Started | Warned | UsageSeen | Finished) for event in events
    )


async def _read_stream(language: Dialect, exchange: Response) -> Batches:
    decoder = language.decoder()
    failure: GroundwireError | None = None
    try:
        while chunk := await exchange.next():
            if batch := decoder.feed(chunk):
                yield batch
                if isinstance(batch[-1], Finished | Failed):
                    await exchange.settle()
                    return
    except GroundwireError as error:
        failure = error
    if rest := _ending(decoder.close(), failure):
        yield rest


async def _read_frames(language: Dialect, exchange: Response) -> Batches:
    """The same with the bytes, whole frames at a time: half a frame is never passed on, nor anything behind
    the end."""
    watch = _Watch(language)
    splitter = FrameSplitter()
    failure: GroundwireError | None = None
    try:
        while not watch.over and (chunk := await exchange.next()):
            if not (told_whole := splitter.feed(chunk)):
                continue
            whole = without_unsafe_addresses(told_whole)
            if whole != told_whole and not watch.warned:
                watch.warned = True
                yield (ADDRESS_REMOVED,)
            if watch.lets_pass(whole):
                yield (Verbatim(whole),)
                continue
            length, told = watch.look(whole)
            yield [Verbatim(whole[:length]), *told]
            if _has_ended(told):
                behind = whole[length:] + splitter.rest + await exchange.settle()
                if after := trailing_frames(language, told[-1], behind):
                    yield [Verbatim(after)]
                return
    except GroundwireError as error:
        failure = error
    rest = without_unsafe_addresses(splitter.rest)
    half = rest if not watch.over and _is_frame(rest) else b""
    told = _ending(watch.end(half), failure)
    # A last frame without its blank line is a frame nonetheless, if the answer is complete with it.
    yield [Verbatim(half + b"\n\n"), *told] if half and isinstance(told[-1], Finished) else told


class _Watch:
    """Reads a stream up to its first visible event, because until then somebody else could be asked; after
    that it only glances."""

    __slots__ = ("_decoder", "_language", "_settled", "over", "warned")

    def __init__(self, language: Dialect) -> None:
        self._language = language
        self._decoder: StreamDecoder | None = language.decoder()
        self._settled = False
        self.warned = False
        """Was it said that an address was taken out?"""
        self.over = False
        """Will there be nothing more, though no end was told?"""

    def lets_pass(self, whole: bytes) -> bool:
        """Is there nothing to see in it?"""
        return self._decoder is None and not self._settled and is_content_only(self._language, whole)

    def look(self, whole: bytes) -> tuple[int, list[Event]]:
        """How far whole frames can be passed on, and what they tell."""
        length = valid_length(whole)
        place, told = self._read(whole[:length])
        if place and not self._settled:
            self._settled = is_settled(self._language, whole[:place])
        if not self.over and not _has_ended(told) and (rest := whole[place:length]):
            seen = scan_frames(self._language, rest, settled=self._settled)
            told += seen.events
            place += seen.length
            self._settled = seen.settled
            self.over = seen.length < len(rest)
        if place == length < len(whole) and not _has_ended(told):
            told.append(Failed(UpstreamWireError("something in the stream is no event")))
        return place, told

    def _read(self, whole: bytes) -> tuple[int, list[Event]]:
        """The frames up to the first visible event; its own may be the last one too, and is glanced at."""
        told: list[Event] = []
        place = 0
        while self._decoder is not None and place < len(whole):
            end = end_of_frame(whole, place)
            if is_early_sentinel(self._language, whole[place:end]):
                self.over = True
                break
            told += self._decoder.feed(with_line_end(whole[place:end]))
            if any(not isinstance(event, _INVISIBLE) for event in told):
                self._decoder = None
                return (end, self._shown(told, whole[place:end])) if _has_ended(told) else (place, told)
            place = end
        return place, told

    def _shown(self, told: list[Event], frame: bytes) -> list[Event]:
        """The same, if a client sees the end too: a decoder understands more than is sent by the book."""
        if isinstance(told[-1], Failed) or _has_ended(scan_frames(self._language, frame).events):
            return told
        return [*told[:-1], Failed(Interrupted(_CUT))]

    def end(self, half: bytes) -> list[Event]:
        """What is left when the bytes have ended."""
        told = scan_frames(self._language, half, settled=True).events
        shown = _has_ended(told)
        if self._decoder is not None:
            told = [*self._decoder.feed(half), *self._decoder.close()]
        if shown or (told and isinstance(told[-1], Failed)):
            return told
        if self._settled or is_settled(self._language, half):
            end = told.pop() if _has_ended(told) else Finished()
            return [*told, Verbatim(SCAN_RULES[self._language.name].formality), end]
        return [Failed(Interrupted(_CUT))]


def _has_ended(told: list[Event]) -> bool:
    return bool(told) and isinstance(told[-1], Finished | Failed)


def _is_frame(half: bytes) -> bool:
    """Is it whole but for its blank line, rather than torn?"""
    reader = FrameReader()
    frames = [*reader.feed(half), *reader.close()]
    try:
        for frame in frames:
            if frame.data != b"[DONE]":
                load_json(frame.data, UpstreamWireError)
    except UpstreamWireError:
        return False
    return bool(frames)


def _ending(rest: list[Event], failure: GroundwireError | None) -> list[Event]:
    """What the decoder still held was said before the end, whatever the end was."""
    if failure is None:
        return rest
    return [Failed(failure) if isinstance(event, Failed) else event for event in rest]


_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_PAGE = 8192


async def error_from_response(name: str, language: Dialect, exchange: Response, now: float) -> UpstreamError:
    """The error that a status other than success means."""
    status, headers = exchange.status, exchange.headers
    if status < 400:
        return Refused(
            f"{name} points elsewhere (HTTP {status}), which is not followed; check its base_url",
            status=status,
        )
    error = language.decode_error(status, page_text(await exchange.excerpt()), headers)
    if error.retry_after is None:
        error.retry_after = seconds_until(headers, now)
    advice = headers.get("x-should-retry")
    if advice in ("true", "false"):
        error.retryable = advice == "true"
    return error


def page_text(body: bytes) -> bytes:
    """The words of a web page; anything else as it is."""
    if not body.lstrip().startswith(b"<"):
        return body
    from html import unescape  # noqa: PLC0415  has two thousand names, and pages are rare

    text = unescape(_MARKUP.sub(" ", body[:_PAGE].decode("utf-8", "replace")))
    return " ".join(text.split()).encode("utf-8", "replace")


def seconds_until(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to the date that `retry-after` names, by the provider's own clock if it tells the time."""
    moment = _moment(headers.get("retry-after", ""))
    if moment is None:
        return None
    told = _moment(headers.get("date", ""))
    return bounded_wait(max(0.0, moment - (now if told is None else told)))


def _moment(text: str) -> float | None:
    """Seconds since the epoch of an HTTP date, in any of its three forms."""
    from datetime import datetime, timedelta, timezone  # noqa: PLC0415  needed once in a blue moon
    from email.utils import parsedate_tz  # noqa: PLC0415

    parts = parsedate_tz(text)
    if parts is None:
        return None
    try:
        zone = timezone(timedelta(seconds=parts[9] or 0))
        return datetime(*parts[:6], tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
