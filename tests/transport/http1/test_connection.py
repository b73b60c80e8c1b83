"""A connection in every phase: responses, errors, reuse, and what is left open afterwards."""

from __future__ import annotations

import asyncio
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from itertools import count
from types import FrameType

import pytest

from groundwire.errors import GroundwireError, Interrupted, TimedOut, Unreachable
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.http1.connect import Connector
from groundwire.transport.http1.connection import READ_AHEAD, Connection, IncompleteBody, RemoteDisconnected
from groundwire.transport.http1.origin import Origin
from groundwire.transport.http1.parser import ProtocolError
from groundwire.transport.http1.pool import Pool
from tests.growth import LINEAR, growth
from tests.transport.fake_transport import connected, is_refused, parse_response
from tests.transport.leftovers import nothing_left
from tests.transport.raw_server import (
    HERE,
    OK,
    ConnectionHandler,
    answering,
    request,
    reset,
    serving,
    silent,
    then_silent,
)

pytestmark = pytest.mark.server

SIZED = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
PATIENT = Deadlines(connect=10, first_byte=10, idle=10, total=20)


def call(port: int, method: str = "GET", path: str = "/") -> HttpRequest:
    return HttpRequest(method, f"http://{HERE}:{port}{path}", {})


async def fetch_body(http: Http, what: HttpRequest, deadlines: Deadlines = PATIENT) -> bytes:
    async with http.open(what, deadlines) as response:
        return await response.body()


def test_interim_responses_may_precede_a_response() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    parsed = parse_response([CONTINUE + early + CONTINUE + OK])
    assert (parsed.status, parsed.headers, parsed.body, parsed.end) == (
        200,
        {"content-length": "2"},
        b"ok",
        "kept",
    )
    assert parse_response([bytes([byte]) for byte in CONTINUE + early + OK]) == parsed
    assert parse_response([CONTINUE]).end == RemoteDisconnected.__name__


def test_endless_interim_responses_are_refused() -> None:
    assert is_refused([CONTINUE * 10_000])


