"""The scripted upstream does what its script says, as seen through bare sockets."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.errors import RateLimited
from groundwire.model import Source, assemble
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events, error_body
from groundwire.testing.script import (
    Dribble,
    Script,
    ScriptedResponse,
    answer,
    json_response,
    text_response,
)
from groundwire.testing.upstream import Upstream

pytestmark = pytest.mark.server

GET = b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n"
EVENTS = answer_events("The Nile is long.", Source("https://alpha.example/"), query="nile")


def run(main: Coroutine[None, None, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(10):
            await main

    asyncio.run(bounded())


@asynccontextmanager
async def connected(upstream: Upstream) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = int(upstream.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def exchange(upstream: Upstream, request: bytes = GET) -> bytes:
    """Send bytes; returns everything until the connection ends."""
    closing = request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)
    async with connected(upstream) as (reader, writer):
        writer.write(closing)
        return await reader.read()


def post(path: str, body: bytes) -> bytes:
    return b"POST %s HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (path.encode(), len(body), body)


async def test_a_response_is_sent_with_its_status_headers_and_length() -> None:
    async with Upstream(json_response({"a": 1}, 418, {"retry-after": "7"})) as upstream:
        head, _, body = (await exchange(upstream)).partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        assert lines[0].startswith(b"HTTP/1.1 418 ")
        assert b"retry-after: 7" in lines
        assert b"content-length: 7" in lines
        assert b"content-type: application/json" in lines
        assert body == b'{"a":1}'


async def test_a_stream_is_sent_in_chunks_and_ends_with_an_empty_one() -> None:
    async with Upstream(text_response("data: 1\n\n")) as upstream:
        head, _, body = (await exchange(upstream)).partition(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head
        assert b"content-type: text/event-stream" in head
        assert body == b"9\r\ndata: 1\n\n\r\n0\r\n\r\n"


async def test_responses_of_a_path_are_sent_in_turn_and_the_last_is_repeated() -> None:
    script = Script(
        (ScriptedResponse(200),),
        {"/a": (ScriptedResponse(503), ScriptedResponse(201)), "/v1/models/*": (ScriptedResponse(202),)},
    )

    async with Upstream(script) as upstream:
        paths = ("/a", "/v1/models/m:go?alt=sse", "/a", "/b", "/a")
        for path in paths:
            await exchange(upstream, post(path, b""))
        assert [item.status for item in upstream.requests] == [503, 202, 201, 200, 201]
        assert [item.attempt for item in upstream.requests] == [1, 1, 2, 1, 3]


async def test_a_path_without_a_response_is_reported_as_missing() -> None:
    async with Upstream(Script(paths={"/a": (ScriptedResponse(),)})) as upstream:
        assert b"HTTP/1.1 404" in await exchange(upstream)


async def test_requests_are_recorded_as_received() -> None:
    async with Upstream(ScriptedResponse()) as upstream:
        before = monotonic()
        await exchange(
            upstream, b"POST /p?q=%2F HTTP/1.1\r\nX-Key: k\r\nContent-Length: 7\r\n\r\n" + b'{"a":1}'
        )
        seen = upstream.requests[0]
        assert (seen.method, seen.target, seen.path) == ("POST", "/p?q=%2F", "/p")
        assert seen.headers["x-key"] == "k"
        assert seen.json == {"a": 1}
        assert before <= seen.at <= monotonic()
        assert seen.finished
        assert seen.disconnected is None


async def test_a_chunked_request_is_read_too() -> None:
    body = b"3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\ntrailer: 1\r\n\r\n"

    async with Upstream(ScriptedResponse()) as upstream:
        await exchange(upstream, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        assert upstream.requests[0].body == b"abcdefg"


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async with (
        Upstream([json_response(1), json_response(2)]) as upstream,
        connected(upstream) as (reader, writer),
    ):
        for expected in (b"1", b"2"):
            writer.write(GET)
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(1) == expected
        assert upstream.connections == 1
        assert [item.connection for item in upstream.requests] == [1, 1]


async def test_a_delay_comes_before_the_status_line() -> None:
    async with Upstream(ScriptedResponse(delay=0.15)) as upstream:
        before = monotonic()
        await exchange(upstream)
        assert monotonic() - before >= 0.14


async def test_a_stall_keeps_the_connection_open_until_the_client_disconnects() -> None:
    async with Upstream(ScriptedResponse(body=b"abcdef", stall_at=4)) as upstream:
        async with connected(upstream) as (reader, writer):
            writer.write(GET)
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(4) == b"abcd"
            stalled = await upstream.stalled()
            assert stalled.sent == 4
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), 0.05)
        await upstream.disconnected()
        assert not stalled.finished


async def test_a_client_that_disconnects_before_the_answer_is_noticed_at_once() -> None:
    async with Upstream(ScriptedResponse(delay=float("inf"))) as upstream:
        async with connected(upstream) as (_, writer):
            writer.write(GET)
            await upstream.received()
        await upstream.disconnected()
        await upstream.closed()


async def test_a_dribble_arrives_in_chunks_with_pauses_between() -> None:
    async with (
        Upstream(ScriptedResponse(body=b"abcdef", dribble=Dribble(2, 0.05))) as upstream,
        connected(upstream) as (reader, writer),
    ):
        writer.write(GET)
        await reader.readuntil(b"\r\n\r\n")
        before = monotonic()
        assert await reader.readexactly(2) == b"ab"
        assert await reader.readexactly(4) == b"cdef"
        assert monotonic() - before >= 0.09


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
async def test_a_connection_can_be_cut_at_any_byte(framing: str) -> None:
    response = replace(ScriptedResponse(body=b"abcdef", cut_at=3), framing=framing)
    async with Upstream(response) as upstream:
        _, _, body = (await exchange(upstream)).partition(b"\r\n\r\n")
        assert body == (b"3\r\nabc\r\n" if framing == "chunked" else b"abc")


async def test_a_cut_can_be_a_reset() -> None:
    async with (
        Upstream(ScriptedResponse(body=b"abcdef", cut_at=3, cut="rst")) as upstream,
        connected(upstream) as (reader, writer),
    ):
        writer.write(GET)
        await upstream.finished()
        with pytest.raises(ConnectionResetError):
            await reader.read()


async def test_bytes_that_are_not_http_are_sent_unchanged() -> None:
    async with Upstream(ScriptedResponse(raw=b"\x16\x03\x01 what?")) as upstream:
        assert await exchange(upstream) == b"\x16\x03\x01 what?"


@pytest.mark.parametrize("every", [0.0, 0.01])
async def test_an_answer_can_have_no_end(every: float) -> None:
    async with Upstream(ScriptedResponse(body=b"data: 1\n\n", repeat=b": ping\n\n", every=every)) as upstream:
        async with connected(upstream) as (reader, writer):
            writer.write(GET)
            await upstream.sent(9 + 3 * 8)
            assert (await reader.readuntil(b": ping")).count(b"data: 1") == 1
        await upstream.disconnected()


async def test_a_closed_port_refuses_connections() -> None:
    async with Upstream(Script(port_state="closed")) as upstream:
        with pytest.raises(ConnectionRefusedError):
            await exchange(upstream)


async def test_a_blackholed_port_does_not_answer() -> None:
    async with Upstream(Script(port_state="unresponsive")) as upstream:
        with socket.socket() as client:
            client.settimeout(0.2)
            port = int(upstream.url.rpartition(":")[2])
            code = await asyncio.to_thread(client.connect_ex, ("127.0.0.1", port))
            assert code in (errno.EAGAIN, errno.EINPROGRESS)


async def test_a_wait_for_an_event_that_does_not_happen_times_out() -> None:
    async with Upstream(ScriptedResponse()) as upstream:
        for wait in (upstream.received, upstream.stalled, upstream.finished, upstream.disconnected):
            with pytest.raises(TimeoutError, match=r"within 0\.01 s"):
                await wait(timeout=0.01)


@pytest.mark.parametrize("name", DIALECTS)
async def test_an_answer_is_sent_in_every_dialect_streamed_on_request(name: str) -> None:
    language = dialect(name)
    path = "/m:streamGenerateContent" if name == "gemini" else "/m"

    async with Upstream(answer(name, EVENTS)) as upstream:
        whole = await exchange(upstream, post("/m", b"{}"))
        streamed = await exchange(upstream, post(path, b'{"stream":true}'))
    assert whole.count(b"content-length") == 1
    assert streamed.count(b"transfer-encoding: chunked") == 1
    response = answer(name, EVENTS)
    decoder = language.decoder()
    events = decoder.feed(response.stream or b"") + decoder.close()
    assert assemble(events).text == "The Nile is long."
    assert response.body in whole


def test_errors_are_sent_in_every_dialect() -> None:
    for name in DIALECTS:
        status, body = error_body(name, RateLimited("slow down"))
        assert status == 429
        assert "slow down" in str(body)


async def test_the_script_can_change_while_it_is_served() -> None:
    async with Upstream(ScriptedResponse(500)) as upstream:
        await exchange(upstream)
        upstream.script = Script((ScriptedResponse(204),))
        await exchange(upstream)
        assert [item.status for item in upstream.requests] == [500, 204]


async def test_closing_the_upstream_leaves_nothing_running() -> None:
    async with (
        Upstream(ScriptedResponse(delay=float("inf"))) as upstream,
        connected(upstream) as (reader, writer),
    ):
        writer.write(GET)
        await upstream.received()
        await upstream.__aexit__(None, None, None)
        assert upstream.open_connections == 0
        assert await reader.read() == b""
    assert len(asyncio.all_tasks()) == 1
