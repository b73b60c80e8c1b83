"""Bodies of strangers: sizes after unpacking, types that were asked for, many at once."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import pytest

from groundwire.errors import FetchRefused, TimedOut, Unreachable, UpstreamWireError
from groundwire.testing.script import Script, ScriptedResponse
from groundwire.transport.decoders import BodyDecoder
from groundwire.transport.fetch import Fetched, fetch_all
from tests.transport.bounded import run
from tests.transport.canaries import page, small_web

TEXT = b"Hello, world. " * 100
RAW = zlib.compressobj(wbits=-15)
BARE_DEFLATE = RAW.compress(TEXT) + RAW.flush()


def html(body: bytes, encoding: str = "", **more: object) -> ScriptedResponse:
    packed = {"content-encoding": encoding} if encoding else {}
    return ScriptedResponse(headers={"content-type": "text/html", **packed}, body=body, **more)  # type: ignore[arg-type]  # fields of a response


async def got(response: ScriptedResponse, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
    async with small_web(response) as web:
        return await web.fetcher.get(web.url(), accept=accept, limit=limit)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("X-GZip", gzip.compress(TEXT[:99], mtime=0) + gzip.compress(TEXT[99:], mtime=0)),
        ("gzip", gzip.compress(TEXT, mtime=0) + b"\0" * 8),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", BARE_DEFLATE),
    ],
)
def test_a_body_is_unpacked(encoding: str, body: bytes) -> None:
    assert run(got(html(body, encoding))).body == TEXT
    assert run(got(html(body, encoding, framing="chunked"))).body == TEXT


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_packed_body_may_come_in_pieces(size: int) -> None:
    for packed, encoding, expected in (
        (gzip.compress(TEXT, mtime=0) * 2, "gzip", TEXT * 2),
        (BARE_DEFLATE, "deflate", TEXT),
    ):
        unpacker = BodyDecoder(encoding, 10_000)
        for at in range(0, len(packed), size):
            unpacker.feed(packed[at : at + size])
        assert unpacker.close() == expected


@pytest.mark.parametrize(
    "response",
    [
        html(b"x", "br"),
        html(b"x", "gzip, gzip"),
        html(b"this is not packed", "gzip"),
        html(gzip.compress(TEXT, mtime=0)[:-9], "gzip"),
        html(b"x" * 1001),
        html(b"x" * 1001, framing="chunked"),
        html(gzip.compress(b"x" * 1001, mtime=0), "gzip"),
        html(zlib.compress(b"x" * 1001), "deflate"),
        ScriptedResponse(headers={"content-type": "application/pdf"}, body=b"%PDF"),
        ScriptedResponse(body=b"typeless"),
        ScriptedResponse(raw=b"SSH-2.0-OpenSSH_9.2\r\n"),
        ScriptedResponse(raw=b"HTTP/1.1 204 No\r\ncontent-type: text/html\r\ncontent-length: five\r\n\r\n"),
        ScriptedResponse(raw=b"HTTP/1.1 200 OK\r\n" + b"x-long: " + b"y" * 100_000 + b"\r\n\r\n"),
    ],
)
def test_what_is_too_large_broken_or_of_another_kind_is_an_error(response: ScriptedResponse) -> None:
    with pytest.raises(UpstreamWireError):
        run(got(response, limit=1000))


def test_a_body_that_breaks_off_is_an_error() -> None:
    with pytest.raises(Unreachable):
        run(got(html(TEXT, cut_at=50)))
    with pytest.raises(Unreachable):
        run(got(html(TEXT, cut_at=50, cut="rst")))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_defused_before_it_fills_the_memory(encoding: str) -> None:
    machine = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    block = b"\0" * 1_000_000
    bomb = b"".join([machine.compress(block) for _ in range(100)] + [machine.flush()])
    assert len(bomb) < 110_000
    tracemalloc.start()
    try:
        with pytest.raises(UpstreamWireError, match="larger than 2000000 bytes"):
            run(got(html(bomb, encoding)))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_packing_that_never_comes_to_anything_is_bounded_too() -> None:
    unpacker = BodyDecoder("gzip", 100_000)
    with pytest.raises(UpstreamWireError, match="larger"):  # noqa: PT012
        for _ in range(100_000):
            unpacker.feed(gzip.compress(b"", mtime=0))


@pytest.mark.parametrize("accept", ["text/*", "*/*", "application/xml, TEXT/Plain;q=0.5"])
def test_several_types_can_be_accepted(accept: str) -> None:
    response = ScriptedResponse(headers={"content-type": "Text/Plain; charset=latin-1"}, body=b"\xe4")
    fetched = run(got(response, accept))
    assert (fetched.content_type, fetched.charset, fetched.body) == ("text/plain", "latin-1", b"\xe4")


def test_an_error_page_of_another_type_is_told_by_its_status_alone() -> None:
    fetched = run(got(ScriptedResponse(404, {"content-type": "text/html"}, b"gone"), "text/plain"))
    assert (fetched.status, fetched.body) == (404, b"")
    fetched = run(got(ScriptedResponse(404, {"content-type": "text/plain"}, b"gone"), "text/plain"))
    assert (fetched.status, fetched.body) == (404, b"gone")


def test_many_pages_come_in_the_order_asked_for_each_with_its_own_fate() -> None:
    async def main() -> None:
        script = Script((page(),), {"/slow": (ScriptedResponse(delay=float("inf")),), "/late": (page(),)})
        async with small_web(script, seconds=600) as web:
            urls = [web.url("/slow"), web.url("/a"), "http://10.0.0.1/", web.url("/late"), web.url("/a")]
            outcomes = await fetch_all(web.fetcher, urls, at_once=2, within=1.5)
            assert list(outcomes) == urls[:4]
            slow, first, inside, late = outcomes.values()
            assert isinstance(slow, TimedOut)
            assert isinstance(first, Fetched)
            assert isinstance(inside, FetchRefused)
            assert isinstance(late, Fetched)
            await web.upstream.disconnected()

    run(main())


def test_no_more_pages_are_fetched_at_once_than_allowed() -> None:
    async def main() -> None:
        async with small_web(ScriptedResponse(delay=float("inf"))) as web:
            urls = [web.url(f"/{number}") for number in range(9)]
            outcomes = await fetch_all(web.fetcher, urls, at_once=3, within=1.0)
            assert all(isinstance(outcome, TimedOut) for outcome in outcomes.values())
            assert len(web.upstream.requests) == 3
            await web.upstream.closed()

    run(main())


def test_who_stops_waiting_for_many_pages_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with small_web(ScriptedResponse(delay=float("inf"))) as web:
            urls = [web.url(f"/{number}") for number in range(4)]
            task = asyncio.create_task(fetch_all(web.fetcher, urls, within=10))
            await web.upstream.received(4)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() - {asyncio.current_task()} <= set(web.upstream._open)
            await web.upstream.closed()

    run(main())


def test_nothing_to_fetch_is_fetched_at_once() -> None:
    async def main() -> dict[str, object]:
        async with small_web(page()) as web:
            return dict(await fetch_all(web.fetcher, []))

    assert run(main()) == {}
