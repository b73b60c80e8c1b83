"""A TCP proxy that injects faults, for tests of what a slow, broken or partitioned network does.

    async with FaultProxy("127.0.0.1", 5432) as proxy:
        ...  # point a client at proxy.port
        proxy.faults = Faults(partitioned=True)
        ...
        proxy.faults = Faults()

It forwards bytes of any protocol. New faults apply at once, to open connections too. As a program,
`python -m groundwire.testing.fault_proxy HOST:PORT` prints its address; every line of standard input is a
JSON object with faults that replace the current ones. It needs only the standard library.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Literal

from groundwire.model.value import field_names, value

_CHUNK = 16 * 1024
_HOST = "127.0.0.1"


@value
class Faults:
    """What goes wrong on the way. Without arguments: nothing."""

    delay: float = 0.0
    """Seconds that every chunk of bytes takes in addition, in both directions."""
    bytes_per_second: int = 0
    """The bandwidth of each direction of a connection; 0 for no limit."""
    stall_after: int | None = None
    """After this many bytes to the client, a connection transports nothing more until the faults change."""
    cut_after: int | None = None
    """After this many bytes to the client, a connection is closed."""
    cut: Literal["fin", "rst"] = "rst"
    """How connections are closed: in order, or with a reset."""
    refused: bool = False
    """New connections are reset at once."""
    silent: bool = False
    """New connections are accepted, and nothing is forwarded."""
    partitioned: bool = False
    """Nothing passes in either direction, and nothing is closed: the other side just does not respond."""

    def duration(self, size: int) -> float:
        """Seconds that this many bytes take."""
        return self.delay + (size / self.bytes_per_second if self.bytes_per_second else 0.0)


class FaultProxy:
    """A proxy to one server, on loopback unless another address is named."""

    def __init__(
        self, host: str, port: int, faults: Faults | None = None, *, listen: int = 0, address: str = _HOST
    ) -> None:
        self._target = (host, port)
        self._address = address
        self._faults = faults or Faults()
        self._listen = listen
        self._changed = asyncio.Event()
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        """How many connections were accepted."""

    @property
    def faults(self) -> Faults:
        """What goes wrong at the moment."""
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._faults = faults
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return len(self._links)

    async def __aenter__(self) -> FaultProxy:
        self._server = await asyncio.start_server(self._accept, self._address, self._listen, limit=_CHUNK)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def cut_all(self) -> None:
        """Close all open connections, as `faults.cut` says."""
        for link in tuple(self._links):
            link.cut(self._faults.cut)

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._faults.refused:
            _close(writer, "rst")
            return
        while self._faults.silent:
            await self._changed.wait()
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._target, limit=_CHUNK)
        except OSError:
            _close(writer, "rst")
            return
        link = _Link(writer, upstream_writer)
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as directions:
                directions.create_task(self._forward(link, reader, upstream_writer, to_client=False))
                directions.create_task(self._forward(link, upstream_reader, writer, to_client=True))
        finally:
            self._links.discard(link)
            link.cut("fin")

    async def _forward(
        self, link: _Link, reader: StreamReader, writer: StreamWriter, *, to_client: bool
    ) -> None:
        sent = 0 if to_client else None
        try:
            while data := await reader.read(_CHUNK):
                sent = await self._pass_on(writer, data, sent)
            await self._wait_until_open()
            if writer.can_write_eof():
                writer.write_eof()
        except _CutOff:
            link.cut(self._faults.cut)
        except OSError:  # one side is gone
            link.cut("rst")

    async def _pass_on(self, writer: StreamWriter, data: bytes, sent: int | None) -> int | None:
        """Write data under the current faults; `sent` counts the bytes to the client."""
        while data:
            await self._wait_until_open()
            faults = self._faults
            allowed = len(data)
            if sent is not None:
                for limit in (faults.stall_after, faults.cut_after):
                    allowed = min(allowed, max(0, limit - sent)) if limit is not None else allowed
            part, data = data[:allowed], data[allowed:]
            if part:
                if pause := faults.delay + (
                    len(part) / faults.bytes_per_second if faults.bytes_per_second else 0
                ):
                    await asyncio.sleep(pause)
                    await self._wait_until_open()
                writer.write(part)
                await writer.drain()
                sent = None if sent is None else sent + len(part)
            if sent is not None and faults.cut_after is not None and sent >= faults.cut_after:
                raise _CutOff
            if data and faults is self._faults:
                await self._changed.wait()  # stalled
        return sent

    async def _wait_until_open(self) -> None:
        while self._faults.partitioned:
            await self._changed.wait()


class _CutOff(Exception):
    """A connection reached `cut_after`."""


class _Link:
    """The two connections of one client."""

    def __init__(self, *writers: StreamWriter) -> None:
        self._writers = writers

    def cut(self, how: Literal["fin", "rst"]) -> None:
        for writer in self._writers:
            _close(writer, how)


def _close(writer: StreamWriter, how: Literal["fin", "rst"]) -> None:
    if how == "fin":
        writer.close()
        return
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def faults_from(text: str) -> Faults:
    """Faults from a JSON object. Raises `ValueError` for anything else."""
    body = json.loads(text)
    if not isinstance(body, dict) or not body.keys() <= set(field_names(Faults)):
        raise ValueError(f"expected a JSON object with members of: {', '.join(field_names(Faults))}")
    return Faults(**body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Forward connections until standard input is closed."""
    from argparse import ArgumentParser  # noqa: PLC0415  only the command line needs it

    parser = ArgumentParser(
        prog="python -m groundwire.testing.fault_proxy",
        description="Forward TCP connections from loopback to a server, with faults. Prints its address "
        "first. Each line of standard input is a JSON object with new faults, for example "
        '{"delay": 0.1} or {"partitioned": true}; the end of the input stops the proxy.',
    )
    parser.add_argument("target", metavar="HOST:PORT", help="the server")
    parser.add_argument("--port", default=0, type=int, help="0, the default, takes any that is free")
    parser.add_argument("--faults", default="{}", type=faults_from, help="the faults at the start, as JSON")
    options = parser.parse_args(arguments)
    host, _, port = options.target.rpartition(":")
    if not host or not port.isdigit():
        parser.error(f"{options.target!r} is not HOST:PORT")
    try:
        asyncio.run(_run(FaultProxy(host.strip("[]"), int(port), options.faults, listen=options.port)))
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


async def _run(proxy: FaultProxy) -> None:
    async with proxy:
        sys.stdout.write(f"{_HOST}:{proxy.port}\n")
        sys.stdout.flush()
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                proxy.faults = faults_from(line)
            except ValueError as error:
                sys.stderr.write(f"{error}\n")


if __name__ == "__main__":
    sys.exit(main())
