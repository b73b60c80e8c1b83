"""Signs of life, and what was counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundwire.dialects.json import dump_json
from groundwire.faces.gateway.asgi import JSON
from groundwire.faces.gateway.routes import Route

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


async def healthz(_: Gateway, call: Call, __: Mapping[str, str]) -> None:
    """The process is there."""
    await _say(call, 200, "ok")


async def readyz(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """Requests are welcome: the gateway does not close, a provider can be used, and the store answers."""
    if gateway.draining:
        await _say(call, 503, "closing")
    elif not any(gateway.groundwire.usable().values()):
        await _say(call, 503, "no provider can be used; `groundwire doctor` says why")
    else:
        problems = [problem for check in gateway.readiness if (problem := await check())]
        await _say(call, 503 if problems else 200, "; ".join(problems) or "ready")


async def hello(_: Gateway, call: Call, __: Mapping[str, str]) -> None:
    """Claude Code looks whether anybody is there before it asks."""
    await _say(call, 200, "hello")


async def metrics(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """Counts in the text form of Prometheus."""
    text = gateway.metrics.text(gateway.open)
    await call.inbound.respond(200, (("content-type", _PROMETHEUS),), text.encode())


async def _say(call: Call, status: int, word: str) -> None:
    head = (("content-type", JSON), ("cache-control", "no-store"), ("x-request-id", call.request_id))
    await call.inbound.respond(status, head, dump_json({"status": word}).encode())


HEALTH: tuple[Route, ...] = (
    Route("GET", "/healthz", healthz, access="public", always=True, about="Is the process there?"),
    Route(
        "GET",
        "/readyz",
        readyz,
        access="public",
        always=True,
        about="Are requests welcome? 503 while it closes, or its store does not answer.",
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
        about="Counts and durations for Prometheus.",
    ),
)
