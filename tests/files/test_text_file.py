"""Reading and writing files with secrets."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.errors import ConfigError
from groundwire.files.text_file import (
    MAX_SIZE,
    TextFile,
    read_checked,
    read_text,
    write_private,
    write_shared,
)


@pytest.fixture
def careless() -> Iterator[None]:
    """A process with umask 0, whose files are readable by all users."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_file_is_read_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("text ü")
    path.chmod(0o600)
    assert read_checked(str(path)) == TextFile(str(path), "text ü")


@pytest.mark.parametrize("missing", ["none", "none/below", "file/below"])
def test_a_missing_file_is_not_an_error(tmp_path: Path, missing: str) -> None:
    (tmp_path / "file").touch()
    assert read_checked(str(tmp_path / missing)) is None


@pytest.mark.parametrize("loose", [0o640, 0o604, 0o644, 0o620, 0o666])
def test_a_mode_that_is_open_to_others_is_reported(tmp_path: Path, loose: int) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(loose)
    found = read_checked(str(path))
    assert found is not None
    assert found.unsafe == (f"is open to other users (mode {loose:04o})",)


def test_a_symbolic_link_is_reported_and_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    found = read_checked(str(tmp_path / "link"))
    assert found == TextFile(str(tmp_path / "real"), "x", ("is a symbolic link",))


def test_a_file_of_another_user_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    found = read_checked(str(path))
    assert found is not None
    assert found.unsafe == ("belongs to another user",)


def test_an_unreadable_file_is_an_error_with_its_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * (MAX_SIZE + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "loop").symlink_to("loop")
    for name, reason in {
        "pipe": "not a file",
        ".": "not a file",
        "large": "larger than",
        "binary": "not UTF-8",
        "loop": "cannot be read",
    }.items():
        with pytest.raises(ConfigError, match=reason):
            read_checked(str(tmp_path / name))


@pytest.mark.usefixtures("careless")
def test_a_written_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_private(str(path), "one")
    assert (path.read_text(), mode(path)) == ("one", 0o600)
    path.chmod(0o666)
    write_private(str(path), "two")
    assert (path.read_text(), mode(path)) == ("two", 0o600)
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.usefixtures("careless")
def test_the_temporary_file_of_a_crash_is_reused_by_the_next_write(tmp_path: Path) -> None:
    left = tmp_path / "a.groundwire-tmp"
    left.write_text("a longer text that was never finished")
    left.chmod(0o666)
    write_private(str(tmp_path / "a"), "new")
    assert (tmp_path / "a").read_text() == "new"
    assert mode(tmp_path / "a") == 0o600
    assert not left.exists()


def test_a_planted_symlink_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "a.groundwire-tmp").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"):
        write_private(str(tmp_path / "a"), "new")
    assert victim.read_text() == "untouched"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_private(str(path), "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(str(path), "new")
    assert path.read_text() == "old"


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can write for another user")
def test_an_administrator_does_not_take_the_file_from_its_user(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.chown(path, 12345, 12346)
    write_private(str(path), "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)


def test_a_file_of_another_program_keeps_its_mode_and_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "settings.json"
    write_shared(str(path), "{}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    write_shared(str(path), "\ufeff{}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert read_text(str(path), keep_bom=True) == "\ufeff{}"
    assert read_text(str(path)) == "{}"
    assert os.listdir(path.parent) == ["settings.json"]


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        write_shared(str(tmp_path / "target"), "x")
    assert os.listdir(tmp_path) == ["target"]
