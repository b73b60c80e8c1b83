"""A minimal gateway with aiohttp's client: it only copies bytes or translates.

`/VARIANT/...` is forwarded to the upstream unchanged; `/VARIANT/DIALECT/...` is translated from that dialect.
It does not import groundwire, so that any environment with the libraries can run it:
`UPSTREAM=http://127.0.0.1:1 python -m gateway.minimal SERVER PORT`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import aiohttp

from gateway.translate import ROUTES, TranslationRoute, question

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

JSON = {"content-type": "application/json"}


class Gateway:
    """ASGI application in front of `upstream`, a base URL."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)
            timeout = aiohttp.ClientTimeout(total=None)
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=jar)
        return self._session

    @asynccontextmanager
    async def post(self, path: str, body: bytes) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self.session.post(self._upstream + path, data=body, headers=JSON) as response:
            yield response

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            body = await _body(receive)
            variant, _, rest = scope["path"][1:].partition("/")
            if rest in ROUTES:
                await self._translate(f"/{variant}", ROUTES[rest], body, send)
            else:
                query = scope["query_string"].decode()
                await self._copy(scope["path"] + (f"?{query}" if query else ""), body, send)

    async def _copy(self, path: str, body: bytes, send: Send) -> None:
        async with self.post(path, body) as response:
            kind = response.headers["content-type"].encode()
            if "content-length" in response.headers:
                await _whole(send, kind, await response.read())
                return
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
            while chunk := await response.content.readany():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    async def _translate(self, base: str, route: TranslationRoute, body: bytes, send: Send) -> None:
        parsed = json.loads(body)
        stream = parsed.get("stream", False)
        request = {**route.request(question(parsed)), "stream": stream}
        path = base + (route.stream_path if stream else route.path)
        async with self.post(path, json.dumps(request).encode()) as response:
            if not stream:
                await _whole(send, b"application/json", route.pair.whole(await response.read()))
                return
            kind = (b"content-type", b"text/event-stream")
            await send({"type": "http.response.start", "status": 200, "headers": [kind]})
            output, rest = route.pair.write.begin(), b""
            while chunk := await response.content.readany():
                *frames, rest = (rest + chunk).split(b"\n\n")
                output += route.pair.frames(frames)
                await send({"type": "http.response.body", "body": output, "more_body": True})
                output = b""
            await send({"type": "http.response.body", "body": b""})


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _whole(send: Send, kind: bytes, body: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def with_uvicorn(port: int, loop: str) -> None:
    import uvicorn  # noqa: PLC0415  imported only in the process that runs it

    settings: dict[str, Any] = {"http": "httptools", "access_log": False, "log_level": "warning"}
    uvicorn.run(app, host="127.0.0.1", port=port, loop=loop, lifespan="off", backlog=4096, **settings)


def with_granian(port: int, loop: str) -> None:
    # Its workers import the application themselves.
    flags = (
        "--interface",
        "asginl",
        "--loop",
        loop,
        "--no-ws",
        "--backlog",
        "4096",
        "--log-level",
        "warning",
    )
    address = ("--host", "127.0.0.1", "--port", str(port))
    os.execv(sys.executable, [sys.executable, "-m", "granian", *flags, *address, "gateway.minimal:app"])  # noqa: S606


def with_aiohttp(port: int, loop: str) -> None:
    if loop == "uvloop":
        import uvloop  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    from aiohttp import web  # noqa: PLC0415

    async def copy(request: web.Request) -> web.StreamResponse:
        async with app.post(request.raw_path, await request.read()) as response:
            kind = {"content-type": response.headers["content-type"]}
            if "content-length" in response.headers:
                return web.Response(body=await response.read(), headers=kind)
            reply = web.StreamResponse(headers=kind)
            await reply.prepare(request)
            while chunk := await response.content.readany():
                await reply.write(chunk)
            await reply.write_eof()
            return reply

    server = web.Application()
    server.router.add_post("/{path:.*}", copy)
    web.run_app(server, host="127.0.0.1", port=port, access_log=None, print=None, backlog=4096)


SERVERS = {"uvicorn": with_uvicorn, "granian": with_granian, "aiohttp": with_aiohttp}
app = Gateway(os.environ.get("UPSTREAM", ""))

if __name__ == "__main__":
    name, _, loop = sys.argv[1].partition("+")
    SERVERS[name](int(sys.argv[2]), loop or "asyncio")
