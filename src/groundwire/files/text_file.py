"""Files with secrets in them: read with suspicion, written whole or not at all.

Reading never blocks on something that is not a file, and says what is unsafe about it instead of deciding.
Writing goes to a file beside the target, is forced to disk, and takes the target's place in one step; the
name of the file beside it is fixed, because writers hold a lock, so a crash leaves no litter behind.
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
_OTHERS = 0o077


@value
class Document:
    """The text of a file, and what is unsafe about the file."""

    path: str
    """Where it really is, symbolic links resolved."""
    text: str
    loose: tuple[str, ...] = ()


def read_document(path: str) -> Document | None:
    """What a file holds; None when there is none. Raises `ConfigError` when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; make it readable or remove it") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path} is not a file; remove it")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_SIZE + 1)
    finally:
        os.close(descriptor)
    if len(data) > MAX_SIZE:
        raise ConfigError(f"{path} is larger than {MAX_SIZE} bytes, which no credentials file is; remove it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; write it again") from None
    return Document(os.path.realpath(path), text, _loose(path, status))


def write_atomically(path: str, text: str) -> None:
    """Put a text in the place of a file: readable by its owner alone, and on disk when this returns."""
    beside = f"{path}.groundwire-tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(beside, flags, PRIVATE), "wb") as file:
        os.fchmod(file.fileno(), PRIVATE)
        _keep_owner(file.fileno(), path)
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    sync_directory(path)


def sync_directory(path: str) -> None:
    """Force the directory of a file to disk, so that a new name in it outlives a power cut."""
    descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_owner(descriptor: int, path: str) -> None:
    """An administrator who refreshes a user's session must not take the file away from the user."""
    try:
        before = os.stat(path)
    except FileNotFoundError:
        return
    now = os.fstat(descriptor)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        os.fchown(descriptor, before.st_uid, before.st_gid)


def _loose(path: str, status: os.stat_result) -> tuple[str, ...]:
    mode = stat.S_IMODE(status.st_mode)
    checks = (
        (os.path.islink(path), "is a symbolic link"),
        (bool(mode & _OTHERS), f"is open to other users (mode {mode:04o})"),
        (status.st_uid not in (os.geteuid(), 0), "belongs to another user"),
    )
    return tuple(text for unsafe, text in checks if unsafe)


def lock_file(descriptor: int, *, wait: bool) -> None:
    """Take the kernel's lock (`flock`) on an open file. Without `wait`, raises `BlockingIOError` if held.

    It ends with the process that holds it, however that ends. Other systems than POSIX have none.
    """
    try:
        import fcntl  # noqa: PLC0415  POSIX only
    except ImportError:
        raise ConfigError(
            "This needs file locks of a POSIX system (Linux, macOS, BSD). Run groundwire there, or in WSL."
        ) from None
    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def make_private_folder(path: Path) -> None:
    """A folder for its owner's eyes only, with all that is missing above it.

    One that exists and is ours is closed to others: earlier versions left it open.
    """
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    status = path.stat()
    if stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == os.geteuid():
        path.chmod(PRIVATE_FOLDER)


def make_private_files(folder: Path) -> None:
    """Close the files in a folder to others: a library made them, with the rights it is used to."""
    for entry in os.scandir(folder):
        # A file may be gone before we come to it, and another user's is not ours to change.
        with suppress(FileNotFoundError, PermissionError):
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mode & 0o077:
                os.chmod(entry.path, PRIVATE)


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
