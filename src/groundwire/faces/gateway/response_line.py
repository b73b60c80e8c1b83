"""The writing side of a connection, for one response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundwire.faces.gateway.connection import Protocol


class Client:
    """The client of a connection, and the callback for its disconnection."""

    __slots__ = ("leave", "lost")

    def __init__(self) -> None:
        self.leave: Callable[[], object] | None = None
        self.lost = False


class ResponseLine:
    """What a response is written to. A head that is held goes out with what follows it."""

    __slots__ = (
        "_client",
        "_held",
        "_holds",
        "_protocol",
        "_transport",
        "abort",
        "cycle",
        "is_read",
        "stalled",
    )

    def __init__(self, protocol: Protocol, client: Client) -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self._client = client
        self.abort = protocol.transport.abort
        self.cycle = protocol.cycle
        self.is_read = False
        self.stalled = False
        self._holds = False
        self._held = b""

    @property
    def cut(self) -> bool:
        """Was the connection lost before the response was complete?"""
        return self.cycle.disconnected

    def watch(self, leave: Callable[[], object] | None) -> None:
        """Call back when the client disconnects; None to stop."""
        self._client.leave = leave
        if leave is None:
            return
        self._protocol.flow.resume_reading()
        if self._client.lost:
            asyncio.get_running_loop().call_soon(leave)

    def hold(self) -> None:
        """Keep what is written next until there is more."""
        self._holds = True

    def write(self, data: bytes) -> None:
        """As a transport does it."""
        if self._holds:
            self._holds, self._held = False, data
            return
        if self._held:
            data, self._held = self._held + data, b""
        self._transport.write(data)

    def chunk(self, data: bytes) -> bool:
        """As the server would write it, unless the client has to be waited for."""
        if self._protocol.flow.write_paused or self._client.lost:
            return False
        self.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def close(self) -> None:
        """As a transport does it; what the client still sends is read for a while."""
        if self._held:
            self.write(b"")
        if self.is_read and not self._protocol.is_discarding:
            self._transport.close()
        else:
            self._protocol.linger()

    def is_closing(self) -> bool:
        """As a transport does it."""
        return self._transport.is_closing()
