"""The models that can be named, in the shape of whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from groundwire.dialects.json import dump_json
from groundwire.faces.gateway.asgi import JSON
from groundwire.faces.gateway.routes import Endpoint, Route
from groundwire.model import JsonObject
from groundwire.model.value import value
from groundwire.routing.resolve import resolve

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Asker, Call, Gateway

AUTO = "auto"


@value
class Model:
    """A name that may stand as the model of a request."""

    id: str
    title: str
    provider: str = ""


def models_of(groundwire: Asker) -> tuple[Model, ...]:
    """The default target, the user's own names, and what every provider that can be used has as default."""
    ready = [status for status in groundwire.providers() if status.usable]
    return (
        Model(AUTO, "The first provider that can be used", "groundwire"),
        *(
            Model(alias, f"{alias}: {target}", "groundwire")
            for alias, target in groundwire.config.aliases.items()
        ),
        *(
            Model(
                f"{status.name}/{status.model}" if status.model else status.name,
                f"{status.title}: {status.model}" if status.model else status.title,
                status.name,
            )
            for status in ready
        ),
    )


def _as_openai(model: Model) -> JsonObject:
    return {"id": model.id, "object": "model", "created": 0, "owned_by": model.provider or "groundwire"}


def _as_anthropic(model: Model) -> JsonObject:
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.title,
        "created_at": "1970-01-01T00:00:00Z",  # when it is not known, as Anthropic documents
    }


def _as_gemini(model: Model) -> JsonObject:
    return {
        "name": f"models/{model.id}",
        "displayName": model.title,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    }


def _list_openai(models: Sequence[Model]) -> JsonObject:
    return {"object": "list", "data": [_as_openai(model) for model in models]}


def _list_anthropic(models: Sequence[Model]) -> JsonObject:
    return {
        "data": [_as_anthropic(model) for model in models],
        "has_more": False,
        "first_id": models[0].id,
        "last_id": models[-1].id,
    }


def _list_gemini(models: Sequence[Model]) -> JsonObject:
    return {"models": [_as_gemini(model) for model in models]}


_Shapes: TypeAlias = tuple[Callable[[Sequence[Model]], JsonObject], Callable[[Model], JsonObject]]
_SHAPES: Mapping[str, _Shapes] = {
    "anthropic_messages": (_list_anthropic, _as_anthropic),
    "gemini": (_list_gemini, _as_gemini),
}
_ANYBODY: _Shapes = (_list_openai, _as_openai)


async def list_models(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """All of them."""
    shape, _one = _SHAPES.get(call.dialect, _ANYBODY)
    await _answer(call, shape(models_of(gateway.groundwire)))


async def show_model(gateway: Gateway, call: Call, names: Mapping[str, str]) -> None:
    """One: any name that a request could have. An unknown one is an error that lists what there is."""
    groundwire = gateway.groundwire
    name = names["model"].removeprefix("models/")
    listed = {model.id: model for model in models_of(groundwire)}
    found = listed.get(name)
    if found is None:
        provider, _ = resolve(name, groundwire.config.aliases, groundwire.usable())
        found = Model(name, name, provider if provider != AUTO else "groundwire")
    _all, shape = _SHAPES.get(call.dialect, _ANYBODY)
    await _answer(call, shape(found))


async def _answer(call: Call, body: JsonObject) -> None:
    head = (("content-type", JSON), ("x-request-id", call.request_id))
    await call.inbound.respond(200, head, dump_json(body).encode())


def _routes(version: str, dialect: str) -> tuple[Route, ...]:
    whose = "in Gemini's shape" if dialect else "in the shape of the client's vendor"
    entries: tuple[tuple[str, Endpoint, str], ...] = (
        (f"/{version}/models", list_models, f"The models that can be named, {whose}."),
        (f"/{version}/models/{{model}}", show_model, f"One model, {whose}."),
    )
    return tuple(Route("GET", path, endpoint, dialect, about=about) for path, endpoint, about in entries)


MODELS: tuple[Route, ...] = (*_routes("v1", ""), *_routes("v1beta", "gemini"))
