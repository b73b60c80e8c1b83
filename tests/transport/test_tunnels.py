"""Tunnels: calls that a proxy passes on without reading them."""

from __future__ import annotations

import asyncio
import ssl
from asyncio import StreamReader, StreamWriter
from pathlib import Path

import pytest

from groundwire.errors import GroundwireError, TimedOut, Unreachable, UpstreamWireError
from groundwire.transport.http import Deadlines, Http, HttpRequest
from tests.transport.bounded import run
from tests.transport.certificates import certificate
from tests.transport.leftovers import nothing_left
from tests.transport.serving import (
    HERE,
    Talk,
    answering,
    client,
    leading_to,
    names,
    request,
    reset,
    serving,
    silent,
    then_silent,
)

SITE = "www.example.com"
PROXY = "proxy.example.com"
BOOK = names(proxy_example_com=[HERE])
"""The proxy alone is looked up: where it leads is its own business."""
PATIENT = Deadlines(connect=10, first_byte=10, idle=10, total=20)


@pytest.fixture
def tls(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return certificate(tmp_path, SITE, PROXY, "2001:db8::1")


async def asked(http: Http, url: str = f"https://{SITE}/x?y=1", deadlines: Deadlines = PATIENT) -> bytes:
    async with http.open(HttpRequest("POST", url, {"x-key": "k"}, b"{}"), deadlines) as exchange:
        return await exchange.body()


def through(port: int, secret: str = "", scheme: str = "http") -> dict[str, str]:
    return {"https_proxy": f"{scheme}://{secret}{PROXY}:{port}"}


async def trouble(
    talk: Talk, trusting: ssl.SSLContext | None = None, deadlines: Deadlines = PATIENT, look_up: LookUp = BOOK
) -> GroundwireError:
    """What a call through a proxy ends with."""
    async with (
        nothing_left(),
        serving(talk) as port,
        client(look_up, trusting, **through(port, "me:sesame1234@")) as http,
    ):
        with pytest.raises(GroundwireError) as caught:
            await asked(http, deadlines=deadlines)
    assert "sesame" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("secret", "told"), [("", b""), ("me:se%40same@", b"proxy-authorization: Basic bWU6c2VAc2FtZQ==\r\n")]
)
def test_a_call_goes_through_and_the_proxy_hears_only_where_to(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], secret: str, told: bytes
) -> None:
    seen: list[bytes] = []
    heads: list[bytes] = []

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        while head := await request(reader):
            seen.append(head)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async def main() -> None:
        async with (
            nothing_left(),
            serving(talk, tls=tls[0]) as there,
            serving(leading_to(there, heads)) as port,
            client(BOOK, tls[1], **through(port, secret)) as http,
        ):
            assert [await asked(http) for _ in range(3)] == [b"ok"] * 3

    run(main())
    host = SITE.encode()
    assert heads == [b"CONNECT %s:443 HTTP/1.1\r\nhost: %s:443\r\n%s\r\n" % (host, host, told)], "once"
    assert len(seen) == 3
    assert seen[0].startswith(b"POST /x?y=1 HTTP/1.1\r\nhost: %s\r\nx-key: k\r\n" % host)
    assert b"proxy-authorization" not in seen[0]


