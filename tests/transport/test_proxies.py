"""HTTP and HTTPS proxies of the environment: selection, credentials, tunnels and errors."""

from __future__ import annotations

import asyncio
import ssl
from asyncio import StreamReader, StreamWriter
from pathlib import Path

import pytest

from groundwire.errors import ConfigError, GroundwireError, TimedOut, Unreachable, UpstreamWireError
from groundwire.testing.script import Script, ScriptedResponse, json_response
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.http1.connect import ResolveHost
from groundwire.transport.proxies import proxy_for
from tests.transport.certificates import certificate
from tests.transport.leftovers import nothing_left
from tests.transport.raw_server import (
    HERE,
    ConnectionHandler,
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

pytestmark = pytest.mark.server

P = "http://proxy.example:3128"
Q = "http://other.example:3128"
API = "https://api.example/v1"


@pytest.mark.parametrize(
    ("url", "env", "expected"),
    [
        (API, {}, None),
        (API, {"HTTPS_PROXY": P}, P),
        (API, {"https_proxy": P}, P),
        (API, {"HTTPS_PROXY": P, "https_proxy": Q}, Q),
        (API, {"HTTPS_PROXY": P, "https_proxy": ""}, None),
        (API, {"HTTP_PROXY": P}, None),
        (API, {"ALL_PROXY": P}, P),
        (API, {"ALL_PROXY": P, "HTTPS_PROXY": Q}, Q),
        (API, {"Https_Proxy": P}, None),
        ("http://api.example/", {"HTTP_PROXY": P}, P),
        ("http://api.example/", {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, None),
        ("http://api.example/", {"http_proxy": P, "REQUEST_METHOD": "GET"}, P),
        (API, {"HTTPS_PROXY": "proxy.example:3128"}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "api.example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": ".example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "*.example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "*"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "a.test, API.Example "}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "pi.example"}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "xample"}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": ""}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": ","}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "api.example:443"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "api.example:8443"}, P),
        ("https://10.1.2.3/", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://11.1.2.3/", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, P),
        ("https://[2001:db8::1]/", {"HTTPS_PROXY": P, "NO_PROXY": "2001:db8::1"}, None),
        ("http://localhost:11434/v1", {"HTTP_PROXY": P}, None),
        ("http://127.0.0.1:11434/v1", {"ALL_PROXY": P}, None),
        ("http://[::1]:11434/v1", {"ALL_PROXY": P}, None),
        ("https://user:pass@api.example/", {"HTTPS_PROXY": P, "NO_PROXY": "api.example"}, None),
    ],
)
def test_the_environment_names_the_proxy(url: str, env: dict[str, str], expected: str | None) -> None:
    assert proxy_for(url, env) == expected


def test_a_proxy_that_cannot_be_used_is_reported_without_its_password() -> None:
    with pytest.raises(ConfigError, match="must be given as an http address") as caught:
        proxy_for(API, {"ALL_PROXY": "socks5://user:hunter2hunter2@proxy.example"})
    assert "hunter2" not in caught.value.message


async def test_only_requests_through_the_proxy_carry_its_credentials() -> None:
    async with Upstream(json_response({"ok": 1})) as proxy:
        port = proxy.url.rpartition(":")[2]
        env = {"HTTP_PROXY": f"http://me:sesame@127.0.0.1:{port}"}
        async with Http(env) as http:
            for url in ("http://provider.example/v1/x?y=1", f"{proxy.url}/direct"):
                async with http.open(
                    HttpRequest("POST", url, {"x-key": "k"}, b"{}"), Deadlines()
                ) as response:
                    assert await response.body() == b'{"ok":1}'
        through, direct = proxy.requests
        assert through.target == "http://provider.example/v1/x?y=1"
        assert through.headers["proxy-authorization"] == "Basic bWU6c2VzYW1l"
        assert through.headers["host"] == "provider.example"
        assert direct.target == "/direct"
        assert "proxy-authorization" not in direct.headers


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (Script((ScriptedResponse(407),)), "the proxy refused a connection to provider.example: HTTP 407"),
        (Script(port_state="closed"), "cannot reach the proxy for provider.example"),
    ],
)
async def test_a_proxy_that_fails_is_reported_as_such(script: Script, message: str) -> None:
    async with Upstream(script) as proxy:
        env = {"HTTPS_PROXY": proxy.url.replace("http://", "http://me:sesame1234@")}
        async with Http(env) as http:
            with pytest.raises(Unreachable, match=message) as caught:
                async with http.open(HttpRequest("POST", "https://provider.example/", {}), Deadlines()):
                    pass
        assert "sesame" not in str(caught.value)


