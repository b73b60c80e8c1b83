"""The server over HTTP (streamable, without sessions), as an ASGI application to be mounted.

Host, Origin and keys are the business of who mounts it. Nothing is kept between two requests but the calls
under way: the session id that a client is given only ties its requests together, so that it can cancel one
by another.

The package is loaded in the background when a client has asked for the tools, or at the first request that
needs it. Until then the first requests of a client are answered without it (`greeting`): importing it takes
longer than some clients wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from os import urandom
from typing import TYPE_CHECKING, TypeAlias, cast
from uuid import uuid4

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, ConfigError
from groundwire.faces.mcp.fetch_allow_list import Addresses
from groundwire.faces.mcp.handshake import HANDSHAKES, MODERN, first_answer, is_ready
from groundwire.faces.mcp.package import imported, need_package
from groundwire.faces.mcp.tool_list import offered
from groundwire.model import JsonObject

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from groundwire.faces.mcp.tool_list import Asker

Scope: TypeAlias = MutableMapping[str, object]
Message: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = Mapping[bytes, bytes]

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
_METHOD = b"mcp-method"
_ACCEPTED = (b"application/json", b"text/event-stream")


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
        headers = dict(cast("list[tuple[bytes, bytes]]", scope["headers"]))
        if _SESSION not in headers and _VERSION not in headers:
            send = _naming_session(send)
        try:
            if not self._is_loaded:
                need_package()
                body = await _body(receive)
                receive = _again(body, receive)
                if await self._answer_first(headers, body, send):
                    return
            manager = await asyncio.shield(self._load())
        except ConfigError as error:
            await _refuse(send, 501, error.message)
            return
        await manager.handle_request(scope, receive, send)

    async def aclose(self) -> None:
        """End what is under way."""
        self._stop.set()
        if self._living is not None:
            await asyncio.wait({self._living})

    @property
    def _is_loaded(self) -> bool:
        return self._manager is not None and self._manager.done()

    def _load(self) -> asyncio.Future[StreamableHTTPSessionManager]:
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            # Its scopes must be left by the task that entered them, and requests come and go.
            self._living = asyncio.create_task(self._live(self._manager))
        return self._manager

    async def _answer_first(self, headers: Headers, body: bytes, send: Send) -> bool:
        """Answer without the package what it would answer just so; False if it must."""
        modern = _is_modern(headers)
        if modern is None:
            return False
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return False
        if is_ready(text):
            await _respond(send, 202, b"")
            return True
        tools = lambda: offered(self._asker, self._language, every=self._every)  # noqa: E731
        answer = first_answer(text, tools, modern=modern)
        if answer is None or headers.get(_METHOD, _method(text)) != _method(text):
            return False
        await _respond(send, 200, dump_json(answer).encode())
        if "tools" in cast("JsonObject", answer["result"]):
            # A call follows; before, the import would only slow the client's first requests down.
            self._load().add_done_callback(_retrieved)
        return True

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


def _is_modern(headers: Headers) -> bool | None:
    """Which kind of version a request speaks by its headers; None if the package must look at them."""
    accept = headers.get(b"accept", b"").lower()
    content_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if content_type != b"application/json" or not all(kind in accept for kind in _ACCEPTED):
        return None
    version = headers.get(_VERSION, b"").decode("latin-1")
    if version in ("", *HANDSHAKES):
        return False
    return True if version == MODERN else None


def _method(text: str) -> bytes:
    return str(cast("JsonObject", load_json(text, ClientWireError))["method"]).encode()


async def _body(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    while True:
        message = await receive()
        chunks.append(cast("bytes", message.get("body", b"")))
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(chunks)


def _again(body: bytes, rest: Receive) -> Receive:
    """Receive a body that was read already, then what follows."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else await rest()

    return receive


def _retrieved(loaded: asyncio.Future[StreamableHTTPSessionManager]) -> None:
    """The next request that needs the package reports the error of a failed import."""
    if not loaded.cancelled():
        loaded.exception()


async def _refuse(send: Send, status: int, message: str) -> None:
    """An error in the shape of JSON-RPC."""
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


def _naming_session(send: Send) -> Send:
    """Give the client a name for its session with the response to its first request."""

    async def naming(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = cast("list[tuple[bytes, bytes]]", message.get("headers", []))
            message = {**message, "headers": [*headers, (_SESSION, uuid4().hex.encode())]}
        await send(message)

    return naming
