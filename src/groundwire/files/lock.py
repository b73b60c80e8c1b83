"""File lock: one holder at a time, among all threads and processes.

The lock is the kernel's (`flock`) on a file next to the protected one, so it ends with the process that holds
it, however that ends. Waiting is polling with short sleeps, and always bounded. The lock file stays: removing
it would let two processes lock two files of one name.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from groundwire.errors import ConfigError, TimedOut
from groundwire.files.text_file import PRIVATE

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.02


@contextmanager
def locked(path: str | Path, timeout: float) -> Iterator[int]:
    """Hold the lock at `path`; yields its descriptor. Raises `TimedOut` when it is not free in time."""
    ends = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while (descriptor := _try_lock(path)) is None:
        if time.monotonic() >= ends:
            raise _still_held(path, timeout)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@asynccontextmanager
async def locked_async(
    path: str | Path, timeout: float, longest_pause: float = _LONGEST_PAUSE
) -> AsyncIterator[int]:
    """`locked` without blocking the event loop. A process that inherits the descriptor holds the lock too,
    even after this one is gone."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + timeout
    pause = _FIRST_PAUSE
    while (descriptor := _try_lock(path)) is None:
        if loop.time() >= ends:
            raise _still_held(path, timeout)
        await asyncio.sleep(pause)
        pause = min(2 * pause, longest_pause)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_held(path: str | Path) -> bool:
    """Does any process hold the lock at `path`? It does not need to be writable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        lock_file(descriptor, wait=False)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def lock_file(descriptor: int, *, wait: bool) -> None:
    """Take the kernel's lock on an open file. Without `wait`, raises `BlockingIOError` if it is held."""
    try:
        import fcntl  # noqa: PLC0415  POSIX only
    except ImportError:
        raise ConfigError(
            "This needs file locks of a POSIX system (Linux, macOS, BSD). Run groundwire there, or in WSL."
        ) from None
    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _try_lock(path: str | Path) -> int | None:
    """The descriptor that holds the lock; None while another holds it."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, PRIVATE)
    except OSError as error:
        raise _cannot_lock(path, error) from None
    taken = False
    try:
        lock_file(descriptor, wait=False)
        # The file may have been removed and made anew between opening and locking: then try again.
        taken = os.path.samestat(os.fstat(descriptor), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return None
    except OSError as error:
        raise _cannot_lock(path, error) from None
    finally:
        if not taken:
            os.close(descriptor)
    return descriptor if taken else None


def _still_held(path: str | Path, timeout: float) -> TimedOut:
    return TimedOut(f"another process has held {path} for {timeout:g} s; try again, or end it")


def _cannot_lock(path: str | Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path} cannot be locked ({error.strerror}); make its directory writable")
