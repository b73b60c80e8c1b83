"""What there is, written from the table of routes: as OpenAPI, and as a page to read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from groundwire import __version__
from groundwire.dialects.json import dump_json
from groundwire.faces.gateway.asgi import JSON
from groundwire.faces.gateway.routes import Route
from groundwire.model import Json, JsonObject

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

_NAME = re.compile(r"\{(\w+)\}")
_PAGE = (
    ("content-type", "text/html; charset=utf-8"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
)
_STYLE = (
    ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;"
    "padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8884}code{font-size:.9em;overflow-wrap:anywhere}"
)
_KEYS: JsonObject = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "x-goog-api-key": {"type": "apiKey", "in": "header", "name": "x-goog-api-key"},
}


async def openapi(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """The description for programs."""
    body = dump_json(described(gateway.routes.routes)).encode()
    await call.inbound.respond(200, (("content-type", JSON), ("x-request-id", call.request_id)), body)


async def docs(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """The page for people."""
    await call.inbound.respond(200, _PAGE, page(gateway.routes.routes).encode())


def described(routes: tuple[Route, ...]) -> JsonObject:
    """OpenAPI 3.1. Bodies are the vendors' own, so their references are the vendors' documentation."""
    paths: dict[str, Json] = {}
    for route in routes:
        entry = paths.setdefault(route.path, {})
        if isinstance(entry, dict):
            entry[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "groundwire",
            "version": __version__,
            "description": "Cited web search in the dialects of five vendors' APIs.",
        },
        "paths": paths,
        "components": {"securitySchemes": _KEYS},
    }


def _operation(route: Route) -> JsonObject:
    operation: JsonObject = {
        "summary": route.about,
        "tags": [route.dialect or "groundwire"],
        "security": [{name: []} for name in _KEYS] if route.access != "public" else [],
        "responses": {
            "200": {"description": "The answer."},
            "default": {"description": "An error in the shape of the dialect."},
        },
    }
    if names := _NAME.findall(route.path):
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if route.method == "POST":
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": {"type": "object"}}}}
    return operation


def page(routes: tuple[Route, ...]) -> str:
    """One table. No script, nothing from elsewhere."""
    rows = "".join(
        f"<tr><td>{escape(route.method)}<td><code>{escape(route.path)}</code>"
        f"<td>{escape(route.about)}<td>{'open' if route.access == 'public' else 'key'}"
        for route in routes
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>groundwire gateway</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>groundwire {escape(__version__)}</h1>"
        "<p>Point a client of any of these APIs at this address. Models: <code>provider/model</code>, an "
        "alias of yours, a vendor’s own name, or <code>auto</code>; <code>GET /v1/models</code> lists them. "
        'For programs: <a href="/openapi.json">openapi.json</a>.'
        f"<table><tr><th>Method<th>Path<th>What<th>Access{rows}</table></html>"
    )


DESCRIPTION: tuple[Route, ...] = (
    Route("GET", "/", docs, access="public", about="This page."),
    Route("GET", "/docs", docs, access="public", about="This page."),
    Route("GET", "/openapi.json", openapi, access="public", about="The same for programs, as OpenAPI 3.1."),
)
