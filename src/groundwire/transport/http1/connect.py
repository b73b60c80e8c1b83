"""Connecting: DNS cache, happy eyeballs (RFC 8305), proxies and TLS.

Concurrent requests share one DNS lookup of a host. Its addresses are tried one after the other; the next
attempt starts when the previous one has been pending for a while.
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
"""The IP addresses of a host name, best first; raises `OSError`."""

_ATTEMPT_DELAY = 0.25
"""Seconds before the next address is tried; RFC 8305 recommends 250 ms."""
_DNS_TTL = 10.0


class ProxyRefused(OSError):
    """The proxy refused to open a tunnel."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class ProxyUnreachable(OSError):
    """No connection to the proxy."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.errno, cause.strerror)
        self.cause = cause


class Connector:
    """Opens connections to origins."""

    def __init__(self, resolve: ResolveHost | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve or Resolver()
        self._tls = tls

    async def connect(self, origin: Origin) -> Connection:
        """A new connection to an origin; raises `OSError`."""
        if origin.proxy:
            return await self._connect_through_proxy(origin)
        return await self._connect_directly(origin)

    async def _connect_directly(self, origin: Origin) -> Connection:
        addresses = [origin.host] if _is_ip(origin.host) else await self._resolve(origin.host)
        if len(addresses) == 1:
            return await self._connect_to(addresses[0], origin)
        return await first_connected([partial(self._connect_to, ip, origin) for ip in addresses])

    async def _connect_to(self, ip: str, origin: Origin) -> Connection:
        tls = self._tls_context() if origin.tls_name else None
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, ip, origin.port, ssl=tls, server_hostname=origin.tls_name or None
        )
        return connection

    async def _connect_through_proxy(self, origin: Origin) -> Connection:
        proxy, authorization = parse_proxy(origin.proxy)
        try:
            connection = await self._connect_directly(proxy)
        except OSError as error:
            raise ProxyUnreachable(error) from error
        if not origin.tls_name:
            return connection
        inner: Connection | None = None
        try:
            inner = await self._open_tunnel(connection, origin, authorization)
        finally:
            if inner is None:
                connection.abort()
        return inner

    async def _open_tunnel(self, connection: Connection, origin: Origin, authorization: str) -> Connection:
        authority = authority_of(origin)
        headers = [("host", authority)]
        if authorization:
            headers.append(("proxy-authorization", authorization))
        connection.send("CONNECT", encode_request("CONNECT", authority, headers))
        head = await connection.read_head()
        if not 200 <= head.status < 300:
            raise ProxyRefused(head.status)
        inner = Connection()
        transport = await asyncio.get_running_loop().start_tls(
            connection.detach(), inner, self._tls_context(), server_hostname=origin.tls_name
        )
        if transport is None:
            raise ConnectionResetError
        inner.connection_made(transport)
        return inner

    def _tls_context(self) -> ssl.SSLContext:
        return self._tls or _default_context()


class Resolver:
    """DNS cache: concurrent lookups of a host share one query, and the addresses are kept for some
    seconds."""

    def __init__(self) -> None:
        self._lookups: dict[str, tuple[float, asyncio.Task[list[str]]]] = {}

    async def __call__(self, host: str) -> Sequence[str]:
        now = asyncio.get_running_loop().time()
        expires, lookup = self._lookups.get(host, (0.0, None))
        if lookup is None or now >= expires:
            self._lookups = {name: entry for name, entry in self._lookups.items() if entry[0] > now}
            lookup = asyncio.create_task(resolve_host(host))
            lookup.add_done_callback(partial(self._on_done, host))
            self._lookups[host] = now + _DNS_TTL, lookup
        return await asyncio.shield(lookup)  # a cancelled caller does not cancel the lookup for the others

    def _on_done(self, host: str, lookup: asyncio.Task[list[str]]) -> None:
        if lookup.cancelled() or lookup.exception() is not None:
            self._lookups.pop(host, None)


async def resolve_host(host: str) -> list[str]:
    """Look a host up with the system's resolver; IPv6 and IPv4 addresses alternate."""
    found = await run_in_thread(lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
    six = [str(entry[4][0]) for entry in found if entry[0] == socket.AF_INET6]
    four = [str(entry[4][0]) for entry in found if entry[0] == socket.AF_INET]
    first, second = (four, six) if found[0][0] == socket.AF_INET else (six, four)
    return [ip for ip in dict.fromkeys(chain(*zip_longest(first, second))) if ip]


async def first_connected(attempts: Sequence[Callable[[], Awaitable[Connection]]]) -> Connection:
    """The first connection that is made, by happy eyeballs; raises the error of the last attempt."""
    waiting = list(attempts)
    running: set[asyncio.Future[Connection]] = set()
    failed: BaseException = OSError("the host has no address")
    try:
        while waiting or running:
            if waiting:
                running.add(asyncio.ensure_future(waiting.pop(0)()))
            delay = _ATTEMPT_DELAY if waiting else None
            done, _ = await asyncio.wait(running, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                running.discard(one)
                if (error := one.exception()) is None:
                    return one.result()
                if isinstance(error, ssl.SSLError):
                    raise error  # the host is reachable, but its certificate or protocol is wrong
                failed = error
    finally:
        for one in running:
            one.add_done_callback(_abort)
            one.cancel()
    raise failed


def _abort(attempt: asyncio.Future[Connection]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().abort()


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@cache
def _default_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
