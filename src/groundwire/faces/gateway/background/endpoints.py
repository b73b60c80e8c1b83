"""Endpoints of background responses: create, poll, resume the stream, cancel, delete."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from groundwire.dialects.json import dump_json
from groundwire.dialects.sse import encode_comment
from groundwire.errors import InvalidArguments, TurnedAway
from groundwire.faces.gateway.background.run import start_background
from groundwire.faces.gateway.handler import Batches, ParsedRequest
from groundwire.model import JsonObject
from groundwire.server.asgi import JSON, cancel_on_disconnect
from groundwire.server.response_spool import SpooledResponse
from groundwire.server.response_writer import ResponseInfo, StreamingResponse
from groundwire.server.routes import Route

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

_POLL_SECONDS = 0.1
_LONGEST_POLL_SECONDS = 0.5
"""While nothing new arrives, the spool is read less often."""
MAX_FOLLOWERS_OF_OWNER = 100
"""Streams of background responses at the same time in one process: each reads the spool again and again."""
_CANCEL_SECONDS = 10.0
_SEQUENCE = re.compile(rb'"sequence_number": ?(\d+)')
_END = b"\n\n"


async def respond_in_background(
    app: HttpApp, context: RequestContext, parsed: ParsedRequest, batches: Batches, info: ResponseInfo
) -> None:
    """Start the answer, and send its state, or its stream as it grows. A client may disconnect."""
    is_stream = parsed.reply.request.stream
    name = await start_background(app, context, parsed, batches, info)
    if is_stream:
        await _send_stream(app, context, name, -1)
    else:
        await _send_body(context, (await _find(app, context, name)).body)


async def retrieve(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """The current state of a response; with `stream=true`, its events from `starting_after` on."""
    exchange = context.exchange
    state = await _find(app, context, params["id"])
    if exchange.query_param("stream") != "true":
        await _send_body(context, state.body)
        return
    after = exchange.query_param("starting_after") or "-1"
    if not re.fullmatch(r"-1|\d{1,9}", after):
        raise InvalidArguments("starting_after: expected a sequence number")
    await _send_stream(app, context, params["id"], int(after))


async def cancel(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Stop a response; one that has ended is returned as it is."""
    name = params["id"]
    state = await _find(app, context, name)
    if not state.is_final:
        await asyncio.to_thread(app.responses.stop, name)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                while not (state := await _find(app, context, name)).is_final:
                    await asyncio.sleep(_POLL_SECONDS)
    await _send_body(context, state.body)


async def delete(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Remove a response; one that still runs is stopped."""
    await _find(app, context, params["id"])
    await asyncio.to_thread(app.responses.remove, params["id"])
    await _send_body(context, {"id": params["id"], "object": "response", "deleted": True})


async def _find(app: HttpApp, context: RequestContext, name: str) -> SpooledResponse:
    found = await asyncio.to_thread(app.responses.read, name, context.owner)
    if found is None:
        raise TurnedAway(
            f"there is no response {name[:80]!r} of this key; only background responses are kept, for a day",
            status=404,
            code="NOT_FOUND",
        )
    return found


async def _send_body(context: RequestContext, body: JsonObject) -> None:
    headers = (("content-type", JSON), ("x-request-id", context.request_id), ("cache-control", "no-store"))
    await context.exchange.respond(200, headers, dump_json(body).encode())


async def _send_stream(app: HttpApp, context: RequestContext, name: str, after: int) -> None:
    headers = (
        ("content-type", "text/event-stream"),
        ("x-request-id", context.request_id),
        ("cache-control", "no-store"),
    )

    def ping() -> bytes:
        return encode_comment("keep-alive")

    if app.followers[context.owner] >= MAX_FOLLOWERS_OF_OWNER:
        raise TurnedAway(
            "too many streams of background responses are open; poll the responses instead",
            status=429,
            code="TOO_MANY_BACKGROUND",
            retry_after=10,
        )

    async def follow() -> None:
        # The response exists, so nothing can change the status: the client need not wait for the first event.
        await context.exchange.start_response(200, headers)
        with StreamingResponse(context.exchange, lambda: headers, ping, app.timeouts) as response:
            await _follow(app, context, name, after, response)

    app.followers[context.owner] += 1
    try:
        if not await cancel_on_disconnect(context.exchange, follow()):
            context.outcome = "left"
    finally:
        app.followers[context.owner] -= 1


async def _follow(
    app: HttpApp, context: RequestContext, name: str, after: int, response: StreamingResponse
) -> None:
    """Send whole events as they are written, until the response has ended and all of it is sent."""
    offset, pause = 0, _POLL_SECONDS
    while True:
        found = await asyncio.to_thread(app.responses.read, name, context.owner, offset)
        data = found.events if found is not None else b""
        whole = data[: data.rfind(_END) + len(_END)] if _END in data else b""
        offset += len(whole)
        if wanted := _later(whole, after):
            await response.write(wanted)
        if found is None or found.is_final:
            break
        pause = _POLL_SECONDS if whole else min(1.5 * pause, _LONGEST_POLL_SECONDS)
        await asyncio.sleep(pause)
    await response.write(b"", more=False)


def _later(data: bytes, after: int) -> bytes:
    """The events after a sequence number."""
    if after < 0:
        return data
    events = (event for event in data.split(_END) if event)
    return b"".join(event + _END for event in events if _number(event) > after)


def _number(event: bytes) -> int:
    """The sequence number of an event; the last field of that name, because text has escaped quotes."""
    found = _SEQUENCE.findall(event)
    return int(found[-1]) if found else 0


BACKGROUND_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/responses/{id}",
        retrieve,
        "openai_responses",
        about="A background response; with stream=true, its events after starting_after.",
        group="responses",
    ),
    Route(
        "DELETE",
        "/v1/responses/{id}",
        delete,
        "openai_responses",
        about="Removes a background response.",
        group="responses",
    ),
    Route(
        "POST",
        "/v1/responses/{id}/cancel",
        cancel,
        "openai_responses",
        is_counted=False,
        about="Stops a background response.",
        group="responses",
    ),
)
