"""The server itself: the package's low-level one, because the schemas of our tools are exact already.

A call runs in a task of its own, outside the package's cancel scopes: they cancel again at every step, also
in the midst of closing a connection, and the provider would hear of it late or never.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING

import anyio
from mcp import MCPError, types
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types.version import is_version_at_least
from sse_starlette.sse import AppStatus

from groundwire import __version__
from groundwire.faces.mcp.calls import Told, call
from groundwire.faces.mcp.handshake import INSTRUCTIONS, NAME
from groundwire.faces.mcp.progress import Progress
from groundwire.faces.mcp.tool_list import NAMES, offered

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from groundwire.faces.mcp.fetch_allow_list import Addresses
    from groundwire.faces.mcp.tool_list import Asker

_LINKS_SINCE = "2025-06-18"
_CANCELLED = -32800
"""As the Language Server Protocol has it; MCP names no code for it."""
_GOODBYE = 5.0
"""Seconds for a cancelled call to let go of its provider."""


class SearchServer:
    """The tools of one `Groundwire`, as an MCP server."""

    def __init__(
        self, asker: Asker, addresses: Addresses, *, language: str = "en", every: bool = False
    ) -> None:
        self._asker = asker
        self._addresses = addresses
        self._language = language
        self._every = every
        self._calls: dict[tuple[str, str], asyncio.Task[Told]] = {}
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
        self, _: ServerRequestContext[dict[str, object]], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        definitions = offered(self._asker, self._language, every=self._every)
        return types.ListToolsResult(tools=[types.Tool.model_validate(entry) for entry in definitions])

    async def _call(
        self, context: ServerRequestContext[dict[str, object]], asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if asked.name not in NAMES:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {asked.name!r}.", list(NAMES))
        progress = Progress(context.session.report_progress)
        work = call(self._asker, self._addresses, asked.name, asked.arguments or {}, progress.see)
        told = await self._attended(_name(context, context.request_id), work, progress)
        return _result(told, links=is_version_at_least(context.protocol_version, _LINKS_SINCE))

    async def _cancelled(
        self, context: ServerRequestContext[dict[str, object]], asked: types.CancelledNotificationParams
    ) -> None:
        """A client of HTTP may say in another request that it no longer wants the answer of the first."""
        session, _ = name = _name(context, asked.request_id)
        if session and (task := self._calls.get(name)) is not None:
            task.cancel()

    async def _attended(
        self, name: tuple[str, str], work: Coroutine[object, object, Told], progress: Progress
    ) -> Told:
        """Do the work and tell how far it is; when this returns or is cancelled, nothing of it runs."""
        doing = asyncio.create_task(work)
        telling = asyncio.create_task(progress.run())
        self._calls[name] = doing
        try:
            await asyncio.wait({doing})
        finally:
            self._calls.pop(name, None)
            doing.cancel()
            telling.cancel()
            with anyio.move_on_after(_GOODBYE, shield=True):
                await asyncio.gather(doing, telling, return_exceptions=True)
        if doing.cancelled():
            raise MCPError(_CANCELLED, "The call was cancelled.")
        return doing.result()


def manager_of(tools: SearchServer) -> StreamableHTTPSessionManager:
    """Serves the tools over HTTP, each request for itself."""
    # Its responses would end, empty and with status 200, as soon as a uvicorn server of this process is asked
    # to exit. The gateway lets them go on until it has drained.
    AppStatus.enable_automatic_graceful_drain = False
    return StreamableHTTPSessionManager(tools.server, stateless=True)


def _name(context: ServerRequestContext[dict[str, object]], request: object) -> tuple[str, str]:
    """A call under way: numbers of requests are unique within a session only."""
    headers = context.request.headers if context.request is not None else {}
    return headers.get("mcp-session-id", ""), repr(request)


def _result(told: Told, *, links: bool) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=told.text)]
    if links:
        content += (
            types.ResourceLink(
                uri=link.url, name=link.title, title=link.title, description=link.passage or None
            )
            for link in told.links
        )
    return types.CallToolResult(content=content, structured_content=told.structured, is_error=told.failed)
