"""A file of another program: read whole, written in one go, and with a copy of what was there beside it."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

from groundwire.errors import ConfigError

_MAX_SIZE = 64 * 1024 * 1024
_BACKUP = ".groundwire-backup"
_CREATED = ".groundwire-created"


def read(path: str) -> str | None:
    """The text, with a byte order mark if there is one; None if there is no file."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_SIZE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > _MAX_SIZE:
        raise ConfigError(f"{path} is too large to be a configuration file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: this is not UTF-8; save the file as UTF-8 text") from None


def write(path: str, text: str) -> None:
    """Put the text in the place of what is there; whoever reads meanwhile sees the one or the other."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        mode = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o600
        descriptor, temporary = tempfile.mkstemp(prefix=".groundwire-", dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None


def delete(path: str) -> None:
    """Remove a file, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


class Before:
    """What a file was before it was first changed here."""

    def __init__(self, path: str) -> None:
        self._backup = path + _BACKUP
        self._created = path + _CREATED

    @property
    def known(self) -> bool:
        """Is it remembered?"""
        return os.path.exists(self._backup) or os.path.exists(self._created)

    @property
    def place(self) -> str:
        """Where the copy is; empty if there was no file."""
        return self._backup if os.path.exists(self._backup) else ""

    def text(self) -> str | None:
        """What was there; None if nothing was."""
        return read(self._backup)

    def keep(self, text: str | None) -> None:
        """Remember what is there now."""
        self.forget()
        write(self._created if text is None else self._backup, text or "")

    def forget(self) -> None:
        """Remember nothing."""
        delete(self._backup)
        delete(self._created)
