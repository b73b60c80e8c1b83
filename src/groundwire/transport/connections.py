"""The connections behind `Http`. Imported with the first call: encryption takes long to import."""

from __future__ import annotations

import asyncio

from groundwire.errors import TimedOut
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.decoders import ENCODINGS
from groundwire.transport.errors import trouble
from groundwire.transport.http import Call
from groundwire.transport.http1.connect import Connector
from groundwire.transport.http1.origin import Target, place_of, proxy_door
from groundwire.transport.http1.parser import encode_request
from groundwire.transport.http1.pool import ConnectTimeout, Pool
from groundwire.transport.proxies import host_of
from groundwire.transport.response import Response

_KEEP_ALIVE = 30.0
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_OURS = frozenset({"connection", "content-length", "transfer-encoding", "upgrade"})
"""Where a body ends is said once, and by who sends it."""
_USUAL = (("user-agent", "groundwire"), ("accept", "*/*"), ("accept-encoding", ENCODINGS))


class Connections:
    """The pools of one event loop."""

    def __init__(self) -> None:
        self._pool = Pool(Connector(), _KEEP_ALIVE)

    async def aclose(self) -> None:
        """Close all connections."""
        self._pool.close()
        await asyncio.sleep(0)  # what was cut is closed when the loop comes to it

    def open(self, call: Call, deadlines: Deadlines, proxy: str | None) -> _Opening:
        """Send a call; inside the block its answer can be read."""
        return _Opening(self._pool, call, deadlines, proxy or "")


class _Opening:
    """A call that is made with a block: written out, because a generator for each costs more."""

    __slots__ = ("_call", "_deadlines", "_exchange", "_pool", "_proxy")

    def __init__(self, pool: Pool, call: Call, deadlines: Deadlines, proxy: str) -> None:
        self._pool = pool
        self._call = call
        self._deadlines = deadlines
        self._proxy = proxy
        self._exchange: Response | None = None

    async def __aenter__(self) -> Response:
        call, deadlines = self._call, self._deadlines
        ends = asyncio.get_running_loop().time() + deadlines.total
        try:
            place = place_of(call.url, self._proxy)
            data = encode_call(call, place)
            async with asyncio.timeout(min(deadlines.first_byte, deadlines.total)):
                line, head = await self._pool.begin(place.door, call.method, data, deadlines.connect)
        except ConnectTimeout:
            raise TimedOut(f"no connection to {host_of(call.url)} in time") from None
        except TimeoutError:
            raise TimedOut(f"no answer from {host_of(call.url)} in time") from None
        except (OSError, ValueError) as error:
            raise trouble(error, host_of(call.url)) from None
        self._exchange = Response(self._pool, place.door, line, head, deadlines, ends)
        return self._exchange

    async def __aexit__(self, *_: object) -> None:
        if self._exchange is not None:
            self._exchange.close()


def encode_call(call: Call, place: Target) -> bytes:
    """A call as it goes over the wire; raises `ValueError` if it cannot be written."""
    given = {name.lower() for name in call.headers}
    if not _OURS.isdisjoint(given):
        raise ValueError("a header is not the caller's to set")
    headers = (
        [("host", place.host), *call.headers.items()] if "host" not in given else [*call.headers.items()]
    )
    headers += [(name, text) for name, text in _USUAL if name not in given]
    if place.authorization and "authorization" not in given:
        headers.append(("authorization", place.authorization))
    if place.door.proxy and not place.door.name and (who := proxy_door(place.door.proxy)[1]):
        headers.append(("proxy-authorization", who))
    if call.body or call.method in _WITH_BODY:
        headers.append(("content-length", str(len(call.body))))
    return encode_request(call.method, place.target, headers) + call.body
