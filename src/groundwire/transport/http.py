"""HTTP client: requests, time limits, and the entry point `Http`.

One `Http` holds the connection pool of an event loop. A request gives a `Response`: status and headers first,
then bytes as they arrive. Leaving its context closes the connection, so a cancelled caller cancels the
upstream request. Redirects are not followed: credentials go to the configured host only.

TLS trust is the system's: certificates are verified by the default context of `ssl`, which uses the
certificate store of the operating system (or `SSL_CERT_FILE` and `SSL_CERT_DIR`). No certificates are
bundled.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING

from groundwire.model.value import value
from groundwire.transport.proxies import proxies_in, proxy_among

if TYPE_CHECKING:
    from groundwire.transport.http1.pool import Pool
    from groundwire.transport.response import Response

LOOP_HEADER = "x-groundwire-hop"
"""Sent upstream and refused inbound, so that a gateway never forwards a request to itself in a loop."""
MAX_ANSWER = 64 * 1024 * 1024
"""Enough for some hundred thousand tokens streamed one by one, with images."""


TRACE_PARENT: ContextVar[str] = ContextVar("groundwire trace parent", default="")
"""The header `traceparent` of requests to providers; empty unless tracing is to be continued there."""


@value
class Deadlines:
    """Time limits for each phase of a request, in seconds, and the limit for the size of its response.

    `first_byte` runs until the response head is there, connecting included; `idle` from one read to the next;
    `total` over everything. A provider that sends byte by byte resets `idle`, never `total`.
    """

    connect: float = 5.0
    first_byte: float = 120.0
    idle: float = 90.0
    total: float = 600.0
    largest: int = MAX_ANSWER
    """Bytes of the body after decompression."""


@value
class HttpRequest:
    """An HTTP request with an absolute URL."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Http:
    """HTTP client with keep-alive. The environment names proxies."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._proxies = proxies_in(os.environ if env is None else env)
        self._pool: Pool | None = None

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.close()
            await asyncio.sleep(0)  # aborted transports are closed in the next iteration of the loop

    def open(self, request: HttpRequest, deadlines: Deadlines) -> AbstractAsyncContextManager[Response]:
        """Send a request; the response can be read inside the block."""
        # Imported with the first request: TLS takes long to import.
        from groundwire.transport.response import OpenRequest, new_pool  # noqa: PLC0415

        if self._pool is None:
            self._pool = new_pool()
        proxy = proxy_among(self._proxies, request.url) if self._proxies else None
        return OpenRequest(self._pool, request, deadlines, proxy or "")
