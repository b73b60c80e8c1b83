"""Runs an answer apart from its request, and writes it to the spool."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from pathlib import Path
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
from groundwire.server.response_spool import ResponseSpool, SpooledResponse
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.shutdown import closing_error

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

log = logging.getLogger("groundwire.gateway")

MAX_SECONDS = 3600.0
"""OpenAI's deep research takes tens of minutes."""
_CHECK_SECONDS = 0.5
_FIELD = "background"


def spool_of(app: HttpApp) -> ResponseSpool:
    """The spool in the data directory, which all workers share."""
    return ResponseSpool(Path(app.groundwire.config.data_dir) / "background")


def is_background(request: Request) -> bool:
    """Is the answer to go on after the request? Raises `InvalidArguments` if it may not be stored."""
    if request.wire is not None and request.wire.body.get(_FIELD) is not True:
        return False  # most requests: their other fields are not decoded
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


def start_background(
    app: HttpApp, context: RequestContext, parsed: ParsedRequest, batches: Batches, info: ResponseInfo
) -> str:
    """Run the answer in a task of its own; return its name in the spool."""
    name = f"resp_{parsed.reply.id}"
    spool = spool_of(app)
    head = encode_head(Answer(), parsed.reply)
    spool.create(name, context.owner, {**head, "status": "queued"})
    own = context.detached()
    work = _Run(spool, name, own, parsed, info, head)

    async def run() -> None:
        began = monotonic()
        try:
            await work.run(batches)
        except asyncio.CancelledError:
            work.fail(closing_error())
            raise
        except Exception:
            log.exception("background response %s failed", own.request_id)
            work.fail(GroundwireError(f"internal error; the gateway's log has details for {own.request_id}"))
        finally:
            own.record_response(info)
            app.record_usage(own, monotonic() - began)

    app.background.spawn(run())
    return name


class _Run:
    """One answer that is written to the spool."""

    def __init__(
        self,
        spool: ResponseSpool,
        name: str,
        context: RequestContext,
        parsed: ParsedRequest,
        info: ResponseInfo,
        head: JsonObject,
    ) -> None:
        self._spool = spool
        self._name = name
        self._owner = context.owner
        self._parsed = parsed
        self._info = info
        self._head = head
        self._encoder: StreamEncoder = parsed.dialect.encoder(parsed.reply)
        self._early = EarlyWarnings()
        self._reader = FrameReader()

    async def run(self, batches: Batches) -> None:
        """Write the answer until it ends, is cancelled, or takes too long."""
        self._update({**self._head, "status": "in_progress"})
        task = asyncio.create_task(self._write_all(batches))
        deadline = monotonic() + MAX_SECONDS
        try:
            while not (await asyncio.wait({task}, timeout=_CHECK_SECONDS))[0]:
                if not self._spool.keep_alive(self._name):
                    await _cancelled(task)
                    self._update({**self._head, "status": "cancelled"})
                    return
                if monotonic() > deadline:
                    await _cancelled(task)
                    self.fail(TurnedAway(f"the answer took more than {MAX_SECONDS:.0f} s", status=504))
                    return
            task.result()
        finally:
            task.cancel()

    async def _write_all(self, batches: Batches) -> None:
        try:
            async with aclosing(batches):
                async for batch in batches:
                    changed = self._parsed.transformed(batch)
                    self._info.observe_events(changed)
                    if not self._append(self._encoder.feed_all(self._early.feed(changed))):
                        return
            self._append(self._encoder.feed_all(self._early.held) + self._encoder.close())
        except GroundwireError as error:
            self.fail(error)

    def fail(self, error: GroundwireError) -> None:
        """End the stream with an error."""
        self._info.finish = "failed"
        self._append(self._encoder.feed(Failed(error)))

    def _append(self, data: bytes) -> bool:
        """Add events to the stream, and their last response to the state."""
        fits = not data or self._spool.append(self._name, data)
        for frame in self._reader.feed(data):
            event = as_object(json.loads(frame.data)) if frame.data.startswith(b"{") else {}
            body = as_object(event.get("response"))
            if body and body.get("status") != "in_progress":
                self._update(body)
        if not fits:
            self._update({**self._head, "status": "failed", "error": _TOO_LARGE})
        return fits

    def _update(self, body: JsonObject) -> None:
        self._spool.update(self._name, SpooledResponse(self._owner, body))


_TOO_LARGE: JsonObject = {"code": "server_error", "message": "the answer is too large to be kept"}


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
