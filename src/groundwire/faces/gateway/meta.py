"""Routes about the gateway itself: health, readiness, metrics and OpenAPI."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundwire.dialects.json import dump_json
from groundwire.model import JsonObject
from groundwire.server.asgi import JSON
from groundwire.server.routes import Route

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


async def healthz(_: HttpApp, context: RequestContext, __: Mapping[str, str]) -> None:
    """Liveness: the process answers."""
    await _send_status(context, 200, "ok")


async def readyz(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Readiness: the server is not closing, a provider is usable, and the store answers."""
    if app.leaving or app.draining:
        await _send_status(context, 503, "closing")
    elif not any(app.groundwire.usable().values()):
        await _send_status(context, 503, "no provider is usable; `groundwire doctor` says why")
    else:
        results = await asyncio.gather(*(check() for check in app.readiness_checks))
        problems = [problem for problem in results if problem]
        index = await asyncio.to_thread(app.groundwire.build_index)
        # The reason of a failure may have paths; everybody can read this.
        is_shown = index is not None and index.phase in ("building", "interrupted")
        details: JsonObject = {"index": index.summary} if index is not None and is_shown else {}
        if degraded := [text for check in app.degradations if (text := check())]:
            details["degraded"] = "; ".join(degraded)
        await _send_status(context, 503 if problems else 200, "; ".join(problems) or "ready", details)


async def hello(_: HttpApp, context: RequestContext, __: Mapping[str, str]) -> None:
    """The connectivity probe of Claude Code."""
    await _send_status(context, 200, "hello")


async def metrics(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Metrics in the text format of Prometheus."""
    app.metrics.set_quotas(app.groundwire.health())
    text = app.metrics.text(app.open_requests)
    await context.exchange.respond(200, (("content-type", _PROMETHEUS),), text.encode())


async def _send_status(
    context: RequestContext, status: int, text: str, details: JsonObject | None = None
) -> None:
    head = (("content-type", JSON), ("cache-control", "no-store"), ("x-request-id", context.request_id))
    await context.exchange.respond(status, head, dump_json({"status": text, **(details or {})}).encode())


HEALTH_ROUTES: tuple[Route, ...] = (
    Route("GET", "/healthz", healthz, access="public", always=True, about="Liveness: the process answers."),
    Route(
        "GET",
        "/readyz",
        readyz,
        access="public",
        always=True,
        about="Readiness: 503 while the gateway closes, no provider is usable, or the store does not answer.",
    ),
    Route(
        "GET", "/api/hello", hello, access="public", always=True, about="Answers the probe of Claude Code."
    ),
    Route(
        "GET",
        "/metrics",
        metrics,
        access="metrics",
        always=True,
        about="Metrics for Prometheus.",
    ),
)


async def openapi(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Send the OpenAPI document."""
    from groundwire.faces.gateway.openapi import openapi_document  # noqa: PLC0415  many tables, rarely needed

    body = dump_json(openapi_document(app.routes.routes)).encode()
    await context.exchange.respond(200, (("content-type", JSON), ("x-request-id", context.request_id)), body)


OPENAPI_ROUTES: tuple[Route, ...] = (
    Route("GET", "/openapi.json", openapi, access="public", about="The routes as OpenAPI 3.1."),
)
