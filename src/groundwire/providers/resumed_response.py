"""The stream of a background response of OpenAI, over as many connections as needed.

A stream that breaks is resumed after the last event that arrived. A request that is cancelled here is
cancelled at the vendor too, where it would go on and be billed.

| request | |
|---|---|
| `POST /responses` with `background` and `stream` | starts it |
| `GET /responses/{id}?stream=true&starting_after=N` | resumes the stream |
| `POST /responses/{id}/cancel` | stops it |
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from urllib.parse import quote

from groundwire.credentials.redact import UnshownHeaders
from groundwire.dialects.fields import as_object
from groundwire.dialects.sse import Frame, FrameReader, encode_frame
from groundwire.errors import GroundwireError, Interrupted, TimedOut, Unreachable
from groundwire.model import JsonObject
from groundwire.model.value import replace
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.response import Response

MAX_SECONDS = 3600.0
"""OpenAI's deep research takes tens of minutes."""
_ATTEMPTS = 6
"""Attempts to resume without a new event, before the answer counts as lost."""
_FIRST_WAIT = 0.5
_CANCEL = Deadlines(connect=3.0, first_byte=5.0, idle=5.0, total=5.0)
_LOST = (Interrupted, TimedOut, Unreachable)
_FINAL = frozenset({"response.completed", "response.failed", "response.incomplete", "response.cancelled"})
_WORTH_REPEATING = frozenset({408, 409, 429})
_OF_A_BODY = frozenset({"content-type", "content-length"})
_CUT = "the stream ended before the answer was complete"


class ResumingHttp(Http):
    """HTTP client whose responses are streams of background responses."""

    def __init__(self, http: Http, wait: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._http = http
        self._wait = wait

    def open(self, request: HttpRequest, deadlines: Deadlines) -> AbstractAsyncContextManager[Response]:
        """Start the response, and read its stream inside the block."""
        return self._open(request, replace(deadlines, total=MAX_SECONDS))

    @asynccontextmanager
    async def _open(self, request: HttpRequest, deadlines: Deadlines) -> AsyncIterator[Response]:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(self._http.open(request, deadlines))
            if not 200 <= first.status < 300:
                yield first
                return
            stream = ResumedResponse(first, self._http, request, deadlines, self._wait, stack)
            try:
                yield stream
            finally:
                if stream.response_id and not stream.is_final:
                    # The task that waits here may be cancelled; the vendor must get the request anyway.
                    await asyncio.shield(asyncio.ensure_future(self._cancel(request, stream.response_id)))

    async def _cancel(self, request: HttpRequest, response_id: str) -> None:
        call = replace(
            request,
            url=f"{request.url}/{quote(response_id, safe='')}/cancel",
            headers=_without_body(request),
            body=b"",
        )
        with suppress(GroundwireError):
            async with self._http.open(call, _CANCEL) as response:
                await response.drain()


class ResumedResponse(Response):
    """The stream of one background response: whole events, without gaps, whatever connections break."""

    __slots__ = (
        "_attempts",
        "_call",
        "_deadlines",
        "_http",
        "_number",
        "_reader",
        "_response",
        "_stack",
        "_wait",
        "is_final",
        "response_id",
    )

    def __init__(
        self,
        first: Response,
        http: Http,
        call: HttpRequest,
        deadlines: Deadlines,
        wait: Callable[[float], Awaitable[None]],
        stack: AsyncExitStack,
    ) -> None:
        self.status = first.status
        self.headers = first.headers
        self._peeked = b""
        self._response = first
        self._http = http
        self._call = call
        self._deadlines = deadlines
        self._wait = wait
        self._stack = stack
        self._reader = FrameReader()
        self._number = -1
        self._attempts = 0
        self._ends = asyncio.get_running_loop().time() + MAX_SECONDS
        self.response_id = ""
        """Known after the first event."""
        self.is_final = False
        """Has the vendor sent its last event?"""

    async def read(self) -> bytes:
        """The next events, empty at the end of the answer. Raises the error of a connection that cannot be
        resumed."""
        if self._peeked:
            peeked, self._peeked = self._peeked, b""
            return peeked
        while True:
            try:
                chunk = await self._response.read()
            except _LOST as error:
                await self._resume(error)
                continue
            if not chunk and not self.is_final and self.response_id:
                await self._resume(Interrupted(_CUT))
            elif events := self._whole_events(chunk):
                return events
            elif not chunk:
                return b""

    async def pump(self, receive: Callable[[bytes], bool]) -> bool:
        """Pass the events to `receive` as they arrive, until it returns True; False if they end before."""
        while chunk := await self.read():
            if receive(chunk):
                return True
        return False

    async def drain(self) -> bytes:
        """What is left of the current connection."""
        return await self._response.drain()

    def _whole_events(self, chunk: bytes) -> bytes:
        frames = self._reader.feed(chunk) if chunk else self._reader.close()
        if self._reader.is_json:
            return chunk  # a server that does not stream
        return b"".join(self._taken(frame) for frame in frames)

    def _taken(self, frame: Frame) -> bytes:
        """An event of the stream, once."""
        event = _event(frame)
        number = event.get("sequence_number")
        if isinstance(number, int):
            if number <= self._number:
                return b""
            self._number = number
        self._attempts = 0
        response_id = as_object(event.get("response")).get("id")
        if isinstance(response_id, str):
            self.response_id = response_id
        self.is_final = self.is_final or event.get("type") in _FINAL
        return encode_frame(frame.event, frame.data.decode("utf-8", "replace"))

    async def _resume(self, error: GroundwireError) -> None:
        """Connect again after the last event; raises the error if that is not possible."""
        if not self.response_id or asyncio.get_running_loop().time() >= self._ends:
            raise error
        while self._attempts < _ATTEMPTS:
            await self._wait(_FIRST_WAIT * 2**self._attempts)
            self._attempts += 1
            await self._stack.aclose()
            opened = self._http.open(self._next_call(), self._deadlines)
            try:
                response = await self._stack.enter_async_context(opened)
            except _LOST:
                continue
            if response.status == 200:
                self._response, self._reader = response, FrameReader()
                return
            if response.status < 500 and response.status not in _WORTH_REPEATING:
                break
        raise error

    def _next_call(self) -> HttpRequest:
        after = f"&starting_after={self._number}" if self._number >= 0 else ""
        url = f"{self._call.url}/{quote(self.response_id, safe='')}?stream=true{after}"
        return HttpRequest("GET", url, _without_body(self._call))


def _event(frame: Frame) -> JsonObject:
    try:
        return as_object(json.loads(frame.data))
    except ValueError:
        return {}


def _without_body(call: HttpRequest) -> UnshownHeaders:
    return UnshownHeaders({name: text for name, text in call.headers.items() if name not in _OF_A_BODY})
