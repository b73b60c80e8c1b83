"""Turns errors of SQLite, tantivy and the file system into `GroundwireError`s with advice."""

from __future__ import annotations

import errno
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundwire.errors import ConfigError, GroundwireError, TimedOut

# By the beginning of SQLite's name for the error.
_NOT_OURS = (
    "The page store in {folder} is not an index, or is damaged ({why}). "
    "Move the folder away and build it again."
)
_UNUSABLE = (
    "the index in {folder} cannot be opened for writing ({why}); give write access, or choose another folder"
)
_FULL = "the disk of {folder} is full; what was stored before is kept"
_UNWRITTEN = (
    "the index in {folder} cannot be written ({why}): perhaps the disk is full, or a limit was reached"
)
_CONFIGURED = {
    "SQLITE_NOTADB": _NOT_OURS,
    "SQLITE_CORRUPT": _NOT_OURS,
    "SQLITE_READONLY": _UNUSABLE,
    "SQLITE_CANTOPEN": _UNUSABLE,
    "SQLITE_PERM": _UNUSABLE,
}
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOENT)
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_SPACE_MESSAGES = ("No space left", "File too large", "quota exceeded")


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Translates errors that are raised inside."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_store(folder, error) from error
    except OSError as error:
        raise _of_files(folder, error) from error
    except zlib.error as error:
        raise ConfigError(_NOT_OURS.format(folder=folder, why=error)) from error
    except ValueError as error:
        # tantivy has no other class.
        raise _of_passages(folder, error) from error


def _of_store(folder: Path, error: sqlite3.Error) -> GroundwireError:
    name: str = getattr(error, "sqlite_errorname", "")
    for start, sentence in _CONFIGURED.items():
        if name.startswith(start):
            return ConfigError(sentence.format(folder=folder, why=error))
    if name == "SQLITE_FULL":
        return GroundwireError(_FULL.format(folder=folder))
    if name == "SQLITE_IOERR_WRITE":
        return GroundwireError(_UNWRITTEN.format(folder=folder, why=error))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return TimedOut(f"the page store in {folder} was locked by another process for too long; try again")
    return GroundwireError(f"the page store in {folder} failed: {error}")


def _of_files(folder: Path, error: OSError) -> GroundwireError:
    if error.errno in _NO_SPACE:
        return GroundwireError(_FULL.format(folder=folder))
    if error.errno in _UNWRITABLE:
        return ConfigError(_UNUSABLE.format(folder=folder, why=error.strerror))
    return GroundwireError(f"the index in {folder} failed: {error}")


def _of_passages(folder: Path, error: ValueError) -> GroundwireError:
    if any(words in str(error) for words in _NO_SPACE_MESSAGES):
        return GroundwireError(_FULL.format(folder=folder))
    return GroundwireError(f"the searchable part of the index in {folder} failed: {error}")
