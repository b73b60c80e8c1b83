"""The five dialects at their vendors' own paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from groundwire.errors import TurnedAway
from groundwire.faces.gateway.asgi import attended
from groundwire.faces.gateway.conversation import (
    Exchange,
    Form,
    Told,
    answer_streaming,
    answer_whole,
    understand,
)
from groundwire.faces.gateway.routes import Endpoint, Route
from groundwire.routing.intent import side_query
from groundwire.routing.targets import target_of

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

_SSE = "alt=sse"


def spoken(dialect: str) -> Endpoint:
    """An endpoint whose body says everything."""

    async def endpoint(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
        await converse(gateway, call, Form(dialect))

    return endpoint


async def generate(gateway: Gateway, call: Call, names: Mapping[str, str]) -> None:
    """Gemini's whole answer: the model stands in the path."""
    await converse(gateway, call, Form("gemini", names["model"], stream=False))


async def generate_streaming(gateway: Gateway, call: Call, names: Mapping[str, str]) -> None:
    """Gemini's stream: server-sent events with `alt=sse`, one JSON array without."""
    array = call.inbound.parameter("alt") != "sse"
    await converse(gateway, call, Form("gemini", names["model"], stream=True, array=array))


async def upgrade(_: Gateway, __: Call, ___: Mapping[str, str]) -> None:
    """Codex tries a WebSocket first; told so at once, it goes on over HTTP."""
    raise TurnedAway(status=426, message="no WebSocket here: POST to the same path")


async def converse(gateway: Gateway, call: Call, form: Form) -> None:
    """One request, from its bytes to the last byte of its answer."""
    inbound = call.inbound
    body = await inbound.body(gateway.settings.max_body_mb * 2**20)
    exchange = understand(inbound, form, body, gateway.settings.citations, gateway.secret)
    told = Told(call.request_id)
    try:
        if not await attended(inbound, _answer(gateway, exchange, call, told)):
            call.outcome = "left"
    finally:
        call.provider = told.provider


async def _answer(gateway: Gateway, exchange: Exchange, call: Call, told: Told) -> None:
    provider, model = choose(gateway, exchange)
    batches = gateway.batches(exchange.request, provider=provider, model=model)
    if exchange.request.stream:
        await answer_streaming(call.inbound, exchange, batches, told, gateway.patience)
    else:
        await answer_whole(call.inbound, exchange, batches, told)


def choose(gateway: Gateway, exchange: Exchange) -> tuple[str, str]:
    """Whom to ask: the search target for Claude Code's own searches, else whom the model's name means."""
    groundwire, settings = gateway.groundwire, gateway.settings
    usable = groundwire.usable()
    if settings.search and exchange.form.dialect == "anthropic_messages" and side_query(exchange.request):
        return target_of(settings.search, groundwire.config.aliases, usable)
    return target_of(exchange.request.model, groundwire.config.aliases, usable)


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
)
