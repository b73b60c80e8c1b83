"""Egress proxy of the Copilot sandbox: an HTTP `CONNECT` proxy with a host allow-list.

The sandbox has no network, only a Unix socket in the private folder. This proxy listens on it outside of the
sandbox. It accepts `CONNECT` alone, to a short list of hosts: what GitHub documents as needed for Copilot,
without its telemetry. Only port 443 and only public addresses are allowed, checked on the address that is
connected to. Where the user has an HTTP proxy, connections go through that proxy.
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from groundwire.errors import ConfigError
from groundwire.transport.proxies import proxy_for

HOSTS = (
    *("github.com", "api.github.com", ".githubcopilot.com"),
    *("copilot-proxy.githubusercontent.com", "origin-tracker.githubusercontent.com"),
)
"""A leading dot means every subdomain."""

_PORT = 443
_MAX_HEAD = 16 * 1024
_CONNECT_TIMEOUT = 15.0
_CHUNK = 64 * 1024
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REFUSAL = b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[Streams]]
"""Connects to port 443 of a host, through the proxy of the environment if there is one. Raises `OSError`."""


def allows(host: str, port: str) -> bool:
    """May the CLI connect to this host and port?"""
    host = host.lower()
    known = any(host == item or (item.startswith(".") and host.endswith(item)) for item in HOSTS)
    return known and port == str(_PORT)


async def dial(host: str, env: Mapping[str, str]) -> Streams:
    """Connect through the user's proxy, or directly to a public address."""
    proxy = proxy_for(f"https://{host}/", env)
    if proxy is not None:
        return await _connect_through(proxy, host)
    from groundwire.transport.ssrf import is_public  # noqa: PLC0415  slow, and few processes run the CLI

    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, _PORT, type=1)  # SOCK_STREAM
    refused: OSError = ConnectionRefusedError("no public address")
    for address in dict.fromkeys(str(item[4][0]) for item in found):
        if is_public(address):
            try:
                return await asyncio.open_connection(address, _PORT)
            except OSError as error:
                refused = error
    raise refused


async def _connect_through(proxy: str, host: str) -> Streams:
    parts = urlsplit(proxy)
    secure = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(
        parts.hostname,
        parts.port or (443 if secure else 80),
        ssl=ssl.create_default_context() if secure else None,
    )
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    login = f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n" if parts.username else ""
    writer.write(f"CONNECT {host}:{_PORT} HTTP/1.1\r\nHost: {host}:{_PORT}\r\n{login}\r\n".encode())
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        answer = b""
    if answer.split(b" ")[1:2] != [b"200"]:
        writer.close()
        raise ConnectionRefusedError("the proxy refused the connection")
    return reader, writer


@asynccontextmanager
async def egress(path: str, env: Mapping[str, str], dial: Dial = dial) -> AsyncIterator[None]:
    """Serve on a Unix socket while the block runs; all connections are closed after it."""
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_serve((reader, writer), env, dial))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        server = await asyncio.start_unix_server(accept, path, limit=_MAX_HEAD)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"cannot listen on the egress socket of the sandbox: {reason}; check TMPDIR"
        ) from None
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(inside: Streams, env: Mapping[str, str], dial: Dial) -> None:
    reader, writer = inside
    try:
        with suppress(OSError):
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                outside = await _open_upstream(reader, env, dial)
            if isinstance(outside, bytes):
                writer.write(_REFUSAL % outside)
                await writer.drain()
                return
            writer.write(_ESTABLISHED)
            await _splice(inside, outside)
    finally:
        writer.close()


async def _open_upstream(reader: asyncio.StreamReader, env: Mapping[str, str], dial: Dial) -> Streams | bytes:
    """The requested connection, or the HTTP status of a refusal."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return b"400 Bad Request"
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3 or words[0] != "CONNECT":
        return b"405 Method Not Allowed"
    host, _, port = words[1].rpartition(":")
    if not allows(host, port):
        return b"403 Forbidden"
    try:
        return await dial(host, env)
    except OSError:
        return b"502 Bad Gateway"


async def _splice(inside: Streams, outside: Streams) -> None:
    """Copy both directions until both have ended."""
    try:
        await asyncio.gather(_pump(inside[0], outside[1]), _pump(outside[0], inside[1]))
    finally:
        outside[1].close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
