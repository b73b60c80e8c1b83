"""Idempotency cache: a request that is repeated with the same `Idempotency-Key` is handled once.

The first request with a key is handled by a task of its own, whose response is recorded; every request with
the key, the first included, gets that recording as it grows. A client that disconnects does not affect the
others; the task is cancelled when the last one disconnects. Complete responses are kept for a day; errors are
not, so that a client can retry. Each worker has its own cache.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from time import monotonic
from typing import TypeAlias, cast

from groundwire.errors import InvalidArguments, TurnedAway
from groundwire.server.asgi import (
    CONNECTION_KEY,
    AsgiMessage,
    Headers,
    HttpExchange,
    Scope,
    cancel_on_disconnect,
)

HEADER = "idempotency-key"
KEEP_SECONDS = 24 * 3600.0
MAX_RESPONSES = 1000
MAX_TOTAL_BYTES = 64 * 2**20
MAX_RESPONSE_BYTES = 4 * 2**20
_MAX_KEY_LENGTH = 255
_DROPPED: AsgiMessage = {}
_REPLAYED = ("idempotent-replayed", "true")

Handle: TypeAlias = Callable[[HttpExchange], Awaitable[bool]]
"""Handles a request; returns whether the response is complete and not an error."""


class _Recording:
    """The recorded response to one request, and its readers."""

    def __init__(self, digest: bytes, expires: float) -> None:
        self.digest = digest
        self.expires = expires
        self.messages: list[AsgiMessage] = []
        self.size = 0
        self.complete = False
        self.task: asyncio.Task[None] | None = None
        self.positions: dict[HttpExchange, int] = {}
        """How many messages each connected client has received."""
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Wake all readers."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Wait for the next change."""
        await self._changed.wait()

    async def send(self, message: AsgiMessage) -> None:
        """Record an ASGI message. A response that is too large to keep waits for its readers."""
        self.messages.append(message)
        self.size += len(cast("bytes", message.get("body", b"")))
        self.wake()
        if self.size > MAX_RESPONSE_BYTES:
            while any(position < len(self.messages) for position in self.positions.values()):
                await self.changed()
            self.messages = [_DROPPED] * len(self.messages)

    async def follow(self, exchange: HttpExchange, extra: Headers) -> None:
        """Send the response to a client, from its start until it is complete."""
        while True:
            while (position := self.positions[exchange]) < len(self.messages):
                await _write(exchange, self.messages[position], extra)
                self.positions[exchange] = position + 1
                self.wake()
            if self.complete:
                return
            await self.changed()


async def _write(exchange: HttpExchange, message: AsgiMessage, extra: Headers) -> None:
    if message["type"] == "http.response.start":
        pairs = cast("list[tuple[bytes, bytes]]", message["headers"])
        headers = tuple((name.decode("latin-1"), text.decode("latin-1")) for name, text in pairs)
        await exchange.start_response(cast("int", message["status"]), (*headers, *extra), flush=False)
    else:
        body = cast("bytes", message.get("body", b""))
        await exchange.write(body, more=bool(message.get("more_body")))


class IdempotencyCache:
    """Recorded responses by caller and idempotency key."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._recordings: OrderedDict[tuple[str, str], _Recording] = OrderedDict()

    def __len__(self) -> int:
        return len(self._recordings)

    async def respond(self, exchange: HttpExchange, caller: str, limit: int, handle: Handle) -> bool:
        """Send the response to a request that is handled once; False if the client disconnected."""
        key = exchange.headers[HEADER]
        if not 0 < len(key) <= _MAX_KEY_LENGTH:
            raise InvalidArguments(f"{HEADER}: use 1 to {_MAX_KEY_LENGTH} characters")
        body = await exchange.read_json(limit)
        digest = sha256(f"{exchange.path}?{exchange.query}\n".encode() + body).digest()
        name = (caller, key)
        recording = self._find(name)
        is_first = recording is None
        if recording is None:
            recording = self._recordings[name] = _Recording(digest, self._clock() + KEEP_SECONDS)
            recording.task = asyncio.create_task(
                self._record(name, recording, handle, _detached_exchange(exchange, body, recording))
            )
        elif recording.digest != digest:
            raise TurnedAway(
                status=422,
                message=f"this {HEADER} was used for a different request; use a new one",
            )
        recording.positions[exchange] = 0
        try:
            return await cancel_on_disconnect(
                exchange, recording.follow(exchange, () if is_first else (_REPLAYED,))
            )
        finally:
            del recording.positions[exchange]
            recording.wake()
            if not recording.positions and not recording.complete and recording.task is not None:
                self._drop(name, recording)
                recording.task.cancel()

    def _find(self, name: tuple[str, str]) -> _Recording | None:
        found = self._recordings.get(name)
        if found is not None and (
            found.size > MAX_RESPONSE_BYTES or (found.complete and found.expires <= self._clock())
        ):
            self._drop(name, found)
            return None
        return found

    async def _record(
        self, name: tuple[str, str], recording: _Recording, handle: Handle, exchange: HttpExchange
    ) -> None:
        keep = False
        try:
            keep = await handle(exchange) and recording.size <= MAX_RESPONSE_BYTES
        finally:
            recording.complete = True
            recording.wake()
            if keep:
                self._trim()
            else:
                self._drop(name, recording)

    def _drop(self, name: tuple[str, str], recording: _Recording) -> None:
        if self._recordings.get(name) is recording:
            del self._recordings[name]

    def _trim(self) -> None:
        """Drop the oldest responses while there are too many."""
        complete = [(name, one) for name, one in self._recordings.items() if one.complete]
        size = sum(one.size for _, one in complete)
        for name, one in complete:
            if (
                len(self._recordings) <= MAX_RESPONSES
                and size <= MAX_TOTAL_BYTES
                and one.expires > self._clock()
            ):
                return
            size -= one.size
            self._drop(name, one)


def _detached_exchange(exchange: HttpExchange, body: bytes, recording: _Recording) -> HttpExchange:
    """The same request without its connection: its client never disconnects."""
    scope: Scope = {name: item for name, item in exchange.scope.items() if name != CONNECTION_KEY}
    unread: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> AsgiMessage:
        if unread:
            return unread.pop()
        return cast("AsgiMessage", await asyncio.get_running_loop().create_future())

    return HttpExchange(scope, receive, recording.send)
