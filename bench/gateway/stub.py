"""The upstream: canned answers in every dialect, by path, with as little CPU as Python allows.

The path is `/VARIANT/` followed by the provider's own path. The process is not measured; it must only be fast
enough for the fastest contender.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import cast

from gateway.payloads import VARIANTS, Canned, Variant, canned

BACKLOG = 4096
_ENDS = (
    (b"/chat/completions", "openai_chat"),
    (b"/responses", "openai_responses"),
    (b"/messages", "anthropic_messages"),
    (b"enerateContent", "gemini"),
)
_STREAMED = (b'"stream":true', b'"stream": true')


class CannedAnswers:
    """The answers by path, each encoded on first use."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, str], Canned] = {}

    def at(self, path: bytes) -> tuple[Variant, Canned] | None:
        name = path.split(b"/", 2)[1].decode()
        bare = path.partition(b"?")[0]
        dialect_name = next((dialect for end, dialect in _ENDS if bare.endswith(end)), "")
        if name not in VARIANTS or not dialect_name:
            return None
        key = (name, dialect_name)
        if key not in self._cache:
            self._cache[key] = canned(dialect_name, VARIANTS[name])
        return VARIANTS[name], self._cache[key]


class Pacer:
    """Sends the frames of all paced streams, with one timer of the event loop for all of them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: list[tuple[float, int, asyncio.Transport, Iterator[bytes], float]] = []
        self._number = count()
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport, frames: Iterable[bytes], pause: float) -> None:
        """Send these frames, the first one after the pause."""
        due = self._loop.time() + pause
        heappush(self._due, (due, next(self._number), transport, iter(frames), pause))
        if self._due[0][0] == due:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._due[0][0], self._send_due)

    def _send_due(self) -> None:
        self._timer = None
        due, now = self._due, self._loop.time()
        while due and due[0][0] <= now:
            when, number, transport, frames, pause = due[0]
            frame = next(frames, None)
            if frame is None or transport.is_closing():
                heappop(due)
            else:
                transport.write(frame)
                heapreplace(due, (when + pause, number, transport, frames, pause))
        if due:
            self._set_timer()


class Stub(asyncio.Protocol):
    """A server connection. Requests are answered one after the other."""

    def __init__(self, answers: CannedAnswers, pacer: Pacer) -> None:
        self._answers = answers
        self._pacer = pacer
        self._pending = b""
        self._loop = asyncio.get_running_loop()
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._pending += data
        while b"\r\n\r\n" in self._pending:
            head, _, rest = self._pending.partition(b"\r\n\r\n")
            lower = head.lower()
            if b"transfer-encoding: chunked" in lower:
                if not rest.endswith(b"0\r\n\r\n"):
                    return
                size = len(rest)
            else:
                size = int(lower.partition(b"content-length:")[2].partition(b"\r")[0] or 0)
            if len(rest) < size:
                return
            self._pending = rest[size:]
            self._answer(head.split(b" ", 2)[1], rest[:size])

    def _answer(self, path: bytes, body: bytes) -> None:
        found = self._answers.at(path)
        if found is None:
            self._transport.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        variant, answer = found
        if not (b"streamGenerateContent" in path or any(flag in body for flag in _STREAMED)):
            self._transport.write(answer.whole)
        elif variant.end == "open":
            self._transport.write(answer.head + b"".join(answer.frames[:5]))
        elif variant.end == "endless":
            self._transport.write(answer.head)
            self._flood(b"".join(answer.frames[3:100]))
        elif variant.pause:
            # Pacing starts after the first token; everything before it is sent at once.
            self._transport.write(answer.head + b"".join(answer.frames[: answer.lead]))
            self._pacer.start(self._transport, answer.frames[answer.lead :], variant.pause)
        else:
            self._transport.write(answer.head + b"".join(answer.frames))

    def _flood(self, frames: bytes) -> None:
        if not self._transport.is_closing():
            if not self._paused:
                self._transport.write(frames)
            self._loop.call_later(0.001, self._flood, frames)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False


async def serve() -> None:
    """Print the port, and serve until standard input is closed."""
    answers = CannedAnswers()
    pacer = Pacer()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stub(answers, pacer), "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
