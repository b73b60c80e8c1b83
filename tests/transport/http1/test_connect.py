"""Connecting: DNS lookups, unreachable addresses, and certificates."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from groundwire.errors import GroundwireError, TimedOut, Unreachable
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.http1.connect import Resolver, first_connected
from groundwire.transport.http1.connection import Connection
from tests.transport.certificates import certificate
from tests.transport.fake_transport import FakeTransport, connected
from tests.transport.leftovers import nothing_left
from tests.transport.raw_server import HERE, answering, client, names, request, serving, silent

pytestmark = pytest.mark.server

PATIENT = Deadlines(connect=10, first_byte=10, idle=10, total=20)
SITE = "www.example.com"
DEAD, DEAF = "127.0.0.8", "127.0.0.9"


async def fetch_body(http: Http, url: str, deadlines: Deadlines = PATIENT, method: str = "GET") -> bytes:
    async with http.open(HttpRequest(method, url, {}), deadlines) as response:
        return await response.body()


async def failure(http: Http, url: str, deadlines: Deadlines = PATIENT) -> GroundwireError:
    with pytest.raises(GroundwireError) as caught:
        await fetch_body(http, url, deadlines)
    return caught.value


class Attempts:
    """Connection attempts that fail, hang, or succeed on demand."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.wires: dict[str, FakeTransport] = {}
        self.cancelled: list[str] = []

    def dead(self, name: str, error: Exception | None = None) -> Callable[[], asyncio.Task[Connection]]:
        async def dial() -> Connection:
            self.begun.append(name)
            raise error or OSError(name)

        return lambda: asyncio.ensure_future(dial())

    def alive(self, name: str, until: asyncio.Event | None = None) -> Callable[[], asyncio.Task[Connection]]:
        async def dial() -> Connection:
            self.begun.append(name)
            try:
                await (until or asyncio.Event()).wait()
            except asyncio.CancelledError:
                self.cancelled.append(name)
                if name != "stubborn":
                    raise
            connection, self.wires[name] = connected()
            return connection

        return lambda: asyncio.ensure_future(dial())


def at_once() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


async def test_the_next_address_is_tried_as_soon_as_one_fails() -> None:
    attempts = Attempts()
    connection = await first_connected(
        [attempts.dead("a"), attempts.dead("b"), attempts.alive("c", at_once()), attempts.dead("d")]
    )
    assert connection._transport is attempts.wires["c"]
    assert attempts.begun == ["a", "b", "c"]


async def test_the_next_address_is_tried_while_one_is_pending_and_late_connections_are_aborted() -> None:
    attempts = Attempts()
    connection = await first_connected(
        [attempts.alive("unresponsive"), attempts.alive("stubborn"), attempts.alive("c", at_once())]
    )
    assert connection._transport is attempts.wires["c"]
    while "stubborn" not in attempts.wires or not attempts.wires["stubborn"].is_cut:
        await asyncio.sleep(0)
    assert sorted(attempts.cancelled) == ["unresponsive", "stubborn"]
    assert not attempts.wires["c"].is_cut


async def test_a_pending_attempt_may_still_be_the_first() -> None:
    attempts, ready = Attempts(), asyncio.Event()
    dialling = asyncio.ensure_future(
        first_connected([attempts.alive("slow", ready), attempts.alive("unresponsive")])
    )
    while attempts.begun != ["slow", "unresponsive"]:
        await asyncio.sleep(0.01)
    ready.set()
    assert (await dialling)._transport is attempts.wires["slow"]


async def test_without_a_connection_the_last_error_is_raised() -> None:
    attempts = Attempts()
    with pytest.raises(OSError, match="b"):
        await first_connected([attempts.dead("a"), attempts.dead("b")])
    with pytest.raises(OSError, match="no address"):
        await first_connected([])


async def test_a_host_with_a_bad_certificate_is_not_replaced_by_the_next_address() -> None:
    attempts = Attempts()
    with pytest.raises(ssl.SSLError):
        await first_connected([attempts.dead("a", ssl.SSLError()), attempts.alive("b", at_once())])
    assert attempts.begun == ["a"]


async def test_cancelling_a_connect_cancels_all_attempts() -> None:
    attempts = Attempts()
    async with nothing_left():
        dialling = asyncio.ensure_future(first_connected([attempts.alive("a"), attempts.alive("stubborn")]))
        while attempts.begun != ["a", "stubborn"]:
            await asyncio.sleep(0.01)
        dialling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialling
    while not attempts.wires["stubborn"].is_cut:
        await asyncio.sleep(0)


