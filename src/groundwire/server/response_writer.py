"""Writes a response while it is produced: delayed head, keep-alive pings, stalled clients; and its metadata.

The response head is delayed until the first bytes, so that an early error still gets an HTTP status. If that
takes long, the head is sent anyway, followed by pings where clients of the dialect tolerate them. A client
that does not read its response is disconnected.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Literal

from groundwire.errors import GroundwireError
from groundwire.model import Event, Failed, Finished, JsonObject, Started, UsageSeen, Warned
from groundwire.model.events import NO_USAGE
from groundwire.model.value import replace, value
from groundwire.routing.continuation import add_usage
from groundwire.server.asgi import Headers, HttpExchange

if TYPE_CHECKING:
    from groundwire.routing.cache import CacheStatus

_MAX_RETRY_AFTER = 24 * 3600
_MAX_WARNINGS_HEADER = 2000
_OBSERVED = frozenset({Started, Warned, UsageSeen, Finished, Failed})


@value
class ResponseTimeouts:
    """Timeouts of a response, in seconds."""

    head: float = 10.0
    """Until the response head is sent although there is nothing to send after it."""
    ping: float = 10.0
    """Between pings."""
    stall: float = 30.0
    """Until a client that does not read is disconnected."""


def buffered_timeouts(timeouts: ResponseTimeouts) -> ResponseTimeouts:
    """Timeouts of a response that is not streamed: wait longer for its status, then ping every second."""
    return replace(timeouts, head=2 * timeouts.head, ping=min(timeouts.ping, 1.0))


def retry_after_header(error: GroundwireError) -> Headers:
    """The `Retry-After` header of an error that has one: between a second and a day."""
    wait = getattr(error, "retry_after", None)
    if not isinstance(wait, int | float) or wait != wait:  # noqa: PLR0124  NaN
        return ()
    return (("retry-after", str(round(min(max(1, wait), _MAX_RETRY_AFTER)))),)


def warnings_header(warnings: Iterable[Warned]) -> str:
    """`x-groundwire-warnings`: a JSON list in ASCII, with as many warnings as fit."""
    kept: list[JsonObject] = []
    size = 2
    for warning in warnings:
        entry: JsonObject = {"code": warning.code, "message": warning.message[:300]}
        size += len(json.dumps(entry)) + 2
        if size > _MAX_WARNINGS_HEADER:
            break
        kept.append(entry)
    return json.dumps(kept)


class ResponseInfo:
    """Metadata of a response, collected from its events: provider, model, usage, warnings, cache status."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.provider = ""
        self.model = ""
        self.usage = NO_USAGE
        self.warnings: list[Warned] = []
        self.cache: CacheStatus | None = None
        self.finish: Literal["", "finished", "failed"] = ""

    def observe_events(self, events: Iterable[Event]) -> None:
        """Update the metadata from events that are about to be sent."""
        for event in events:
            if type(event) not in _OBSERVED:
                continue
            if isinstance(event, Started):
                self.provider = event.provider or self.provider
                self.model = event.model or self.model
            elif isinstance(event, Warned):
                self.warnings.append(event)
            elif isinstance(event, UsageSeen):
                self.usage = event.usage
            else:
                self.finish = "failed" if isinstance(event, Failed) else "finished"

    def merge(self, other: ResponseInfo) -> None:
        """Add the metadata of another answer that is part of the same response."""
        self.provider, self.model = other.provider or self.provider, other.model or self.model
        self.warnings += other.warnings
        self.usage = add_usage(self.usage, other.usage)

    def set_cache_status(self, status: CacheStatus) -> None:
        """Record whether the answer is from the cache."""
        self.cache = status

    def headers(self, content_type: str) -> Headers:
        """The response headers, from what is known so far."""
        head = [("content-type", content_type), ("x-request-id", self.request_id)]
        if self.provider:
            head.append(("x-groundwire-provider", self.provider))
        if self.warnings:
            head.append(("x-groundwire-warnings", warnings_header(self.warnings)))
        if self.cache:
            head.append(("x-groundwire-cache", self.cache.state))
            if self.cache.state != "miss":
                head.append(("age", str(self.cache.age)))
        return tuple(head)


class StreamingResponse:
    """Context manager that writes a streamed response. A timer sends the head and pings while it is quiet."""

    def __init__(
        self,
        exchange: HttpExchange,
        headers: Callable[[], Headers],
        ping: Callable[[], bytes],
        timeouts: ResponseTimeouts,
    ) -> None:
        self._exchange = exchange
        self._connection = exchange.connection
        self._headers = headers
        self._ping = ping
        self._timeouts = timeouts
        self._last_write = monotonic()
        self._write_began = 0.0
        """When the write in progress began; 0 while there is none."""
        self._timer: asyncio.TimerHandle | None = None
        self._ping_task: asyncio.Task[None] | None = None
        self._task = asyncio.current_task()
        self.stalled = False
        """Was the client disconnected because it did not read?"""

    def __enter__(self) -> StreamingResponse:
        self._schedule(min(self._timeouts.head, self._timeouts.ping))
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._ping_task is not None:
            self._ping_task.cancel()

    @property
    def started(self) -> bool:
        """Has the response head been sent?"""
        return self._exchange.response_started

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send bytes, after the head if it has not been sent."""
        if not self._exchange.response_started:
            await self._exchange.start_response(200, self._headers(), flush=False)
        self._last_write = self._write_began = monotonic()
        await self._exchange.write(data, more=more)
        self._write_began = 0.0

    @property
    def can_write_now(self) -> bool:
        """Would `write_now` succeed?"""
        return self._connection is not None and self._connection.can_write_now

    def write_now(self, data: bytes) -> bool:
        """Send bytes of the body at once; False if the client reads slower than we write."""
        if self._connection is None or not self._connection.write_now(data):
            return False
        self._last_write = monotonic()
        return True

    def _schedule(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check)

    def _check(self) -> None:
        """Disconnect a client that does not read, or send a ping if nothing was written for a while."""
        now = monotonic()
        if self._write_began:
            if now - self._write_began >= self._timeouts.stall and self._task is not None:
                self.stalled = True
                self._exchange.abort()
                self._task.cancel()
                return
            self._schedule(self._timeouts.stall - (now - self._write_began) + 0.1)
            return
        pause = self._timeouts.ping if self.started else self._timeouts.head
        if now - self._last_write >= pause - 0.01:
            self._last_write = now
            self._ping_task = asyncio.create_task(self._send_ping())
        self._schedule(max(pause - (now - self._last_write), 0.05))

    async def _send_ping(self) -> None:
        if not self._exchange.response_started:
            await self._exchange.start_response(200, self._headers())
        if ping := self._ping():
            await self._exchange.write(ping)
