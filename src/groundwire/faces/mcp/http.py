"""MCP over streamable HTTP, without sessions, as an ASGI application, and its route `POST /mcp`.

The server that mounts it checks Host, Origin and keys. Between requests only the running calls are kept: the
session id that a client gets only connects its requests, so that one can cancel another.

The package `mcp` is imported in the background when a client has listed the tools, or at the first request
that needs it. Until then requests are answered without it (see `handshake`): the import takes longer than
some clients wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from os import urandom
from typing import TYPE_CHECKING, TypeAlias, cast
from uuid import uuid4

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, ConfigError
from groundwire.faces.mcp.calls import CLIENT_KEY, PRINCIPAL_KEY, FetchAllowList
from groundwire.faces.mcp.handshake import (
    HANDSHAKE_VERSIONS,
    STATELESS_VERSION,
    early_reply,
    import_with_mcp,
    is_initialized_notification,
    require_mcp_package,
)
from groundwire.faces.mcp.tool_list import tool_definitions
from groundwire.model import JsonObject
from groundwire.server.asgi import AsgiMessage, Receive, Scope, Send
from groundwire.server.routes import Route

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from groundwire.client_protocol import SearchClient
    from groundwire.server.app import HttpApp, RequestContext

RawHeaders: TypeAlias = Mapping[bytes, bytes]

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
_METHOD = b"mcp-method"
_ACCEPTED = (b"application/json", b"text/event-stream")


def mcp_app(
    client: SearchClient, *, secret: bytes = b"", language: str = "en", every: bool = False
) -> McpApp:
    """Create the application. Processes with the same secret accept the ids of each other's search
    results."""
    return McpApp(client, secret or urandom(32), language=language, every=every)


class McpApp:
    """ASGI application for MCP clients; call `aclose` at shutdown."""

    def __init__(self, client: SearchClient, secret: bytes, *, language: str, every: bool) -> None:
        self._client = client
        self._secret = secret
        self._language = language
        self._every = every
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._manager_task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["method"] != "POST":
            await _send_error(send, 405, "use POST: this MCP endpoint has no stream to listen to")
            return
        headers = dict(cast("list[tuple[bytes, bytes]]", scope["headers"]))
        if _SESSION not in headers and _VERSION not in headers:
            send = _with_session_id(send)
        try:
            if not self._is_loaded:
                require_mcp_package()
                body = await _read_body(receive)
                receive = _replay_body(body, receive)
                client = cast("SearchClient", scope.get(CLIENT_KEY, self._client))
                if await self._respond_early(client, headers, body, send):
                    return
            manager = await asyncio.shield(self._load())
        except ConfigError as error:
            await _send_error(send, 501, error.message)
            return
        await manager.handle_request(scope, receive, send)

    async def aclose(self) -> None:
        """Cancel running calls and close."""
        self._stop.set()
        if self._manager_task is not None:
            await asyncio.wait({self._manager_task})

    @property
    def _is_loaded(self) -> bool:
        return self._manager is not None and self._manager.done()

    def _load(self) -> asyncio.Future[StreamableHTTPSessionManager]:
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            # Its cancel scopes must be left by the task that entered them, and requests come and go.
            self._manager_task = asyncio.create_task(self._run_manager(self._manager))
        return self._manager

    async def _respond_early(
        self, client: SearchClient, headers: RawHeaders, body: bytes, send: Send
    ) -> bool:
        """Respond without the package, with the same bytes; False if only the package can."""
        stateless = _is_stateless(headers)
        if stateless is None:
            return False
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return False
        if is_initialized_notification(text):
            await _respond(send, 202, b"")
            return True
        tools = lambda: tool_definitions(client, self._language, every=self._every)  # noqa: E731
        reply = early_reply(text, tools, stateless=stateless)
        if reply is None or headers.get(_METHOD, _method(text)) != _method(text):
            return False
        await _respond(send, 200, dump_json(reply).encode())
        if "tools" in cast("JsonObject", reply["result"]):
            # A call will follow; an earlier import would only slow down the client's first requests.
            self._load().add_done_callback(_ignore_exception)
        return True

    async def _run_manager(self, started: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        try:
            # In a thread: the import takes more than a second.
            await asyncio.to_thread(import_with_mcp, "groundwire.faces.mcp.server")
        except ConfigError as error:
            started.set_exception(error)
            return
        from groundwire.faces.mcp.server import SearchServer, session_manager  # noqa: PLC0415  see above

        allow_list = FetchAllowList(self._secret)
        server = SearchServer(self._client, allow_list, language=self._language, every=self._every)
        manager = session_manager(server)
        async with manager.run():
            started.set_result(manager)
            await self._stop.wait()


def _is_stateless(headers: RawHeaders) -> bool | None:
    """Does the protocol version of the headers need no handshake? None if only the package can tell."""
    accept = headers.get(b"accept", b"").lower()
    content_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if content_type != b"application/json" or not all(kind in accept for kind in _ACCEPTED):
        return None
    version = headers.get(_VERSION, b"").decode("latin-1")
    if version in ("", *HANDSHAKE_VERSIONS):
        return False
    return True if version == STATELESS_VERSION else None


def _method(text: str) -> bytes:
    return str(cast("JsonObject", load_json(text, ClientWireError))["method"]).encode()


async def _read_body(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    while True:
        message = await receive()
        chunks.append(cast("bytes", message.get("body", b"")))
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(chunks)


def _replay_body(body: bytes, rest: Receive) -> Receive:
    """A `receive` with the body that was read already, then what follows."""
    pending: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> AsgiMessage:
        return pending.pop() if pending else await rest()

    return receive


def _ignore_exception(loaded: asyncio.Future[StreamableHTTPSessionManager]) -> None:
    """Mark a failed import as seen: the next request that needs the package reports it."""
    if not loaded.cancelled():
        loaded.exception()


async def _send_error(send: Send, status: int, message: str) -> None:
    """Send a JSON-RPC error."""
    error: JsonObject = {"code": -32600, "message": message}
    body = dump_json({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    await _respond(send, status, body, (b"allow", b"POST"))


async def _respond(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_session_id(send: Send) -> Send:
    """Add a new session id to the response."""

    async def send_with_id(message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            headers = cast("list[tuple[bytes, bytes]]", message.get("headers", []))
            message = {**message, "headers": [*headers, (_SESSION, uuid4().hex.encode())]}
        await send(message)

    return send_with_id


MCP_PATH = "/mcp"


def mcp_route(mcp: McpApp) -> Route:
    """The route `POST /mcp`; the server refuses other methods."""

    async def endpoint(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
        exchange = context.exchange

        async def send(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                headers = cast("list[tuple[bytes, bytes]]", message.get("headers", []))
                decoded = ((name.decode("latin-1"), text.decode("latin-1")) for name, text in headers)
                await exchange.start_response(
                    cast("int", message["status"]), (*decoded, ("x-request-id", context.request_id))
                )
            elif message["type"] == "http.response.body":
                body = cast("bytes", message.get("body", b""))
                await exchange.write(body, more=bool(message.get("more_body")))

        data = await exchange.read_json(app.max_body_bytes)
        scope = {**exchange.scope, CLIENT_KEY: app.groundwire, PRINCIPAL_KEY: context.key}
        await mcp(scope, exchange.replay_body(data), send)

    return Route(
        "POST",
        MCP_PATH,
        endpoint,
        about="The search tools over MCP (streamable HTTP, no sessions).",
        group="mcp",
    )
