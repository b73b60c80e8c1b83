"""Content decoding: independent of how the bytes are split, bounded, and safe on garbage."""

from __future__ import annotations

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import UpstreamWireError
from groundwire.transport.decoders import Decompressor
from tests.transport.http1.test_parser import OFFSETS, split_at

TEXTS = st.binary(max_size=200) | st.binary(min_size=1, max_size=3).map(lambda text: text * 2000)
MOST = st.integers(1, 500)


def bare(text: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-15)
    return machine.compress(text) + machine.flush()


PACKED = [
    ("gzip", lambda text: gzip.compress(text, mtime=0)),
    ("x-gzip", lambda text: gzip.compress(text[:9], mtime=0) + gzip.compress(text[9:], mtime=0)),
    ("deflate", zlib.compress),
    ("deflate", bare),
]


def unpacked(encoding: str, pieces: list[bytes], most: int) -> bytes | None:
    """The decoded bytes; None if they cannot be decoded."""
    inflater = Decompressor(encoding)
    out = b""
    try:
        for piece in pieces:
            data = inflater.feed(piece, most)
            while data:
                assert len(data) <= most
                out += data
                data = inflater.feed(b"", most)
    except UpstreamWireError:
        return None
    return out if inflater.is_complete else None


@given(st.sampled_from(PACKED), TEXTS, OFFSETS, MOST)
def test_a_compressed_body_is_decoded_however_it_is_split(
    packing: tuple[str, object], text: bytes, offsets: list[int], most: int
) -> None:
    encoding, pack = packing
    assert callable(pack)
    packed = pack(text)
    assert unpacked(encoding, split_at(packed, offsets), most) == text
    assert unpacked(encoding, split_at(packed[:-1], offsets), most) is None, (
        "and a truncated body is not complete"
    )


@given(st.sampled_from(["gzip", "deflate", "br", "gzip, gzip"]), st.binary(max_size=60), OFFSETS, MOST)
def test_garbage_is_a_decoding_error(encoding: str, data: bytes, offsets: list[int], most: int) -> None:
    unpacked(encoding, split_at(data, offsets), most)
    unpacked(encoding, split_at(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + data, offsets), most)


def test_an_empty_body_is_empty_in_every_encoding() -> None:
    for encoding in ("gzip", "deflate", "br", ""):
        assert unpacked(encoding, [], 1) == b""
