"""Frames that are passed on as they came: whole ones, in UTF-8, and none that no client could read.

What stands in a frame is the provider's affair. That it is one is ours: half a line, a web page or a torn
sign in the middle of a stream breaks clients in ways that no error event would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.dialects.sse import MAX_PENDING, SseReader
from groundwire.errors import UpstreamWireError

_BLANK_LINE = re.compile(rb"\r?\n\r?\n|\r\r\n?")
SENTINEL = b"[DONE]"


class FrameSplitter:
    """Bytes cut anywhere go in; whole frames come out, as many as there are."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = bytearray()

    @property
    def rest(self) -> bytes:
        """The beginning of the next frame."""
        return _mended(bytes(self._pending))

    def feed(self, chunk: bytes) -> bytes:
        """What is whole now; torn signs are mended as in any other answer."""
        whole = chunk if not self._pending and chunk.endswith(b"\n\n") else self._whole(chunk)
        return whole if whole.isascii() else _mended(whole)

    def _whole(self, chunk: bytes) -> bytes:
        known = max(len(self._pending) - 3, 0)
        self._pending += chunk
        end = _last_end(self._pending, known)
        if not end and len(self._pending) > MAX_PENDING:
            raise UpstreamWireError(f"more than {MAX_PENDING} bytes without an end")
        whole = bytes(self._pending[:end])
        del self._pending[:end]
        return whole


def _mended(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def _last_end(data: bytes | bytearray, start: int) -> int:
    """Where the last blank line from a place on ends; zero if there is none."""
    if data.find(b"\r", start) < 0:
        place = data.rfind(b"\n\n", start)
        return place + 2 if place >= 0 else 0
    end = 0
    for match in _BLANK_LINE.finditer(data, start):
        end = match.end()
    return end


def end_of_frame(data: bytes, start: int) -> int:
    """Where the frame ends in which a place lies."""
    match = _BLANK_LINE.search(data, start)
    return match.end() if match else len(data)


def frame_at(data: bytes, place: int) -> tuple[int, int]:
    """From where to where the frame goes in which a place lies."""
    start = _last_end(data[:place], 0) if b"\r" in data else data.rfind(b"\n\n", 0, place) + 2
    return (start if start > 1 else 0), end_of_frame(data, place)


def frames_in(data: bytes) -> Iterator[bytes]:
    """One after the other; the last may lack its blank line."""
    start = 0
    while start < len(data):
        end = end_of_frame(data, start)
        yield data[start:end]
        start = end


def with_line_end(frame: bytes) -> bytes:
    """A frame that nobody waits to go on: a carriage return may be half of a line's end."""
    return frame + b"\n" if frame.endswith(b"\r") else frame


def frame_data(frame: bytes) -> list[bytes]:
    """What a frame tells, without its names; nothing for a comment."""
    reader = SseReader()
    return [told.data.strip() for told in (*reader.feed(frame), *reader.close())]


def valid_length(whole: bytes) -> int:
    """How far whole frames go that hold an object, or nothing."""
    gap = 0 if b"\r" in whole else 2
    place = 0
    for frame in whole.split(b"\n\n") if gap else frames_in(whole):
        if frame and not is_plain_frame(frame) and not _is_readable(frame):
            return place
        place += len(frame) + gap
    return len(whole)


def is_plain_frame(frame: bytes) -> bool:
    """Does it look as nearly every frame there is? Then it need not be looked at twice."""
    return frame[-1:] == b"}" and (frame[:7] == b"data: {" or b"\ndata: {" in frame)


def _is_readable(frame: bytes) -> bool:
    return all(
        not data or data == SENTINEL or (data[:1] == b"{" and data[-1:] == b"}") for data in frame_data(frame)
    )
