"""`POST /v1/search`: the contract of the search tools over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.config.schema import Config
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.faces.gateway.asgi import JSON, cancel_on_disconnect
from groundwire.faces.gateway.handler import ResponseInfo, check_head
from groundwire.faces.gateway.limits import check_query
from groundwire.faces.gateway.routes import Route
from groundwire.model import Event, Json, Request, SearchOptions
from groundwire.tools.registry import WEBSEARCH
from groundwire.tools.run import call_tool

if TYPE_CHECKING:
    from groundwire.credentials.secret import Secret
    from groundwire.faces.gateway.app import Call, Gateway
    from groundwire.providers.spec import ProviderSpec


class _Searching:
    """The gateway as tools see it."""

    def __init__(self, gateway: Gateway, told: ResponseInfo) -> None:
        self._gateway = gateway
        self._told = told

    @property
    def config(self) -> Config:
        return self._gateway.groundwire.config

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._gateway.groundwire.usable())

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = "auto",
        model: str = "",
        options: SearchOptions | None = None,  # noqa: ARG002 (they stand in the request)
    ) -> AsyncGenerator[Event, None]:
        """The events of an answer."""
        request = query if isinstance(query, Request) else Request(())
        batches = self._gateway.batches(request, provider=provider, model=model)
        async with aclosing(batches):
            async for batch in batches:
                self._told.notice(batch)
                for event in batch:
                    yield event

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """Only tools with a provider of their own need it."""
        raise NotImplementedError


async def search(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """A query and its options in, one result out."""
    check_head(call.inbound)
    body = await call.inbound.body(gateway.settings.max_body_mb * 2**20)
    arguments = load_json(body, ClientWireError)
    if isinstance(arguments, dict) and isinstance(query := arguments.get("query"), str):
        check_query(query)
    told = ResponseInfo(call.request_id)
    try:
        if not await cancel_on_disconnect(call.inbound, _answer(gateway, call, told, arguments)):
            call.outcome = "left"
    finally:
        call.learn(told)


async def _answer(gateway: Gateway, call: Call, told: ResponseInfo, arguments: Json) -> None:
    outcome = await call_tool(_Searching(gateway, told), WEBSEARCH.name, arguments)
    error = outcome.answer.error
    if error is not None:
        call.outcome = error.code
    status = 200 if error is None else error.status_hint
    await call.inbound.respond(status, told.headers(JSON), dump_json(outcome.result).encode())


CONTRACT: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/search",
        search,
        "websearch",
        about="One search: a query, perhaps a provider and options; the result of the search tools.",
    ),
)
