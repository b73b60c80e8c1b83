"""Hostile clients on raw sockets, without a key: malformed or oversized requests, responses not read."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import resource
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from groundwire.model.value import replace
from groundwire.server import asgi, connection, http_server
from groundwire.server.app import AccessRecord
from groundwire.server.keys import KeyFile
from groundwire.server.limits import HEAD_BYTES
from groundwire.server.response_writer import ResponseTimeouts
from groundwire.testing.answers import answer_events
from groundwire.testing.script import ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.raw import RawResponse, parsed, request_of
from tests.faces.gateway.serving import RunningGateway, provider_at, run, serving
from tests.server.stream_load import memory_of

pytestmark = pytest.mark.server

BOUND = 20.0
NEVER = float("inf")
CHUNKED = (
    b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n%b\r\n"
CLOSE = b"connection: close\r\n"
PIECE = 2**16


def attack(
    work: Callable[[RunningGateway], Awaitable[None]],
    *,
    script: ScriptedResponse | None = None,
    timeouts: ResponseTimeouts | None = None,
) -> None:
    async def main() -> None:
        async with (
            Upstream(script or answer("openai_chat", answer_events("Yes."))) as upstream,
            serving({"mine": provider_at("openai_chat", upstream.url)}, timeouts=timeouts) as here,
        ):
            await work(here)

    run(main())


async def opened(here: RunningGateway) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = here.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port), limit=2**26)


async def rest_of(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """All bytes until the server closes, which it must do in time."""
    data = b""
    with suppress(ConnectionError):
        async with asyncio.timeout(BOUND):
            while piece := await reader.read(PIECE):
                data += piece
    writer.close()
    return data


async def flooded(here: RunningGateway, beginning: bytes, piece: bytes, times: int) -> tuple[bytes, int]:
    """The response to a client that never stops writing, and the number of chunks it could write."""
    reader, writer = await opened(here)
    reading = asyncio.create_task(rest_of(reader, writer))
    writer.write(beginning)
    sent = 0
    with suppress(ConnectionError):
        while sent < times and not reading.done():
            writer.write(piece)
            sent += 1
            async with asyncio.timeout(BOUND):
                await writer.drain()
            await asyncio.sleep(0)
    if writer.can_write_eof() and not writer.is_closing():
        with suppress(OSError):
            writer.write_eof()
    return await reading, sent


async def is_well(here: RunningGateway) -> None:
    reader, writer = await opened(here)
    writer.write(HEALTH % CLOSE)
    assert (await rest_of(reader, writer)).startswith(b"HTTP/1.1 200")


# Bytes that are not body


@pytest.mark.parametrize("path", [b"/v1/chat/completions", b"/nowhere", b"/healthz", b"/login"])
@pytest.mark.parametrize(
    ("before", "unit"),
    [
        (b"0\r\n", b"x-trailer-%06d: %b\r\n"),
        (b"", b"1;x%06d=%b\r\nx\r\n"),
    ],
    ids=["trailers", "extensions"],
)
def test_trailers_and_chunk_extensions_are_bounded(
    path: bytes, before: bytes, unit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER_BYTES", 2**20)
    piece = b"".join(unit % (number, b"v" * 1000) for number in range(64))

    async def work(here: RunningGateway) -> None:
        gc.collect()
        weight = memory_of(os.getpid())
        _, sent = await flooded(here, CHUNKED % path + before, piece, 500)
        assert sent < 100, "32 MB were taken"
        assert memory_of(os.getpid()) - weight < 16 * 2**20
        await is_well(here)

    attack(work)


def test_trailers_that_arrive_too_slowly_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.3)

    async def work(here: RunningGateway) -> None:
        for path in (b"/v1/chat/completions", b"/nowhere", b"/healthz"):
            reader, writer = await opened(here)
            writer.write(CHUNKED % path + b"2\r\n{}\r\n0\r\n")
            ended = asyncio.create_task(rest_of(reader, writer))
            async with asyncio.timeout(BOUND):
                while not ended.done():
                    writer.write(b"x-a: b\r\n")
                    await asyncio.sleep(0.02)
            assert here.gateway.open_requests == 0

    attack(work)


def test_a_trailer_is_not_a_header() -> None:
    async def work(here: RunningGateway) -> None:
        key, _ = KeyFile(here.groundwire.config.data_dir).create("one", 0.0)
        body = json.dumps({"model": "mine/m", "messages": [{"role": "user", "content": "?"}]}).encode()
        ends = CHUNKED.replace(b"\r\n\r\n", b"\r\n%b\r\n" % CLOSE) % b"/v1/chat/completions"
        chunk = b"%x\r\n%b\r\n0\r\n" % (len(body), body)
        sent = {401: ends + chunk + b"x-api-key: %b\r\n\r\n" % key.encode()}
        sent[200] = ends[:-2] + b"x-api-key: %b\r\n\r\n" % key.encode() + chunk + b"\r\n"
        for status, data in sent.items():
            reader, writer = await opened(here)
            writer.write(data)
            assert parsed(await rest_of(reader, writer)).status == status

    attack(work)


def test_a_body_in_many_small_chunks_is_read() -> None:
    text = "word " * 4000
    body = json.dumps({"model": "mine/m", "messages": [{"role": "user", "content": text}]}).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (1, body[n : n + 1]) for n in range(len(body))) + b"0\r\n\r\n"
    assert len(chunks) > HEAD_BYTES

    async def work(here: RunningGateway) -> None:
        reader, writer = await opened(here)
        writer.write(CHUNKED.replace(b"\r\n\r\n", b"\r\n%b\r\n" % CLOSE) % b"/v1/chat/completions" + chunks)
        assert parsed(await rest_of(reader, writer)).status == 200

    attack(work)


# Requests that are refused before they are read


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /nowhere HTTP/1.1\r\nhost: localhost\r\n", 404),
        (b"POST /healthz HTTP/1.1\r\nhost: localhost\r\n", 405),
        (b"POST /v1/messages HTTP/1.1\r\nhost: elsewhere.example\r\n", 421),
        (b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.example\r\n", 403),
        (b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n", 413),
    ],
)
def test_a_client_that_writes_everything_before_it_reads_gets_the_refusal(head: bytes, status: int) -> None:
    size = 24 * 2**20

    def blocking(port: int) -> RawResponse:
        with socket.create_connection(("127.0.0.1", port), timeout=BOUND) as line:
            line.sendall(head + b"content-length: %d\r\n\r\n" % size)
            for _ in range(size // PIECE):
                line.sendall(b"x" * PIECE)
            data = b""
            while piece := line.recv(PIECE):
                data += piece
            return parsed(data)

    async def work(here: RunningGateway) -> None:
        response = await asyncio.to_thread(blocking, int(here.url.rpartition(":")[2]))
        assert (response.status, response.complete, response.headers["connection"]) == (status, True, "close")

    attack(work)


@pytest.mark.parametrize("path", [b"/nowhere", b"/v1/messages", b"/healthz"])
def test_refused_bodies_that_arrive_slowly_are_dropped(path: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.3)

    async def work(here: RunningGateway) -> None:
        KeyFile(here.groundwire.config.data_dir).create("one", 0.0)
        head = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n" % path
        lines = [await opened(here) for _ in range(20)]
        for _, writer in lines:
            writer.write(head)
        ends = [asyncio.create_task(rest_of(*line)) for line in lines]
        async with asyncio.timeout(BOUND):
            while not all(end.done() for end in ends):
                for (_, writer), end in zip(lines, ends, strict=True):
                    if not end.done():
                        writer.write(b" ")
                await asyncio.sleep(0.02)
        assert all(b"HTTP/1.1 40" in end.result() for end in ends)

    attack(work)


# Upgrades and pipelining


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("framing", ["content-length", "chunked"])
def test_an_upgrade_is_ignored_and_the_body_read(split: bool, framing: str) -> None:
    inner = b"GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n"
    question = json.dumps({"role": "user", "content": inner.decode()})
    body = b'{"model":"mine/m","messages":[%b]}%b' % (question.encode(), b" " * 100)
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\n"
        b"upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\ncontent-type: application/json\r\n"
    )
    if framing == "chunked":
        head += b"transfer-encoding: chunked\r\n\r\n"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        head += b"content-length: %d\r\n\r\n" % len(body)

    async def work(here: RunningGateway) -> None:
        paths: list[str] = []
        here.gateway.observers += (lambda seen: paths.append(f"{seen.path} {seen.status}"),)
        reader, writer = await opened(here)
        for data in (head, body) if split else (head + body,):
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.write(HEALTH % CLOSE)
        output = await rest_of(reader, writer)
        assert output.count(b"HTTP/1.1 200") == 2
        assert output.count(b"HTTP/1.1") == 2
        assert paths == ["/v1/chat/completions 200", "/healthz 200"]

    attack(work)


@pytest.mark.parametrize(
    "ahead",
    [
        HEALTH % b"",
        b"GET /heal",
        (HEALTH % b"") * 3000,
        CHUNKED % b"/v1/chat/completions" + b"100000\r\n" + b"x" * 2**20,
        b"\x00garbage",
    ],
    ids=["a request", "half a request", "thousands", "a large body", "garbage"],
)
@pytest.mark.parametrize("together", [True, False])
async def test_pipelined_bytes_do_not_hide_a_disconnect(ahead: bytes, together: bool) -> None:
    slow = replace(answer("openai_chat", answer_events("Yes.")), delay=NEVER)
    async with (
        Upstream(slow) as upstream,
        serving({"mine": provider_at("openai_chat", upstream.url)}) as here,
    ):
        question = request_of("openai_chat", "mine/m", stream=False).replace(CLOSE, b"")
        _, writer = await opened(here)
        bad = together and ahead.startswith(b"\x00")
        writer.write(question + ahead if together else question)
        if not bad:
            await upstream.received(1)
        if not together:
            writer.write(ahead)
            await asyncio.sleep(0.05)
        writer.transport.abort()
        if not bad:
            await upstream.disconnected(1, timeout=3.0)
        async with asyncio.timeout(BOUND):
            while here.gateway.open_requests:
                await asyncio.sleep(0.01)


def test_pipelined_requests_are_answered_in_order() -> None:
    async def work(here: RunningGateway) -> None:
        question = request_of("openai_chat", "mine/m", stream=False).replace(CLOSE, b"")
        for together in (True, False):
            reader, writer = await opened(here)
            pieces = (question, HEALTH % b"", question, HEALTH % CLOSE)
            for piece in (b"".join(pieces),) if together else pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.001)
            output = await rest_of(reader, writer)
            assert output.count(b"HTTP/1.1 200") == 4
            order = [output.find(b"chat.completion"), output.find(b'"ok"'), output.rfind(b"chat.completion")]
            assert order == sorted(order)
            assert output.endswith(b'{"status":"ok"}')

    attack(work)


def test_garbage_after_a_request_is_refused_and_the_request_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work(here: RunningGateway) -> None:
        seen: list[AccessRecord] = []
        here.gateway.observers += (seen.append,)
        for garbage in (b"\x00garbage\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            reader, writer = await opened(here)
            writer.write(request_of("openai_chat", "mine/m", stream=False).replace(CLOSE, b"") + garbage)
            output = await rest_of(reader, writer)
            assert output.startswith(b"HTTP/1.1 400")
            assert output.count(b"HTTP/1.1") == 1
        async with asyncio.timeout(BOUND):
            while here.gateway.open_requests:
                await asyncio.sleep(0.01)
        assert [one.outcome for one in seen] == ["left", "left"]

    attack(work)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


# Responses that are not read


def test_whole_responses_that_are_not_read_are_cut() -> None:
    text = "word " * 3_000_000

    async def work(here: RunningGateway) -> None:
        seen: list[AccessRecord] = []
        here.gateway.observers += (seen.append,)
        gc.collect()
        lines = [await opened(here) for _ in range(5)]
        for _, writer in lines:
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(request_of("openai_chat", "mine/m", stream=False).replace(CLOSE, b""))
            await writer.drain()
        async with asyncio.timeout(BOUND):
            while len(seen) < len(lines):
                await asyncio.sleep(0.05)
        assert {one.outcome for one in seen} == {"stalled"}
        for _, writer in lines:
            writer.transport.abort()

    attack(work, script=answer("openai_chat", answer_events(text)), timeouts=ResponseTimeouts(stall=0.5))


def test_a_small_response_that_is_not_read_does_not_keep_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_SEND_BUFFER", 4096)
    text = "word " * 5000

    async def work(here: RunningGateway) -> None:
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(line, ("127.0.0.1", int(here.url.rpartition(":")[2])))
        await loop.sock_sendall(line, request_of("openai_chat", "mine/m", stream=False))
        await is_well(here)
        async with asyncio.timeout(BOUND):
            while here.server.connections:
                await asyncio.sleep(0.05)
        line.close()

    attack(work, script=answer("openai_chat", answer_events(text)), timeouts=ResponseTimeouts(stall=0.5))


def test_a_slow_reader_gets_all_of_a_large_response() -> None:
    text = "word " * 500_000

    async def work(here: RunningGateway) -> None:
        reader, writer = await opened(here)
        writer.write(request_of("openai_chat", "mine/m", stream=False))
        data = b""
        async with asyncio.timeout(BOUND):
            while piece := await reader.read(2**18):
                data += piece
                await asyncio.sleep(0.02)
        writer.close()
        response = parsed(data)
        assert response.complete
        assert json.loads(response.body)["choices"][0]["message"]["content"] == text

    attack(work, script=answer("openai_chat", answer_events(text)), timeouts=ResponseTimeouts(stall=2.0))


# No file descriptors left


def test_without_file_descriptors_accepting_pauses_and_logs_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_server, "PAUSE", 0.05)

    async def work(here: RunningGateway) -> None:
        taken: list[int] = []
        waiting = [await opened(here) for _ in range(4)]
        lines = [socket.socket() for _ in range(4)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            with suppress(OSError):
                while True:
                    taken.append(os.dup(0))
            for line in lines:
                line.setblocking(False)
                with suppress(BlockingIOError):
                    line.connect(("127.0.0.1", int(here.url.rpartition(":")[2])))
            await asyncio.sleep(0.5)
        finally:
            for number in taken:
                os.close(number)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await is_well(here)
        for line in lines:
            line.close()
        for _, writer in waiting:
            writer.close()

    with caplog.at_level(logging.WARNING):
        attack(work)
    warnings = [record for record in caplog.records if "accept" in record.getMessage()]
    assert len(warnings) == 1, [record.getMessage() for record in warnings]
    assert warnings[0].exc_info is None
