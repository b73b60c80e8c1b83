"""The five dialects at their vendors' own paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from groundwire.errors import TurnedAway
from groundwire.faces.gateway.asgi import cancel_on_disconnect
from groundwire.faces.gateway.clients import chosen_rendering, is_shown_as_told, rendering_for
from groundwire.faces.gateway.codex_search import CODEX
from groundwire.faces.gateway.decoding import decoded
from groundwire.faces.gateway.engine_answers import check_searches, finds, with_engine_warning
from groundwire.faces.gateway.handler import (
    CITATIONS_HEADER,
    Batches,
    EndpointSpec,
    RequestContext,
    ResponseInfo,
    answer_streaming,
    answer_whole,
    parse_request,
)
from groundwire.faces.gateway.rendering import rendered
from groundwire.faces.gateway.routes import Endpoint, Route
from groundwire.faces.gateway.search import CONTRACT
from groundwire.faces.gateway.side_request import OFF, search_target, side_answer
from groundwire.faces.gateway.spending import counted
from groundwire.model import SearchOptions
from groundwire.model.value import replace
from groundwire.routing.cache import OnCacheStatus
from groundwire.routing.intent import as_search, side_query
from groundwire.routing.resolve import resolve

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

SEARCH = SearchOptions()


def spoken(dialect: str) -> Endpoint:
    """An endpoint whose body says everything."""

    async def endpoint(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
        await converse(gateway, call, EndpointSpec(dialect))

    return endpoint


async def generate(gateway: Gateway, call: Call, names: Mapping[str, str]) -> None:
    """Gemini's whole answer: the model stands in the path."""
    await converse(gateway, call, EndpointSpec("gemini", names["model"], stream=False))


async def generate_streaming(gateway: Gateway, call: Call, names: Mapping[str, str]) -> None:
    """Gemini's stream: server-sent events with `alt=sse`, one JSON array without."""
    array = call.inbound.parameter("alt") != "sse"
    await converse(gateway, call, EndpointSpec("gemini", names["model"], stream=True, array=array))


async def upgrade(_: Gateway, __: Call, ___: Mapping[str, str]) -> None:
    """Codex tries a WebSocket first; told so at once, it goes on over HTTP."""
    raise TurnedAway(status=426, message="no WebSocket here: POST to the same path")


async def converse(gateway: Gateway, call: Call, form: EndpointSpec) -> None:
    """One request, from its bytes to the last byte of its answer."""
    inbound = call.inbound
    body = await inbound.body(gateway.settings.max_body_mb * 2**20)
    policy = gateway.settings.citations
    exchange = await decoded(body, lambda: parse_request(inbound, form, body, policy, gateway.secret))
    told = ResponseInfo(call.request_id)
    try:
        if not await cancel_on_disconnect(inbound, _answer(gateway, exchange, call, told)):
            call.outcome = "left"
    finally:
        call.learn(told)


async def _answer(gateway: Gateway, exchange: RequestContext, call: Call, told: ResponseInfo) -> None:
    exchange, batches = ask(gateway, exchange, call.inbound.headers, told.found)
    if exchange.request.stream:
        await answer_streaming(call.inbound, exchange, batches, told, gateway.patience)
    else:
        await answer_whole(call.inbound, exchange, batches, told, gateway.patience)


def ask(
    gateway: Gateway, exchange: RequestContext, headers: Mapping[str, str], note: OnCacheStatus
) -> tuple[RequestContext, Batches]:
    """Ask whom the request means: Claude Code's own searches go to the search target, all others where
    their model's name leads. The answer comes in the rendering that its client can show."""
    if exchange.form.dialect == "anthropic_messages" and gateway.settings.search != OFF:
        query = side_query(exchange.request)
        if query:
            return _ask_search(gateway, exchange, headers, query, note)
    return _ask_model(gateway, exchange, headers, note)


def _ask_search(
    gateway: Gateway, exchange: RequestContext, headers: Mapping[str, str], query: str, note: OnCacheStatus
) -> tuple[RequestContext, Batches]:
    provider, model = search_target(gateway, exchange.request.model)
    chosen = chosen_rendering(headers, gateway.settings.render)
    request = as_search(exchange.request, query)
    if chosen not in (None, "structured"):
        request = replace(request, wire=None)  # the provider's own bytes would not do
    exchange = replace(exchange, reply=replace(exchange.reply, citations="exact"))
    return exchange, side_answer(
        lambda: gateway.batches(request, provider=provider, model=model, note=note), query, chosen or "both"
    )


def _ask_model(
    gateway: Gateway, exchange: RequestContext, headers: Mapping[str, str], note: OnCacheStatus
) -> tuple[RequestContext, Batches]:
    request, dialect = exchange.request, exchange.form.dialect
    usable, configured = gateway.groundwire.usable(), gateway.settings.render
    provider, model = resolve(request.model, gateway.groundwire.config.aliases, usable)
    check_searches(request, provider, usable)
    searching = request if request.search or not finds(provider, usable) else replace(request, search=SEARCH)
    if searching.search is None and CITATIONS_HEADER not in headers:
        # Text is held back for the sake of citations, and there will be none.
        exchange = replace(exchange, reply=replace(exchange.reply, citations="live"))
    mode = rendering_for(headers, dialect, searching, configured)
    passes = mode == "structured" or is_shown_as_told(headers, dialect, configured)
    if not passes or exchange.form.array:
        request = replace(request, wire=None)  # the provider's own bytes would not do
    batches = gateway.batches(request, provider=provider, model=model, note=note)
    batches = batches if searching.search is None else with_engine_warning(batches, request)
    batches = batches if mode == "structured" else rendered(batches, mode, passes=passes)
    return exchange, counted(batches) if dialect == "openai_responses" else batches


def _gemini(version: str) -> Sequence[Route]:
    models = f"/{version}/models/{{model}}"
    return (
        Route("POST", f"{models}:generateContent", generate, "gemini", about="Gemini: a whole answer."),
        Route(
            "POST",
            f"{models}:streamGenerateContent",
            generate_streaming,
            "gemini",
            about="Gemini: a stream, as server-sent events with alt=sse, else as a JSON array.",
        ),
        Route(
            "POST",
            f"/{version}/interactions",
            spoken("gemini_interactions"),
            "gemini_interactions",
            about="Gemini Interactions.",
        ),
    )


CONVERSATIONS: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/messages",
        spoken("anthropic_messages"),
        "anthropic_messages",
        about="Anthropic Messages.",
    ),
    Route("POST", "/v1/responses", spoken("openai_responses"), "openai_responses", about="OpenAI Responses."),
    Route("GET", "/v1/responses", upgrade, "openai_responses", about="Refuses WebSockets with 426."),
    Route("POST", "/v1/chat/completions", spoken("openai_chat"), "openai_chat", about="OpenAI Chat."),
    *_gemini("v1beta"),
    *_gemini("v1"),
    *CODEX,
    *CONTRACT,
)
