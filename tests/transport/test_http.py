"""HTTP as its callers see it: bytes untouched, errors by name, deadlines kept, nothing left open."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from groundwire.errors import (
    ConfigError,
    GroundwireError,
    Interrupted,
    TimedOut,
    Unreachable,
    UpstreamWireError,
)
from groundwire.model.value import replace
from groundwire.testing.script import Cut, Dribble, Framing, Script, ScriptedResponse, text_response
from groundwire.testing.upstream import Upstream
from groundwire.transport import response as response_module
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.response import Response

pytestmark = pytest.mark.server

PATIENT = Deadlines(connect=20, first_byte=30, idle=30, total=40)
ENDLESS = Deadlines(connect=600, first_byte=600, idle=600, total=600)
"""Deadlines so long that a test which waits for one fails."""
LATE = 30.0
NEVER = float("inf")
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def call(upstream: Upstream, path: str = "/x", body: bytes = b"{}") -> HttpRequest:
    return HttpRequest("POST", upstream.url + path, {"x-key": "k"}, body)


@asynccontextmanager
async def opened(
    scripted: ScriptedResponse | Script, deadlines: Deadlines = PATIENT
) -> AsyncIterator[tuple[Response, Upstream]]:
    async with (
        Upstream(scripted) as upstream,
        Http({}) as http,
        http.open(call(upstream), deadlines) as response,
    ):
        yield response, upstream


async def failure(
    scripted: ScriptedResponse | Script, deadlines: Deadlines = PATIENT, *, pumped: bool = False
) -> GroundwireError:
    """The error that reading or pumping a whole answer ends with."""
    with pytest.raises(GroundwireError) as caught:  # noqa: PT012
        async with opened(scripted, deadlines) as (response, _):
            if pumped:
                await response.pump(lambda _: False)
            async for _chunk in response.chunks():
                pass
    return caught.value


async def test_a_request_is_sent_as_given_and_its_response_is_returned_unchanged() -> None:
    data = bytes(range(256)) * 300

    scripted = ScriptedResponse(201, {"X-Request-Id": "r1"}, data)
    async with opened(scripted) as (response, upstream):
        assert response.status == 201
        assert response.headers["x-request-id"] == "r1"
        assert await response.body() == data
        (seen,) = upstream.requests
        assert (seen.method, seen.target, seen.body) == ("POST", "/x", b"{}")
        assert seen.headers["x-key"] == "k"
        assert seen.headers["user-agent"] == "groundwire"
        assert "cookie" not in seen.headers


@pytest.mark.parametrize("path", ["/models/a%2Fb%3Ac:go?alt=sse", "/%C3%BC%20x", "/a%25b"])
async def test_an_escaped_path_arrives_as_it_was_escaped(path: str) -> None:
    async with Upstream(ScriptedResponse()) as upstream, Http({}) as http:
        async with http.open(call(upstream, path), PATIENT) as response:
            await response.body()
        assert upstream.requests[0].target == path


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("size", [1, 7])
async def test_bytes_are_returned_as_they_arrive(framing: Framing, size: int) -> None:
    data = "data: \u2028 a\x85b\r\r\n\n: é\n".encode() + b"\xff\x00"

    scripted = ScriptedResponse(body=data, framing=framing, dribble=Dribble(size, 0.0))
    async with opened(scripted) as (response, _):
        assert b"".join([chunk async for chunk in response.chunks()]) == data


async def test_what_has_arrived_is_seen_while_the_rest_is_still_missing() -> None:
    async with opened(replace(text_response("data: 1\n\ndata: 2\n\n"), stall_at=9)) as (
        response,
        upstream,
    ):
        chunks = response.chunks()
        assert await anext(chunks) == b"data: 1\n\n"
        await upstream.stalled()
        await chunks.aclose()


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("size", [1, 7])
async def test_a_pumped_body_is_passed_on_until_the_receiver_stops_it(framing: Framing, size: int) -> None:
    data = b"data: one\n\ndata: two\n\ndata: three\n\n"
    scripted = ScriptedResponse(body=data, framing=framing, dribble=Dribble(size, 0.0))
    received = bytearray()

    def receive(chunk: bytes) -> bool:
        received.extend(chunk)
        return received.endswith(b"\n\n")

    async with opened(scripted) as (response, _):
        stops = 0
        while await response.pump(receive):
            stops += 1
        assert bytes(received) == data
        assert 1 <= stops <= 3


async def test_what_arrives_after_the_receiver_stopped_is_kept() -> None:
    async with opened(ScriptedResponse(body=b"x" * 200_000, dribble=Dribble(50_000, 0.0))) as (response, _):
        first = bytearray()

        def receive(chunk: bytes) -> bool:
            first.extend(chunk)
            return True

        assert await response.pump(receive)
        assert len(first) + len(await response.body()) == 200_000
        assert not await response.pump(lambda _: True)


async def test_an_error_of_the_receiver_is_raised_where_it_is_awaited() -> None:
    def receive(_: bytes) -> bool:
        raise UpstreamWireError("no")

    async with opened(ScriptedResponse(body=b"abc", dribble=Dribble(1, 0.0))) as (response, _):
        with pytest.raises(UpstreamWireError, match="no"):
            await response.pump(receive)


async def test_a_pumped_body_has_a_limit() -> None:
    small = replace(PATIENT, largest=1000)
    async with opened(ScriptedResponse(body=b"x" * 3000, dribble=Dribble(100, 0.0)), small) as (response, _):
        with pytest.raises(UpstreamWireError, match="larger than"):
            await response.pump(lambda _: False)


async def test_a_compressed_body_is_decompressed() -> None:
    scripted = ScriptedResponse(headers={"content-encoding": "gzip"}, body=gzip.compress(b"hello" * 100))
    async with opened(scripted) as (response, _):
        assert await response.body() == b"hello" * 100


async def test_peeking_returns_the_first_bytes_without_consuming_them() -> None:
    scripted = ScriptedResponse(body=b"\xef\xbb\xbf \r\n\n  {}", dribble=Dribble(2, 0.0))
    async with opened(scripted) as (response, _):
        assert (await response.peek())[:1] == b"{"
        assert await response.body() == b"{}"
    async with opened(ScriptedResponse(body=b" \n ")) as (response, _):
        assert await response.peek() == b""


async def test_a_body_beyond_the_limit_is_refused() -> None:
    async with opened(ScriptedResponse(body=b"x" * 1001)) as (response, _):
        with pytest.raises(UpstreamWireError, match="larger than 1000"):
            await response.body(1000)


@pytest.mark.parametrize(
    "scripted",
    [
        ScriptedResponse(503, body=b'{"error":1}', cut_at=5),
        ScriptedResponse(503, body=b'{"error":1}', stall_at=5),
        ScriptedResponse(503, body=b'{"er', repeat=b"x" * 65536),
    ],
    ids=["cut", "stalled", "endless"],
)
async def test_an_error_body_is_what_arrives_soon_however_the_body_ends(
    scripted: ScriptedResponse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_module, "_ERROR_BODY_SECONDS", 0.1)

    async with opened(scripted, ENDLESS) as (response, _):
        assert (await response.error_body()).startswith(b'{"er')


@pytest.mark.parametrize(
    ("scripted", "kind", "message"),
    [
        (Script(port_state="closed"), Unreachable, "cannot reach 127.0.0.1: "),
        (ScriptedResponse(raw=b""), Unreachable, "closed the connection"),
        (ScriptedResponse(raw=b"\x16\x03\x01\x02\x00garbage\r\n\r\n"), UpstreamWireError, "not valid HTTP"),
        (ScriptedResponse(raw=b"HTTP/1.1 two OK\r\n\r\n"), UpstreamWireError, "not valid HTTP"),
        (ScriptedResponse(headers={"x": "y" * 100_000}), UpstreamWireError, "not valid HTTP"),
        (ScriptedResponse(body=b"abcdef", cut_at=3), Interrupted, "incomplete"),
        (ScriptedResponse(body=b"abcdef", cut_at=3, cut="rst"), Interrupted, "connection broke"),
        (ScriptedResponse(body=b"abcdef", cut_at=3, framing="chunked"), Interrupted, "incomplete"),
        (ScriptedResponse(raw=CHUNKED + b"3\r\nabc\r\nzz\r\n"), Interrupted, "malformed"),
        (
            ScriptedResponse(raw=CHUNKED + b"3\r\nabc\r\nzz\r\n", dribble=Dribble(len(CHUNKED), 0.05)),
            Interrupted,
            "connection broke",
        ),
        (
            ScriptedResponse(headers={"content-encoding": "gzip"}, body=b"this is not gzip"),
            Interrupted,
            "connection broke",
        ),
    ],
    ids=[
        *("refused", "hung up", "garbage", "bad status", "huge header", "cut", "reset", "cut chunks"),
        *("bad chunk", "bad chunk later", "bad gzip"),
    ],
)
async def test_every_failure_has_its_error(
    scripted: ScriptedResponse | Script, kind: type[GroundwireError], message: str
) -> None:
    error = await failure(scripted)
    assert type(error) is kind
    assert message in error.message
    assert "/x" not in error.message, "URLs may contain secrets"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "http://", "nonsense", "http://[::1", "http://a:port/"])
async def test_an_invalid_url_is_a_configuration_error(url: str) -> None:
    async with Http({}) as http:
        with pytest.raises(ConfigError, match="base_url"):
            async with http.open(HttpRequest("POST", url, {}), PATIENT):
                pass


async def test_a_header_that_cannot_be_sent_is_a_configuration_error() -> None:
    async with Upstream(ScriptedResponse()) as upstream, Http({}) as http:
        broken = HttpRequest("POST", upstream.url, {"x-key": "top\r\nsecret: x"})
        with pytest.raises(ConfigError, match="cannot be written") as caught:
            async with http.open(broken, PATIENT):
                pass
        assert "top" not in str(caught.value)


@pytest.mark.parametrize(
    ("scripted", "deadlines", "message"),
    [
        (Script(port_state="unresponsive"), Deadlines(connect=0.2), "no connection to 127.0.0.1"),
        (ScriptedResponse(delay=NEVER), Deadlines(first_byte=0.2), "no answer from 127.0.0.1"),
        (ScriptedResponse(delay=NEVER), Deadlines(total=0.2), "no answer from 127.0.0.1"),
        (ScriptedResponse(body=b"abc", stall_at=0), Deadlines(idle=0.2), "stopped coming"),
        (ScriptedResponse(body=b"abc", stall_at=2), Deadlines(idle=0.2), "stopped coming"),
        (ScriptedResponse(body=b"abc", stall_at=2), Deadlines(total=0.2), "took too long"),
        (
            ScriptedResponse(body=b"x" * 99, dribble=Dribble(1, 0.05)),
            Deadlines(idle=0.2, total=0.3),
            "took too long",
        ),
        (ScriptedResponse(repeat=b": ping\n\n", every=0.02), Deadlines(idle=0.2, total=0.3), "took too long"),
        (ScriptedResponse(repeat=b"x" * 65536, every=0.001), Deadlines(idle=0.2, total=0.3), "took too long"),
    ],
    ids=[
        *("unresponsive", "silent", "silent, total", "after headers", "semi-silent", "semi-silent, total"),
        *("dribble", "comments", "flood"),
    ],
)
@pytest.mark.parametrize("pumped", [False, True], ids=["read", "pumped"])
async def test_every_phase_has_its_deadline(
    scripted: ScriptedResponse | Script, deadlines: Deadlines, message: str, *, pumped: bool
) -> None:
    before = monotonic()
    error = await failure(scripted, deadlines, pumped=pumped)
    assert type(error) is TimedOut
    assert message in error.message
    assert 0.15 <= monotonic() - before < LATE


@pytest.mark.parametrize("cut", ["fin", "rst"])
async def test_bytes_before_a_broken_connection_are_read_even_late(cut: Cut) -> None:
    scripted = ScriptedResponse(
        body=b"abcdef", framing="chunked", dribble=Dribble(2, 0.02), cut_at=5, cut=cut
    )
    async with opened(scripted) as (response, upstream):
        chunks = response.chunks()
        received = bytearray(await anext(chunks))
        await upstream.closed()
        await asyncio.sleep(0.02)  # for the end to arrive; it makes no difference if it does not

        async def read_on() -> None:
            async for chunk in chunks:
                received.extend(chunk)

        with pytest.raises(Interrupted):
            await read_on()
        assert received == b"abcde"


async def test_a_connection_is_reused_after_its_body_was_read_to_the_end() -> None:
    async with Upstream(ScriptedResponse(body=b"abc")) as upstream, Http({}) as http:
        for _ in range(3):
            async with http.open(call(upstream), PATIENT) as response:
                await response.body()
        assert upstream.connections == 1


async def test_a_connection_with_an_unread_body_is_closed() -> None:
    async with Upstream(ScriptedResponse(body=b"abc", stall_at=1)) as upstream, Http({}) as http:
        for number in (1, 2):
            async with http.open(call(upstream), PATIENT):
                await upstream.stalled(number)
            await upstream.disconnected(number, timeout=LATE)
        assert upstream.connections == 2


@pytest.mark.parametrize(
    ("grace", "ending", "connections"),
    [(LATE, ScriptedResponse(dribble=Dribble(3, 0.05)), 1), (0.05, ScriptedResponse(stall_at=3), 2)],
    ids=["late", "never"],
)
async def test_draining_waits_for_a_late_end_but_not_for_long(
    monkeypatch: pytest.MonkeyPatch, grace: float, ending: ScriptedResponse, connections: int
) -> None:
    monkeypatch.setattr(response_module, "_DRAIN_SECONDS", grace)

    scripted = replace(ending, body=b"abcd", framing="chunked")
    async with Upstream(scripted) as upstream, Http({}) as http:
        for _ in range(2):
            async with http.open(call(upstream), ENDLESS) as response:
                assert await response.peek() == b"abc"
                await response.drain()
        assert upstream.connections == connections


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    async with Upstream(ScriptedResponse(200)) as elsewhere:
        moved = ScriptedResponse(status, {"location": f"{elsewhere.url}/secret"})
        async with opened(moved) as (response, upstream):
            assert response.status == status
            await response.body()
            assert len(upstream.requests) == 1
        assert elsewhere.connections == 0


async def test_cookies_are_not_kept() -> None:
    async with Upstream(ScriptedResponse(headers={"set-cookie": "a=b"})) as upstream, Http({}) as http:
        for _ in range(2):
            async with http.open(call(upstream), PATIENT) as response:
                await response.body()
        assert "cookie" not in upstream.requests[1].headers


@pytest.mark.parametrize(
    ("script", "phase"),
    [
        (Script(port_state="unresponsive"), "connecting"),
        (Script((ScriptedResponse(delay=NEVER),)), "before the headers"),
        (Script((ScriptedResponse(body=b"abc", stall_at=0),)), "after the headers"),
        (Script((ScriptedResponse(body=b"abc", stall_at=2),)), "in the middle"),
        (Script((ScriptedResponse(repeat=b"x" * 65536),)), "under a flood"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
async def test_a_cancelled_caller_leaves_nothing_open(script: Script, phase: str) -> None:
    async def read(http: Http, upstream: Upstream) -> None:
        async with http.open(call(upstream), ENDLESS) as response:
            async for _ in response.chunks():
                pass

    async with Upstream(script) as upstream, Http({}) as http:
        reading = asyncio.create_task(read(http, upstream))
        await _reach(upstream, phase)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        if upstream.requests:
            await upstream.disconnected(timeout=LATE)
        await upstream.closed(timeout=LATE)


async def _reach(upstream: Upstream, phase: str) -> None:
    if phase == "connecting":
        for _ in range(5):
            await asyncio.sleep(0)
    elif phase == "before the headers":
        await upstream.received()
    elif phase == "under a flood":
        await upstream.sent(10 * 65536)
    else:
        await upstream.stalled()


async def test_concurrent_requests_do_not_wait_for_each_other() -> None:
    async def ask(http: Http, upstream: Upstream) -> bytes:
        async with http.open(call(upstream), PATIENT) as response:
            return await response.body()

    async with Upstream(ScriptedResponse(body=b"abc", delay=0.5)) as upstream, Http({}) as http:
        before = monotonic()
        answers = await asyncio.gather(*(ask(http, upstream) for _ in range(150)))
        assert answers == [b"abc"] * 150
        assert monotonic() - before < LATE, "one after the other they take 75 s"
        assert upstream.connections == 150


async def test_closing_twice_is_allowed() -> None:
    http = Http({})
    await http.aclose()
    async with Upstream(ScriptedResponse()) as upstream:
        async with http.open(call(upstream), PATIENT) as response:
            await response.body()
        await http.aclose()
        await http.aclose()
        await upstream.closed(timeout=LATE)