@asynccontextmanager
async def deaf(port: int) -> AsyncIterator[None]:
    """A listener that never accepts its connections."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind((DEAF, port))
        listener.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex((DEAF, port))
        yield


@pytest.mark.parametrize("others", [[DEAD], [DEAF], [DEAD, DEAF], ["::1", DEAF]])
async def test_a_name_is_connected_to_at_the_address_that_answers(others: Sequence[str]) -> None:
    async with (
        nothing_left(),
        serving(answering) as port,
        deaf(port),
        client(names(www_example_com=[*others, HERE])) as http,
    ):
        assert await fetch_body(http, f"http://{SITE}:{port}/") == b"ok"


async def test_a_name_without_a_reachable_address_leaves_nothing_open() -> None:
    async with nothing_left(), serving(answering) as port, deaf(port):
        async with client(names(www_example_com=[DEAD, DEAF])) as http:
            late = await failure(http, f"http://{SITE}:{port}/", Deadlines(connect=0.4))
            assert type(late) is TimedOut
            assert late.message == f"no connection to {SITE} in time"
        async with client(names(www_example_com=[DEAD, "127.0.0.7"])) as http:
            dead = await failure(http, f"http://{SITE}:{port}/")
            assert dead.message == f"cannot reach {SITE}: Connection refused"
            unknown = await failure(http, "http://nowhere.example/")
            assert unknown.message == "cannot reach nowhere.example: Name or service not known"


async def test_a_literal_address_is_connected_to_without_a_lookup() -> None:
    async with serving(answering, host="::1") as port, client(names()) as http:
        assert await fetch_body(http, f"http://[::1]:{port}/") == b"ok"
        assert await fetch_body(http, f"http://[0:0::0:1]:{port}/") == b"ok"
    async with serving(answering) as port, client(names()) as http:
        assert await fetch_body(http, f"http://0x7f.1:{port}/") == b"ok"


class ScriptedGetaddrinfo:
    """A `getaddrinfo` that blocks until `go` is set, and records the lookups."""

    def __init__(self, *answers: tuple[socket.AddressFamily, str]) -> None:
        self.lookups: list[str] = []
        self.go = threading.Event()
        self.answers = answers

    def __call__(self, host: str, port: object, **_: object) -> list[tuple[object, ...]]:
        self.lookups.append(host)
        assert self.go.wait(20)
        if not self.answers:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [(family, socket.SOCK_STREAM, 6, "", (ip, 0)) for family, ip in self.answers]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> ScriptedGetaddrinfo:
    resolver = ScriptedGetaddrinfo((socket.AF_INET, HERE))
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return resolver


async def test_a_name_is_looked_up_once_for_concurrent_requests(resolver: ScriptedGetaddrinfo) -> None:
    resolve = Resolver()
    first, *others = [asyncio.ensure_future(resolve(SITE)) for _ in range(20)]
    other = asyncio.ensure_future(resolve("other.example.com"))
    while len(resolver.lookups) < 2:
        await asyncio.sleep(0.001)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    resolver.go.set()
    assert await asyncio.gather(*others, other) == [[HERE]] * 20
    assert await resolve(SITE) == [HERE], "and kept for a moment"
    assert sorted(resolver.lookups) == ["other.example.com", SITE]


async def test_a_failed_lookup_is_not_cached(resolver: ScriptedGetaddrinfo) -> None:
    resolver.go.set()
    resolve, resolver.answers = Resolver(), ()
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            await resolve(SITE)
    resolver.answers = ((socket.AF_INET, HERE),)
    assert await resolve(SITE) == [HERE]
    assert len(resolver.lookups) == 3


async def test_a_lookup_that_fails_after_its_callers_were_cancelled_is_not_reported(
    resolver: ScriptedGetaddrinfo,
) -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    resolver.answers = ()
    lookup = asyncio.ensure_future(Resolver()(SITE))
    while not resolver.lookups:
        await asyncio.sleep(0.001)
    lookup.cancel()
    with suppress(asyncio.CancelledError):
        await lookup
    resolver.go.set()
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0.001)
    assert complaints == []


def test_a_program_does_not_wait_for_a_name_server_that_never_answers(resolver: ScriptedGetaddrinfo) -> None:
    async def main() -> None:
        async with client() as http:
            assert type(await failure(http, f"http://{SITE}/", Deadlines(connect=0.1))) is TimedOut

    asyncio.run(main())
    assert not resolver.go.is_set(), "it still waits"
    resolver.go.set()


@pytest.mark.parametrize(
    ("found", "order"),
    [
        (["::1", "::2", "10.0.0.1", "10.0.0.2"], ["::1", "10.0.0.1", "::2", "10.0.0.2"]),
        (["10.0.0.1", "::1", "::2", "::1"], ["10.0.0.1", "::1", "::2"]),
        (["::1"], ["::1"]),
    ],
)
async def test_both_families_are_tried_in_turns(
    resolver: ScriptedGetaddrinfo, found: list[str], order: list[str]
) -> None:
    resolver.go.set()
    families = {True: socket.AF_INET6, False: socket.AF_INET}
    resolver.answers = tuple((families[":" in ip], ip) for ip in found)
    assert await look_up_once() == order


async def look_up_once() -> Sequence[str]:
    return await Resolver()(SITE)


async def test_a_certificate_must_match_the_host_and_be_valid(tmp_path: Path) -> None:
    tls, trusting = certificate(tmp_path, SITE, HERE)
    old, trusting_old = certificate(tmp_path, SITE, days=-1)
    book = names(www_example_com=[HERE], other_example_com=[HERE])

    async with nothing_left(), serving(answering, tls=tls) as port:
        async with client(book, trusting) as http:
            for host in (SITE, HERE):
                assert await fetch_body(http, f"https://{host}:{port}/") == b"ok"
            errors = [await failure(http, f"https://other.example.com:{port}/")]
        async with client(book) as http:
            errors += [await failure(http, f"https://{SITE}:{port}/")]
        async with serving(answering, tls=old) as other, client(book, trusting_old) as http:
            errors += [await failure(http, f"https://{SITE}:{other}/")]
        for error in errors:
            assert type(error) is Unreachable
            assert error.message.endswith(": its certificate cannot be verified")


async def test_a_port_without_tls_is_reported_as_such(tmp_path: Path) -> None:
    async def greeting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await silent(reader, writer)

    async def hung_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)

    tls, trusting = certificate(tmp_path, SITE)
    book = names(www_example_com=[HERE])
    async with nothing_left(), client(book, trusting) as http:
        async with serving(greeting) as port:
            error = await failure(http, f"https://{SITE}:{port}/")
            assert error.message == f"cannot reach {SITE}: the TLS handshake failed"
        async with serving(hung_up) as port:
            error = await failure(http, f"https://{SITE}:{port}/")
            assert error.message == f"cannot reach {SITE}: the server closed the connection"
        async with serving(answering, tls=tls) as port:
            error = await failure(http, f"http://{SITE}:{port}/")
            assert error.message == f"cannot reach {SITE}: the server closed the connection"


async def test_cancelling_while_connecting_or_in_the_handshake_leaves_nothing_open(tmp_path: Path) -> None:
    _, trusting = certificate(tmp_path, SITE)
    book = names(www_example_com=[HERE], deaf_example_com=[DEAF], many_example_com=[DEAF, HERE])

    async with serving(silent) as port, deaf(port):
        for host in (SITE, "deaf.example.com", "many.example.com"):
            for turns in (0, 1, 2, 3, 5, 200):
                async with nothing_left(), client(book, trusting) as http:
                    task = asyncio.ensure_future(fetch_body(http, f"https://{host}:{port}/"))
                    for _ in range(turns):
                        await asyncio.sleep(0.002 if turns > 5 else 0)
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task


async def test_a_tls_handshake_that_never_ends_is_a_connect_timeout(tmp_path: Path) -> None:
    _, trusting = certificate(tmp_path, SITE)

    async with nothing_left(), serving(silent) as port:
        async with client(names(www_example_com=[HERE]), trusting) as http:
            error = await failure(http, f"https://{SITE}:{port}/", Deadlines(connect=0.1))
        assert error.message == f"no connection to {SITE} in time"


async def test_a_body_may_end_with_its_tls_connection_which_is_then_closed(tmp_path: Path) -> None:
    tls, trusting = certificate(tmp_path, SITE)

    async def brief(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nabc")
        writer.close()
        await writer.wait_closed()

    async with (
        nothing_left(),
        serving(brief, tls=tls) as port,
        client(names(www_example_com=[HERE]), trusting) as http,
    ):
        for _ in range(5):
            assert await fetch_body(http, f"https://{SITE}:{port}/", method="POST") == b"abc"


@pytest.mark.parametrize("length", [b"", b"content-length: 1000000\r\n"], ids=["without a length", "with"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_late_reader_gets_all_bytes_before_the_end(
    tmp_path: Path, scheme: str, length: bytes
) -> None:
    tls, trusting = certificate(tmp_path, SITE)

    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + b"x" * 1_000_000)
        writer.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), 0.2)
        disconnected.set()
        await writer.wait_closed()

    async def main() -> None:
        async with (
            nothing_left(),
            serving(hasty, tls=tls if scheme == "https" else None) as port,
            client(names(www_example_com=[HERE]), trusting) as http,
            http.open(HttpRequest("GET", f"{scheme}://{SITE}:{port}/", {}), PATIENT) as response,
        ):
            await disconnected.wait()
            assert len(await response.body()) == 1_000_000

    disconnected = asyncio.Event()
    await main()


async def test_a_tls_connection_is_kept_and_closed_like_any_other(tmp_path: Path) -> None:
    tls, trusting = certificate(tmp_path, SITE)
    connections = 0

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await answering(reader, writer)

    async with nothing_left(), serving(counted, tls=tls) as port:
        async with client(names(www_example_com=[HERE]), trusting) as http:
            assert [await fetch_body(http, f"https://{SITE}:{port}/{n}") for n in range(3)] == [b"ok"] * 3
        assert connections == 1
