"""One client on standard input and output, as soon as the package is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mcp.server.stdio import stdio_server

from groundwire.faces.mcp.server import SearchServer

if TYPE_CHECKING:
    from types import TracebackType

    import anyio
    from mcp.shared._stream_protocols import WriteStream
    from mcp.shared.message import SessionMessage

    from groundwire.faces.mcp.handshake import Greeting
    from groundwire.faces.mcp.stdin import Lines


async def converse(tools: SearchServer, lines: Lines, greeted: Greeting | None) -> None:
    """Serve until the client closes its end. What it was greeted with is not said again."""
    incoming = cast("anyio.AsyncFile[str]", lines)
    try:
        async with stdio_server(stdin=incoming) as (reading, writing):
            saying = writing if greeted is None else Unrepeated(writing, greeted)
            await tools.server.run(reading, saying, tools.server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client has gone, and nobody reads what we would still say


class Unrepeated:
    """A stream of messages without the one that was said before it began."""

    def __init__(self, stream: WriteStream[SessionMessage], greeted: Greeting) -> None:
        self._stream = stream
        self._greeted: Greeting | None = greeted

    async def send(self, item: SessionMessage, /) -> None:
        """Pass a message on."""
        greeted = self._greeted
        if greeted is not None and getattr(item.message, "id", None) == greeted.id:
            self._greeted = None
            return
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Unrepeated:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        await self.aclose()
        return None