SITE = "www.example.com"
PROXY = "proxy.example.com"
BOOK = names(proxy_example_com=[HERE])
"""The proxy alone is looked up: where it leads is its own business."""
PATIENT = Deadlines(connect=10, first_byte=10, idle=10, total=20)


@pytest.fixture
def tls(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return certificate(tmp_path, SITE, PROXY, "2001:db8::1")


async def fetch_body(http: Http, url: str = f"https://{SITE}/x?y=1", deadlines: Deadlines = PATIENT) -> bytes:
    async with http.open(HttpRequest("POST", url, {"x-key": "k"}, b"{}"), deadlines) as response:
        return await response.body()


def through(port: int, secret: str = "", scheme: str = "http") -> dict[str, str]:
    return {"https_proxy": f"{scheme}://{secret}{PROXY}:{port}"}


async def failure(
    handle: ConnectionHandler,
    trusting: ssl.SSLContext | None = None,
    deadlines: Deadlines = PATIENT,
    resolve: ResolveHost = BOOK,
) -> GroundwireError:
    """The error of a request through a proxy."""
    async with (
        nothing_left(),
        serving(handle) as port,
        client(resolve, trusting, **through(port, "me:sesame1234@")) as http,
    ):
        with pytest.raises(GroundwireError) as caught:
            await fetch_body(http, deadlines=deadlines)
    assert "sesame" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("secret", "header"), [("", b""), ("me:se%40same@", b"proxy-authorization: Basic bWU6c2VAc2FtZQ==\r\n")]
)
async def test_a_request_goes_through_and_the_proxy_learns_only_the_authority(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], secret: str, header: bytes
) -> None:
    seen: list[bytes] = []
    heads: list[bytes] = []

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        while head := await request(reader):
            seen.append(head)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async def main() -> None:
        async with (
            nothing_left(),
            serving(handle, tls=tls[0]) as there,
            serving(leading_to(there, heads)) as port,
            client(BOOK, tls[1], **through(port, secret)) as http,
        ):
            assert [await fetch_body(http) for _ in range(3)] == [b"ok"] * 3

    await main()
    host = SITE.encode()
    assert heads == [b"CONNECT %s:443 HTTP/1.1\r\nhost: %s:443\r\n%s\r\n" % (host, host, header)], "once"
    assert len(seen) == 3
    assert seen[0].startswith(b"POST /x?y=1 HTTP/1.1\r\nhost: %s\r\nx-key: k\r\n" % host)
    assert b"proxy-authorization" not in seen[0]


