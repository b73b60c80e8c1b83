"""The secret of this installation: it signs the blocks that we make in the place of encrypted ones."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from groundwire.errors import ConfigError

VARIABLE = "GROUNDWIRE_SECRET"
"""Gateways that are one service share it."""
_FILE = "gateway.secret"
_SIZE = 32
_OTHERS = 0o077


def secret_in(data_dir: str, env: Mapping[str, str]) -> bytes:
    """The secret of the environment, or of the data directory, where it is made at first use."""
    if told := env.get(VARIABLE, ""):
        return told.encode()
    path = Path(data_dir) / _FILE
    try:
        return _kept(path) or _made(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be used: {error.strerror}; set {VARIABLE} or --data-dir") from None


def _kept(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return b""
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS:
            raise ConfigError(f"{path} is open to other users; remove it, and a new one is made")
        data = file.read(_SIZE + 1)
    if len(data) != _SIZE:
        raise ConfigError(f"{path} is damaged; remove it, and a new one is made")
    return data


def _made(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{_FILE}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(draft, flags, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_SIZE))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # whoever is first wins; the others read theirs
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return _kept(path)
