"""Routes of the documentation site: `/docs` and the files below it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from groundwire.errors import TurnedAway
from groundwire.faces.gateway.docs_site.site import HOME, DocsSite
from groundwire.server.routes import Route

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

_ROOT = "/docs/"
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    ("content-security-policy", _CSP),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-cache"),
)


async def docs_home(_: HttpApp, context: RequestContext, __: Mapping[str, str]) -> None:
    """Send the first page of the documentation."""
    await _send(context, HOME)


async def docs_file(_: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Send a page, an image, a style sheet, a script or a schema of the documentation."""
    await _send(context, params["path"])


async def _send(context: RequestContext, path: str) -> None:
    site = await asyncio.to_thread(_site)
    if site is not None and path not in site.paths and f"{path}.html" in site.paths:
        path = f"{path}.html"
    if site is None or path not in site.paths:
        raise TurnedAway(
            status=404,
            message=f"the documentation has no such page; {_ROOT} lists its pages",
            code="NOT_FOUND",
        )
    found = await asyncio.to_thread(site.read, path)
    await context.exchange.respond(200, (("content-type", found.content_type), *_HEADERS), found.data)


@cache
def _site() -> DocsSite | None:
    """The site; None if the package was installed without its documents."""
    from groundwire.engine.knowledge.own_docs import documents_folder  # noqa: PLC0415  reads packages

    folder = documents_folder()
    return DocsSite(folder, _ROOT) if folder.is_dir() else None


DOCS_ROUTES: tuple[Route, ...] = (
    Route("GET", "/", docs_home, access="public", about="The chat page, or this documentation without one."),
    Route("GET", "/docs", docs_home, access="public", about="The documentation."),
    Route("GET", "/docs/", docs_home, access="public", about="The documentation."),
    Route("GET", "/docs/{path}", docs_file, access="public", about="A page of the documentation."),
)