def test_an_ipv6_address_is_told_in_brackets(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    heads: list[bytes] = []

    async def main() -> None:
        async with (
            serving(answering, tls=tls[0]) as there,
            serving(leading_to(there, heads)) as port,
            client(BOOK, tls[1], **through(port)) as http,
        ):
            assert await asked(http, "https://[2001:db8::1]:8443/") == b"ok"

    run(main())
    assert heads[0].startswith(b"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nhost: [2001:db8::1]:8443\r\n")


def test_a_proxy_may_be_spoken_to_in_secret(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async def main() -> None:
        async with (
            nothing_left(),
            serving(answering, tls=tls[0]) as there,
            serving(leading_to(there), tls=tls[0]) as port,
        ):
            async with client(BOOK, tls[1], **through(port, scheme="https")) as http:
                assert [await asked(http) for _ in range(2)] == [b"ok"] * 2
            async with client(BOOK, None, **through(port, scheme="https")) as http:
                with pytest.raises(Unreachable, match=f"proxy for {SITE}: its certificate cannot be trusted"):
                    await asked(http)

    run(main())


def hangs_up(data: bytes = b"", *, angry: bool = False) -> Talk:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(data)
        await writer.drain()
        if angry:
            reset(writer)

    return talk


@pytest.mark.parametrize(
    ("talk", "kind", "words"),
    [
        (then_silent(b"HTTP/1.1 407 Who?\r\ncontent-length: 99\r\n\r\n"), Unreachable, "does not lead to"),
        (then_silent(b"HTTP/1.1 302 Found\r\nlocation: http://x/\r\n\r\n"), Unreachable, "HTTP 302"),
        (then_silent(b"HTTP/1.1 101 Other\r\n\r\n"), UpstreamWireError, "not HTTP"),
        (then_silent(b"SSH-2.0-x\r\n"), UpstreamWireError, "not HTTP"),
        (then_silent(b"HTTP/1.1 200 Yes\r\n\r\n\x16\x03\x01"), UpstreamWireError, "not HTTP"),
        (then_silent(b"HTTP/1.1 200 Yes\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), UpstreamWireError, "not HTTP"),
        (hangs_up(), Unreachable, "hung up"),
        (hangs_up(b"HTTP/1.1 20"), Unreachable, "hung up"),
        (hangs_up(angry=True), Unreachable, "hung up"),
        (hangs_up(b"HTTP/1.1 200 Yes\r\n\r\n"), Unreachable, "hung up"),
    ],
    ids=[
        *("refuses", "redirects", "switches", "garbage", "speaks first", "splits"),
        *("hangs up", "in the head", "resets", "after the head"),
    ],
)
def test_a_proxy_that_does_not_lead_there_is_told_as_such(
    talk: Talk, kind: type[GroundwireError], words: str
) -> None:
    error = run(trouble(talk))
    assert type(error) is kind
    assert words in error.message


def test_a_proxy_that_speaks_a_moment_too_early_is_not_trusted_either() -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(b"HTTP/1.1 200 Yes\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno")
        await silent(reader, writer)

    assert type(run(trouble(talk))) in (Unreachable, UpstreamWireError)


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 Yes\r\n\r\n"], ids=["head", "in it", "tls"]
)
def test_a_proxy_that_falls_silent_is_a_connection_that_never_was(said: bytes) -> None:
    error = run(trouble(then_silent(said), deadlines=Deadlines(connect=0.1)))
    assert type(error) is TimedOut
    assert error.message == f"no connection to {SITE} in time"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 Yes\r\n\r\n"], ids=["head", "in it", "tls"]
)
def test_who_leaves_before_the_tunnel_is_there_leaves_nothing_behind(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], said: bytes, scheme: str
) -> None:
    async def main() -> None:
        async def talk(reader: StreamReader, writer: StreamWriter) -> None:
            await request(reader)
            writer.write(said)
            await writer.drain()
            spoken.set()
            await silent(reader, writer)
            gone.set()

        for turns in (0, 1, 2, 3, 50):
            spoken, gone = asyncio.Event(), asyncio.Event()
            async with (
                nothing_left(),
                serving(talk, tls=tls[0] if scheme == "https" else None) as port,
                client(BOOK, tls[1], **through(port, scheme=scheme)) as http,
            ):
                task = asyncio.ensure_future(asked(http))
                await spoken.wait()
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await gone.wait()

    run(main())


def test_who_stands_behind_the_proxy_must_be_who_was_asked_for(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def greeting(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await silent(reader, writer)

    async def main() -> None:
        async with (
            nothing_left(),
            serving(answering, tls=tls[0]) as there,
            serving(leading_to(there)) as port,
            client(BOOK, tls[1], **through(port)) as http,
        ):
            with pytest.raises(Unreachable, match=r"cannot reach other\.example: its certificate"):
                await asked(http, "https://other.example/")
        async with (
            nothing_left(),
            serving(greeting) as there,
            serving(leading_to(there)) as port,
            client(BOOK, tls[1], **through(port)) as http,
        ):
            with pytest.raises(Unreachable, match=f"cannot reach {SITE}: no secure connection"):
                await asked(http)

    run(main())


def test_a_proxy_that_cannot_be_found_is_named_as_the_trouble() -> None:
    error = run(trouble(silent, look_up=names()))
    assert error.message == f"cannot reach the proxy for {SITE}: Name or service not known"
