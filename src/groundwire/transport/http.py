"""HTTP: the only module that knows the client library.

One `Http` holds the connection pools of a process. A call is an `Exchange`: status and headers first, then
bytes as they arrive, untouched. Leaving the exchange closes the connection, which is how a cancelled
caller cancels the provider. Redirects are not followed: credentials go to the host that was configured.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from groundwire.errors import Interrupted, TimedOut, Unreachable, UpstreamWireError
from groundwire.model.value import value
from groundwire.transport.deadlines import Deadlines

MAX_BODY = 64 * 1024 * 1024
_CONNECTIONS_PER_HOST = 0  # no limit here: limits are policy, and belong to routing
_KEEP_ALIVE = 30.0


@value
class Call:
    """What to send where."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Exchange:
    """An answer that has begun: its status, its headers (lower-case names), its bytes."""

    def __init__(self, response: aiohttp.ClientResponse, idle: float, ends: float) -> None:
        self._response = response
        self._idle = idle
        self._ends = ends
        self.status = response.status
        self.headers: Mapping[str, str] = {name.lower(): text for name, text in response.headers.items()}

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        content = self._response.content
        clock = asyncio.get_running_loop()
        while True:
            until = min(clock.time() + self._idle, self._ends)
            try:
                # No timeout spans a `yield`: who reads may be another task than who closes.
                async with asyncio.timeout_at(until):
                    chunk = await content.readany()
            except TimeoutError:
                late = "the answer took too long" if until == self._ends else "the answer stopped coming"
                raise TimedOut(late) from None
            except (aiohttp.ClientError, OSError) as error:
                raise Interrupted(f"the connection broke: {_reason(error)}") from None
            if not chunk:
                return
            yield chunk

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """The whole body, up to a limit."""
        pieces: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > limit:
                raise UpstreamWireError(f"the body is larger than {limit} bytes")
            pieces.append(chunk)
        return b"".join(pieces)


class Http:
    """The connections of one process."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Http:
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

    @asynccontextmanager
    async def open(self, call: Call, deadlines: Deadlines) -> AsyncIterator[Exchange]:
        """Send a call; inside the block its answer can be read."""
        ends = asyncio.get_running_loop().time() + deadlines.total
        response = await self._send(call, deadlines)
        try:
            yield Exchange(response, deadlines.idle, ends)
        finally:
            # A body read to its end leaves the connection for the next call; any other is closed.
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    async def _send(self, call: Call, deadlines: Deadlines) -> aiohttp.ClientResponse:
        try:
            async with asyncio.timeout(min(deadlines.first_byte, deadlines.total)):
                return await self._client().request(
                    call.method,
                    call.url,
                    headers=call.headers,
                    data=call.body or None,
                    proxy=proxy_for(call.url),
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=deadlines.connect),
                )
        except (TimeoutError, aiohttp.ServerTimeoutError) as error:
            phase = "connect" if isinstance(error, aiohttp.ConnectionTimeoutError) else "answer"
            raise TimedOut(f"no {phase} from {_host(call.url)} in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"cannot reach {_host(call.url)}: {_reason(error)}") from None

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    limit_per_host=_CONNECTIONS_PER_HOST,
                    keepalive_timeout=_KEEP_ALIVE,
                    ssl=ssl.create_default_context(),
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=True,
                trust_env=False,
            )
        return self._session


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address (`HTTPS_PROXY`, `NO_PROXY`, …)."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return None if not proxy or proxy_bypass(parts.netloc) else proxy


def _host(url: str) -> str:
    return urlsplit(url).hostname or url


def _reason(error: BaseException) -> str:
    """What a network error says, without the address that credentials might stand in."""
    cause = getattr(error, "os_error", None) or error
    return getattr(cause, "strerror", None) or type(error).__name__
