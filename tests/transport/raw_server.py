"""Minimal servers on loopback: one that runs a function for each connection, and a tunnelling proxy."""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

from groundwire.transport.http import Http
from groundwire.transport.http1.connect import Connector, ResolveHost
from groundwire.transport.http1.pool import Pool

HERE = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

ConnectionHandler: TypeAlias = Callable[[StreamReader, StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(
    handle: ConnectionHandler, *, host: str = HERE, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve on a free port. The function runs once for each connection, which is then closed."""
    talks: dict[asyncio.Task[None], StreamWriter] = {}

    async def run(reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, EOFError):
            await handle(reader, writer)
        writer.transport.abort()

    def connected(reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(run(reader, writer))
        talks[task] = writer
        task.add_done_callback(talks.pop)

    server = await asyncio.start_server(connected, host, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task, writer in talks.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*talks, return_exceptions=True)
        await asyncio.sleep(0)


async def request(reader: StreamReader) -> bytes:
    """The head of a request; its body is read too."""
    head = await reader.readuntil(b"\r\n\r\n")
    _, header, length = head.lower().partition(b"content-length: ")
    if header:
        await reader.readexactly(int(length.partition(b"\r\n")[0]))
    return head


async def answering(reader: StreamReader, writer: StreamWriter) -> None:
    """Responds with `ok` to every request."""
    while await request(reader):
        writer.write(OK)


async def silent(reader: StreamReader, _: StreamWriter) -> None:
    """Reads, and sends nothing until the client has disconnected."""
    while await reader.read(65536):
        pass


def reset(writer: StreamWriter) -> None:
    """Reset the connection: the client gets an error instead of the end of the stream."""
    held = writer.get_extra_info("socket")
    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.transport.abort()


def leading_to(
    port: int, heads: list[bytes] | None = None, reply: bytes = b"HTTP/1.1 200 Yes\r\n\r\n"
) -> ConnectionHandler:
    """A proxy that connects every tunnel to one port, and records the request heads."""

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        head = await request(reader)
        if heads is not None:
            heads.append(head)
        writer.write(reply)
        there, onward = await asyncio.open_connection(HERE, port)
        pumps = [
            asyncio.ensure_future(_pump(reader, onward)),
            asyncio.ensure_future(_pump(there, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            onward.transport.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    return handle


async def _pump(reader: StreamReader, writer: StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


def names(**addresses: Sequence[str]) -> ResolveHost:
    """A resolver with fixed addresses; underscores in names are dots."""
    book = {name.replace("_", "."): found for name, found in addresses.items()}

    async def resolve(host: str) -> Sequence[str]:
        if host not in book:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return book[host]

    return resolve


@asynccontextmanager
async def client(
    resolve: ResolveHost | None = None, tls: ssl.SSLContext | None = None, **env: str
) -> AsyncIterator[Http]:
    """A client with its own resolver and TLS context."""
    async with Http(env) as http:
        http._pool = Pool(Connector(resolve, tls), 30.0)
        yield http


def then_silent(data: bytes) -> ConnectionHandler:
    """Sends the data after a request, and nothing more."""

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(data)
        await silent(reader, writer)

    return handle
