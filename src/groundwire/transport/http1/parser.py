"""Heads: a request's as it is written, an answer's as it is read (RFC 9112).

Nothing that is written can end a line but we. What is read may end its lines with a bare line feed, and fold
them; everything else that is not by the book is no HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Protocol

from groundwire.model.value import value

MAX_HEAD = 64 * 1024

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: .*)?")
_FOLD = re.compile(r"\n[ \t]+")
_LENGTH = re.compile(r"[0-9]{1,18}")


class ProtocolError(ValueError):
    """What came is not by the book."""


@value
class ResponseHead:
    """How an answer begins."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names; one that was told several times has its texts joined by commas."""
    newest: bool = True
    """HTTP/1.1, and not 1.0?"""


def encode_request(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The head of a request; raises `ValueError` if it cannot be written."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, text in headers:
        if not is_token(name):
            raise ValueError("a header has no proper name")
        lines.append(f"{name}: {text}")
    head = "\r\n".join(lines)
    breaks = len(lines) - 1
    if head.count("\n") != breaks or head.count("\r") != breaks or "\0" in head or lines[0].count(" ") != 2:
        raise ValueError("a header holds the end of a line")
    return head.encode() + b"\r\n\r\n"


def decode_response(data: bytes) -> ResponseHead:
    """An answer's head, without the blank line that ends it; raises `ProtocolError`."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\0" in text:
        raise ProtocolError("a line holds what others take for its end")
    first, _, rest = text.partition("\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise ProtocolError("the first line tells no status")
    headers: dict[str, str] = {}
    for line in _FOLD.sub(" ", rest).split("\n") if rest else ():
        name, colon, told = line.partition(":")
        if not colon or not is_token(name):
            raise ProtocolError("a header has no name")
        name, told = name.lower(), told.strip(" \t")
        headers[name] = f"{headers[name]}, {told}" if name in headers else told
    return ResponseHead(int(status[2]), headers, status[1] == "1")


def length_in(headers: Mapping[str, str]) -> int | None:
    """How long a head says that its body is, if it says so; raises `ProtocolError`."""
    told = headers.get("content-length")
    if told is None:
        return None
    first, *others = (text.strip(" \t") for text in told.split(","))
    if not _LENGTH.fullmatch(first) or any(text != first for text in others):
        raise ProtocolError("the length is no number")
    return int(first)


def is_kept_alive(head: ResponseHead) -> bool:
    """Does the other side leave the connection open?"""
    wishes = head.headers.get("connection")
    return head.newest and (wishes is None or "close" not in wishes.lower())


@lru_cache(maxsize=512)
def is_token(name: str) -> bool:
    """May it name a header?"""
    return _TOKEN.fullmatch(name) is not None


_LINE = re.compile(rb"([^\r\n]{0,4096})\r\n")
"""Between chunks; nothing there may end as lines of a head may."""
_BEGUN = re.compile(rb"[^\r\n]{0,4096}\r?")
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_USUAL = re.compile(rb"([0-9a-fA-F]{1,7})\r\n")
_CHUNKED = re.compile("chunked", re.ASCII | re.IGNORECASE)
_BODILESS = frozenset({204, 304})


class Body(Protocol):
    """Bytes from the wire go in, those of the body come out."""

    is_over: bool
    behind: bytes
    """What came after the end, which nobody asked for."""
    fault: ProtocolError | None
    """What is wrong behind that which was right."""

    def feed(self, data: bytes) -> bytes:
        """The part of it that is the body."""
        ...

    def end(self) -> None:
        """The connection has ended."""
        ...


def body_after(head: ResponseHead, method: str) -> Body:
    """The body that follows a head; raises `ProtocolError`."""
    length = length_in(head.headers)
    tunnelled = method == "CONNECT" and 200 <= head.status < 300
    if tunnelled or method == "HEAD" or head.status in _BODILESS:
        return Sized(0)
    coding = head.headers.get("transfer-encoding")
    if coding is None:
        return Endless() if length is None else Sized(length)
    if length is not None or _CHUNKED.fullmatch(coding) is None:
        raise ProtocolError("where the body ends is told twice, or in a way that nobody was asked for")
    return Chunked()


class Sized:
    """A body of so many bytes."""

    __slots__ = ("_left", "behind", "is_over")
    fault: ProtocolError | None = None

    def __init__(self, length: int) -> None:
        self._left = length
        self.is_over = not length
        self.behind = b""

    def feed(self, data: bytes) -> bytes:
        left = self._left
        if len(data) < left:
            self._left = left - len(data)
            return data
        self._left, self.is_over = 0, True
        if len(data) == left:
            return data
        self.behind += data[left:]
        return data[:left]

    def end(self) -> None:
        """It is not over because the connection is."""


class Endless:
    """A body that ends with its connection."""

    __slots__ = ("behind", "is_over")
    fault: ProtocolError | None = None

    def __init__(self) -> None:
        self.is_over = False
        self.behind = b""

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> None:
        self.is_over = True


class Chunked:
    """A body in pieces, each with its length before it and a line's end behind it."""

    __slots__ = ("_left", "_line", "_next", "_trailing", "behind", "fault", "is_over")

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the chunk that are still to come."""
        self._line = b""
        """The beginning of a line."""
        self._next: Callable[[bytes], None] = self._begin
        """What the next line means."""
        self._trailing = 0
        self.is_over = False
        self.behind = b""
        self.fault: ProtocolError | None = None

    def feed(self, data: bytes) -> bytes:
        if self._line:
            data, self._line = self._line + data, b""
        pieces: list[bytes] = []
        try:
            self._split(data, pieces)
        except ProtocolError as error:
            self.fault = error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def end(self) -> None:
        """It is not over because the connection is."""

    def _split(self, data: bytes, pieces: list[bytes]) -> None:
        place, size = 0, len(data)
        while place < size and not self.is_over:
            if self._left:
                piece = data[place : place + self._left]
                pieces.append(piece)
                place += len(piece)
                self._left -= len(piece)
            elif self._next == self._begin and (end := _whole_chunks(data, place, pieces)) > place:
                place = end
            elif line := _LINE.match(data, place):
                self._next(line[1])
                place = line.end()
            elif _BEGUN.fullmatch(data, place):
                self._line = data[place:]
                break
            else:
                raise ProtocolError("a line has no end")
        if self.is_over:
            self.behind += data[place:]

    def _begin(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line.partition(b";")[0].rstrip(b" \t"))
        if size is None:
            raise ProtocolError("a chunk does not tell its size")
        self._left = int(size[0], 16)
        self._next = self._close if self._left else self._trail

    def _close(self, line: bytes) -> None:
        if line:
            raise ProtocolError("a chunk is longer than it says")
        self._next = self._begin

    def _trail(self, line: bytes) -> None:
        self._trailing += len(line)
        name, colon, _ = line.partition(b":")
        if self._trailing > MAX_HEAD or (line and not (colon and is_token(name.decode("latin-1")))):
            raise ProtocolError("what follows the last chunk is no header, or too much")
        self.is_over = not line


def _whole_chunks(data: bytes, place: int, pieces: list[bytes]) -> int:
    """Where the chunks end that are there from end to end, and say nothing but their size: most are so, and
    need not be read line by line."""
    while size := _USUAL.match(data, place):
        start = size.end()
        end = start + int(size[1], 16)
        if end == start or data[end : end + 2] != b"\r\n":
            break
        pieces.append(data[start:end])
        place = end + 2
    return place
