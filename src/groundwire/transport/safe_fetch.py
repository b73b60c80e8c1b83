"""SSRF-safe fetch: check the URL, resolve the host, check its addresses, and connect to a checked address.

A connection is made to the IP address itself; the host name is only used for the `Host` header and the
certificate. So the connection cannot go elsewhere than the addresses that were checked. Every redirect is
checked from the start. One deadline covers everything, and size limits apply after decompression.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from ssl import SSLContext, SSLError
from types import TracebackType
from typing import NoReturn

from groundwire.errors import GroundwireError, TimedOut, Unreachable, UpstreamWireError
from groundwire.transport.decoders import ENCODINGS, BodyDecoder
from groundwire.transport.errors import connection_error
from groundwire.transport.fetch import NO_SUCH_HOST, Fetched, media_of
from groundwire.transport.http1.connect import Connector, ResolveHost, resolve_host
from groundwire.transport.http1.connection import Connection, RemoteDisconnected
from groundwire.transport.http1.origin import Origin
from groundwire.transport.http1.parser import ProtocolError, ResponseHead, encode_request, length_in
from groundwire.transport.http1.pool import ConnectTimeout, Pool
from groundwire.transport.ssrf import PUBLIC, SsrfPolicy, check_url, fetch_refused, may_connect
from groundwire.transport.weburl import IpAddress, WebUrl

HOPS = 5
SECONDS = 5.0

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_ADDRESSES = 3
"""How many addresses of a host are tried."""
_CONNECT = 2.0
_KEEP_ALIVE = 15.0
_CHUNK = 64 * 1024
_UNKNOWN = "application/octet-stream"
_NO_SUCH_HOST = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class SafeFetcher:
    """The `Fetcher` for public web pages. Policy, resolver and `tls` can be set for tests and intranets."""

    def __init__(
        self,
        policy: SsrfPolicy = PUBLIC,
        *,
        resolve: ResolveHost = resolve_host,
        seconds: float = SECONDS,
        tls: SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._resolve = resolve
        self._seconds = seconds
        self._pool = Pool(Connector(_no_lookup, tls), _KEEP_ALIVE)

    async def __aenter__(self) -> SafeFetcher:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        self._pool.close()
        await asyncio.sleep(0)  # aborted transports are closed in the next iteration of the loop

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        """The page, whatever its status; `accept` lists the media types that are read."""
        parts = check_url(url, self._policy)
        try:
            async with asyncio.timeout(self._seconds):
                for _ in range(HOPS + 1):
                    async with self._opened(parts, accept) as (connection, head):
                        target = _target(head)
                        if target is None:
                            return await _read(parts, connection, head, accept, limit)
                    parts = check_url(target, self._policy, base=parts)
        except TimeoutError:
            raise TimedOut("the page did not arrive in time") from None
        raise fetch_refused()

    async def probe(
        self, url: str, follows: Callable[[str, str], bool], *, accept: str, limit: int = 2_000_000
    ) -> Fetched:
        """What is at a URL, also if it is no page that can be read: then the body is empty.

        A body beyond the limit is cut. A redirect is followed if `follows` accepts the URL and its target;
        otherwise the redirect itself is returned, and its target is not contacted.
        """
        parts = check_url(url, self._policy)
        try:
            async with asyncio.timeout(self._seconds):
                for _ in range(HOPS + 1):
                    async with self._opened(parts, accept) as (connection, head):
                        target = _target(head)
                        following = None if target is None else check_url(target, self._policy, base=parts)
                        if following is None or not follows(str(parts), str(following)):
                            return await _read_start(parts, connection, head, accept, limit)
                    parts = following
        except TimeoutError:
            raise TimedOut("the page did not arrive in time") from None
        raise fetch_refused()

    @asynccontextmanager
    async def _opened(self, parts: WebUrl, accept: str) -> AsyncIterator[tuple[Connection, ResponseHead]]:
        origin, connection, head = await self._send(parts, accept)
        try:
            yield connection, head
        finally:
            self._pool.release(origin, connection)

    async def _send(self, parts: WebUrl, accept: str) -> tuple[Origin, Connection, ResponseHead]:
        failure: GroundwireError = Unreachable(f"{parts.host} has no address")
        headers = {"host": parts.netloc, "user-agent": "groundwire", "accept": accept}
        data = encode_request("GET", parts.path, (headers | {"accept-encoding": ENCODINGS}).items())
        for ip in await self._addresses(parts):
            name = parts.host if parts.scheme == "https" else ""
            origin = Origin(str(ip), parts.port, name, site=parts.host)
            try:
                return origin, *await self._pool.send(origin, "GET", data, _CONNECT)
            except ConnectTimeout:
                failure = TimedOut(f"no connection to {parts.host} in time")
            except (ProtocolError, RemoteDisconnected, SSLError) as error:
                raise connection_error(error, parts.host) from None
            except OSError as error:
                failure = connection_error(error, parts.host)
        raise failure

    async def _addresses(self, parts: WebUrl) -> list[IpAddress]:
        """The addresses of the host; refused if a single one of them is not allowed."""
        if parts.ip is not None:
            found = [parts.ip]
        else:
            try:
                found = [ip_address(text) for text in await self._resolve(parts.host)]
            except OSError as error:
                is_missing = isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_HOST
                raise Unreachable(
                    f"{parts.host} cannot be found", upstream_code=NO_SUCH_HOST if is_missing else ""
                ) from None
            except ValueError:
                raise fetch_refused() from None
        if not all(may_connect(parts, ip, self._policy) for ip in found):
            raise fetch_refused()
        return found[:_MAX_ADDRESSES]


async def _no_lookup(_: str) -> NoReturn:
    """Connections are made to checked IP addresses only; a host name here was never checked."""
    raise fetch_refused()


def _target(head: ResponseHead) -> str | None:
    """The location of a redirect; None if it is not one. `<meta>` refreshes are not followed."""
    return head.headers.get("location") if head.status in _REDIRECTS else None


async def _read(
    parts: WebUrl, connection: Connection, head: ResponseHead, accept: str, limit: int
) -> Fetched:
    media, _ = media_of(head.headers.get("content-type", _UNKNOWN))
    decoder = BodyDecoder(head.headers.get("content-encoding", ""), limit)
    if _accepts(accept, media):
        if (length_in(head.headers) or 0) > limit:
            raise UpstreamWireError(f"the body is larger than {limit} bytes")
        return _fetched(parts, head, await _body(connection, decoder))
    if 200 <= head.status < 300:
        raise UpstreamWireError(f"{parts.host} sends {media[:80]}, and not {accept}")
    return _fetched(parts, head, b"")


async def _read_start(
    parts: WebUrl, connection: Connection, head: ResponseHead, accept: str, limit: int
) -> Fetched:
    """The page, cut at the limit; without a body if its media type is not accepted."""
    media, _ = media_of(head.headers.get("content-type", _UNKNOWN))
    if not limit or not _accepts(accept, media):
        return _fetched(parts, head, b"")
    decoder = BodyDecoder(head.headers.get("content-encoding", ""), limit, cut=True)
    return _fetched(parts, head, await _body(connection, decoder), is_cut=decoder.is_full)


def _fetched(parts: WebUrl, head: ResponseHead, body: bytes, *, is_cut: bool = False) -> Fetched:
    media, charset = media_of(head.headers.get("content-type", _UNKNOWN))
    headers = tuple((name, text) for name, text in head.headers.items() if name != "set-cookie")
    return Fetched(str(parts), head.status, media, charset, body, headers, is_cut)


async def _body(connection: Connection, decoder: BodyDecoder) -> bytes:
    try:
        while not decoder.is_full and (chunk := await connection.read(_CHUNK)):
            decoder.feed(chunk)
    except (ProtocolError, OSError):
        raise Unreachable("the connection broke before the page was complete") from None
    return decoder.close()


def _accepts(accept: str, media: str) -> bool:
    """Is a media type in the list? `text/*` and `*/*` are wildcards."""
    listed = {entry.partition(";")[0].strip().lower() for entry in accept.split(",")}
    return not listed.isdisjoint({media, f"{media.partition('/')[0]}/*", "*/*"})
