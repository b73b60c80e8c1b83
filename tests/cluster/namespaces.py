"""A machine of its own for a gateway: a network namespace with a cable to each of its neighbours.

Cutting a cable drops all packets of open connections, and neither end is notified. That needs root; without
it, fault proxies do the same by dropping the bytes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from random import randrange
from urllib.parse import urlsplit

from groundwire.testing.fault_proxy import FaultProxy, Faults
from tests.server.processes import SOURCE
from tests.servers.process import START_LIMIT

_NUMBERS = count(1)


async def _ip(*arguments: str) -> bool:
    process = await asyncio.create_subprocess_exec(
        *("ip", *arguments), stderr=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL
    )
    return await process.wait() == 0


async def _ended(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()


async def _must(*arguments: str) -> None:
    assert await _ip(*arguments), arguments


class Cable:
    """A connection between this machine and the other one."""

    def __init__(self, device: str, address: str, other: str) -> None:
        self._device = device
        self.address = address
        """The address of this machine."""
        self.other = other
        """The address of the other one."""

    async def cut(self) -> None:
        """From now on nothing passes."""
        await _must("link", "set", self._device, "down")

    async def mend(self) -> None:
        await _must("link", "set", self._device, "up")


class OtherMachine:
    """Where a gateway runs that can be cut off from each of the servers it uses."""

    host = "127.0.0.1"
    wrapper: tuple[str, ...] = ()
    kind = "fault proxy"

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._ways: dict[str, FaultProxy] = {}

    async def reach(self, url: str) -> str:
        """Make a URL of this machine one that the gateway can use."""
        return url

    async def port_to(self, neighbour: str, port: int) -> tuple[str, int]:
        """The address at which the gateway finds a server of this machine."""
        proxy = await self._stack.enter_async_context(FaultProxy("127.0.0.1", port))
        self._ways[neighbour] = proxy
        return "127.0.0.1", proxy.port

    async def cut(self, neighbour: str) -> None:
        """Nothing passes between the gateway and a server until it is mended."""
        self._ways[neighbour].faults = Faults(partitioned=True)

    async def mend(self, neighbour: str) -> None:
        self._ways[neighbour].faults = Faults()


class Namespace(OtherMachine):
    """The same with a network stack of its own."""

    kind = "network namespace"

    def __init__(self, stack: AsyncExitStack, name: str, cables: dict[str, Cable]) -> None:
        super().__init__(stack)
        self._cables = cables
        self.host = cables["clients"].other
        self.wrapper = ("ip", "netns", "exec", name)

    async def reach(self, url: str) -> str:
        # Providers without TLS must be on the loopback of the gateway, so a forwarder runs there too.
        parts = urlsplit(url)
        host, port = await self._forward("clients", parts.port or 80)
        forwarder = await asyncio.create_subprocess_exec(
            *(*self.wrapper, sys.executable, "-m", "groundwire.testing.fault_proxy", f"{host}:{port}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)},
        )
        self._stack.push_async_callback(_ended, forwarder)
        assert forwarder.stdout is not None
        async with asyncio.timeout(START_LIMIT):
            own = (await forwarder.stdout.readline()).decode().strip()
        return parts._replace(netloc=own).geturl()

    async def port_to(self, neighbour: str, port: int) -> tuple[str, int]:
        return await self._forward(neighbour, port)

    async def cut(self, neighbour: str) -> None:
        await self._cables[neighbour].cut()

    async def mend(self, neighbour: str) -> None:
        await self._cables[neighbour].mend()

    async def _forward(self, neighbour: str, port: int) -> tuple[str, int]:
        """Servers listen on loopback, so each has a forwarder at this end of its cable."""
        address = self._cables[neighbour].address
        proxy = await self._stack.enter_async_context(FaultProxy("127.0.0.1", port, address=address))
        return address, proxy.port


@asynccontextmanager
async def other_machine(neighbours: Sequence[str]) -> AsyncIterator[OtherMachine]:
    """A machine with a cable to clients and providers, and one to each of the named servers."""
    name = f"gw{os.getpid()}-{next(_NUMBERS)}"
    async with AsyncExitStack() as stack:
        if os.geteuid() != 0 or not await _ip("netns", "add", name):
            yield OtherMachine(stack)
            return
        # The devices of a namespace end with it.
        stack.push_async_callback(_ip, "netns", "delete", name)
        await _must("-n", name, "link", "set", "lo", "up")
        network = f"10.{randrange(200, 250)}.{randrange(256)}"
        cables = {
            neighbour: await _plug_in(name, f"{name[2:]}-{number}", network, 4 * number)
            for number, neighbour in enumerate(("clients", *neighbours))
        }
        yield Namespace(stack, name, cables)


async def _plug_in(name: str, device: str, network: str, first: int) -> Cable:
    cable = Cable(device, f"{network}.{first + 1}", f"{network}.{first + 2}")
    await _must("link", "add", device, "type", "veth", "peer", "name", "peer" + device, "netns", name)
    await _must("address", "add", f"{cable.address}/30", "dev", device)
    await _must("-n", name, "address", "add", f"{cable.other}/30", "dev", "peer" + device)
    await _must("-n", name, "link", "set", "peer" + device, "up")
    await _must("link", "set", device, "up")
    return cable
