"""The application as a route of the gateway, behind its checks of Host, Origin and key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from groundwire.faces.gateway.routes import Route

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway
    from groundwire.faces.mcp.http import McpApp, Message

PATH = "/mcp"


def mcp_route(app: McpApp) -> Route:
    """`POST /mcp`; every other method is turned away by the gateway itself."""

    async def endpoint(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
        inbound = call.inbound

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = cast("list[tuple[bytes, bytes]]", message.get("headers", []))
                named = ((name.decode("latin-1"), text.decode("latin-1")) for name, text in headers)
                await inbound.begin(
                    cast("int", message["status"]), (*named, ("x-request-id", call.request_id))
                )
            elif message["type"] == "http.response.body":
                body = cast("bytes", message.get("body", b""))
                await inbound.write(body, more=bool(message.get("more_body")))

        data = await inbound.body(gateway.settings.max_body_mb * 2**20)
        await app(inbound.scope, inbound.again(data), send)

    return Route("POST", PATH, endpoint, about="The search tools over MCP (streamable HTTP, no sessions).")
