"""The server over HTTP (streamable, without sessions), as an ASGI application to be mounted.

Host, Origin and keys are the business of who mounts it. Nothing is kept between two requests but the calls
under way: the session id that a client is given only ties its requests together, so that it can cancel one
by another. What the package needs to live is made at the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from os import urandom
from typing import TYPE_CHECKING, TypeAlias, cast
from uuid import uuid4

from groundwire.dialects.jsontext import dump_json
from groundwire.errors import ConfigError
from groundwire.faces.mcp.addresses import Addresses
from groundwire.faces.mcp.package import imported
from groundwire.model import JsonObject

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from groundwire.faces.mcp.offering import Asker

Scope: TypeAlias = MutableMapping[str, object]
Message: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"


def mcp_app(asker: Asker, *, secret: bytes = b"", language: str = "en", every: bool = False) -> McpApp:
    """The application. Processes with the same secret know the ids of each other's search results."""
    return McpApp(asker, secret or urandom(32), language=language, every=every)


class McpApp:
    """Answers requests of MCP clients; `aclose` when no more will come."""

    def __init__(self, asker: Asker, secret: bytes, *, language: str, every: bool) -> None:
        self._asker = asker
        self._secret = secret
        self._language = language
        self._every = every
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._living: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["method"] != "POST":
            await _refuse(send, 405, "MCP is spoken by POST here; there is no stream to listen to")
            return
        try:
            manager = await self._started()
        except ConfigError as error:
            await _refuse(send, 501, error.message)
            return
        headers = dict(cast("list[tuple[bytes, bytes]]", scope["headers"]))
        if _SESSION not in headers and _VERSION not in headers:
            send = _naming_session(send)
        await manager.handle_request(scope, receive, send)

    async def aclose(self) -> None:
        """End what is under way."""
        self._stop.set()
        if self._living is not None:
            await asyncio.wait({self._living})

    async def _started(self) -> StreamableHTTPSessionManager:
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            # Its scopes must be left by the task that entered them, and requests come and go.
            self._living = asyncio.create_task(self._live(self._manager))
        return await asyncio.shield(self._manager)

    async def _live(self, started: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        try:
            # The package takes more than a second to import; others must not wait for that.
            await asyncio.to_thread(imported, "groundwire.faces.mcp.server")
        except ConfigError as error:
            started.set_exception(error)
            return
        from groundwire.faces.mcp.server import SearchServer, manager_of  # noqa: PLC0415  see above

        addresses = Addresses(self._secret)
        tools = SearchServer(self._asker, addresses, language=self._language, every=self._every)
        manager = manager_of(tools)
        async with manager.run():
            started.set_result(manager)
            await self._stop.wait()


async def _refuse(send: Send, status: int, message: str) -> None:
    """An error in the shape of JSON-RPC."""
    error: JsonObject = {"code": -32600, "message": message}
    body = dump_json({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"allow", b"POST"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _naming_session(send: Send) -> Send:
    """Give the client a name for its session with the response to its first request."""

    async def naming(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = cast("list[tuple[bytes, bytes]]", message.get("headers", []))
            message = {**message, "headers": [*headers, (_SESSION, uuid4().hex.encode())]}
        await send(message)

    return naming
