"""Idempotency cache: a request that is repeated with the same `Idempotency-Key` is handled once.

The first request with a key is handled by a task of its own, whose response is recorded; every request with
the key, the first included, gets that recording as it grows. A client that disconnects does not affect the
others; the task is cancelled when the last one disconnects. Complete responses are kept for a day; errors are
not, so that a client can retry. Each process has its own cache. With Redis, the task first looks for the
response of another gateway, or waits for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias, cast

from groundwire.errors import InvalidArguments, TurnedAway
from groundwire.model.value import value
from groundwire.server.asgi import (
    CONNECTION_KEY,
    AsgiMessage,
    Headers,
    HttpExchange,
    Scope,
    cancel_on_disconnect,
)

if TYPE_CHECKING:
    from groundwire.server.shared_responses import ResponseLease, SharedResponses

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


@value
class StoredResponse:
    """A complete response, and the digest of the request that it answers."""

    digest: bytes
    status: int
    headers: Headers
    body: bytes


class _Recording:
    """The recorded response to one request, and its readers."""

    def __init__(self, digest: bytes, expires: float) -> None:
        self.digest = digest
        self.expires = expires
        self.messages: list[AsgiMessage] = []
        self.size = 0
        self.complete = False
        self.is_replayed = False
        """Was the response recorded by another gateway?"""
        self.error: TurnedAway | None = None
        """Why there is no response."""
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

    async def follow(self, exchange: HttpExchange, *, is_first: bool) -> None:
        """Send the response to a client, from its start until it is complete."""
        while True:
            while (position := self.positions[exchange]) < len(self.messages):
                extra = () if is_first and not self.is_replayed else (_REPLAYED,)
                await _write(exchange, self.messages[position], extra)
                self.positions[exchange] = position + 1
                self.wake()
            if self.error is not None:
                raise self.error
            if self.complete:
                return
            await self.changed()


async def _write(exchange: HttpExchange, message: AsgiMessage, extra: Headers) -> None:
    if message["type"] == "http.response.start":
        headers = (*_headers(message), *extra)
        await exchange.start_response(cast("int", message["status"]), headers, flush=False)
    else:
        body = cast("bytes", message.get("body", b""))
        await exchange.write(body, more=bool(message.get("more_body")))


class IdempotencyCache:
    """Recorded responses by caller and idempotency key."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._recordings: OrderedDict[tuple[str, str], _Recording] = OrderedDict()
        self.shared: SharedResponses | None = None
        """The responses of all gateways, with Redis."""

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
            raise _used_before()
        recording.positions[exchange] = 0
        try:
            return await cancel_on_disconnect(exchange, recording.follow(exchange, is_first=is_first))
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
        lease = self.shared.lease(*name) if self.shared is not None else None
        keep = False
        try:
            if lease is not None and await self._replay(recording, lease):
                keep = recording.error is None
            else:
                keep = await handle(exchange) and recording.size <= MAX_RESPONSE_BYTES
        finally:
            recording.complete = True
            recording.wake()
            if lease is not None:
                lease.end(_stored(recording) if keep else None, KEEP_SECONDS)
            if keep:
                self._trim()
            else:
                self._drop(name, recording)

    async def _replay(self, recording: _Recording, lease: ResponseLease) -> bool:
        """Record the response of another gateway; False if the request must be handled here."""
        found = await lease.find()
        if found is None:
            return False
        if found.value.digest != recording.digest:
            recording.error = _used_before()
            return True
        recording.is_replayed = True
        recording.expires = self._clock() + found.seconds_left
        for message in _messages(found.value):
            await recording.send(message)
        return True

    def _drop(self, name: tuple[str, str], recording: _Recording) -> None:
        if self._recordings.get(name) is recording:
            del self._recordings[name]

    def _trim(self) -> None:
        """Drop expired responses, and while there are too many, the oldest of the caller who has most."""
        complete = {name: one for name, one in self._recordings.items() if one.complete}
        for name, one in tuple(complete.items()):
            if one.expires <= self._clock():
                self._drop(name, complete.pop(name))
        size = sum(one.size for one in complete.values())
        while complete and (len(self._recordings) > MAX_RESPONSES or size > MAX_TOTAL_BYTES):
            used: Counter[str] = Counter()
            for (caller, _), one in complete.items():
                used[caller] += one.size if size > MAX_TOTAL_BYTES else 1
            greedy = used.most_common(1)[0][0]
            oldest = next(name for name in complete if name[0] == greedy)
            size -= complete[oldest].size
            self._drop(oldest, complete.pop(oldest))


def _used_before() -> TurnedAway:
    return TurnedAway(status=422, message=f"this {HEADER} was used for a different request; use a new one")


def _stored(recording: _Recording) -> StoredResponse:
    """A recorded response as other gateways can send it."""
    start, *rest = recording.messages
    body = b"".join(cast("bytes", message.get("body", b"")) for message in rest)
    return StoredResponse(recording.digest, cast("int", start["status"]), _headers(start), body)


def _headers(start: AsgiMessage) -> Headers:
    pairs = cast("list[tuple[bytes, bytes]]", start["headers"])
    return tuple((name.decode("latin-1"), text.decode("latin-1")) for name, text in pairs)


def _messages(response: StoredResponse) -> tuple[AsgiMessage, AsgiMessage]:
    """The ASGI messages of a stored response."""
    headers = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in response.headers]
    return (
        {"type": "http.response.start", "status": response.status, "headers": headers},
        {"type": "http.response.body", "body": response.body, "more_body": False},
    )


def _detached_exchange(exchange: HttpExchange, body: bytes, recording: _Recording) -> HttpExchange:
    """The same request without its connection: its client never disconnects."""
    scope: Scope = {name: item for name, item in exchange.scope.items() if name != CONNECTION_KEY}
    unread: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> AsgiMessage:
        if unread:
            return unread.pop()
        return cast("AsgiMessage", await asyncio.get_running_loop().create_future())

    return HttpExchange(scope, receive, recording.send)
