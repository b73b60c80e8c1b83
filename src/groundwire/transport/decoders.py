"""Compressed bodies, unpacked piece by piece and never beyond a limit: a small page may hold gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NoReturn

from groundwire.errors import UpstreamWireError

ENCODINGS = "gzip, deflate"
"""What is asked for, and all that is understood."""

_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


class Decompressor:
    """Packed bytes go in; what they hold comes out, no more at once than is asked for."""

    __slots__ = ("_is_full", "_machine", "_packed", "_window")

    def __init__(self, encoding: str) -> None:
        self._window = _WINDOWS.get(encoding.strip().lower(), _no_window)
        self._packed = b""
        self._machine: zlib._Decompress | None = None
        self._is_full = False
        """May the machine hold what found no room, though it has taken all that came?"""

    @property
    def is_whole(self) -> bool:
        """Did the body end where it may?"""
        return self._machine is None or self._machine.eof

    def feed(self, data: bytes, most: int) -> bytes:
        """The next bytes; nothing if there are none without more. Raises `UpstreamWireError`."""
        if self._window is None:
            return data
        self._packed += data
        unpacked = bytearray()
        try:
            while (self._packed or self._is_full) and len(unpacked) < most:
                if not self._step(unpacked, most, self._window):
                    break
        except zlib.error:
            raise UpstreamWireError("the body cannot be unpacked") from None
        return bytes(unpacked)

    def _step(self, unpacked: bytearray, most: int, window: Callable[[bytes], int]) -> bool:
        """One stretch of it; is there another?"""
        if self._machine is None:
            self._machine = zlib.decompressobj(window(self._packed))
        elif self._machine.eof:
            if not _GZIP_MAGIC.startswith(self._packed[:2]):
                self._packed = b""
                return False  # padding, which everybody passes over
            self._machine = zlib.decompressobj(_GZIP)  # gzip files may follow one another
        unpacked += self._machine.decompress(self._packed, most - len(unpacked))
        self._packed = self._machine.unused_data or self._machine.unconsumed_tail
        self._is_full = len(unpacked) == most and not self._machine.eof
        return True


class BodyDecoder:
    """Collects a body. What comes in is bounded as well: nothing may be packed to nothing for ever."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._inflater = Decompressor(encoding)
        self._limit = limit
        self._taken = 0
        self._unpacked = bytearray()

    def feed(self, data: bytes) -> None:
        """Take a piece; raises `UpstreamWireError` when there is too much, or when it is broken."""
        self._taken += len(data)
        self._unpacked += self._inflater.feed(data, self._limit - len(self._unpacked) + 1)
        if max(self._taken, len(self._unpacked)) > self._limit:
            raise UpstreamWireError(f"the body is larger than {self._limit} bytes")

    def close(self) -> bytes:
        """The whole body."""
        if not self._inflater.is_whole:
            raise UpstreamWireError("the body is incomplete")
        return bytes(self._unpacked)


def _deflate_window(data: bytes) -> int:
    """`deflate` means zlib's format, and many send bare deflate all the same."""
    return _ZLIB if data[0] & 0x0F == 8 else _RAW


def _no_window(_: bytes) -> NoReturn:
    raise UpstreamWireError("the body is packed in a way that was not asked for")


_WINDOWS: dict[str, Callable[[bytes], int] | None] = {
    "": None,
    "identity": None,
    "gzip": lambda _: _GZIP,
    "x-gzip": lambda _: _GZIP,
    "deflate": _deflate_window,
}
