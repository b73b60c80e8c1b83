"""An MCP server on loopback with a scripted provider, and official clients for it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from groundwire.client import Groundwire
from groundwire.config.load import load
from groundwire.engine.pages import Page
from groundwire.errors import NotFound
from groundwire.faces.mcp.http import mcp_app
from groundwire.model import Source
from groundwire.server.asgi import Receive, Scope, Send
from groundwire.testing.answers import answer_events
from groundwire.testing.script import ScriptedResponse
from groundwire.testing.upstream import Upstream, answer

COLOGNE = Source("https://stadt.example/koeln", "Köln in Zahlen", excerpts=("Köln hat 1,1 Mio. Einwohner.",))
TEXT = "Köln hat 1,1 Mio. Einwohner."
ANSWER = answer("gemini", answer_events(TEXT, COLOGNE, query="Einwohner Köln"))
SILENT = ScriptedResponse(delay=float("inf"))
KEY = "test-key-0123456789"


class Library(Groundwire):
    """A `Groundwire` with prepared pages: stored ones, and ones on the web."""

    stored: Mapping[str, Page] = {}
    web: Mapping[str, Page] = {}

    async def page(self, url: str, *, live: bool = True) -> Page:
        found = self.stored.get(url) or (self.web.get(url) if live else None)
        if found is None:
            raise NotFound("there is no such page")
        return found


@dataclass
class RunningMcpServer:
    """A running MCP server."""

    url: str
    upstream: Upstream
    groundwire: Library


def environment(upstream: Upstream, home: Path) -> dict[str, str]:
    """Environment variables with Gemini as the only provider, at the scripted upstream."""
    return {
        "HOME": str(home),
        "GEMINI_API_KEY": KEY,
        "GROUNDWIRE_GEMINI_BASE_URL": upstream.url,
        "GROUNDWIRE_DATA_DIR": str(home / "data"),
        "GROUNDWIRE_BUILD_INDEX": "0",
        "GROUNDWIRE_SEMANTIC": "0",
    }


@asynccontextmanager
async def served(home: Path, *responses: ScriptedResponse) -> AsyncIterator[RunningMcpServer]:
    """The MCP application alone on a free port, without a gateway."""
    async with Upstream(responses or (ANSWER,)) as upstream:
        env = environment(upstream, home)
        groundwire = Library(load(env, str(home), str(home)), env=env)
        async with groundwire:
            app = mcp_app(groundwire)

            async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
                if scope["type"] == "http":
                    await app(scope, receive, send)

            async with _listening(mounted) as url:
                yield RunningMcpServer(f"{url}/mcp", upstream, groundwire)
            await app.aclose()


@asynccontextmanager
async def _listening(app: object) -> AsyncIterator[str]:
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_level="warning", timeout_graceful_shutdown=1)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(10):
            while not server.started:
                await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
