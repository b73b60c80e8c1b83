"""The upstream: canned answers of every dialect, by path, as cheaply as Python allows.

The path is `/VARIANT/...` and ends as the provider's own does. Its process is no contender; it must only be
fast enough for the cheapest of them.
"""

from __future__ import annotations

import asyncio
import sys
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


class Answers:
    """The answers by path, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Canned] = {}

    def at(self, path: bytes) -> tuple[Variant, Canned] | None:
        name = path.split(b"/", 2)[1].decode()
        bare = path.partition(b"?")[0]
        speaks = next((dialect for end, dialect in _ENDS if bare.endswith(end)), "")
        if name not in VARIANTS or not speaks:
            return None
        key = (name, speaks)
        if key not in self._made:
            self._made[key] = canned(speaks, VARIANTS[name])
        return VARIANTS[name], self._made[key]


class Stub(asyncio.Protocol):
    """One connection. Requests are answered one after the other."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
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
        if not (b"streamGenerateContent" in path or any(sign in body for sign in _STREAMED)):
            self._transport.write(answer.whole)
        elif variant.end == "open":
            self._transport.write(answer.head + b"".join(answer.frames[:5]))
        elif variant.end == "endless":
            self._transport.write(answer.head)
            self._flood(b"".join(answer.frames[3:100]))
        elif variant.pause:
            # Up to the first token at once: what comes before it is not what is paced.
            self._transport.write(answer.head + b"".join(answer.frames[: answer.lead]))
            self._pace(answer.frames[answer.lead - 1 :], 1, self._loop.time(), variant.pause)
        else:
            self._transport.write(answer.head + b"".join(answer.frames))

    def _pace(self, frames: tuple[bytes, ...], place: int, since: float, pause: float) -> None:
        if place == len(frames) or self._transport.is_closing():
            return
        due = since + place * pause
        self._loop.call_at(due, self._tell, frames, place, since, pause)

    def _tell(self, frames: tuple[bytes, ...], place: int, since: float, pause: float) -> None:
        if not self._transport.is_closing():
            self._transport.write(frames[place])
            self._pace(frames, place + 1, since, pause)

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
    """Prints its port, and serves until its input is closed."""
    answers = Answers()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stub(answers), "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
