"""`POST /v1/search`: the contract of the search tools, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.config.schema import Config
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import Event, Json, Request, SearchOptions
from groundwire.server.asgi import JSON, cancel_on_disconnect
from groundwire.server.limits import check_query
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.routes import Route
from groundwire.tools.registry import WEBSEARCH
from groundwire.tools.run import call_tool

if TYPE_CHECKING:
    from groundwire.credentials.secret import Secret
    from groundwire.providers.spec import ProviderSpec
    from groundwire.server.app import HttpApp, RequestContext


class _ToolSearcher:
    """The application as a searcher for `call_tool`: it adds limits, cache and metadata."""

    def __init__(self, app: HttpApp, info: ResponseInfo) -> None:
        self._app = app
        self._info = info

    @property
    def config(self) -> Config:
        return self._app.groundwire.config

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._app.groundwire.usable())

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = "auto",
        model: str = "",
        options: SearchOptions | None = None,  # noqa: ARG002  they are part of the request
    ) -> AsyncGenerator[Event, None]:
        """Stream the events of an answer."""
        request = query if isinstance(query, Request) else Request(())
        batches = self._app.batches(request, provider=provider, model=model)
        async with aclosing(batches):
            async for batch in batches:
                self._info.observe_events(batch)
                for event in batch:
                    yield event

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """Not needed: only tools with their own provider call it."""
        raise NotImplementedError


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
    outcome = await call_tool(_ToolSearcher(app, info), WEBSEARCH.name, arguments)
    error = outcome.answer.error
    if error is not None:
        context.outcome = error.code
    status = 200 if error is None else error.status_hint
    await context.exchange.respond(status, info.headers(JSON), dump_json(outcome.result).encode())


SEARCH_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/search",
        search,
        "websearch",
        about="One search with an optional provider and options; returns the result of the search tools.",
    ),
)
