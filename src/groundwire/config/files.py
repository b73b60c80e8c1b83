"""Configuration files, read with care: bounded, never blocking, and with a clear word about what is wrong."""

from __future__ import annotations

import os
import stat

from groundwire.errors import ConfigError

MAX_SIZE = 1024 * 1024

# Without O_NONBLOCK a pipe that poses as a configuration file would hold us for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_text(path: str) -> str | None:
    """The text of a file; None when there is none. Raises `ConfigError` when it cannot be read."""
    try:
        descriptor = os.open(path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; make it readable or remove it") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError(f"{path} is not a file; remove it or put a file in its place")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_SIZE + 1)
    finally:
        os.close(descriptor)
    return _decoded(data, path)


def _decoded(data: bytes, path: str) -> str:
    if len(data) > MAX_SIZE:
        raise ConfigError(f"{path} is larger than {MAX_SIZE} bytes; make it smaller or remove it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: this is not UTF-8; save the file as UTF-8 text") from None


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, as editors count them."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
