"""The fault proxy between a plain asyncio client and server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from groundwire.testing.fault_proxy import FaultProxy, Faults, faults_from, main

HOST = "127.0.0.1"
SECONDS = 10.0
LARGE = bytes(range(256)) * 1024


async def echo(reader: StreamReader, writer: StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def proxied(faults: Faults | None = None) -> AsyncIterator[FaultProxy]:
    server = await asyncio.start_server(echo, HOST, 0)
    async with server, FaultProxy(HOST, server.sockets[0].getsockname()[1], faults) as proxy:
        yield proxy


@asynccontextmanager
async def connected(proxy: FaultProxy) -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


async def is_quiet(reader: StreamReader) -> bool:
    """Does nothing arrive for a moment?"""
    try:
        async with asyncio.timeout(0.1):
            await reader.read(1)
    except TimeoutError:
        return True
    return False


async def test_without_faults_bytes_and_the_end_pass_unchanged() -> None:
    async with proxied() as proxy, connected(proxy) as (reader, writer):
        writer.write(LARGE)
        writer.write_eof()
        assert await reader.read(-1) == LARGE
        assert proxy.connections == 1


async def test_a_partition_holds_everything_and_loses_nothing() -> None:
    async with proxied() as proxy, connected(proxy) as (reader, writer):
        writer.write(b"one")
        assert await reader.readexactly(3) == b"one"
        proxy.faults = Faults(partitioned=True)
        writer.write(b"two")
        assert await is_quiet(reader)
        assert proxy.open_connections == 1
        proxy.faults = Faults()
        assert await reader.readexactly(3) == b"two"


async def test_a_stall_lets_the_first_bytes_pass_until_the_faults_change() -> None:
    async with proxied(Faults(stall_after=10)) as proxy, connected(proxy) as (reader, writer):
        writer.write(b"0123456789abcdef")
        assert await reader.readexactly(10) == b"0123456789"
        assert await is_quiet(reader)
        proxy.faults = Faults()
        assert await reader.readexactly(6) == b"abcdef"


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_a_cut_sends_exactly_the_bytes_before_it(how: str) -> None:
    faults = faults_from(json.dumps({"cut_after": 10, "cut": how}))
    async with proxied(faults) as proxy, connected(proxy) as (reader, writer):
        writer.write(b"0123456789abcdef")
        assert await reader.readexactly(10) == b"0123456789"
        if how == "fin":
            assert await reader.read(1) == b""
        else:
            with pytest.raises(ConnectionResetError):
                await reader.read(1)


async def test_open_connections_can_all_be_cut_and_new_ones_work() -> None:
    async with proxied() as proxy:
        async with connected(proxy) as (reader, writer):
            writer.write(b"x")
            await reader.readexactly(1)
            proxy.cut_all()
            with pytest.raises(ConnectionResetError):
                await reader.read(1)
        async with connected(proxy) as (reader, writer):
            writer.write(b"x")
            assert await reader.readexactly(1) == b"x"


async def test_new_connections_are_refused_or_never_served() -> None:
    async with proxied(Faults(refused=True)) as proxy:
        with pytest.raises(ConnectionResetError):
            async with connected(proxy) as (reader, _):
                await reader.read(1)
        proxy.faults = Faults(silent=True)
        async with connected(proxy) as (reader, writer):
            writer.write(b"x")
            assert await is_quiet(reader)
            proxy.faults = Faults()
            assert await reader.readexactly(1) == b"x"


async def test_a_server_that_is_not_there_resets_the_client() -> None:
    async with FaultProxy(HOST, 1) as proxy:
        with pytest.raises(ConnectionResetError):
            async with connected(proxy) as (reader, _):
                await reader.read(1)


async def test_bandwidth_and_delay_cost_time_and_no_bytes() -> None:
    loop = asyncio.get_running_loop()
    async with proxied(Faults(delay=0.02, bytes_per_second=2_000_000)) as proxy:
        began = loop.time()
        async with connected(proxy) as (reader, writer):
            writer.write(LARGE)
            writer.write_eof()
            assert await reader.read(-1) == LARGE
        assert loop.time() - began > len(LARGE) / 2_000_000


def test_the_program_takes_faults_from_its_input_and_refuses_others() -> None:
    with pytest.raises(ValueError, match="partitioned"):
        faults_from('{"speed": 1}')
    with pytest.raises(SystemExit):
        main(["nowhere"])
    running = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-m", "groundwire.testing.fault_proxy", f"{HOST}:1"],
        input='{"delay": 1}\n[]\n',
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert running.stdout.startswith(f"{HOST}:")
    assert "expected a JSON object" in running.stderr
