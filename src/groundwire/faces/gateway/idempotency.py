"""`Idempotency-Key`: the same request sent twice is answered once.

The first request with a key is handled by a task of its own, whose response is recorded; every request with
the key, the first included, gets that recording as it grows. A client that disconnects does not affect the
others; the task is cancelled when the last one disconnects. Complete responses are kept for a while, errors
are not, so that a client may try again. Each worker keeps its own.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from time import monotonic
from typing import TypeAlias, cast

from groundwire.errors import InvalidArguments, TurnedAway
from groundwire.faces.gateway.asgi import LINE, Headers, Inbound, Message, Scope, cancel_on_disconnect

HEADER = "idempotency-key"
SECONDS = 24 * 3600.0
"""For which a response is kept."""
MOST = 1000
MOST_BYTES = 64 * 2**20
LARGEST = 4 * 2**20
"""Bytes of a response that can still be kept."""
_LONGEST_KEY = 255
_DROPPED: Message = {}
_REPLAYED = ("idempotent-replayed", "true")

Handle: TypeAlias = Callable[[Inbound], Awaitable[bool]]
"""Answers a request, and says whether the answer is complete and no error."""


class _Recording:
    """The response to one request, and who reads it."""

    def __init__(self, digest: bytes, until: float) -> None:
        self.digest = digest
        self.until = until
        self.messages: list[Message] = []
        self.size = 0
        self.is_over = False
        self.task: asyncio.Task[None] | None = None
        self.read: dict[Inbound, int] = {}
        """How many messages each of the connected clients has got."""
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Tell all who wait that something has changed."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Wait until something changes."""
        await self._changed.wait()

    async def send(self, message: Message) -> None:
        """Add a message of the application's; one that is too large to keep waits for its readers."""
        self.messages.append(message)
        self.size += len(cast("bytes", message.get("body", b"")))
        self.wake()
        if self.size > LARGEST:
            while any(place < len(self.messages) for place in self.read.values()):
                await self.changed()
            self.messages = [_DROPPED] * len(self.messages)

    async def follow(self, inbound: Inbound, more: Headers) -> None:
        """Write the response to a client, as far as it has come and as it goes on."""
        while True:
            while (place := self.read[inbound]) < len(self.messages):
                await _write(inbound, self.messages[place], more)
                self.read[inbound] = place + 1
                self.wake()
            if self.is_over:
                return
            await self.changed()


async def _write(inbound: Inbound, message: Message, more: Headers) -> None:
    if message["type"] == "http.response.start":
        pairs = cast("list[tuple[bytes, bytes]]", message["headers"])
        headers = tuple((name.decode("latin-1"), text.decode("latin-1")) for name, text in pairs)
        await inbound.begin(cast("int", message["status"]), (*headers, *more), alone=False)
    else:
        body = cast("bytes", message.get("body", b""))
        await inbound.write(body, more=bool(message.get("more_body")))


class Idempotency:
    """The recordings by caller and key."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], _Recording] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def answer(self, inbound: Inbound, caller: str, limit: int, handle: Handle) -> bool:
        """Answer a request once; says whether the client stayed to the end."""
        key = inbound.headers[HEADER]
        if not 0 < len(key) <= _LONGEST_KEY:
            raise InvalidArguments(f"{HEADER}: use 1 to {_LONGEST_KEY} characters")
        body = await inbound.body(limit)
        digest = sha256(f"{inbound.path}?{inbound.query}\n".encode() + body).digest()
        name = (caller, key)
        recording = self._find(name)
        is_first = recording is None
        if recording is None:
            recording = self._kept[name] = _Recording(digest, self._clock() + SECONDS)
            recording.task = asyncio.create_task(
                self._record(name, recording, handle, _detached(inbound, body, recording))
            )
        elif recording.digest != digest:
            raise TurnedAway(
                status=422,
                message=f"this {HEADER} was used for another request; use a new one",
            )
        recording.read[inbound] = 0
        try:
            return await cancel_on_disconnect(
                inbound, recording.follow(inbound, () if is_first else (_REPLAYED,))
            )
        finally:
            del recording.read[inbound]
            recording.wake()
            if not recording.read and not recording.is_over and recording.task is not None:
                self._forget(name, recording)
                recording.task.cancel()

    def _find(self, name: tuple[str, str]) -> _Recording | None:
        found = self._kept.get(name)
        if found is not None and (found.size > LARGEST or (found.is_over and found.until <= self._clock())):
            self._forget(name, found)
            return None
        return found

    async def _record(
        self, name: tuple[str, str], recording: _Recording, handle: Handle, inbound: Inbound
    ) -> None:
        is_kept = False
        try:
            is_kept = await handle(inbound) and recording.size <= LARGEST
        finally:
            recording.is_over = True
            recording.wake()
            if is_kept:
                self._trim()
            else:
                self._forget(name, recording)

    def _forget(self, name: tuple[str, str], recording: _Recording) -> None:
        if self._kept.get(name) is recording:
            del self._kept[name]

    def _trim(self) -> None:
        """Forget the oldest responses while there are too many."""
        over = [(name, one) for name, one in self._kept.items() if one.is_over]
        size = sum(one.size for _, one in over)
        for name, one in over:
            if len(self._kept) <= MOST and size <= MOST_BYTES and one.until > self._clock():
                return
            size -= one.size
            self._forget(name, one)


def _detached(inbound: Inbound, body: bytes, recording: _Recording) -> Inbound:
    """The same request, from a client that stays."""
    scope: Scope = {name: item for name, item in inbound.scope.items() if name != LINE}
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if unread:
            return unread.pop()
        return cast("Message", await asyncio.get_running_loop().create_future())

    return Inbound(scope, receive, recording.send)