def test_an_unrequested_protocol_switch_is_refused() -> None:
    assert is_refused([b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n"])


def test_a_head_that_arrives_byte_by_byte_is_not_parsed_from_its_beginning_each_time() -> None:
    def dribbled(size: int) -> None:
        assert (
            parse_response([b"HTTP/1.1 200 OK\r\na: ", *([b"x"] * size)]).end == RemoteDisconnected.__name__
        )

    assert growth(dribbled, 3000) < LINEAR


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\na: b\r\n"])
def test_an_end_before_the_response_is_a_disconnect(before: bytes) -> None:
    assert parse_response([before] if before else []).end == RemoteDisconnected.__name__


@pytest.mark.parametrize("error", [None, ConnectionResetError(), TimeoutError()])
@pytest.mark.parametrize("head", [SIZED, ENDLESS])
async def test_a_broken_connection_is_reported_after_the_bytes_that_arrived(
    head: bytes, error: Exception | None
) -> None:
    connection, _ = connected()
    connection.data_received(head + b"abc")
    connection.connection_lost(error)
    assert (await connection.read_head()).status == 200
    assert await connection.read(2) == b"ab"
    assert await connection.read(2) == b"c"
    for _ in range(2):
        with pytest.raises(type(error) if error else IncompleteBody):
            await connection.read(2)
    assert not connection.finish()


async def test_a_body_that_ends_with_its_connection_leaves_no_connection_to_reuse() -> None:
    connection, wire = connected()
    connection.data_received(ENDLESS + b"abc")
    connection.eof_received()
    wire.is_cut = False  # a connection under TLS may take a while to close
    assert [await connection.read(9), await connection.read(9)] == [b"abc", b""]
    assert not connection.finish()
    assert not connection.is_idle()


@pytest.mark.parametrize("method", ["", "GET"], ids=["idle", "over"])
async def test_unrequested_data_closes_the_connection_at_once(method: str) -> None:
    connection, wire = connected(method)
    if method:
        connection.data_received(OK)
    connection.data_received(OK)
    assert wire.is_cut
    assert not connection.is_idle(), "also before the loop has closed it"
    assert connection.read_now(9) == (b"ok" if method else b"")


async def test_a_released_connection_carries_the_next_request() -> None:
    connection, wire = connected()
    connection.data_received(OK)
    assert connection.finish()
    assert connection.is_idle()
    connection.send("GET", b"")
    assert not connection.is_idle()
    connection.data_received(b"HTTP/1.1 404 No\r\ncontent-length: 1\r\n\r\nx")
    assert (await connection.read_head()).status == 404
    assert await connection.read(9) == b"x"
    assert connection.finish()
    assert not wire.is_cut


async def test_an_unread_response_buffers_little() -> None:
    connection, wire = connected()
    connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
    taken = 0
    while wire.is_reading():
        connection.data_received(b"x" * 1000)
        taken += 1000
    assert READ_AHEAD < taken <= 2 * READ_AHEAD + 1000
    while not wire.is_reading():
        taken -= len(connection.read_now(1000))
    assert 0 < taken <= READ_AHEAD
    connection.eof_received()
    while taken:
        taken -= len(await connection.read(1000))
    with pytest.raises(IncompleteBody):
        await connection.read(1000)


async def test_a_failure_is_raised_after_the_bytes_that_arrived() -> None:
    connection, _ = connected()
    connection.data_received(SIZED + b"abc")
    connection.fail(TimeoutError())
    assert await connection.read(9) == b"abc"
    with pytest.raises(TimeoutError):
        await connection.read(9)
    assert not connection.finish()


async def disconnect(reader: StreamReader, writer: StreamWriter) -> None:
    await request(reader)


async def reset_connection(reader: StreamReader, writer: StreamWriter) -> None:
    await request(reader)
    reset(writer)


def once(then: ConnectionHandler, seen: list[bytes]) -> ConnectionHandler:
    """Answer the first request of the first connection, handle its next one with `then`."""

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        is_first = not seen
        seen.append(await request(reader))
        writer.write(OK)
        await (then if is_first else answering)(reader, writer)

    return handle


@pytest.mark.parametrize("then", [disconnect, reset_connection], ids=["disconnects", "resets"])
async def test_a_connection_closed_when_it_is_reused_is_replaced_for_idempotent_requests(
    then: ConnectionHandler,
) -> None:
    seen: list[bytes] = []
    async with nothing_left(), serving(once(then, seen)) as port, Http({}) as http:
        assert [await fetch_body(http, call(port)) for _ in range(2)] == [b"ok", b"ok"]
        assert len(seen) == 2
    seen.clear()
    async with nothing_left(), serving(once(then, seen)) as port, Http({}) as http:
        await fetch_body(http, call(port, "POST"))
        with pytest.raises(Unreachable):
            await fetch_body(http, call(port, "POST"))
        assert len(seen) == 1, "an order is not given twice"


async def test_an_idle_connection_that_was_closed_or_received_data_is_not_reused() -> None:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        path = (await request(reader)).split()[1]
        writer.write(OK)
        await left.wait()
        if path == b"/sends":
            writer.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
            await reader.read()
        elif path == b"/resets":
            reset(writer)

    async def main() -> None:
        async with nothing_left(), serving(handle) as port, Http({}) as http:
            for path in ("/closes", "/sends", "/resets", "/closes"):
                left.clear()
                await fetch_body(http, call(port, "POST", path))
                left.set()
                ((_, connection),) = next(iter(http._pool._idle.values()))  # type: ignore[union-attr]  # open
                while connection.is_idle():
                    await asyncio.sleep(0)

    left = asyncio.Event()
    await main()


PHASES = {
    "before the head": b"",
    "in the head": b"HTTP/1.1 200 OK\r\na: ",
    "after the head": SIZED,
    "in the body": SIZED + b"abc",
    "in a chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
    "without a length": ENDLESS + b"abc",
}


@pytest.mark.parametrize("data", PHASES.values(), ids=PHASES)
async def test_a_reset_is_reported_in_every_phase(data: bytes) -> None:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(data)
        if b"\r\n\r\n" in data:
            await begun.wait()  # a reset may overtake the bytes before it
        reset(writer)

    async def ask(http: Http, port: int) -> None:
        async with http.open(call(port), PATIENT) as response:
            begun.set()
            await response.body()

    async def main() -> GroundwireError:
        async with nothing_left(), serving(handle) as port, Http({}) as http:
            with pytest.raises(GroundwireError) as caught:
                await ask(http, port)
        return caught.value

    begun = asyncio.Event()
    assert type(await main()) is (Interrupted if b"\r\n\r\n" in data else Unreachable)


@pytest.mark.parametrize("data", PHASES.values(), ids=PHASES)
async def test_cancelling_in_any_phase_leaves_nothing_open(data: bytes) -> None:
    received = asyncio.Event()

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(data)
        await writer.drain()
        received.set()
        await silent(reader, writer)
        left.set()

    left = asyncio.Event()
    async with nothing_left(), serving(handle) as port, Http({}) as http:
        task = asyncio.create_task(fetch_body(http, call(port)))
        await received.wait()
        await asyncio.sleep(0.005)  # for it to arrive; nothing depends on whether it does
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await left.wait()


@pytest.mark.parametrize("data", PHASES.values(), ids=PHASES)
async def test_a_timeout_in_any_phase_leaves_nothing_open(data: bytes) -> None:
    async with nothing_left(), serving(then_silent(data)) as port, Http({}) as http:
        with pytest.raises(TimedOut):
            await fetch_body(http, call(port), Deadlines(first_byte=0.1, idle=0.1))


async def test_a_body_with_an_unknown_encoding_leaves_no_connection_open() -> None:
    packed = b"HTTP/1.1 503 Busy\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\nxx"

    async with (
        nothing_left(),
        serving(then_silent(packed)) as port,
        Http({}) as http,
        http.open(call(port), PATIENT) as response,
    ):
        assert response.status == 503, "the status is returned all the same"
        with pytest.raises(Interrupted):
            await response.body()
        assert await response.error_body() == b""


async def test_a_read_after_closing_gets_nothing_of_the_next_response() -> None:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        for number in range(2):
            await request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n%d" % number)
        await silent(reader, writer)

    async with serving(handle) as port, Http({}) as http:
        async with http.open(call(port), PATIENT) as first:
            assert await first.read() == b"0"
        async with http.open(call(port), PATIENT) as second:
            with pytest.raises(GroundwireError):
                await first.read()
            assert await second.read() == b"1"


async def test_an_idle_connection_is_closed_after_a_while() -> None:
    async with serving(answering) as port, nothing_left():
        pool, origin = Pool(Connector(), 0.05), Origin(HERE, port)
        for _ in range(3):
            connection, _ = await pool.send(origin, "GET", b"GET / HTTP/1.1\r\n\r\n", 10)
            assert await connection.read(9) == b"ok"
            pool.release(origin, connection)
        assert connection.is_reused, "it was the same"


@pytest.mark.parametrize("with_reset", [False, True], ids=["waits", "resets"])
async def test_a_response_before_the_end_of_the_request_is_read(with_reset: bool) -> None:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        await writer.drain()
        if with_reset:
            reset(writer)
        else:
            await received.wait()

    async def main() -> None:
        async with nothing_left(), serving(handle) as port, Http({}) as http:
            order = HttpRequest("POST", f"http://{HERE}:{port}/", {}, b"x" * 8_000_000)
            async with http.open(order, PATIENT) as response:
                assert (response.status, await response.body()) == (413, b"no")
            received.set()
            assert not http._pool._idle, "half a request is in it"  # type: ignore[union-attr]  # open

    received = asyncio.Event()
    await main()


async def test_closing_the_client_aborts_responses_and_keeps_no_connection() -> None:
    async def read(http: Http, port: int) -> None:
        async with http.open(call(port), PATIENT) as response:
            assert await response.read() == b"abc"
            await http.aclose()
            with pytest.raises(Interrupted):
                await response.read()

    for head in (SIZED, ENDLESS):
        async with nothing_left(), serving(then_silent(head + b"abc")) as port, Http({}) as http:
            await read(http, port)


@pytest.mark.parametrize(
    "wait", [Connection.read_head, lambda connection: connection.read(9)], ids=["head", "body"]
)
async def test_a_waiting_reader_is_woken_by_whatever_ends_the_connection(
    wait: Callable[[Connection], Awaitable[object]],
) -> None:
    ends: list[tuple[Callable[[Connection], object], type[Exception]]] = [
        (lambda connection: connection.data_received(b"SSH-2.0\r\n"), ProtocolError),
        (lambda connection: connection.eof_received(), RemoteDisconnected),
        (lambda connection: connection.connection_lost(None), RemoteDisconnected),
        (lambda connection: connection.connection_lost(ConnectionResetError()), ConnectionResetError),
        (lambda connection: connection.fail(TimeoutError()), TimeoutError),
    ]
    for end, kind in ends:
        connection, _ = connected()
        waiting = asyncio.ensure_future(wait(connection))
        await asyncio.sleep(0)
        end(connection)
        with pytest.raises(kind):
            await waiting


async def test_an_interrupt_at_any_moment_does_not_disturb_the_connection() -> None:
    # asyncio.run cancels its task in the handler of SIGINT, which runs between any two instructions.
    module = sys.modules[Connection.__module__].__file__
    for moment in count(1):
        connection, _ = connected()
        connection.data_received(SIZED)
        reading = asyncio.create_task(connection.read(9))
        await asyncio.sleep(0)
        lines = 0

        def interrupt(
            frame: FrameType, event: str, _: object, moment: int = moment, task: asyncio.Task[bytes] = reading
        ) -> object:
            nonlocal lines
            if event == "line" and frame.f_code.co_filename == module:
                lines += 1
                if lines == moment:
                    task.cancel()
            return interrupt

        before = sys.gettrace()
        sys.settrace(interrupt)  # type: ignore[arg-type]  # typeshed does not know the recursive type
        try:
            connection.data_received(b"123456789")
        finally:
            sys.settrace(before)
        await asyncio.wait([reading], timeout=10)
        assert connection.is_complete
        if lines < moment:
            break
        assert reading.cancelled()
    assert reading.result() == b"123456789"
