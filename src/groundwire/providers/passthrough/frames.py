"""SSE framing for passthrough: splits bytes into whole, valid frames.

The content of a frame is the provider's. That it is a frame is checked here: half a line, a web page or a
broken UTF-8 sequence in the middle of a stream breaks clients worse than an error event would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.dialects.sse import MAX_PENDING, SseReader
from groundwire.errors import UpstreamWireError

_BLANK_LINE = re.compile(rb"\r?\n\r?\n|\r\r\n?")
SENTINEL = b"[DONE]"
_SENTINEL_FRAME = b"data: [DONE]\n\n"


class FrameSplitter:
    """Splits a byte stream into whole frames, as many at once as have arrived."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = bytearray()

    @property
    def rest(self) -> bytes:
        """The bytes of an incomplete frame."""
        return _valid_utf8(bytes(self._pending))

    def feed(self, chunk: bytes) -> bytes:
        """The frames that are complete now; invalid UTF-8 is replaced."""
        whole = chunk if not self._pending and chunk.endswith(b"\n\n") else self._whole(chunk)
        if whole.isascii():
            return whole
        try:
            whole.decode()
        except UnicodeDecodeError:
            return _valid_utf8(whole)
        return whole

    def _whole(self, chunk: bytes) -> bytes:
        start = max(len(self._pending) - 3, 0)
        self._pending += chunk
        end = _last_end(self._pending, start)
        if not end and len(self._pending) > MAX_PENDING:
            raise UpstreamWireError(f"more than {MAX_PENDING} bytes without the end of an event")
        whole = bytes(self._pending[:end])
        del self._pending[:end]
        return whole


def _valid_utf8(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def _last_end(data: bytes | bytearray, start: int) -> int:
    """The end of the last blank line after `start`; zero if there is none."""
    if data.find(b"\r", start) < 0:
        offset = data.rfind(b"\n\n", start)
        return offset + 2 if offset >= 0 else 0
    end = 0
    for match in _BLANK_LINE.finditer(data, start):
        end = match.end()
    return end


def end_of_frame(data: bytes, start: int) -> int:
    """The end of the frame around an offset."""
    end = data.find(b"\n\n", start)
    if data.find(b"\r", start, end if end >= 0 else len(data)) < 0:
        return end + 2 if end >= 0 else len(data)
    match = _BLANK_LINE.search(data, start)
    return match.end() if match else len(data)


def frame_at(data: bytes, offset: int) -> tuple[int, int]:
    """Start and end of the frame around an offset."""
    start = _last_end(data[:offset], 0) if b"\r" in data else data.rfind(b"\n\n", 0, offset) + 2
    return (start if start > 1 else 0), end_of_frame(data, offset)


def frames_in(data: bytes) -> Iterator[bytes]:
    """The frames one by one; the last may lack its blank line."""
    start = 0
    while start < len(data):
        end = end_of_frame(data, start)
        yield data[start:end]
        start = end


def with_line_end(frame: bytes) -> bytes:
    """A complete frame: a trailing carriage return alone may be half of a line end."""
    return frame + b"\n" if frame.endswith(b"\r") else frame


def frame_data(frame: bytes) -> list[bytes]:
    """The `data` fields of a frame; none for a comment."""
    if b"\r" not in frame:
        first, _, second = frame.removesuffix(b"\n\n").partition(b"\n")
        line, rest = (second, b"") if first.startswith(b"event: ") else (first, second)
        if line.startswith(b"data: ") and b"\n" not in line and not rest:
            return [line[6:].strip()]
    reader = SseReader()
    return [event.data.strip() for event in (*reader.feed(frame), *reader.close())]


def valid_length(whole: bytes) -> int:
    """The length of the leading frames that hold a JSON object or nothing."""
    if are_plain_frames(whole.removesuffix(_SENTINEL_FRAME)):
        return len(whole)
    gap = 0 if b"\r" in whole else 2
    length = 0
    for frame in whole.split(b"\n\n") if gap else frames_in(whole):
        if frame and not is_plain_frame(frame) and not _is_valid(frame):
            return length
        length += len(frame) + gap
    return len(whole)


def are_plain_frames(whole: bytes) -> bool:
    """Does every frame end with `}`, and every line of data begin with `data: {`? Counting is cheaper than
    looking at each frame."""
    if b"\r" in whole:
        return False
    if whole.endswith(b"}\n\n") and _are_alike(whole):
        return True
    if whole.count(b"\n\n") != whole.count(b"}\n\n"):
        return False
    lines = b"\n" + whole
    return lines.count(b"\ndata") == lines.count(b"\ndata: {")


def _are_alike(whole: bytes) -> bool:
    """Do the frames have nothing but one line of data each, or nothing but its name and one line of data?"""
    if whole.startswith(b"data: {"):
        return whole.count(b"\n") == 2 * whole.count(b"}\n\ndata: {") + 2
    frames = whole.count(b"}\n\nevent: ") + 1
    return (
        whole.startswith(b"event: ")
        and whole.count(b"\n") == 3 * frames
        and whole.count(b"\ndata: {") == frames
    )


def is_plain_frame(frame: bytes) -> bool:
    """Does the frame have the usual form, a line `data: {…}` at its end? Then it is not parsed."""
    return frame[-1:] == b"}" and (frame[:7] == b"data: {" or frame.find(b"\ndata: {") >= 0)


def _is_valid(frame: bytes) -> bool:
    return all(
        not data or data == SENTINEL or (data[:1] == b"{" and data[-1:] == b"}") for data in frame_data(frame)
    )
