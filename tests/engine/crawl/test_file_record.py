"""A folder that is added again: unchanged files are not read, pages of deleted files are removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from groundwire.engine.crawl.file_record import FileRecord, state_of

URL = "https://docs.example.com/a.md"
HOUR_AGO = 3600 * 10**9


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that was changed an hour ago."""
    path = tmp_path / "docs" / "a.md"
    path.parent.mkdir()
    path.write_text("# A")
    age(path)
    return path


def age(path: Path, nanoseconds: int = HOUR_AGO) -> None:
    changed = path.stat().st_mtime_ns - nanoseconds
    os.utime(path, ns=(changed, changed))


def record(file: Path, *, stored: tuple[str, ...] = (URL,), options: tuple[str, ...] = ()) -> FileRecord:
    return FileRecord(file.parents[1] / "crawls", file.parent, options, stored=stored)


def test_a_file_is_unchanged_until_its_time_or_its_size_changes(file: Path) -> None:
    before = record(file)
    assert before.unchanged(file) is None
    before.add(file, state_of(file), (URL,))
    before.save(at_once=True)
    assert record(file).unchanged(file) == 1
    age(file, -1)
    assert record(file).unchanged(file) is None


def test_a_file_whose_page_was_removed_is_read_again(file: Path) -> None:
    before = record(file)
    before.add(file, state_of(file), (URL,))
    before.save(at_once=True)
    assert record(file, stored=()).unchanged(file) is None


def test_another_way_to_add_a_folder_has_a_record_of_its_own(file: Path) -> None:
    before = record(file)
    before.add(file, state_of(file), (URL,))
    before.save(at_once=True)
    assert record(file, options=("https://other.example/",)).unchanged(file) is None


def test_a_file_that_was_just_written_is_read_again(file: Path) -> None:
    file.write_text("# B")
    before = record(file)
    before.add(file, state_of(file), (URL,))
    assert before.unchanged(file) is None


def test_pages_of_deleted_files_are_removed_once(file: Path) -> None:
    before = record(file)
    before.add(file, state_of(file), (URL,))
    assert list(before.removed()) == []
    file.unlink()
    assert list(before.removed()) == [(URL,)]
    assert list(before.removed()) == []


def test_a_page_that_another_file_has_now_stays(file: Path) -> None:
    before = record(file)
    before.add(file, state_of(file), (URL,))
    renamed = file.rename(file.with_suffix(".html"))
    before.add(renamed, state_of(renamed), (URL,))
    assert list(before.removed()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"files": [1]}', b'{"files": {"a": ["x"]}}'])
def test_a_damaged_record_is_empty(file: Path, content: bytes) -> None:
    before = record(file)
    before.add(file, state_of(file), (URL,))
    before.save(at_once=True)
    next((file.parents[1] / "crawls").iterdir()).write_bytes(content)
    assert record(file).unchanged(file) is None
