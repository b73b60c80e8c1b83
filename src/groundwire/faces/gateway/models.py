"""Model lists (`GET /v1/models`), in the format of the client's vendor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from groundwire.dialects.json import dump_json
from groundwire.errors import ForbiddenForKey, GroundwireError
from groundwire.model import JsonObject
from groundwire.model.value import value
from groundwire.server.asgi import JSON
from groundwire.server.routes import Endpoint, Route

if TYPE_CHECKING:
    from groundwire.client_protocol import SearchClient
    from groundwire.server.app import HttpApp, RequestContext

AUTO = "auto"


@value
class ModelEntry:
    """A model name that requests may use."""

    id: str
    title: str
    provider: str = ""


def model_entries(groundwire: SearchClient) -> tuple[ModelEntry, ...]:
    """`auto`, the aliases, and the default model of every usable provider, as far as the key allows them."""
    return tuple(entry for entry in _all_entries(groundwire) if _is_allowed(entry, groundwire))


def _is_allowed(entry: ModelEntry, groundwire: SearchClient) -> bool:
    try:
        groundwire.resolve(entry.id)
    except ForbiddenForKey:
        return False
    except GroundwireError:  # an alias that leads nowhere is listed: a request with it says why
        return True
    return True


def _all_entries(groundwire: SearchClient) -> tuple[ModelEntry, ...]:
    ready = [status for status in groundwire.providers() if status.usable]
    return (
        ModelEntry(AUTO, "The first usable provider", "groundwire"),
        *(
            ModelEntry(alias, f"{alias}: {target}", "groundwire")
            for alias, target in groundwire.config.aliases.items()
        ),
        *(
            ModelEntry(
                f"{status.name}/{status.model}" if status.model else status.name,
                f"{status.title}: {status.model}" if status.model else status.title,
                status.name,
            )
            for status in ready
        ),
    )


def _as_openai(model: ModelEntry) -> JsonObject:
    return {"id": model.id, "object": "model", "created": 0, "owned_by": model.provider or "groundwire"}


def _as_anthropic(model: ModelEntry) -> JsonObject:
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.title,
        "created_at": "1970-01-01T00:00:00Z",  # Anthropic documents this value for an unknown date
    }


def _as_gemini(model: ModelEntry) -> JsonObject:
    return {
        "name": f"models/{model.id}",
        "displayName": model.title,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    }


def _list_openai(models: Sequence[ModelEntry]) -> JsonObject:
    return {"object": "list", "data": [_as_openai(model) for model in models]}


def _list_anthropic(models: Sequence[ModelEntry]) -> JsonObject:
    return {
        "data": [_as_anthropic(model) for model in models],
        "has_more": False,
        "first_id": models[0].id if models else None,
        "last_id": models[-1].id if models else None,
    }


def _list_gemini(models: Sequence[ModelEntry]) -> JsonObject:
    return {"models": [_as_gemini(model) for model in models]}


_Formats: TypeAlias = tuple[Callable[[Sequence[ModelEntry]], JsonObject], Callable[[ModelEntry], JsonObject]]
_FORMATS: Mapping[str, _Formats] = {
    "anthropic_messages": (_list_anthropic, _as_anthropic),
    "gemini": (_list_gemini, _as_gemini),
}
_DEFAULT_FORMAT: _Formats = (_list_openai, _as_openai)


async def list_models(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """List all models."""
    format_list = _FORMATS.get(context.dialect, _DEFAULT_FORMAT)[0]
    await _respond(context, format_list(model_entries(app.groundwire)))


async def show_model(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Describe one model: any name that a request may use. Raises for an unknown one, with the known
    names."""
    groundwire = app.groundwire
    name = params["model"].removeprefix("models/")
    listed = {model.id: model for model in model_entries(groundwire)}
    entry = listed.get(name)
    if entry is None:
        provider, _ = app.groundwire.resolve(name)
        entry = ModelEntry(name, name, provider if provider != AUTO else "groundwire")
    format_entry = _FORMATS.get(context.dialect, _DEFAULT_FORMAT)[1]
    await _respond(context, format_entry(entry))


async def _respond(context: RequestContext, body: JsonObject) -> None:
    head = (("content-type", JSON), ("x-request-id", context.request_id))
    await context.exchange.respond(200, head, dump_json(body).encode())


def _routes(version: str, dialect: str) -> tuple[Route, ...]:
    form = "in Gemini's format" if dialect else "in the format of the client's vendor"
    entries: tuple[tuple[str, Endpoint, str], ...] = (
        (f"/{version}/models", list_models, f"All models, {form}."),
        (f"/{version}/models/{{model}}", show_model, f"One model, {form}."),
    )
    return tuple(
        Route("GET", path, endpoint, dialect, about=about, group="models")
        for path, endpoint, about in entries
    )


MODEL_ROUTES: tuple[Route, ...] = (*_routes("v1", ""), *_routes("v1beta", "gemini"))
