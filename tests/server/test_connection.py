"""Connections: keep-alive, interim responses, request heads that do not arrive or are too large, idle
clients."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from groundwire.server import asgi, connection
from groundwire.server.app import HttpApp
from groundwire.server.limits import HEAD_BYTES
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import RunningGateway, provider_at, serving
from tests.figures import Figures

pytestmark = pytest.mark.server

BOUND = 20.0
HEAD = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def _run(work: Callable[[RunningGateway], Awaitable[None]]) -> None:
    async def run() -> None:
        async with (
            Upstream(answer("gemini", answer_events("Yes."))) as upstream,
            serving({"mine": provider_at("gemini", upstream.url)}) as here,
        ):
            await work(here)

    asyncio.run(run())


async def _open(here: RunningGateway) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = here.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def _end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The remaining bytes until the server closes, which may be while we write."""
    data = b""
    with suppress(ConnectionError):
        async with asyncio.timeout(BOUND):
            while piece := await reader.read(65_536):
                data += piece
    writer.close()
    return data


@pytest.mark.parametrize(
    "beginning", [b"", b"POST", HEAD, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea"]
)
def test_a_request_head_that_does_not_arrive_times_out(
    monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)

    async def work(here: RunningGateway) -> None:
        reader, writer = await _open(here)
        began = time.monotonic()
        writer.write(beginning)
        await _end(reader, writer)
        assert time.monotonic() - began > 0.2

    _run(work)


def test_a_request_head_that_arrives_slowly_does_not_extend_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.5)

    async def work(here: RunningGateway) -> None:
        reader, writer = await _open(here)
        began = time.monotonic()
        writer.write(HEAD)
        ended = asyncio.create_task(_end(reader, writer))
        while not ended.done():
            writer.write(b"x-a: b\r\n")
            await asyncio.sleep(0.05)
            assert time.monotonic() - began < BOUND
        await ended

    _run(work)


def test_a_body_that_arrives_too_slowly_is_refused_and_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "BODY_SECONDS", 0.5)

    async def work(here: RunningGateway) -> None:
        reader, writer = await _open(here)
        writer.write(HEAD + b"content-length: 1000000\r\n\r\n")
        ended = asyncio.create_task(_end(reader, writer))
        began = time.monotonic()
        while not ended.done():
            writer.write(b" ")
            await asyncio.sleep(0.05)
            assert time.monotonic() - began < BOUND
        assert (await ended).startswith(b"HTTP/1.1 408")

    _run(work)


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"x-big: " + b"x" * HEAD_BYTES + b"\r\n\r\n",
        HEAD + b"x-a: b\r\n" * (HEAD_BYTES // 8) + b"\r\n",
        b"GET /" + b"x" * HEAD_BYTES + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        HEAD + b"x-endless: " + b"x" * 4 * HEAD_BYTES,
    ],
    ids=["one header", "many headers", "a path", "without an end"],
)
def test_a_request_head_that_is_too_large_is_refused(head: bytes) -> None:
    async def work(here: RunningGateway) -> None:
        reader, writer = await _open(here)
        writer.write(head)
        output = await _end(reader, writer)
        assert output == b"" or output.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
        assert here.gateway.open_requests == 0
        reader, writer = await _open(here)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert (await _end(reader, writer)).startswith(b"HTTP/1.1 200")

    _run(work)


def test_a_websocket_gets_426_and_garbage_is_refused() -> None:
    async def work(here: RunningGateway) -> None:
        reader, writer = await _open(here)
        writer.write(
            b"GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        async with asyncio.timeout(BOUND):
            assert (await reader.readline()).startswith(b"HTTP/1.1 426")
        writer.close()
        for garbage in (b"\x16\x03\x01\x02\x00\x01\x00", b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            reader, writer = await _open(here)
            writer.write(garbage)
            assert (await _end(reader, writer)).startswith(b"HTTP/1.1 400")

    _run(work)


@pytest.mark.thorough
def test_a_thousand_slow_clients_do_not_slow_other_clients(figures: Figures) -> None:
    async def work(here: RunningGateway) -> None:
        lines = [await _open(here) for _ in range(1000)]
        for number, (_, writer) in enumerate(lines):
            writer.write(HEAD if number % 2 else HEAD + b"content-length: 100000\r\n\r\n ")
        took = []
        for _ in range(100):
            began = time.monotonic()
            reader, writer = await _open(here)
            writer.write(b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert (await _end(reader, writer)).startswith(b"HTTP/1.1 200")
            took.append(time.monotonic() - began)
        figures.add("R15", "a request next to 1,000 slow clients, 99 %", sorted(took)[98] * 1000, "ms")
        assert sorted(took)[98] < 0.25
        began = time.monotonic()
        async with asyncio.timeout(45):
            for line in lines:
                await line[0].read()
        for _, writer in lines:
            writer.close()
        assert time.monotonic() - began < 40

    _run(work)


async def _exchange(here: RunningGateway, data: bytes) -> bytes:
    """All bytes of the server after these, which must make it close the connection."""
    reader, writer = await _open(here)
    writer.write(data)
    return await _end(reader, writer)


def test_a_client_that_expects_100_continue_gets_it_before_it_sends_the_body() -> None:
    async def work(here: RunningGateway) -> None:
        body = b'{"model":"mine/m","messages":[{"role":"user","content":"?"}]}'
        reader, writer = await _open(here)
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n"
            b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        )
        async with asyncio.timeout(BOUND):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert (await _end(reader, writer)).startswith(b"HTTP/1.1 200 OK\r\n")

    _run(work)


def test_connections_are_kept_open_except_for_http_1_0_and_on_request() -> None:
    get = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"

    async def work(here: RunningGateway) -> None:
        reader, writer = await _open(here)
        for _ in range(3):
            writer.write(get + b"\r\n")
            async with asyncio.timeout(BOUND):
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.findall(rb"content-length: (\d+)", head)[0])
                await reader.readexactly(length)
            assert b"connection: close" not in head
        writer.write(get + b"connection: close\r\n\r\n")
        assert b"\r\nconnection: close\r\n" in await _end(reader, writer)
        old = await _exchange(here, b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n")
        assert b"\r\nconnection: close\r\n" in old

    _run(work)


def test_a_response_to_head_has_no_body() -> None:
    async def work(here: RunningGateway) -> None:
        rest = b"/healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        with_body, without = await _exchange(here, b"GET " + rest), await _exchange(here, b"HEAD " + rest)
        assert with_body.startswith(without.partition(b"\r\nx-request-id")[0])
        assert without.endswith(b"\r\n\r\n")
        assert not with_body.endswith(b"\r\n\r\n")

    _run(work)


def test_an_application_that_fails_gives_500_and_its_connection_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(HttpApp, "__call__", fails)

    async def work(here: RunningGateway) -> None:
        output = await _exchange(here, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert output.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")

    _run(work)
