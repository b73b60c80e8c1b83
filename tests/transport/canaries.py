"""Listeners that must never get a connection, and a small web on loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from groundwire.testing.script import Script, ScriptedResponse
from groundwire.testing.upstream import Upstream
from groundwire.transport.safe_fetch import SafeFetcher
from groundwire.transport.ssrf import SsrfPolicy

FORBIDDEN_HOST = "127.0.0.2"


class Canaries:
    """Count every connection made to them. They listen where the allowed server does, on other addresses."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.touched: list[str] = []

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Canaries]:
        async with AsyncExitStack() as stack:
            for host in (FORBIDDEN_HOST, "::1"):
                server = await asyncio.start_server(self._touch, host, self.port)
                stack.push_async_callback(self._close, server)
            yield self

    def _touch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.touched.append(str(writer.get_extra_info("sockname")))
        writer.close()

    @staticmethod
    async def _close(server: asyncio.Server) -> None:
        server.close()
        await server.wait_closed()


class FakeResolver:
    """A resolver with scripted answers: each in turn, the last one repeatedly."""

    def __init__(self, **answers: Iterable[Iterable[str]]) -> None:
        self._answers = {
            name.replace("_", "."): [tuple(one) for one in many] for name, many in answers.items()
        }
        self.lookups: list[str] = []

    async def __call__(self, host: str) -> tuple[str, ...]:
        self.lookups.append(host)
        answers = self._answers.get(host)
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]


class Web:
    """An allowed server, canaries on other addresses, and a fetcher."""

    def __init__(self, upstream: Upstream, canaries: Canaries, fetcher: SafeFetcher) -> None:
        self.upstream = upstream
        self.canaries = canaries
        self.fetcher = fetcher
        self.port = canaries.port

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """A URL with the allowed port."""
        return f"http://{host}:{self.port}{path}"


def page(text: str = "<p>Hello</p>", **headers: str) -> ScriptedResponse:
    """A page of HTML."""
    extra = {name.replace("_", "-"): text for name, text in headers.items()}
    return ScriptedResponse(headers={"content-type": "text/html; charset=UTF-8", **extra}, body=text.encode())


@asynccontextmanager
async def small_web(
    script: Script | ScriptedResponse, names: FakeResolver | None = None, *, seconds: float = 5.0
) -> AsyncIterator[Web]:
    """Only the server's own socket address is allowed; the canaries differ from it by their IP alone."""
    async with Upstream(script) as upstream:
        port = int(upstream.url.rpartition(":")[2])
        rules = SsrfPolicy(ports=frozenset({80, 443, port}), trusted=frozenset({("127.0.0.1", port)}))
        fetcher = (
            SafeFetcher(rules, seconds=seconds)
            if names is None
            else SafeFetcher(rules, resolve=names, seconds=seconds)
        )
        async with Canaries(port).listening() as canaries, fetcher:
            yield Web(upstream, canaries, fetcher)
        assert canaries.touched == []
