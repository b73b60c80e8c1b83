"""Management of API keys over HTTP (`/v1/keys`), for keys with the role admin or owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError, RequestError
from groundwire.faces.gateway.handler import read_json_object
from groundwire.model import JsonObject
from groundwire.server.asgi import JSON
from groundwire.server.key_manager import KeyActor, KeyManager, key_document
from groundwire.server.routes import Endpoint, Route

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

T = TypeVar("T")


async def list_keys(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """List the keys that the caller manages, also the revoked ones."""
    keys = await _managed(app, context, lambda manager, actor: manager.visible(actor))
    await _respond(context, {"keys": [key_document(key) for key in keys]})


async def show_key(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Describe one key."""
    found = await _managed(app, context, lambda manager, actor: manager.get(actor, params["id"]))
    await _respond(context, key_document(found))


async def create_key(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Create a key; the response is the only place that shows it."""
    fields = await _fields(app, context)
    name = fields.pop("name", "")
    if not isinstance(name, str):
        raise RequestError("name: expected a text")
    shown, made = await _managed(app, context, lambda manager, actor: manager.create(actor, name, fields))
    await _respond(context, {"key": shown, **key_document(made)})


async def change_key(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Change the rights of a key; null removes a restriction."""
    fields = await _fields(app, context)
    changed = await _managed(app, context, lambda manager, actor: manager.change(actor, params["id"], fields))
    await _respond(context, key_document(changed))


async def revoke_key(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Revoke a key, and the keys that it has created unless `keep_children` is `true`."""
    keep = context.exchange.query_param("keep_children")
    if keep not in ("", "true", "false"):
        raise RequestError("keep_children: expected true or false")
    revoked, children = await _managed(
        app,
        context,
        lambda manager, actor: manager.revoke(actor, params["id"], keep_children=keep == "true"),
    )
    await _respond(context, {**key_document(revoked), "revoked_with_it": [key.id for key in children]})


async def _fields(app: HttpApp, context: RequestContext) -> JsonObject:
    _, document = await read_json_object(context.exchange, app.max_body_bytes)
    return document


async def _managed(app: HttpApp, context: RequestContext, call: Callable[[KeyManager, KeyActor], T]) -> T:
    """Call the manager for the caller's key, in a thread: it reads and writes files or the store."""
    manager = app.key_manager
    if manager is None:
        raise ConfigError("this gateway does not manage keys")
    actor = app.actor(context.key)
    return await asyncio.to_thread(call, manager, actor)


async def _respond(context: RequestContext, body: JsonObject) -> None:
    head = (("content-type", JSON), ("cache-control", "no-store"), ("x-request-id", context.request_id))
    await context.exchange.respond(200, head, dump_json(body).encode())


_ENDPOINTS: tuple[tuple[str, str, Endpoint, str], ...] = (
    ("GET", "/v1/keys", list_keys, "The API keys that yours manages."),
    ("POST", "/v1/keys", create_key, "Creates an API key with rights that yours includes."),
    ("GET", "/v1/keys/{id}", show_key, "One API key."),
    ("PATCH", "/v1/keys/{id}", change_key, "Changes the rights of an API key."),
    ("DELETE", "/v1/keys/{id}", revoke_key, "Revokes an API key."),
)
KEY_ROUTES: tuple[Route, ...] = tuple(
    Route(method, path, endpoint, about=about, group="keys", role="admin")
    for method, path, endpoint, about in _ENDPOINTS
)
