"""Choose the library that reads JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from groundwire.dialects.json import JsonLibrary, msgspec_library, use_library

MSGSPEC = msgspec_library()


@contextmanager
def library(chosen: JsonLibrary) -> Iterator[None]:
    """Use a library within the block, and then msgspec again."""
    use_library(chosen)
    try:
        yield
    finally:
        use_library(MSGSPEC)
