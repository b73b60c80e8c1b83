"""One process at a time, without stopping the others' event loops; and work that is not left half done.

The lock is the kernel's (`flock`) on a file beside the store, so it ends with the process that holds it,
however that ends. Waiting is polling with short sleeps; nobody waits for ever. The file stays: removing it
would let two processes lock two files of one name.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

from groundwire.errors import ConfigError, TimedOut
from groundwire.files.text_file import PRIVATE, lock_file

T = TypeVar("T")

_FIRST_PAUSE = 0.002


@asynccontextmanager
async def locked(store: str, patience: float, longest_pause: float) -> AsyncIterator[int]:
    """Hold the lock of a store, by this descriptor: a process that inherits it holds the lock as well, also
    when we are gone. Raises `TimedOut` when the lock is not free in time."""
    path = f"{store}.lock"
    loop = asyncio.get_running_loop()
    ends = loop.time() + patience
    pause = _FIRST_PAUSE
    while (held := _try_lock(path)) is None:
        if loop.time() >= ends:
            raise TimedOut(f"another process has held {path} for {patience:g} s; try again, or end it")
        await asyncio.sleep(pause)
        pause = min(2 * pause, longest_pause)
    try:
        yield held
    finally:
        os.close(held)


async def uninterrupted(work: Coroutine[object, object, T], grace: float) -> T:
    """The result of some work. When the caller is cancelled, it leaves after the work, or after the grace."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=grace)
        raise
    finally:
        if not task.done():
            task.cancel()
        elif not task.cancelled():
            task.exception()  # heard, even if nobody is left to tell


def _try_lock(path: str) -> int | None:
    """The descriptor that holds the lock; None when another holds it."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, PRIVATE)
    except OSError as error:
        raise _cannot_lock(path, error) from None
    try:
        lock_file(descriptor, wait=False)
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass  # held by another, or removed by a stranger in between: look again
    except OSError as error:
        os.close(descriptor)
        raise _cannot_lock(path, error) from None
    os.close(descriptor)
    return None


def _cannot_lock(path: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"{path} cannot be locked ({error.strerror}), so the session is not refreshed; "
        "make its directory writable, or log in where it is"
    )
