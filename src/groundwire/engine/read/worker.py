"""The worker process that reads documents: `python -m groundwire.engine.read.worker`.

It ends when its input ends, after a minute without work, or at the limits it sets itself: processor time
for each document, memory for all, and no file may grow.
"""

from __future__ import annotations

import os
import select
import sys
from typing import BinaryIO

from groundwire.engine.read import read
from groundwire.engine.read.document import ReadResult
from groundwire.engine.read.sandbox import decode_document, encode_reading
from groundwire.errors import GroundwireError

MEMORY = 1024 * 1024 * 1024
_LENGTH = 4
_IDLE_SECONDS = 60.0
_MOST_DOCUMENTS = 500
"""Documents after which a new worker takes over, so that leaked memory is freed."""


def main() -> None:
    """Reads documents until the input ends."""
    limit_memory()
    source, target = sys.stdin.buffer, sys.stdout.buffer
    for _ in range(_MOST_DOCUMENTS):
        request = _next_request(source.fileno())
        if request is None:
            return
        response = encode_reading(respond(request))
        target.write(len(response).to_bytes(_LENGTH))
        target.write(response)
        target.flush()


def respond(request: bytes) -> ReadResult:
    """Reads one document. Exceptions of a parser become the reason why there is no page."""
    try:
        document, seconds = decode_document(request)
        limit_processor(seconds)
        return read(document)
    except MemoryError:
        return ReadResult(why="it cannot be read within the memory it may use")
    except (RecursionError, GroundwireError, ValueError, LookupError, TypeError, AttributeError) as error:
        return ReadResult(why=f"it cannot be read ({type(error).__name__})")


def limit_memory() -> None:
    """Limits the memory of this process, if the system supports it."""
    try:
        import resource  # noqa: PLC0415  POSIX only
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def limit_processor(seconds: float) -> None:
    """Limits the CPU time from now on: the parent may be gone and cannot kill this process at the
    deadline."""
    try:
        import resource  # noqa: PLC0415  POSIX only
    except ImportError:
        return
    spent = resource.getrusage(resource.RUSAGE_SELF)
    until = int(spent.ru_utime + spent.ru_stime + seconds) + 2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(
        resource.RLIMIT_CPU, (until if hard == resource.RLIM_INFINITY else min(until, hard), hard)
    )


def _next_request(descriptor: int) -> bytes | None:
    if os.name == "posix" and not select.select([descriptor], [], [], _IDLE_SECONDS)[0]:
        return None
    with os.fdopen(descriptor, "rb", closefd=False, buffering=0) as source:
        head = _exactly(source, _LENGTH)
        return None if head is None else _exactly(source, int.from_bytes(head))


def _exactly(source: BinaryIO, length: int) -> bytes | None:
    pieces: list[bytes] = []
    while length:
        piece = source.read(min(length, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


if __name__ == "__main__":
    main()
