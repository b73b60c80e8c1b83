"""Outside the sandbox: whom the Copilot CLI may talk to.

The sandbox has no network, only a socket in the private folder. Behind it stands a proxy that knows one word,
`CONNECT`, and a short list of hosts: what GitHub names as needed for Copilot, its telemetry left out. Only
port 443, and only public addresses, judged on the address that is dialled. Where the user's own way out is a
proxy, that one is asked for the same hosts.
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
from groundwire.transport.ssrf import is_public

HOSTS = (
    *("github.com", "api.github.com", ".githubcopilot.com"),
    *("copilot-proxy.githubusercontent.com", "origin-tracker.githubusercontent.com"),
)
"""A leading dot stands for every name below."""

_PORT = 443
_HEAD = 16 * 1024
_PATIENCE = 15.0
_CHUNK = 64 * 1024
_GREETING = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REFUSAL = b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[Streams]]
"""A connection to port 443 of a host, by what the environment says about proxies. Raises `OSError`."""


def allows(host: str, port: str) -> bool:
    """May the CLI talk to it?"""
    host = host.lower()
    known = any(host == item or (item.startswith(".") and host.endswith(item)) for item in HOSTS)
    return known and port == str(_PORT)


async def dial(host: str, env: Mapping[str, str]) -> Streams:
    """The way there: through the user's proxy, or straight to a public address."""
    proxy = proxy_for(f"https://{host}/", env)
    if proxy is not None:
        return await _through(proxy, host)
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


async def _through(proxy: str, host: str) -> Streams:
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
        raise ConnectionRefusedError("the proxy does not lead there")
    return reader, writer


@asynccontextmanager
async def egress(path: str, env: Mapping[str, str], dial: Dial = dial) -> AsyncIterator[None]:
    """Serve at a socket as long as the block runs; nothing is left of it afterwards."""
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_serve((reader, writer), env, dial))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        server = await asyncio.start_unix_server(accept, path, limit=_HEAD)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"no way out of the sandbox can be opened: {reason}; check TMPDIR") from None
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
            async with asyncio.timeout(_PATIENCE):
                outside = await _opened(reader, env, dial)
            if isinstance(outside, bytes):
                writer.write(_REFUSAL % outside)
                await writer.drain()
                return
            writer.write(_GREETING)
            await _joined(inside, outside)
    finally:
        writer.close()


async def _opened(reader: asyncio.StreamReader, env: Mapping[str, str], dial: Dial) -> Streams | bytes:
    """The connection that was asked for, or why there is none."""
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


async def _joined(inside: Streams, outside: Streams) -> None:
    """Both directions, until both have ended."""
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
