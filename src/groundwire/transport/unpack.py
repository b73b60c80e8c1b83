"""Compressed bodies, unpacked piece by piece and never beyond a limit: a small page may hold gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from groundwire.errors import UpstreamWireError

ENCODINGS = "gzip, deflate"
"""What is asked for, and all that is understood."""

_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


class Unpacker:
    """Collects a body. What comes in is bounded as well: nothing may be packed to nothing for ever."""

    def __init__(self, encoding: str, limit: int) -> None:
        encoding = encoding.strip().lower()
        if encoding not in _WINDOWS:
            raise UpstreamWireError("the body is packed in a way that was not asked for")
        self._window = _WINDOWS[encoding]
        self._limit = limit
        self._taken = 0
        self._unpacked = bytearray()
        self._machine: zlib._Decompress | None = None

    def feed(self, data: bytes) -> None:
        """Take a piece; raises `UpstreamWireError` when there is too much, or when it is broken."""
        self._taken += len(data)
        if self._window is None:
            self._unpacked += data
        else:
            try:
                self._unpack(data, self._window)
            except zlib.error:
                raise UpstreamWireError("the body cannot be unpacked") from None
        if max(self._taken, len(self._unpacked)) > self._limit:
            raise UpstreamWireError(f"the body is larger than {self._limit} bytes")

    def close(self) -> bytes:
        """The whole body."""
        if self._machine is not None and not self._machine.eof:
            raise UpstreamWireError("the body is incomplete")
        return bytes(self._unpacked)

    def _unpack(self, data: bytes, window: Callable[[bytes], int]) -> None:
        while data and len(self._unpacked) <= self._limit:
            if self._machine is None:
                self._machine = zlib.decompressobj(window(data))
            elif self._machine.eof:
                if not _GZIP_MAGIC.startswith(data[:2]):
                    return  # padding, which everybody passes over
                self._machine = zlib.decompressobj(_GZIP)  # gzip files may follow one another
            room = self._limit - len(self._unpacked) + 1
            self._unpacked += self._machine.decompress(data, room)
            data = self._machine.unused_data or self._machine.unconsumed_tail


def _deflate_window(data: bytes) -> int:
    """`deflate` means zlib's format, and many send bare deflate all the same."""
    return _ZLIB if data[0] & 0x0F == 8 else _RAW


_WINDOWS: dict[str, Callable[[bytes], int] | None] = {
    "": None,
    "identity": None,
    "gzip": lambda _: _GZIP,
    "x-gzip": lambda _: _GZIP,
    "deflate": _deflate_window,
}
