"""Compiled tables are kept in files, and replaced when they are damaged or out of date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from groundwire.engine import compiled
from groundwire.engine.compiled import (
    Sections,
    compiled_table,
    find_value,
    has_line,
    keep_tables,
    lines_with_initial,
    table_path,
)
from groundwire.engine.dense import stage
from groundwire.engine.retrieve import interpret, translate
from groundwire.files.lock import locked

SECTIONS = [["a\t1", "b\t2 3"], [], ["käse", "z"]]


@pytest.fixture(autouse=True)
def kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_KEPT_IN", [])


def refuse() -> Sections:
    raise AssertionError("the table was made again")


def test_a_table_is_made_once(tmp_path: Path) -> None:
    keep_tables(tmp_path)
    assert compiled_table("names", lambda: SECTIONS) == SECTIONS
    assert compiled_table("names", refuse) == SECTIONS


def test_without_a_folder_it_is_made_every_time() -> None:
    assert compiled_table("names", lambda: SECTIONS) == SECTIONS
    assert compiled_table("names", list) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "",
        lambda _: "x",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("b\t2 3\n", ""),
        lambda text: "1" + text,
        lambda text: text + "\n",
        lambda text: text.replace("2 0 2", "2 0 x"),
    ],
    ids=["empty", "something else", "cut off", "a line less", "other sources", "a line more", "no number"],
)
def test_a_file_that_is_damaged_or_out_of_date_is_replaced(
    tmp_path: Path, damage: Callable[[str], str]
) -> None:
    keep_tables(tmp_path)
    compiled_table("names", lambda: SECTIONS)
    path = table_path(tmp_path, "names")
    text = path.read_text("utf-8")
    path.write_text(damage(text), "utf-8")
    assert damage(text) != text
    assert compiled_table("names", lambda: SECTIONS) == SECTIONS
    assert path.read_text("utf-8") == text


def test_a_file_that_is_not_text_is_replaced(tmp_path: Path) -> None:
    keep_tables(tmp_path)
    table_path(tmp_path, "names").write_bytes(b"\xff\xfe")
    assert compiled_table("names", lambda: SECTIONS) == SECTIONS
    assert compiled_table("names", refuse) == SECTIONS


def test_a_folder_that_cannot_be_written_is_no_problem(tmp_path: Path) -> None:
    keep_tables(tmp_path / "missing")
    assert compiled_table("names", lambda: SECTIONS) == SECTIONS


def test_a_table_is_not_written_while_another_process_writes_one(tmp_path: Path) -> None:
    keep_tables(tmp_path)
    with locked(tmp_path / "tables.lock", 1.0):
        assert compiled_table("names", lambda: SECTIONS) == SECTIONS
        assert not table_path(tmp_path, "names").exists()
    assert compiled_table("names", lambda: SECTIONS) == SECTIONS
    assert table_path(tmp_path, "names").exists()


@pytest.mark.parametrize("source", [*compiled._CODE, "data/synonyms.txt", "knowledge/data/purposes.txt"])
def test_the_mark_changes_with_every_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for name in (*compiled._CODE, "data/synonyms.txt", "knowledge/data/purposes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("first")
    monkeypatch.setattr(compiled, "_FOLDER", tmp_path)
    monkeypatch.setattr(compiled, "_DATA", (tmp_path / "data", tmp_path / "knowledge" / "data"))
    before = compiled._mark.__wrapped__()
    (tmp_path / source).write_text("second")
    assert "" != before != compiled._mark.__wrapped__()


def test_sources_that_are_no_files_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_FOLDER", tmp_path / "archive.zip")
    assert compiled._mark.__wrapped__() == ""


def engine_tables() -> list[Sections]:
    return [
        interpret._dictionary_of.__wrapped__(in_german=False),
        interpret._dictionary_of.__wrapped__(in_german=True),
        [*translate._english.__wrapped__()],
        stage._phrase_tables.__wrapped__(),
    ]


def test_the_tables_of_the_engine_are_kept(tmp_path: Path) -> None:
    made = engine_tables()
    keep_tables(tmp_path)
    assert engine_tables() == made
    assert engine_tables() == made
    names = ("spelling-en", "spelling-de", "translations", "phrase-keys")
    assert all(table_path(tmp_path, name).is_file() for name in names)
    assert all(list(lines) == sorted(lines) for sections in made for lines in sections)


LINES = ["a\t1", "a b\t2", "ab\t3", "é\t4"]


def test_values_are_found_by_the_whole_key() -> None:
    assert [find_value(LINES, key) for key in ("a", "a b", "ab", "é")] == ["1", "2", "3", "4"]
    assert [find_value(LINES, key) for key in ("", "b", "abc", "z", "\U0010ffff")] == [None] * 5


def test_lines_are_found() -> None:
    words = ["apple", "banana", "berry", "über"]
    assert [has_line(words, word) for word in ("apple", "über", "b", "zebra")] == [True, True, False, False]
    assert lines_with_initial(words, "b") == ["banana", "berry"]
    assert lines_with_initial(words, "ü") == ["über"]
    assert lines_with_initial(words, "c") == []
    assert lines_with_initial(words, chr(0x10FFFF)) == []
