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
from contextlib import suppress
from pathlib import Path

from groundwire.engine.dense.packages import MeaningUnavailable
from groundwire.engine.dense.texts import VectorKey
from groundwire.files.text_file import PRIVATE, sync_directory
from groundwire.model.value import replace, value

RECORDS_AT = 4096

_MAGIC, _FORMAT = b"gwvector", 1
_SLOT = struct.Struct("<8sIIQQI64s")
_CHECKSUM = struct.Struct("<I")
_SLOT_SIZE = 512
_READ_AT_ONCE = 1 << 20
_KEY = struct.Struct("<q")
_KEY_AND_SCALE = 16
"""Bytes of a record before the vector: the key, the scale, and four unused ones."""


class DamagedVectors(MeaningUnavailable):
    """The file of vectors cannot be used; the next build replaces it."""


@value
class Header:
    """State of a file of vectors."""

    sequence: int
    """Grows with each batch."""
    dimensions: int
    count: int
    checksum: int
    """CRC-32 of all records."""
    name: str
    """The encoder."""

    @property
    def record_size(self) -> int:
        """Bytes of a record."""
        return _KEY_AND_SCALE + self.dimensions // 8 + self.dimensions


def vectors_path(folder: Path, encoder: str, what: str = "vectors") -> Path:
    """The file with the vectors of an encoder in the folder of an index."""
    return folder / f"{what}-{encoder.partition('/')[0]}.bin"


def stored_keys(path: Path, name: str) -> set[VectorKey]:
    """The keys of the vectors of an encoder; none if the file is missing, damaged or of another one."""
    found: set[VectorKey] = set()
    with suppress(OSError, DamagedVectors), path.open("rb") as file:
        header = read_header(file.fileno(), path)
        if header.name != name:
            return found
        size, at_once = header.record_size, _READ_AT_ONCE // header.record_size * header.record_size
        left = header.count * size
        file.seek(RECORDS_AT)
        while left > 0 and (data := file.read(min(left, at_once))):
            left -= len(data)
            found.update(_KEY.unpack_from(data, at)[0] for at in range(0, len(data) - size + 1, size))
    return found


def records_checksum(descriptor: int, header: Header, known: tuple[int, int] = (0, 0)) -> int:
    """CRC-32 of the records of a file; `known` is a number of first records and their checksum."""
    first, checksum = known
    at, left = RECORDS_AT + first * header.record_size, (header.count - first) * header.record_size
    while left > 0 and (data := os.pread(descriptor, min(left, _READ_AT_ONCE), at)):
        at, left, checksum = at + len(data), left - len(data), zlib.crc32(data, checksum)
    return checksum


def was_checked(path: Path, found: os.stat_result) -> bool:
    """Has a process checked all records of the file in this state? Checking takes longer than a search, and
    every command would do it again."""
    try:
        return _note_of(path).read_bytes() == _state(found)
    except OSError:
        return False


def note_checked(path: Path, found: os.stat_result) -> None:
    """Notes for other processes that all records of the file in this state are as they were written. A note
    that is half written is of no state."""
    with suppress(OSError):  # without it only time is lost
        descriptor = os.open(_note_of(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
        try:
            os.write(descriptor, _state(found))
        finally:
            os.close(descriptor)


def _note_of(path: Path) -> Path:
    return path.with_suffix(".checked")


def _state(found: os.stat_result) -> bytes:
    """Differs after every change of the file."""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}\n".encode()


def append_records(descriptor: int, header: Header, data: bytes) -> Header:
    """Appends records; when this returns they survive a crash."""
    size = header.record_size
    _write(descriptor, data, RECORDS_AT + header.count * size)
    os.fsync(descriptor)
    extended = replace(
        header,
        sequence=header.sequence + 1,
        count=header.count + len(data) // size,
        checksum=zlib.crc32(data, header.checksum),
    )
    _write_header(descriptor, extended)
    os.fsync(descriptor)
    return extended


def create_file(path: Path, header: Header, data: bytes = b"") -> None:
    """Replaces the file by one with this encoder and these records; the lock is held."""
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
    try:
        _write(descriptor, bytes(RECORDS_AT) + data, 0)
        count = len(data) // header.record_size
        _write_header(descriptor, replace(header, count=count, checksum=zlib.crc32(data)))
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
    slot = _SLOT.pack(_MAGIC, _FORMAT, header.dimensions, *fields)
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
    if os.fstat(descriptor).st_size < RECORDS_AT + header.count * header.record_size:
        raise DamagedVectors(f"{path} is damaged: it is too short")
    return header


def _parse_slot(data: bytes) -> Header | None:
    slot, checksum = data[: _SLOT.size], data[_SLOT.size :]
    if len(checksum) < _CHECKSUM.size or _CHECKSUM.unpack(checksum)[0] != zlib.crc32(slot):
        return None
    magic, form, dimensions, sequence, count, content, name = _SLOT.unpack(slot)
    if (magic, form) != (_MAGIC, _FORMAT):
        return None
    return Header(sequence, dimensions, count, content, name.rstrip(b"\0").decode("utf-8", "replace"))
