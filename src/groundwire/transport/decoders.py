"""Content decoding (gzip, deflate), incremental and bounded: a small body may decompress to gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NoReturn

from groundwire.errors import UpstreamWireError

ENCODINGS = "gzip, deflate"
"""The content encodings that are accepted, for `Accept-Encoding`."""

_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


class Decompressor:
    """Incremental decompression with a limit on the output of each call."""

    __slots__ = ("_has_more", "_pending", "_window", "_zlib")

    def __init__(self, encoding: str) -> None:
        self._window = _WINDOWS.get(encoding.strip().lower(), _unknown_encoding)
        self._pending = b""
        self._zlib: zlib._Decompress | None = None
        self._has_more = False
        """May zlib hold output beyond the limit, although it has consumed all input?"""

    @property
    def is_complete(self) -> bool:
        """Is the compressed stream at its end?"""
        return self._zlib is None or self._zlib.eof

    def feed(self, data: bytes, limit: int) -> bytes:
        """Decompress; at most `limit` bytes, empty if more input is needed. Raises `UpstreamWireError`."""
        if self._window is None:
            return data
        self._pending += data
        output = bytearray()
        try:
            while (self._pending or self._has_more) and len(output) < limit:
                if not self._step(output, limit, self._window):
                    break
        except zlib.error:
            raise UpstreamWireError("the body cannot be decompressed") from None
        return bytes(output)

    def _step(self, output: bytearray, limit: int, window: Callable[[bytes], int]) -> bool:
        """Decompress once; True if there may be more."""
        if self._zlib is None:
            self._zlib = zlib.decompressobj(window(self._pending))
        elif self._zlib.eof:
            if not _GZIP_MAGIC.startswith(self._pending[:2]):
                self._pending = b""
                return False  # padding after the stream, which all clients ignore
            self._zlib = zlib.decompressobj(_GZIP)  # a body may be several gzip members
        output += self._zlib.decompress(self._pending, limit - len(output))
        self._pending = self._zlib.unused_data or self._zlib.unconsumed_tail
        self._has_more = len(output) == limit and not self._zlib.eof
        return True


class BodyDecoder:
    """Collects a decoded body. The input is bounded as well: it may decompress to nothing for ever."""

    def __init__(self, encoding: str, limit: int, *, cut: bool = False) -> None:
        self._decompressor = Decompressor(encoding)
        self._limit = limit
        self._cut = cut
        self._received = 0
        self._body = bytearray()
        self.is_full = False
        """With `cut`: has the body reached its limit? The rest of it is not wanted."""

    def feed(self, data: bytes) -> None:
        """Add a chunk; raises `UpstreamWireError` when the body is damaged, or too large and not to be
        cut."""
        self._received += len(data)
        self._body += self._decompressor.feed(data, self._limit - len(self._body) + 1)
        if max(self._received, len(self._body)) > self._limit:
            if not self._cut:
                raise UpstreamWireError(f"the body is larger than {self._limit} bytes")
            del self._body[self._limit :]
            self.is_full = True

    def close(self) -> bytes:
        """The whole body, or its beginning if it was cut."""
        if not self.is_full and not self._decompressor.is_complete:
            raise UpstreamWireError("the body is incomplete")
        return bytes(self._body)


def _deflate_window(data: bytes) -> int:
    """`deflate` means the zlib format, but many servers send raw deflate."""
    return _ZLIB if data[0] & 0x0F == 8 else _RAW


def _unknown_encoding(_: bytes) -> NoReturn:
    raise UpstreamWireError("the body has a content encoding that was not requested")


_WINDOWS: dict[str, Callable[[bytes], int] | None] = {
    "": None,
    "identity": None,
    "gzip": lambda _: _GZIP,
    "x-gzip": lambda _: _GZIP,
    "deflate": _deflate_window,
}
