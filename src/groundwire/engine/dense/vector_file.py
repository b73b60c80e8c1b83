"""The file of vectors: header, records as bytes, atomic replacement. Does not need numpy.

Records are appended in batches: first they are synced to disk, then one of two header slots gets the new
number of records, in turns. So a writer that is killed loses the batch it was writing, and what it left after
the last record is overwritten. A file is never shortened while it has its name, because readers may have
mapped it: compaction and a new start replace it.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from groundwire.engine.index.base import PassageKey
from groundwire.errors import GroundwireError
from groundwire.files.text_file import PRIVATE, sync_directory
from groundwire.model.value import value

VECTORS_FILE = "vectors.bin"
DIMENSIONS = 512
KEY = struct.Struct("<qq")
"""A record begins with the id of its passage and the fingerprint of its words."""
RECORD_SIZE = KEY.size + 8 + DIMENSIONS // 8 + DIMENSIONS
RECORDS_AT = 4096

_MAGIC, _FORMAT = b"gwvector", 1
_SLOT = struct.Struct("<8sIIQQI64s")
_CHECKSUM = struct.Struct("<I")
_SLOT_SIZE = 512
_READ_AT_ONCE = 1000 * RECORD_SIZE


class DamagedVectors(GroundwireError):
    """The file of vectors cannot be used; the next build replaces it."""


@value
class Header:
    """State of a file of vectors."""

    sequence: int
    """Grows with each batch."""
    count: int
    checksum: int
    """CRC-32 of all records."""
    name: str
    """The encoder."""


def count_vectors(path: Path, keys: Container[PassageKey]) -> int:
    """How many of these passages have vectors; none if the file is missing or damaged."""
    found: set[PassageKey] = set()
    with suppress(FileNotFoundError, DamagedVectors), path.open("rb") as file:
        size = read_header(file.fileno(), path).count * RECORD_SIZE
        file.seek(RECORDS_AT)
        while size > 0 and (data := file.read(min(size, _READ_AT_ONCE))):
            size -= len(data)
            found.update(KEY.unpack_from(data, at) for at in range(0, len(data), RECORD_SIZE))
    return sum(key in keys for key in found)


def records_checksum(descriptor: int, count: int) -> int:
    """CRC-32 of the first records of a file."""
    at, size, checksum = RECORDS_AT, count * RECORD_SIZE, 0
    while size > 0 and (data := os.pread(descriptor, min(size, _READ_AT_ONCE), at)):
        at, size, checksum = at + len(data), size - len(data), zlib.crc32(data, checksum)
    return checksum


def append_records(descriptor: int, header: Header, data: bytes) -> Header:
    """Appends records; when this returns they survive a crash."""
    _write(descriptor, data, RECORDS_AT + header.count * RECORD_SIZE)
    os.fsync(descriptor)
    count = header.count + len(data) // RECORD_SIZE
    extended = Header(header.sequence + 1, count, zlib.crc32(data, header.checksum), header.name)
    _write_header(descriptor, extended)
    os.fsync(descriptor)
    return extended


def create_file(path: Path, name: str, data: bytes = b"", sequence: int = 1) -> None:
    """Replaces the file; the lock is held."""
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
    try:
        _write(descriptor, bytes(RECORDS_AT) + data, 0)
        _write_header(descriptor, Header(sequence, len(data) // RECORD_SIZE, zlib.crc32(data), name))
        os.fsync(descriptor)
        os.replace(new, path)
        sync_directory(str(path))
    finally:
        os.close(descriptor)
        with suppress(FileNotFoundError):
            new.unlink()


def _write(descriptor: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view, at = view[written:], at + written


def _write_header(descriptor: int, header: Header) -> None:
    fields = (header.sequence, header.count, header.checksum, header.name.encode())
    slot = _SLOT.pack(_MAGIC, _FORMAT, DIMENSIONS, *fields)
    slot += _CHECKSUM.pack(zlib.crc32(slot))
    _write(descriptor, slot, header.sequence % 2 * _SLOT_SIZE)


def read_header(descriptor: int, path: Path) -> Header:
    """The newer of the valid slots."""
    found = [
        header
        for at in (0, _SLOT_SIZE)
        if (header := _parse_slot(os.pread(descriptor, _SLOT.size + _CHECKSUM.size, at)))
    ]
    if not found:
        raise DamagedVectors(f"{path} is damaged")
    header = max(found, key=lambda item: item.sequence)
    if os.fstat(descriptor).st_size < RECORDS_AT + header.count * RECORD_SIZE:
        raise DamagedVectors(f"{path} is damaged: it is too short")
    return header


def _parse_slot(data: bytes) -> Header | None:
    slot, checksum = data[: _SLOT.size], data[_SLOT.size :]
    if len(checksum) < _CHECKSUM.size or _CHECKSUM.unpack(checksum)[0] != zlib.crc32(slot):
        return None
    magic, form, dimensions, sequence, count, content, name = _SLOT.unpack(slot)
    if (magic, form, dimensions) != (_MAGIC, _FORMAT, DIMENSIONS):
        return None
    return Header(sequence, count, content, name.rstrip(b"\0").decode("utf-8", "replace"))
