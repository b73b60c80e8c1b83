"""Token counts of requests: from the provider if it can count, else an estimate with a warning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json
from groundwire.faces.gateway.handler import read_json_object
from groundwire.model import JsonObject, Request, Warned, Wire
from groundwire.server.asgi import JSON, cancel_on_disconnect
from groundwire.server.response_writer import warnings_header
from groundwire.server.routes import Route
from groundwire.server.token_estimate import text_tokens, tokens_in

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

_ESTIMATED = Warned("estimated", "the token count is an estimate: the provider cannot count for this client")
_SYSTEM_FIELDS = ("system", "systemInstruction", "system_instruction")
_MESSAGE_FIELDS = ("messages", "contents")
_TOKENS_PER_MESSAGE = 4


async def count_messages(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Anthropic's `count_tokens`."""
    await _count(app, context, "", "input_tokens")


async def count_contents(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Gemini's `countTokens`."""
    await _count(app, context, params["model"], "totalTokens")


async def _count(app: HttpApp, context: RequestContext, model: str, field: str) -> None:
    exchange = context.exchange
    data, body = await read_json_object(exchange, app.max_body_bytes)
    named = model or body.get("model")
    wire = Wire(context.dialect, body, data, tuple(exchange.headers.items()))
    request = Request((), named if isinstance(named, str) else "", wire=wire)

    async def respond() -> None:
        headers = [("content-type", JSON), ("x-request-id", context.request_id)]
        count = await _provider_count(app, context, request)
        if count is None:
            count = estimate(body)
            headers.append(("x-groundwire-warnings", warnings_header([_ESTIMATED])))
        else:
            headers.append(("x-groundwire-provider", context.provider))
        await exchange.respond(200, tuple(headers), dump_json({field: count}).encode())

    if not await cancel_on_disconnect(exchange, respond()):
        context.outcome = "left"


async def _provider_count(app: HttpApp, context: RequestContext, request: Request) -> int | None:
    provider, model = app.groundwire.resolve(request.model)
    count = await app.groundwire.count_tokens(request, provider=provider, model=model)
    context.provider = provider if count is not None else ""
    return count


def estimate(body: JsonObject) -> int:
    """Rough token count of a request in Anthropic's or Gemini's dialect."""
    body = as_object(body.get("generateContentRequest")) or body
    total = sum(tokens_in(body.get(name)) for name in _SYSTEM_FIELDS)
    for name in _MESSAGE_FIELDS:
        turns = body.get(name)
        total += sum(
            _TOKENS_PER_MESSAGE + tokens_in(turn) for turn in (turns if isinstance(turns, list) else ())
        )
    tools = body.get("tools")
    return round(total + (text_tokens(dump_json(tools)) if tools else 0)) or 1


COUNT_TOKENS_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/messages/count_tokens",
        count_messages,
        "anthropic_messages",
        is_counted=False,
        about="Anthropic: the token count of a request.",
        group="messages",
    ),
    *(
        Route(
            "POST",
            f"/{version}/models/{{model}}:countTokens",
            count_contents,
            "gemini",
            is_counted=False,
            about="Gemini: the token count of a request.",
            group="gemini",
        )
        for version in ("v1beta", "v1")
    ),
)