async def test_an_ipv6_address_has_brackets(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    heads: list[bytes] = []

    async def main() -> None:
        async with (
            serving(answering, tls=tls[0]) as there,
            serving(leading_to(there, heads)) as port,
            client(BOOK, tls[1], **through(port)) as http,
        ):
            assert await fetch_body(http, "https://[2001:db8::1]:8443/") == b"ok"

    await main()
    assert heads[0].startswith(b"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nhost: [2001:db8::1]:8443\r\n")


async def test_a_proxy_may_use_tls(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async with (
        nothing_left(),
        serving(answering, tls=tls[0]) as there,
        serving(leading_to(there), tls=tls[0]) as port,
    ):
        async with client(BOOK, tls[1], **through(port, scheme="https")) as http:
            assert [await fetch_body(http) for _ in range(2)] == [b"ok"] * 2
        async with client(BOOK, None, **through(port, scheme="https")) as http:
            with pytest.raises(Unreachable, match=f"proxy for {SITE}: its certificate cannot be verified"):
                await fetch_body(http)


def disconnecting(data: bytes = b"", *, with_reset: bool = False) -> ConnectionHandler:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(data)
        await writer.drain()
        if with_reset:
            reset(writer)

    return handle


@pytest.mark.parametrize(
    ("handle", "kind", "message"),
    [
        (
            then_silent(b"HTTP/1.1 407 Who?\r\ncontent-length: 99\r\n\r\n"),
            Unreachable,
            "refused a connection to",
        ),
        (then_silent(b"HTTP/1.1 302 Found\r\nlocation: http://x/\r\n\r\n"), Unreachable, "HTTP 302"),
        (then_silent(b"HTTP/1.1 101 Other\r\n\r\n"), UpstreamWireError, "not valid HTTP"),
        (then_silent(b"SSH-2.0-x\r\n"), UpstreamWireError, "not valid HTTP"),
        (then_silent(b"HTTP/1.1 200 Yes\r\n\r\n\x16\x03\x01"), UpstreamWireError, "not valid HTTP"),
        (
            then_silent(b"HTTP/1.1 200 Yes\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
            UpstreamWireError,
            "not valid HTTP",
        ),
        (disconnecting(), Unreachable, "closed the connection"),
        (disconnecting(b"HTTP/1.1 20"), Unreachable, "closed the connection"),
        (disconnecting(with_reset=True), Unreachable, "closed the connection"),
        (disconnecting(b"HTTP/1.1 200 Yes\r\n\r\n"), Unreachable, "closed the connection"),
    ],
    ids=[
        *("refuses", "redirects", "switches", "garbage", "sends first", "splits"),
        *("hangs up", "in the head", "resets", "after the head"),
    ],
)
async def test_a_proxy_that_refuses_the_tunnel_is_reported_as_such(
    handle: ConnectionHandler, kind: type[GroundwireError], message: str
) -> None:
    error = await failure(handle)
    assert type(error) is kind
    assert message in error.message


async def test_a_proxy_that_sends_data_too_early_is_refused() -> None:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(b"HTTP/1.1 200 Yes\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno")
        await silent(reader, writer)

    assert type(await failure(handle)) in (Unreachable, UpstreamWireError)


@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 Yes\r\n\r\n"], ids=["head", "in it", "tls"]
)
async def test_a_proxy_that_stops_responding_is_a_connect_timeout(data: bytes) -> None:
    error = await failure(then_silent(data), deadlines=Deadlines(connect=0.1))
    assert type(error) is TimedOut
    assert error.message == f"no connection to {SITE} in time"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 Yes\r\n\r\n"], ids=["head", "in it", "tls"]
)
async def test_cancelling_before_the_tunnel_is_open_leaves_nothing_open(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], data: bytes, scheme: str
) -> None:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(data)
        await writer.drain()
        answered.set()
        await silent(reader, writer)
        disconnected.set()

    for turns in (0, 1, 2, 3, 50):
        answered, disconnected = asyncio.Event(), asyncio.Event()
        async with (
            nothing_left(),
            serving(handle, tls=tls[0] if scheme == "https" else None) as port,
            client(BOOK, tls[1], **through(port, scheme=scheme)) as http,
        ):
            task = asyncio.ensure_future(fetch_body(http))
            await answered.wait()
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await disconnected.wait()


async def test_the_certificate_behind_a_proxy_must_match_the_host(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def greeting(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await silent(reader, writer)

    async with (
        nothing_left(),
        serving(answering, tls=tls[0]) as there,
        serving(leading_to(there)) as port,
        client(BOOK, tls[1], **through(port)) as http,
    ):
        with pytest.raises(Unreachable, match=r"cannot reach other\.example: its certificate"):
            await fetch_body(http, "https://other.example/")
    async with (
        nothing_left(),
        serving(greeting) as there,
        serving(leading_to(there)) as port,
        client(BOOK, tls[1], **through(port)) as http,
    ):
        with pytest.raises(Unreachable, match=f"cannot reach {SITE}: the TLS handshake failed"):
            await fetch_body(http)


async def test_a_proxy_that_cannot_be_found_is_named_in_the_error() -> None:
    error = await failure(silent, resolve=names())
    assert error.message == f"cannot reach the proxy for {SITE}: Name or service not known"
