"""Dialling: from a door to a line, directly or through a proxy.

A name is looked up once for all who want it at the same time, and its addresses are tried one after the
other, the next when one has been silent for a while (RFC 8305).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import TypeAlias

from groundwire.transport.http1.connection import Connection
from groundwire.transport.http1.origin import Origin, authority_of, parse_proxy
from groundwire.transport.http1.parser import encode_request
from groundwire.transport.threads import run_in_thread

ResolveHost: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""From a name to its IP addresses, best first; raises `OSError`."""

_PATIENCE = 0.25
_MEMORY = 10.0
"""Seconds for which a name keeps its addresses."""


class ProxyRefused(OSError):
    """The proxy does not lead there."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class ProxyUnreachable(OSError):
    """There is no way to the proxy itself."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.errno, cause.strerror)
        self.cause = cause


class Connector:
    """Opens lines."""

    def __init__(self, look_up: ResolveHost | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._look_up = look_up or Resolver()
        self._tls = tls

    async def line(self, door: Origin) -> Connection:
        """A line to a door; raises `OSError`."""
        if door.proxy:
            return await self._through_proxy(door)
        return await self._direct(door)

    async def _direct(self, door: Origin) -> Connection:
        addresses = [door.host] if _is_ip(door.host) else await self._look_up(door.host)
        if len(addresses) == 1:
            return await self._dialled(addresses[0], door)
        return await first_connected([partial(self._dialled, ip, door) for ip in addresses])

    async def _dialled(self, ip: str, door: Origin) -> Connection:
        tls = self._context() if door.name else None
        _, line = await asyncio.get_running_loop().create_connection(
            Connection, ip, door.port, ssl=tls, server_hostname=door.name or None
        )
        return line

    async def _through_proxy(self, door: Origin) -> Connection:
        proxy, who = parse_proxy(door.proxy)
        try:
            line = await self._direct(proxy)
        except OSError as error:
            raise ProxyUnreachable(error) from error
        if not door.name:
            return line
        inner: Connection | None = None
        try:
            inner = await self._tunnelled(line, door, who)
        finally:
            if inner is None:
                line.abort()
        return inner

    async def _tunnelled(self, line: Connection, door: Origin, who: str) -> Connection:
        place = authority_of(door)
        headers = [("host", place), *([("proxy-authorization", who)] if who else [])]
        line.send("CONNECT", encode_request("CONNECT", place, headers))
        head = await line.head()
        if not 200 <= head.status < 300:
            raise ProxyRefused(head.status)
        inner = Connection()
        transport = await asyncio.get_running_loop().start_tls(
            line.bared(), inner, self._context(), server_hostname=door.name
        )
        if transport is None:
            raise ConnectionResetError
        inner.connection_made(transport)
        return inner

    def _context(self) -> ssl.SSLContext:
        return self._tls or _usual_context()


class Resolver:
    """The addresses of names, kept for a moment."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, asyncio.Task[list[str]]]] = {}

    async def __call__(self, host: str) -> Sequence[str]:
        now = asyncio.get_running_loop().time()
        until, asking = self._known.get(host, (0.0, None))
        if asking is None or now >= until:
            self._known = {name: kept for name, kept in self._known.items() if kept[0] > now}
            asking = asyncio.create_task(resolve_host(host))
            asking.add_done_callback(partial(self._answered, host))
            self._known[host] = now + _MEMORY, asking
        return await asyncio.shield(asking)  # who leaves does not take the answer with them

    def _answered(self, host: str, asking: asyncio.Task[list[str]]) -> None:
        if asking.cancelled() or asking.exception() is not None:
            self._known.pop(host, None)


async def resolve_host(host: str) -> list[str]:
    """What this machine's resolver says, both kinds of addresses in turns."""
    found = await run_in_thread(lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
    six = [str(entry[4][0]) for entry in found if entry[0] == socket.AF_INET6]
    four = [str(entry[4][0]) for entry in found if entry[0] == socket.AF_INET]
    first, second = (four, six) if found[0][0] == socket.AF_INET else (six, four)
    return [ip for ip in dict.fromkeys(chain(*zip_longest(first, second))) if ip]


async def first_connected(dials: Sequence[Callable[[], Awaitable[Connection]]]) -> Connection:
    """The first line that comes about; raises what the last one failed with."""
    waiting = list(dials)
    running: set[asyncio.Future[Connection]] = set()
    failed: BaseException = OSError("there is no address")
    try:
        while waiting or running:
            if waiting:
                running.add(asyncio.ensure_future(waiting.pop(0)()))
            patience = _PATIENCE if waiting else None
            done, _ = await asyncio.wait(running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                running.discard(one)
                if (error := one.exception()) is None:
                    return one.result()
                if isinstance(error, ssl.SSLError):
                    raise error  # somebody was there, and was not who was asked for
                failed = error
    finally:
        for one in running:
            one.add_done_callback(_hang_up)
            one.cancel()
    raise failed


def _hang_up(dialled: asyncio.Future[Connection]) -> None:
    if not dialled.cancelled() and dialled.exception() is None:
        dialled.result().abort()


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@cache
def _usual_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
