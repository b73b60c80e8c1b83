"""HTTP: what is asked, and by whom.

One `Http` holds the connection pools of a process. A call gives a `Response`: status and headers first, then
bytes as they arrive, untouched. Leaving its context closes the connection, which is how a cancelled
caller cancels the provider. Redirects are not followed: credentials go to the host that was configured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING

from groundwire.model.value import value
from groundwire.transport.proxies import proxies_in, proxy_among

if TYPE_CHECKING:
    from groundwire.transport.response import HttpConnections, Response

MAX_ANSWER = 64 * 1024 * 1024
"""Some hundred thousand tokens told one by one, with pictures among them."""


@value
class Deadlines:
    """`first_byte` runs until the headers are there, connecting included; `idle` from one read to the next;
    `total` over everything.

    A provider that dribbles bytes resets `idle`, never `total`.
    """

    connect: float = 5.0
    first_byte: float = 120.0
    idle: float = 90.0
    total: float = 600.0
    largest: int = MAX_ANSWER
    """Bytes of the answer, unpacked."""


@value
class HttpRequest:
    """What to send where."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Http:
    """The connections of one process. The environment names proxies."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._proxies = proxies_in(os.environ if env is None else env)
        self._connections: HttpConnections | None = None

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._connections is not None:
            await self._connections.aclose()

    def open(self, call: HttpRequest, deadlines: Deadlines) -> AbstractAsyncContextManager[Response]:
        """Send a call; inside the block its answer can be read."""
        proxy = proxy_among(self._proxies, call.url)
        return self._opened().open(call, deadlines, proxy)

    def _opened(self) -> HttpConnections:
        if self._connections is None:
            from groundwire.transport.response import HttpConnections  # noqa: PLC0415  with the first call

            self._connections = HttpConnections()
        return self._connections
