"""Runs an answer apart from its request, and writes it to the spool."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING

from groundwire.dialects.base import StreamEncoder
from groundwire.dialects.fields import as_object
from groundwire.dialects.openai_responses.response import encode_head
from groundwire.dialects.openai_responses.search import NAME, own_extras
from groundwire.dialects.sse import FrameReader
from groundwire.errors import GroundwireError, InvalidArguments, TurnedAway
from groundwire.faces.gateway.handler import Batches, EarlyWarnings, ParsedRequest
from groundwire.model import Answer, Failed, JsonObject, Request
from groundwire.model.value import replace
from groundwire.server.response_spool import ResponseSpool
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.shutdown import closing_error

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

log = logging.getLogger("groundwire.gateway")

MAX_SECONDS = 3600.0
"""OpenAI's deep research takes tens of minutes."""
MAX_BYTES = 16 * 2**20
"""Of the stream of one response."""
_SAVE_SECONDS = 0.1
_RETRY_SECONDS = 1.0
_LAST_SAVE_SECONDS = 300.0
"""How long the end of an answer is kept for a store that does not respond."""
_FIELD = "background"


def is_background(request: Request) -> bool:
    """Is the answer to go on after the request? Raises `InvalidArguments` if it may not be stored."""
    extras = own_extras(request.extras)
    if extras.get(_FIELD) is not True:
        return False
    if extras.get("store") is False:
        raise InvalidArguments("background responses are stored until they are read; leave out store: false")
    return True


def foreground_request(parsed: ParsedRequest) -> ParsedRequest:
    """The request as a provider gets it: the gateway runs it, and the vendor too if it can."""
    extras = dict(own_extras(parsed.request.extras))
    extras.pop(_FIELD, None)
    request = replace(
        parsed.request,
        wire=None,
        stream=True,
        background=True,
        extras={**parsed.request.extras, NAME: extras},
    )
    return replace(parsed, request=request)


async def start_background(
    app: HttpApp, context: RequestContext, parsed: ParsedRequest, batches: Batches, info: ResponseInfo
) -> str:
    """Run the answer in a task of its own; return its name in the spool."""
    name = f"resp_{parsed.reply.id}"
    head = encode_head(Answer(), parsed.reply)
    await asyncio.to_thread(app.responses.create, name, context.owner, {**head, "status": "queued"})
    own = context.detached()
    work = _Run(app.responses, name, parsed, info, head)

    async def run() -> None:
        began = monotonic()
        try:
            await work.run(batches)
        except Exception:
            log.exception("background response %s failed", own.request_id)
        finally:
            own.record_response(info)
            app.record_usage(own, monotonic() - began)

    app.background.spawn(run())
    return name


class _Run:
    """One answer that is written to the spool.

    The answer is collected here and saved several times a second, so a slow store does not slow it, and a
    store that fails for a while loses nothing of it.
    """

    def __init__(
        self, spool: ResponseSpool, name: str, parsed: ParsedRequest, info: ResponseInfo, head: JsonObject
    ) -> None:
        self._spool = spool
        self._name = name
        self._parsed = parsed
        self._info = info
        self._head = head
        self._encoder: StreamEncoder = parsed.dialect.encoder(parsed.reply)
        self._early = EarlyWarnings()
        self._reader = FrameReader()
        self._saved = 0
        """Bytes of the stream that are saved."""
        self._events = b""
        """Those that are not."""
        self._body: JsonObject | None = {**head, "status": "in_progress"}
        """The state, if it is not saved."""

    async def run(self, batches: Batches) -> None:
        """Write the answer until it ends, is cancelled, or takes too long."""
        task = asyncio.create_task(self._collect(batches))
        deadline = monotonic() + MAX_SECONDS
        try:
            while not (await asyncio.wait({task}, timeout=_SAVE_SECONDS))[0]:
                goes_on = await self._save()
                if task.done():
                    break
                if not goes_on:
                    await _cancelled(task)
                    self._body = {**self._head, "status": "cancelled"}
                elif monotonic() > deadline:
                    await _cancelled(task)
                    self._fail(TurnedAway(f"the answer took more than {MAX_SECONDS:.0f} s", status=504))
        except asyncio.CancelledError:
            await _cancelled(task)
            self._fail(closing_error())
            await self._save()
            raise
        finally:
            task.cancel()
        await self._save_all()

    async def _collect(self, batches: Batches) -> None:
        try:
            async with aclosing(batches):
                async for batch in batches:
                    changed = self._parsed.transformed(batch)
                    self._info.observe_events(changed)
                    self._add(self._encoder.feed_all(self._early.feed(changed)))
                    if self._saved + len(self._events) > MAX_BYTES:
                        self._body = {**self._head, "status": "failed", "error": _TOO_LARGE}
                        return
            self._add(self._encoder.feed_all(self._early.held) + self._encoder.close())
        except GroundwireError as error:
            self._fail(error)
        except Exception:
            log.exception("background response %s failed", self._name)
            self._fail(GroundwireError(f"internal error; the gateway's log has details for {self._name}"))

    def _fail(self, error: GroundwireError) -> None:
        """End the stream with an error."""
        self._info.finish = "failed"
        self._add(self._encoder.feed(Failed(error)))

    def _add(self, data: bytes) -> None:
        """Add events to the stream, and their last response to the state."""
        self._events += data
        for frame in self._reader.feed(data):
            event = as_object(json.loads(frame.data)) if frame.data.startswith(b"{") else {}
            body = as_object(event.get("response"))
            if body and body.get("status") != "in_progress":
                self._body = body

    async def _save(self) -> bool:
        """Save what is new, and show that the response runs; False if it is to stop. What a store that does
        not respond has not saved is saved by a later call."""
        events, body = self._events, self._body
        try:
            goes_on = await asyncio.to_thread(self._spool.save, self._name, self._saved, events, body)
        except GroundwireError as error:
            log.warning("background response %s cannot be saved now: %s", self._name, error.message)
            return True
        self._saved += len(events)
        self._events = self._events[len(events) :]
        if self._body is body:
            self._body = None
        return goes_on

    async def _save_all(self) -> None:
        """Save the end of the answer, however long the store needs, within reason."""
        ends = monotonic() + _LAST_SAVE_SECONDS
        while True:
            await self._save()
            if (not self._events and self._body is None) or monotonic() > ends:
                return
            await asyncio.sleep(_RETRY_SECONDS)


_TOO_LARGE: JsonObject = {"code": "server_error", "message": "the answer is too large to be kept"}


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
