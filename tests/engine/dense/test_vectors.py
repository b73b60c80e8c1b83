"""Vectors in a file: what was appended is found, whatever happens to the file."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.dense import vector_file
from groundwire.engine.dense import vectors as vectors_module
from groundwire.engine.dense.arrays import Floats
from groundwire.engine.dense.vector_file import RECORDS_AT, DamagedVectors, stored_keys
from groundwire.engine.dense.vectors import VectorReader, VectorSet, writing
from groundwire.errors import TimedOut
from tests.engine.dense.fakes import DIMENSIONS, FakeEncoder

ENCODER = FakeEncoder("test/1")
RECORD_SIZE = 16 + DIMENSIONS // 8 + DIMENSIONS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.bin"


def unit_vectors(count: int, seed: int = 0) -> Floats:
    found = np.random.default_rng(seed).standard_normal((count, DIMENSIONS)).astype(np.float32)
    unit: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def write(path: Path, first: int, count: int, seed: int = 0) -> Floats:
    vectors = unit_vectors(count, seed)
    with writing(path, ENCODER) as writer:
        writer.append(range(first, first + count), vectors)
    return vectors


def read(path: Path) -> VectorSet:
    found = VectorReader(path, ENCODER).now()
    assert found is not None
    return found


def keys(path: Path) -> list[int]:
    return [int(key) for key in read(path).keys]


def test_the_closest_vector_is_found_with_its_cosine(path: Path) -> None:
    vectors = write(path, 100, 50)
    found = read(path).search(vectors[20], 3)
    assert found[0][0] == 120
    exact = np.sort(vectors @ vectors[20])[::-1][:3]
    assert [cosine for _, cosine in found] == pytest.approx(exact.tolist(), abs=0.02)


def test_many_vectors_are_compared_by_their_signs_first_and_the_closest_is_still_found(path: Path) -> None:
    vectors = write(path, 0, 3000)
    opened = read(path)
    chance = np.random.default_rng(1)
    for number in range(0, 3000, 300):
        near = vectors[number] + 0.02 * chance.standard_normal(DIMENSIONS).astype(np.float32)
        assert opened.search(near, 1)[0][0] == number


def test_only_allowed_rows_are_searched(path: Path) -> None:
    vectors = write(path, 0, 900)
    found = read(path).search(vectors[3], 100, np.arange(500, 510))
    assert {key for key, _ in found} == set(range(500, 510))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=20), st.data())
def test_vectors_are_found_by_their_keys(
    tmp_path_factory: pytest.TempPathFactory, stored: list[int], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("keys") / "vectors.bin"
    vectors = unit_vectors(len(stored))
    with writing(path, ENCODER) as writer:
        writer.append(stored, vectors)
    wanted = data.draw(st.lists(st.sampled_from([*stored, 5]), max_size=10))
    query = unit_vectors(1, 8)[0]
    found = read(path).cosines(query, wanted)
    for key, cosine in zip(wanted, found, strict=True):
        expected = float(vectors[stored.index(key)] @ query) if key in stored else None
        assert cosine == (None if expected is None else pytest.approx(expected, abs=0.02))
    assert stored_keys(path, ENCODER.name) == set(stored)


def test_an_open_reader_sees_the_next_batch(path: Path) -> None:
    reader = VectorReader(path, ENCODER)
    assert reader.now() is None
    write(path, 0, 3)
    first = reader.now()
    assert first is not None
    assert len(first) == 3
    assert reader.now() is first
    write(path, 3, 2)
    second = reader.now()
    assert second is not None
    assert len(second) == 5
    assert len(first) == 3


def test_vectors_of_another_encoder_are_reported_and_replaced_by_the_next_writer(path: Path) -> None:
    write(path, 0, 3)
    other = FakeEncoder("test/2")
    assert stored_keys(path, other.name) == set()
    with pytest.raises(DamagedVectors, match="another encoder"):
        VectorReader(path, other).now()
    with writing(path, other) as writer:
        assert writer.keys() == []


def test_one_writer_at_a_time(path: Path) -> None:
    with writing(path, ENCODER), pytest.raises(TimedOut), writing(path, ENCODER):
        raise AssertionError


def test_compaction_drops_what_is_gone_and_second_vectors_and_open_readers_go_on(path: Path) -> None:
    vectors = write(path, 0, 10)
    write(path, 4, 2, seed=1)
    reader = VectorReader(path, ENCODER)
    before = reader.now()
    assert before is not None
    with writing(path, ENCODER) as writer:
        writer.compact(set(range(5)))
        writer.append([50], unit_vectors(1, 9))
    assert before.search(vectors[9], 1)[0][0] == 9
    after = reader.now()
    assert after is not None
    assert sorted(after.keys.tolist()) == [0, 1, 2, 3, 4, 50]
    assert after.search(vectors[2], 1)[0][0] == 2


@given(st.integers(0, 3 * RECORD_SIZE))
def test_a_torn_batch_is_not_seen_and_is_overwritten(
    tmp_path_factory: pytest.TempPathFactory, torn: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "vectors.bin"
    write(path, 0, 4)
    with path.open("ab") as file:
        file.write(random.Random(torn).randbytes(torn))
    assert keys(path) == [0, 1, 2, 3]
    vectors = write(path, 10, 2, seed=3)
    assert keys(path) == [0, 1, 2, 3, 10, 11]
    assert read(path).search(vectors[1], 1)[0][0] == 11


def test_a_header_that_was_being_written_leaves_the_one_before(path: Path) -> None:
    write(path, 0, 2)
    before = path.read_bytes()
    write(path, 2, 1)
    after = path.read_bytes()
    changed = [at for at in range(RECORDS_AT) if before[at] != after[at]]
    for share in range(16):
        torn = bytearray(before + after[len(before) :])
        for at in changed[: len(changed) * share // 16]:
            torn[at] = after[at]
        path.write_bytes(torn)
        assert keys(path) == [0, 1]


@pytest.mark.parametrize("damage", ["empty", "zeros", "short", "text", "byte"])
def test_a_damaged_file_is_reported_to_readers_and_replaced_by_the_next_writer(
    path: Path, damage: str
) -> None:
    write(path, 0, 5)
    assert len(read(path)) == 5
    data = path.read_bytes()
    at = RECORDS_AT + 2 * RECORD_SIZE + 100
    damaged = {
        "empty": b"",
        "zeros": bytes(len(data)),
        "short": data[:-100],
        "text": b"hello" * 2000,
        "byte": data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(DamagedVectors):
        VectorReader(path, ENCODER).now()
    write(path, 20, 1)
    assert keys(path) == [20]


def test_a_file_is_checked_once_by_all_processes_until_it_changes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, 0, 5)
    checks: list[int] = []

    def counted(descriptor: int, header: vector_file.Header, known: tuple[int, int] = (0, 0)) -> int:
        checks.append(header.count - known[0])
        return vector_file.records_checksum(descriptor, header, known)

    monkeypatch.setattr(vectors_module, "records_checksum", counted)
    reader = VectorReader(path, ENCODER)
    for _ in range(2):
        assert reader.now() is not None
        assert len(read(path)) == 5
    assert checks == [5]
    path.with_suffix(".checked").write_bytes(b"1 2")  # half written
    assert len(read(path)) == 5
    assert checks == [5, 5]


def test_a_full_disk_loses_only_the_batch_that_did_not_fit(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, 0, 3)
    room = [RECORD_SIZE + 100]

    def pwrite(descriptor: int, data: memoryview, at: int) -> int:
        size = min(len(data), room[0])
        if not size:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= size
        return os.pwrite(descriptor, data[:size], at)

    class FullDisk:
        """`os` with a disk that has room for a few bytes more."""

        def __getattr__(self, name: str) -> object:
            return pwrite if name == "pwrite" else getattr(os, name)

    with monkeypatch.context() as patch:
        patch.setattr(vector_file, "os", FullDisk())
        with pytest.raises(OSError, match="No space left"):
            write(path, 3, 5)
    assert keys(path) == [0, 1, 2]
    write(path, 3, 5)
    assert keys(path) == [0, 1, 2, 3, 4, 5, 6, 7]
