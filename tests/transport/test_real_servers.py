"""The HTTP client against third-party servers: aiohttp, and uvicorn with both of its parsers."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
import uvicorn
from aiohttp import web

from groundwire.errors import Interrupted
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.response import Response
from tests.transport.certificates import certificate
from tests.transport.leftovers import nothing_left
from tests.transport.raw_server import HERE, client

pytestmark = pytest.mark.server

PATIENT = Deadlines(connect=10, first_byte=10, idle=10, total=20)
LARGE = bytes(range(256)) * 20_000
PIECES = [b"data: %d\n\n" % number for number in range(300)]

Serving: TypeAlias = Callable[[ssl.SSLContext | None], AbstractAsyncContextManager[int]]


async def streamed(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    for piece in PIECES:
        await response.write(piece)
    return response


async def cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    await response.write(b"begun")
    assert request.transport is not None
    request.transport.abort()
    return response


async def packed(request: web.Request) -> web.StreamResponse:
    response = web.Response(body=LARGE)
    response.enable_compression(web.ContentCoding(request.query["how"]))
    return response


async def echoed(request: web.Request) -> web.StreamResponse:
    return web.Response(status=201, body=await request.read(), headers={"x-target": request.raw_path})


async def large(_: web.Request) -> web.StreamResponse:
    return web.Response(body=LARGE)


async def bodiless(_: web.Request) -> web.StreamResponse:
    return web.Response(status=204)


async def last(_: web.Request) -> web.StreamResponse:
    response = web.Response(body=b"bye")
    response.force_close()
    return response


@asynccontextmanager
async def aiohttp_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    app = web.Application(client_max_size=2 * len(LARGE))
    app.router.add_route("*", "/stream", streamed)
    app.router.add_route("*", "/cut", cut_off)
    app.router.add_route("*", "/packed", packed)
    app.router.add_route("*", "/echo", echoed)
    app.router.add_route("*", "/large", large)
    app.router.add_route("*", "/none", bodiless)
    app.router.add_route("*", "/last", last)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HERE, 0, ssl_context=tls)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


Message: TypeAlias = MutableMapping[str, object]


async def asgi(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """The same routes as a bare ASGI application."""
    body, more = b"", True
    while more:
        message = await receive()
        body += bytes(message.get("body", b""))  # type: ignore[call-overload]  # bytes, according to ASGI
        more = bool(message.get("more_body"))
    path = scope["path"]
    whole = {"/large": LARGE, "/echo": body, "/last": b"bye", "/none": b""}.get(str(path))
    target, query = bytes(scope["raw_path"]), bytes(scope["query_string"])  # type: ignore[call-overload]  # bytes, according to ASGI
    headers = [
        (b"x-target", target + b"?" + query),
        *([(b"connection", b"close")] if path == "/last" else []),
    ]
    if whole is not None and path != "/none":
        headers.append((b"content-length", b"%d" % len(whole)))
    status = {"/none": 204, "/echo": 201}.get(str(path), 200)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for piece in PIECES if whole is None else ():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": whole or b""})


def uvicorn_server(parser: str) -> Serving:
    @asynccontextmanager
    async def run_it(tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
        config = uvicorn.Config(asgi, http=parser, lifespan="off", log_config=None, access_log=False)
        config.load()
        config.ssl = tls
        server = uvicorn.Server(config)
        with socket.create_server((HERE, 0)) as listener:
            serving = asyncio.ensure_future(server._serve([listener]))
            while not server.started:
                await asyncio.sleep(0.001)
            try:
                yield listener.getsockname()[1]
            finally:
                server.should_exit = True
                await serving

    return run_it


SERVERS = {
    "aiohttp": aiohttp_server,
    "uvicorn httptools": uvicorn_server("httptools"),
    "uvicorn h11": uvicorn_server("h11"),
}


@pytest.fixture(params=SERVERS.values(), ids=list(SERVERS))
def server(request: pytest.FixtureRequest) -> Serving:
    chosen: Serving = request.param
    return chosen


@asynccontextmanager
async def open_at(
    http: Http, port: int, path: str, method: str = "GET", body: bytes = b"", scheme: str = "http"
) -> AsyncIterator[Response]:
    async with http.open(
        HttpRequest(method, f"{scheme}://{HERE}:{port}{path}", {}, body), PATIENT
    ) as response:
        yield response


async def fetch(
    http: Http, port: int, path: str, method: str = "GET", body: bytes = b"", scheme: str = "http"
) -> tuple[int, bytes]:
    async with open_at(http, port, path, method, body, scheme) as response:
        return response.status, await response.body()


def idle_connections(http: Http) -> int:
    """The number of idle connections in the pool."""
    assert http._pool is not None
    return sum(map(len, http._pool._idle.values()))


CALLS = [
    ("GET", "/stream", b"", (200, b"".join(PIECES))),
    ("HEAD", "/large", b"", (200, b"")),
    ("GET", "/large", b"", (200, LARGE)),
    ("POST", "/echo", LARGE[:700_000], (201, LARGE[:700_000])),
    ("POST", "/echo", b"", (201, b"")),
    ("GET", "/none", b"", (204, b"")),
    ("PUT", "/echo", b"x", (201, b"x")),
    ("OPTIONS", "/none", b"", (204, b"")),
]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_requests_of_all_kinds_share_one_connection(
    server: Serving, scheme: str, tmp_path: Path
) -> None:
    serving_tls, trusting = certificate(tmp_path, HERE)

    async with (
        nothing_left(),
        server(serving_tls if scheme == "https" else None) as port,
        client(tls=trusting) as http,
    ):
        for method, path, body, expected in CALLS:
            assert await fetch(http, port, path, method, body, scheme) == expected
            assert idle_connections(http) == 1, f"{method} {path} leaves its connection"
        ((_, kept),) = next(iter(http._pool._idle.values()))  # type: ignore[union-attr]  # open
        assert await fetch(http, port, "/last", "GET", b"", scheme) == (200, b"bye")
        assert idle_connections(http) == 0
        assert not kept.is_idle(), "all requests used one connection"


async def test_a_target_arrives_as_it_was_escaped(server: Serving) -> None:
    async with server(None) as port, client() as http:
        for target in ("/echo?q=%2F+%20'%zz&a=%C3%BC", "/ech%6F?/?:@", "/echo?"):
            async with open_at(http, port, target) as response:
                assert response.headers["x-target"].rstrip("?") == target.rstrip("?")


async def test_concurrent_requests_are_not_mixed_up(server: Serving) -> None:
    async with nothing_left(), server(None) as port, client() as http:
        for _ in range(2):
            bodies = [b"%d," % number * 5000 for number in range(40)]
            requests = [fetch(http, port, "/echo", "POST", body) for body in bodies]
            assert await asyncio.gather(*requests) == [(201, body) for body in bodies]
        assert idle_connections(http) == 40


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_slow_reader_buffers_little_and_loses_nothing(
    server: Serving, scheme: str, tmp_path: Path
) -> None:
    serving_tls, trusting = certificate(tmp_path, HERE)

    async with server(serving_tls if scheme == "https" else None) as port, client(tls=trusting) as http:
        async with open_at(http, port, "/large", scheme=scheme) as response:
            connection = response._connection
            while not connection._paused:
                await asyncio.sleep(0.001)
            held = connection._buffered
            await asyncio.sleep(0.01)
            assert connection._buffered == held < 400_000, "what one reading brings, and no more"
            assert await response.body() == LARGE
        assert idle_connections(http) == 1


@pytest.mark.parametrize("how", ["gzip", "deflate"])
async def test_compressed_bodies_are_decompressed(how: str) -> None:
    async with aiohttp_server() as port, client() as http:
        for _ in range(2):
            assert await fetch(http, port, f"/packed?how={how}") == (200, LARGE)
        assert idle_connections(http) == 1


async def test_a_truncated_stream_is_an_error() -> None:
    async with (
        nothing_left(),
        aiohttp_server() as port,
        client() as http,
        open_at(http, port, "/cut") as response,
    ):
        assert await response.read() == b"begun"
        with pytest.raises(Interrupted):
            await response.read()
