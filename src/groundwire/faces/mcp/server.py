"""The MCP server, on the low-level server of the package `mcp`: our tools have complete schemas already.

A call runs in its own task, outside the cancel scopes of the package: those cancel again at every await, also
while a connection is being closed, so that the upstream request would be cancelled late or never.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, cast

import anyio
from mcp import MCPError, types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types.version import is_version_at_least
from sse_starlette.sse import AppStatus

from groundwire import __version__
from groundwire.faces.mcp.calls import CLIENT_KEY, PRINCIPAL_KEY, ProgressReporter, ToolOutput, run_tool
from groundwire.faces.mcp.handshake import INSTRUCTIONS, NAME
from groundwire.faces.mcp.tool_list import NAMES, tool_definitions
from groundwire.text.urls import safe_url

if TYPE_CHECKING:
    from types import TracebackType

    import anyio
    from mcp.server.context import ServerRequestContext
    from mcp.shared._stream_protocols import WriteStream
    from mcp.shared.message import SessionMessage

    from groundwire.client_protocol import SearchClient
    from groundwire.faces.mcp.calls import FetchAllowList
    from groundwire.faces.mcp.handshake import HandshakeReply
    from groundwire.faces.mcp.stdio import StdinLines

_LINKS_VERSION = "2025-06-18"
_CANCELLED = -32800
"""The code of the Language Server Protocol; MCP defines none."""
_CANCEL_SECONDS = 5.0
"""Until a cancelled call must have closed its upstream request."""


class SearchServer:
    """The tools of one `Groundwire`, as an MCP server."""

    def __init__(
        self, client: SearchClient, allow_list: FetchAllowList, *, language: str = "en", every: bool = False
    ) -> None:
        self._client = client
        self._allow_list = allow_list
        self._language = language
        self._every = every
        self._calls: dict[tuple[str, str], asyncio.Task[ToolOutput]] = {}
        self.server: Server[dict[str, object]] = Server(
            NAME,
            version=__version__,
            title=NAME,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        self.server.add_notification_handler(
            "notifications/cancelled", types.CancelledNotificationParams, self._cancelled
        )

    async def _list(
        self, context: ServerRequestContext[dict[str, object]], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        definitions = tool_definitions(self._client_of(context), self._language, every=self._every)
        return types.ListToolsResult(tools=[types.Tool.model_validate(entry) for entry in definitions])

    async def _call(
        self, context: ServerRequestContext[dict[str, object]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in NAMES:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name!r}.", list(NAMES))
        progress = ProgressReporter(context.session.report_progress)
        client = self._client_of(context)
        work = run_tool(client, self._allow_list, params.name, params.arguments or {}, progress.observe)
        output = await self._run_call(_call_key(context, context.request_id), work, progress)
        return _result(output, links=is_version_at_least(context.protocol_version, _LINKS_VERSION))

    def _client_of(self, context: ServerRequestContext[dict[str, object]]) -> SearchClient:
        """The client as the API key of the request may use it; over stdio there are no keys."""
        if context.request is None:
            return self._client
        return cast("SearchClient", context.request.scope.get(CLIENT_KEY, self._client))

    async def _cancelled(
        self, context: ServerRequestContext[dict[str, object]], params: types.CancelledNotificationParams
    ) -> None:
        """Cancel a call: over HTTP, a client does so in another request."""
        session, _ = key = _call_key(context, params.request_id)
        if session and (task := self._calls.get(key)) is not None:
            task.cancel()

    async def _run_call(
        self, key: tuple[str, str], work: Coroutine[object, object, ToolOutput], progress: ProgressReporter
    ) -> ToolOutput:
        """Run a call with progress notifications; when this returns or is cancelled, nothing of it is
        running."""
        call = asyncio.create_task(work)
        reporting = asyncio.create_task(progress.run())
        self._calls[key] = call
        try:
            await asyncio.wait({call})
        finally:
            self._calls.pop(key, None)
            call.cancel()
            reporting.cancel()
            with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
                await asyncio.gather(call, reporting, return_exceptions=True)
        if call.cancelled():
            raise MCPError(_CANCELLED, "The call was cancelled.")
        return call.result()


def session_manager(server: SearchServer) -> StreamableHTTPSessionManager:
    """Session manager for HTTP, in stateless mode."""
    # Otherwise its responses would end, empty and with status 200, as soon as a uvicorn server of this
    # process gets a signal to exit. Our server lets them continue until it has drained.
    AppStatus.enable_automatic_graceful_drain = False
    return StreamableHTTPSessionManager(server.server, stateless=True)


def _call_key(context: ServerRequestContext[dict[str, object]], request: object) -> tuple[str, str]:
    """Key of a running call: request ids are unique only within a session, and a session belongs to one API
    key."""
    if context.request is None:
        return "", repr(request)
    session = context.request.headers.get("mcp-session-id", "")
    return (f"{context.request.scope.get(PRINCIPAL_KEY, '')} {session}" if session else ""), repr(request)


def _result(output: ToolOutput, *, links: bool) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=output.text)]
    if links:
        content += (
            types.ResourceLink(
                uri=link.url, name=link.title, title=link.title, description=link.passage or None
            )
            for link in output.links
            if safe_url(link.url)
        )
    return types.CallToolResult(content=content, structured_content=output.structured, is_error=output.failed)


async def serve_stdio_client(
    tools: SearchServer, lines: StdinLines, handshake: HandshakeReply | None
) -> None:
    """Serve one client until it closes its end. The handshake reply is not sent again."""
    incoming = cast("anyio.AsyncFile[str]", lines)
    try:
        async with stdio_server(stdin=incoming) as (reading, writing):
            output = writing if handshake is None else WithoutHandshakeReply(writing, handshake)
            await tools.server.run(reading, output, tools.server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client has exited


class WithoutHandshakeReply:
    """A message stream that drops the package's own reply to the handshake, which was answered before."""

    def __init__(self, stream: WriteStream[SessionMessage], handshake: HandshakeReply) -> None:
        self._stream = stream
        self._handshake: HandshakeReply | None = handshake

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        handshake = self._handshake
        if handshake is not None and getattr(item.message, "id", None) == handshake.id:
            self._handshake = None
            return
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> WithoutHandshakeReply:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        await self.aclose()
        return None
