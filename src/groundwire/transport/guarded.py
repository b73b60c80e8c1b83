"""Fetching under the guard: judge, look up, judge again, and dial what was judged.

The HTTP client is given the IP address itself, with the name beside it for the `Host` header and the
certificate, so what is dialled cannot differ from what was looked up and found public. A redirect begins
from the start. One deadline spans everything, and sizes count after unpacking.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from ssl import SSLContext
from types import TracebackType
from typing import NoReturn, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from groundwire.errors import GroundwireError, TimedOut, Unreachable, UpstreamWireError
from groundwire.transport.fetch import Fetched
from groundwire.transport.guard import PUBLIC, Rules, judge, may_dial, refused
from groundwire.transport.threads import in_thread
from groundwire.transport.unpack import ENCODINGS, Unpacker
from groundwire.transport.weburl import IpAddress, WebUrl, bracketed

HOPS = 5
SECONDS = 5.0

Resolve: TypeAlias = Callable[[str], Awaitable[Iterable[str]]]
"""From a host name to its IP addresses, best first; raises `OSError`."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DIALLED = 3
"""How many addresses of one name are tried."""
_CONNECT = 2.0
_KEEP_ALIVE = 15.0
_BROKEN = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError)


async def system_addresses(host: str) -> list[str]:
    """What this machine's resolver says."""
    found = await in_thread(lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedFetcher:
    """A `Fetcher`. Rules, resolver and `tls` are for who tests, or fetches from a network of their own."""

    def __init__(
        self,
        rules: Rules = PUBLIC,
        *,
        resolve: Resolve = system_addresses,
        seconds: float = SECONDS,
        tls: SSLContext | None = None,
    ) -> None:
        self._rules = rules
        self._tls = tls
        self._resolve = resolve
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> GuardedFetcher:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        """The page, whatever its status; `accept` lists the media types that are read."""
        parts = judge(url, self._rules)
        try:
            async with asyncio.timeout(self._seconds):
                for _ in range(HOPS + 1):
                    async with self._opened(parts, accept) as response:
                        target = _target(response)
                        if target is None:
                            return await _read(parts, response, accept, limit)
                    parts = judge(target, self._rules, base=parts)
        except TimeoutError:
            raise TimedOut("the page did not come in time") from None
        raise refused()

    @asynccontextmanager
    async def _opened(self, parts: WebUrl, accept: str) -> AsyncIterator[aiohttp.ClientResponse]:
        response = await self._send(parts, accept)
        try:
            yield response
        finally:
            # A body read to its end leaves the connection for the next page; any other is closed.
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    async def _send(self, parts: WebUrl, accept: str) -> aiohttp.ClientResponse:
        failed: GroundwireError = Unreachable(f"{parts.host} has no address")
        for ip in await self._addresses(parts):
            try:
                return await self._dial(parts, ip, accept)
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                failed = _trouble(error, parts.host)
            except _BROKEN as error:
                raise _trouble(error, parts.host) from None
        raise failed

    async def _addresses(self, parts: WebUrl) -> list[IpAddress]:
        """Where the host is, all of it allowed: one answer that is not speaks against the others."""
        if parts.ip is not None:
            found = [parts.ip]
        else:
            try:
                found = [ip_address(text) for text in await self._resolve(parts.host)]
            except OSError:
                raise Unreachable(f"{parts.host} cannot be found") from None
            except ValueError:
                raise refused() from None
        if not all(may_dial(parts, ip, self._rules) for ip in found):
            raise refused()
        return found[:_DIALLED]

    async def _dial(self, parts: WebUrl, ip: IpAddress, accept: str) -> aiohttp.ClientResponse:
        address = f"{parts.scheme}://{bracketed(str(ip))}:{parts.port}{parts.path}"
        return await self._client().get(
            URL(address, encoded=True),
            headers={"host": parts.netloc, "accept": accept, "accept-encoding": ENCODINGS},
            allow_redirects=False,
            server_hostname=parts.host if parts.scheme == "https" and parts.ip is None else None,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT),
        )

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    keepalive_timeout=_KEEP_ALIVE,
                    resolver=_NoNames(),
                    use_dns_cache=False,
                    ssl=self._tls or True,
                ),
                headers={"user-agent": "groundwire"},
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


class _NoNames(AbstractResolver):
    """The client is given IP addresses only; a name that came so far was judged by nobody."""

    async def resolve(
        self,
        host: str,  # noqa: ARG002
        port: int = 0,  # noqa: ARG002
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002
    ) -> NoReturn:
        raise refused()

    async def close(self) -> None:
        """Nothing is open."""


def _target(response: aiohttp.ClientResponse) -> str | None:
    """Where a redirect leads; None if it is none. Pages that refresh themselves are only pages."""
    return response.headers.get("location") if response.status in _REDIRECTS else None


async def _read(parts: WebUrl, response: aiohttp.ClientResponse, accept: str, limit: int) -> Fetched:
    media = response.content_type.lower()
    body = b""
    if _accepts(accept, media):
        body = await _body(response, limit)
    elif 200 <= response.status < 300:
        raise UpstreamWireError(f"{parts.host} sends {media[:80]}, and not {accept}")
    headers = ((name.lower(), text) for name, text in response.headers.items())
    return Fetched(
        url=str(parts),
        status=response.status,
        content_type=media,
        charset=(response.charset or "").lower(),
        body=body,
        headers=tuple((name, text) for name, text in headers if name != "set-cookie"),
    )


async def _body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    unpacker = Unpacker(response.headers.get("content-encoding", ""), limit)
    if (response.content_length or 0) > limit:
        raise UpstreamWireError(f"the body is larger than {limit} bytes")
    try:
        async for chunk in response.content.iter_any():
            unpacker.feed(chunk)
    except _BROKEN:
        raise Unreachable("the connection broke before the page was there") from None
    return unpacker.close()


def _accepts(accept: str, media: str) -> bool:
    """Is a media type among those listed? `text/*` and `*/*` are understood."""
    listed = {entry.partition(";")[0].strip().lower() for entry in accept.split(",")}
    return not listed.isdisjoint({media, f"{media.partition('/')[0]}/*", "*/*"})


def _trouble(error: Exception, host: str) -> GroundwireError:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return Unreachable(f"cannot reach {host}: its certificate cannot be trusted")
        case aiohttp.ClientResponseError() | HttpProcessingError() | aiohttp.InvalidURL() | UnicodeError():
            return UpstreamWireError(f"what {host} answers is not HTTP")
        case aiohttp.ServerTimeoutError():
            return TimedOut(f"no connection to {host} in time")
    return Unreachable(f"cannot reach {host}")
