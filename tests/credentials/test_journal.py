"""The journal that lets the next process recover an interrupted refresh."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from groundwire.credentials.journal import Journal, JournalEntry
from groundwire.credentials.secret import Secret, Tokens
from groundwire.errors import ConfigError

OLD = Secret("refresh-old")
TOKENS = Tokens(Secret("a-2"), 99.5, Secret("r-2"), Secret("i-2"), "acc")


def path(folder: Path) -> Path:
    return folder / "auth.json.groundwire-pending"


def journal(folder: Path) -> Journal:
    return Journal(str(folder / "auth.json"))


def test_a_missing_journal_is_empty(tmp_path: Path) -> None:
    assert journal(tmp_path).about(OLD, 0.0) == JournalEntry()


def test_a_request_a_response_and_a_rejection_are_recorded_for_their_token_alone(tmp_path: Path) -> None:
    book = journal(tmp_path)
    book.begin(OLD)
    assert journal(tmp_path).about(OLD, 0.0) == JournalEntry(sent=True)
    book.save(OLD, TOKENS)
    assert journal(tmp_path).about(OLD, 0.0) == JournalEntry(sent=True, tokens=TOKENS)
    assert journal(tmp_path).about(Secret("r-2"), 0.0) == JournalEntry()
    book.begin(OLD)
    book.refuse(OLD, "invalid_grant", 1000.0)
    assert journal(tmp_path).about(OLD, 1899.0) == JournalEntry(sent=True, refused="invalid_grant")
    assert journal(tmp_path).about(OLD, 1900.0) == JournalEntry(sent=True)
    book.clear()
    assert os.listdir(tmp_path) == []


def test_tokens_that_were_not_given_stay_empty(tmp_path: Path) -> None:
    book = journal(tmp_path)
    book.begin(OLD)
    book.save(OLD, Tokens(Secret("a-2"), 99.5))
    book.close()
    assert journal(tmp_path).about(OLD, 0.0).tokens == Tokens(Secret("a-2"), 99.5)


def test_the_journal_is_private_and_names_no_old_token(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        book = journal(tmp_path)
        book.begin(OLD)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path(tmp_path).stat().st_mode) == 0o600
    book.save(OLD, TOKENS)
    book.close()
    assert OLD.reveal() not in path(tmp_path).read_text()


def test_the_journal_reserves_space_before_the_request(tmp_path: Path) -> None:
    book = journal(tmp_path)
    book.begin(OLD)
    assert path(tmp_path).stat().st_size >= 16 * 1024
    book.clear()


def test_a_journal_that_was_not_truncated_after_the_write_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = journal(tmp_path)
    book.begin(OLD)
    monkeypatch.setattr(os, "ftruncate", lambda *_: None)
    book.save(OLD, TOKENS)
    book.close()
    assert journal(tmp_path).about(OLD, 0.0).tokens == TOKENS


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"spent":7}', "\0\0\0"])
def test_a_truncated_journal_is_ignored(tmp_path: Path, text: str) -> None:
    path(tmp_path).write_text(text)
    assert journal(tmp_path).about(OLD, 0.0) == JournalEntry()


def test_an_unreadable_journal_is_ignored_and_an_unwritable_one_is_an_error(tmp_path: Path) -> None:
    path(tmp_path).mkdir()
    assert journal(tmp_path).about(OLD, 0.0) == JournalEntry()
    with pytest.raises(ConfigError, match=r"cannot be written .* its new tokens would be lost"):
        journal(tmp_path).begin(OLD)


def test_a_disk_that_fails_after_the_answer_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = journal(tmp_path)
    book.begin(OLD)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    book.save(OLD, TOKENS)
    book.refuse(OLD, "x", 0.0)
    book.clear()
