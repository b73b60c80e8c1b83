"""`POST /v1/search`: the contract of the search tools, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.faces.gateway.handler import Batches
from groundwire.faces.gateway.verification import is_verified, verified
from groundwire.model import Event, Json, Request
from groundwire.server.asgi import JSON, cancel_on_disconnect
from groundwire.server.limits import check_query
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.routes import Route
from groundwire.tools.registry import WEBSEARCH
from groundwire.tools.run import call_tool

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext


async def search(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Run one search and send its result."""
    context.exchange.check_json_headers()
    body = await context.exchange.read_json(app.max_body_bytes)
    arguments = load_json(body, ClientWireError)
    if isinstance(arguments, dict) and isinstance(query := arguments.get("query"), str):
        check_query(query)
    info = ResponseInfo(context.request_id)
    try:
        if not await cancel_on_disconnect(context.exchange, _respond(app, context, info, arguments)):
            context.outcome = "left"
    finally:
        context.record_response(info)


async def _respond(app: HttpApp, context: RequestContext, info: ResponseInfo, arguments: Json) -> None:
    async def open_stream(request: Request, provider: str, model: str) -> AsyncGenerator[Event, None]:
        """The events with the limits, the cache and the access record of the application."""
        target = app.groundwire.resolve(model, provider=provider)
        found: Batches = app.batches(request, target)
        if is_verified(context.exchange.headers, app.settings):
            found = verified(found, app.groundwire, request.search)
        async with aclosing(found) as batches:
            async for batch in batches:
                info.observe_events(batch)
                for event in batch:
                    yield event

    outcome = await call_tool(app.groundwire, WEBSEARCH.name, arguments, open_stream=open_stream)
    error = outcome.answer.error
    if error is not None:
        context.outcome = error.code
    status = 200 if error is None else error.status_hint
    await context.exchange.respond(status, info.headers(JSON), dump_json(outcome.flagged_result).encode())


SEARCH_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/search",
        search,
        "websearch",
        about="One search with an optional provider and options; returns the result of the search tools.",
        group="search",
    ),
)
