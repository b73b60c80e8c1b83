"""Decodes large requests in a thread, so that the event loop goes on serving others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

LARGE = 128 * 1024
"""Bytes of a body from which a thread costs less than it saves."""


@cache
def _threads() -> ThreadPoolExecutor:
    # One: decoding is work for the interpreter, which does one thing at a time.
    return ThreadPoolExecutor(1, "groundwire-decoding")


async def decoded(body: bytes, decode: Callable[[], T]) -> T:
    """The result of `decode`, which reads the body."""
    if len(body) < LARGE:
        return decode()
    return await asyncio.get_running_loop().run_in_executor(_threads(), decode)
