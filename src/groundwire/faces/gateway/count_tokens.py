"""How many tokens a request has: counted by the provider where it can, else estimated, and said to be so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.faces.gateway.asgi import JSON, cancel_on_disconnect
from groundwire.faces.gateway.handler import check_head, shown
from groundwire.faces.gateway.routes import Route
from groundwire.model import Json, JsonObject, Request, Warned, Wire
from groundwire.routing.resolve import resolve

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

_ESTIMATED = Warned("estimated", "the tokens are estimated: the provider does not count for this client")
_WHOLE = ("system", "systemInstruction", "system_instruction")
_TURNS = ("messages", "contents")
_PER_TURN = 4
_IMAGE = 1600
"""An upper bound for what vendors count for a picture of usual size."""


@runtime_checkable
class Counting(Protocol):
    """A `Groundwire` that can let a provider count; None where that provider cannot."""

    async def count_tokens(self, request: Request, *, provider: str, model: str) -> int | None: ...


async def count_messages(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """Anthropic's `count_tokens`."""
    await _count(gateway, call, "", "input_tokens")


async def count_contents(gateway: Gateway, call: Call, names: Mapping[str, str]) -> None:
    """Gemini's `countTokens`."""
    await _count(gateway, call, names["model"], "totalTokens")


async def _count(gateway: Gateway, call: Call, model: str, field: str) -> None:
    inbound = call.inbound
    check_head(inbound)
    data = await inbound.body(gateway.settings.max_body_mb * 2**20)
    body = load_json(data, ClientWireError)
    if not isinstance(body, dict):
        raise ClientWireError("expected a JSON object")
    named = model or body.get("model")
    wire = Wire(call.dialect, body, data, tuple(inbound.headers.items()))
    request = Request((), named if isinstance(named, str) else "", wire=wire)

    async def answer() -> None:
        head = [("content-type", JSON), ("x-request-id", call.request_id)]
        count = await _counted(gateway, call, request)
        if count is None:
            count = estimate(body)
            head.append(("x-groundwire-warnings", shown([_ESTIMATED])))
        else:
            head.append(("x-groundwire-provider", call.provider))
        await inbound.respond(200, tuple(head), dump_json({field: count}).encode())

    if not await cancel_on_disconnect(inbound, answer()):
        call.outcome = "left"


async def _counted(gateway: Gateway, call: Call, request: Request) -> int | None:
    groundwire = gateway.groundwire
    provider, model = resolve(request.model, groundwire.config.aliases, groundwire.usable())
    if not isinstance(groundwire, Counting):
        return None
    count = await groundwire.count_tokens(request, provider=provider, model=model)
    call.provider = provider if count is not None else ""
    return count


def estimate(body: JsonObject) -> int:
    """The tokens of a request in Anthropic's or Gemini's words, roughly."""
    body = as_object(body.get("generateContentRequest")) or body
    total = sum(_weight(body.get(name)) for name in _WHOLE)
    for name in _TURNS:
        turns = body.get(name)
        total += sum(_PER_TURN + _weight(turn) for turn in (turns if isinstance(turns, list) else ()))
    tools = body.get("tools")
    return round(total + (_tokens(dump_json(tools)) if tools else 0)) or 1


def _weight(item: Json) -> float:
    """The tokens of all words in a value."""
    total = 0.0
    rest: list[Json] = [item]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            total += _tokens(one)
        elif isinstance(one, list):
            rest.extend(one)
        elif isinstance(one, dict):
            if "data" in one and ("media_type" in one or "mimeType" in one or "mime_type" in one):
                total += _IMAGE
            else:
                rest.extend(
                    text for name, text in one.items() if name not in ("role", "type", "cache_control")
                )
    return total


def _tokens(text: str) -> float:
    """Four letters of Latin script make a token; of most others one or two do."""
    wide = 0 if text.isascii() else sum(sign > "\u2e7f" for sign in text)
    foreign = 0 if text.isascii() else sum("\x7f" < sign <= "\u2e7f" for sign in text)
    return (len(text) - wide - foreign) / 4 + foreign / 2.5 + wide * 0.9


COUNTING: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/messages/count_tokens",
        count_messages,
        "anthropic_messages",
        about="Anthropic: how many tokens a request has.",
    ),
    *(
        Route(
            "POST",
            f"/{version}/models/{{model}}:countTokens",
            count_contents,
            "gemini",
            about="Gemini: how many tokens a request has.",
        )
        for version in ("v1beta", "v1")
    ),
)
