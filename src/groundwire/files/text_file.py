"""Text files: bounded reads, atomic writes, private permissions.

Reading never blocks on a pipe, is bounded, and reports unsafe permissions instead of deciding about them.
Writing goes to a temporary file in the same directory, is forced to disk, and replaces the target in one
step, so a reader sees the old text or the new one.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from groundwire.errors import ConfigError
from groundwire.model.value import value

MAX_SIZE = 1024 * 1024
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700
_GROUP_AND_OTHERS = 0o077

# Without O_NONBLOCK a pipe in place of a configuration file would block us for ever.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@value
class TextFile:
    """The text of a file, and why its permissions are unsafe for a secret."""

    path: str
    """The real path, symbolic links resolved."""
    text: str
    unsafe: tuple[str, ...] = ()


def read_text(path: str, limit: int = MAX_SIZE, *, keep_bom: bool = False) -> str | None:
    """The text of a file; None when there is none. Raises `ConfigError` when it cannot be read."""
    found = _read(path, limit)
    return None if found is None else _decode(found[0], path, "utf-8" if keep_bom else "utf-8-sig")


def read_checked(path: str) -> TextFile | None:
    """A file that may hold secrets; None when there is none. Raises `ConfigError` when it cannot be read."""
    found = _read(path, MAX_SIZE)
    if found is None:
        return None
    data, status = found
    return TextFile(os.path.realpath(path), _decode(data, path, "utf-8"), _unsafe(path, status))


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, as editors count them."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def write_private(path: str, text: str, *, synced: bool = True) -> None:
    """Replace a file: readable by its owner alone, and on disk when this returns, unless `synced` is false: a
    file that is easily made again need not survive a power cut. The caller holds a lock.

    Because of the lock the temporary file has a fixed name, so a crash leaves no unknown files behind.
    """
    temporary = f"{path}.groundwire-tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    _replace(path, text, os.open(temporary, flags, PRIVATE), temporary, PRIVATE, synced=synced)


def write_shared(path: str, text: str) -> None:
    """Replace a file of another program, which does not know our locks; permissions and owner stay.

    Raises `ConfigError` when it cannot be written.
    """
    import tempfile  # noqa: PLC0415  slow to import, and only `groundwire connect` writes here

    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else PRIVATE
        descriptor, temporary = tempfile.mkstemp(prefix=".groundwire-", dir=folder)
        try:
            _replace(path, text, descriptor, temporary, mode)
        finally:
            delete(temporary)  # it exists only if the replacement failed
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; make it writable") from None


def delete(path: str) -> None:
    """Remove a file, if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def sync_directory(path: str) -> None:
    """Force the directory of a file to disk, so that a new name in it survives a power cut."""
    descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_folder(path: Path) -> None:
    """Create a folder that only its owner can open, with all missing parents.

    An existing folder of ours is closed to others: earlier versions left it open.
    """
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    status = path.stat()
    if stat.S_IMODE(status.st_mode) & _GROUP_AND_OTHERS and status.st_uid == os.geteuid():
        path.chmod(PRIVATE_FOLDER)


def make_private_files(folder: Path) -> None:
    """Close the files in a folder to others: a library created them with its own permissions."""
    for entry in os.scandir(folder):
        # A file may be gone by now, and another user's cannot be changed.
        with suppress(FileNotFoundError, PermissionError):
            if (
                entry.is_file(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_mode & _GROUP_AND_OTHERS
            ):
                os.chmod(entry.path, PRIVATE)


def _read(path: str, limit: int) -> tuple[bytes, os.stat_result] | None:
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; make it readable or remove it") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path} is not a file; remove it or put a file in its place")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise ConfigError(f"{path} is larger than {limit} bytes; make it smaller or remove it")
    return data, status


def _decode(data: bytes, path: str, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: this is not UTF-8; save the file as UTF-8 text") from None


def _replace(
    path: str, text: str, descriptor: int, temporary: str, mode: int, *, synced: bool = True
) -> None:
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        _keep_owner(file.fileno(), path)
        file.write(text.encode("utf-8"))
        file.flush()
        if synced:
            os.fsync(file.fileno())
    os.replace(temporary, path)
    if synced:
        sync_directory(path)


def _keep_owner(descriptor: int, path: str) -> None:
    """An administrator who refreshes a user's session must not take the file away from the user."""
    try:
        before = os.stat(path)
    except FileNotFoundError:
        return
    now = os.fstat(descriptor)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        os.fchown(descriptor, before.st_uid, before.st_gid)


def _unsafe(path: str, status: os.stat_result) -> tuple[str, ...]:
    mode = stat.S_IMODE(status.st_mode)
    checks = (
        (os.path.islink(path), "is a symbolic link"),
        (bool(mode & _GROUP_AND_OTHERS), f"is open to other users (mode {mode:04o})"),
        (status.st_uid not in (os.geteuid(), 0), "belongs to another user"),
    )
    return tuple(text for is_unsafe, text in checks if is_unsafe)
