"""Network access from the sandbox: a few GitHub hosts and nothing else, whatever is tried inside."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from groundwire.credentials.redact import Redactor
from groundwire.errors import ConfigError
from groundwire.model import Message, Request, SearchOptions, Text, assemble
from groundwire.providers.copilot.egress import Dial, Streams, allows, dial, egress
from groundwire.providers.copilot.provider import CopilotProvider
from groundwire.providers.spec import flatten
from tests.providers.copilot.fake import fake_cli
from tests.providers.copilot.test_sandbox import ATTEMPT, REPORT
from tests.transport.bounded import run

pytestmark = pytest.mark.server

TALK = """
import socket
def connect(family, address):
    def action():
        with socket.socket(family) as made:
            made.settimeout(3)
            made.connect(address)
            return "connected"
    return attempt(action)
def ask(text):
    def action():
        with socket.create_connection(("127.0.0.1", 3128), 5) as made:
            made.sendall(text.encode())
            return made.recv(1000).decode().split("\\r\\n")[0]
    return attempt(action)
"""


@contextmanager
def canary(family: int, address: Any) -> Iterator[tuple[Any, list[object]]]:
    """A listener that records its connections."""
    visitors: list[object] = []
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen()
        listener.settimeout(0.05)
        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                try:
                    visitor, _ = listener.accept()
                except TimeoutError:
                    continue
                visitors.append(visitor)
                visitor.close()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname(), visitors
        finally:
            done.set()
            thread.join(5)


def inside(folder: Path, code: str, way: Dial = dial, env: Mapping[str, str] | None = None) -> Any:
    """Run Python instead of the CLI; returns what it put into `found`."""
    cli = fake_cli(folder, ("run", ATTEMPT + TALK + code + REPORT), recorded=False)
    provider = CopilotProvider(cli.settings(env, sandbox=True), Redactor(), dial=way)

    async def main() -> str:
        assert "GitHub alone" in await provider.confinement()
        request = Request((Message("user", (Text("q"),)),), search=SearchOptions())
        async with aclosing(flatten(provider.batches(request))) as events:
            return assemble([event async for event in events]).text

    return json.loads(run(main()))


def test_no_address_can_be_reached_from_inside(tmp_path: Path) -> None:
    with (
        canary(socket.AF_INET, ("127.0.0.1", 0)) as (near, first),
        canary(socket.AF_INET, ("0.0.0.0", 0)) as ((_, port), second),  # noqa: S104  on purpose
        canary(socket.AF_UNIX, f"\0groundwire-canary-{tmp_path.name}") as (name, third),
    ):
        own = socket.gethostbyname(socket.gethostname())
        code = f"""
found = [connect(socket.AF_INET, {near!r}), connect(socket.AF_INET, ({own!r}, {port})),
         connect(socket.AF_INET, ("127.0.0.1", {port})), connect(socket.AF_INET, ("1.1.1.1", 443)),
         connect(socket.AF_INET, ("169.254.169.254", 80)), connect(socket.AF_UNIX, {name!r}),
         connect(socket.AF_INET6, ("2606:4700:4700::1111", 443))]
"""
        found = inside(tmp_path, code)
        assert "connected" not in found
        assert [first, second, third] == [[], [], []]


def test_the_sandbox_has_no_dns_and_no_datagrams(tmp_path: Path) -> None:
    code = """
found = [attempt(lambda: socket.getaddrinfo("secret.exfil.example", 443)),
         attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53)))]
"""
    assert inside(tmp_path, code) == ["gaierror", "OSError"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("CONNECT canary.example:443 HTTP/1.1\r\n\r\n", "403 Forbidden"),
        ("CONNECT github.com:22 HTTP/1.1\r\n\r\n", "403 Forbidden"),
        ("CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n", "403 Forbidden"),
        ("GET http://github.com/ HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        ("what?\r\n\r\n", "405 Method Not Allowed"),
    ],
)
def test_the_relay_connects_to_nothing_else(tmp_path: Path, host: str, status: str) -> None:
    async def nowhere(host: str, env: Mapping[str, str]) -> Streams:
        raise AssertionError(host)

    assert inside(tmp_path, f"found = ask({host!r})", nowhere) == f"HTTP/1.1 {status}"


def test_a_github_host_is_reached_and_bytes_pass_in_both_directions(tmp_path: Path) -> None:
    code = """
with socket.create_connection(("127.0.0.1", 3128), 5) as made:
    made.sendall(b"CONNECT api.githubcopilot.com:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    greeting = made.recv(1000).decode()
    made.sendall(b"x" * 300_000)
    made.shutdown(socket.SHUT_WR)
    back = b""
    while data := made.recv(65536):
        back += data
found = [greeting, len(back), back == b"X" * 300_000]
"""
    dialled: list[str] = []

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data.upper())
            await writer.drain()
        writer.close()

    async def near(host: str, _: Mapping[str, str]) -> Streams:
        dialled.append(host)
        server = await asyncio.start_server(shout, "127.0.0.1", 0)
        streams = await asyncio.open_connection(*server.sockets[0].getsockname())
        server.close()
        return streams

    found = inside(tmp_path, code, near)
    assert found == ["HTTP/1.1 200 Connection established\r\n\r\n", 300_000, True]
    assert dialled == ["api.githubcopilot.com"]


def test_the_users_own_proxies_are_not_shown_inside(tmp_path: Path) -> None:
    env = {"HTTPS_PROXY": "http://me:hunter22@proxy.example:8080", "NO_PROXY": "internal.example"}
    found = inside(tmp_path, "found = dict(os.environ)", env=env)
    assert "hunter22" not in json.dumps(found)
    assert found["HTTPS_PROXY"] == "http://127.0.0.1:3128"
    assert "NO_PROXY" not in found


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("github.com", "443", True),
        ("GitHub.com", "443", True),
        ("api.github.com", "443", True),
        ("api.githubcopilot.com", "443", True),
        ("api.enterprise.githubcopilot.com", "443", True),
        ("copilot-proxy.githubusercontent.com", "443", True),
        ("github.com", "80", False),
        ("github.com", "443x", False),
        ("github.com", "", False),
        ("gist.github.com", "443", False),
        ("githubcopilot.com", "443", False),
        ("evilgithubcopilot.com", "443", False),
        ("githubcopilot.com.evil.example", "443", False),
        ("raw.githubusercontent.com", "443", False),
        ("github.com\0.evil.example", "443", False),
        ("github.com@evil.example", "443", False),
        ("[::1]", "443", False),
        ("", "443", False),
    ],
)
def test_few_hosts_and_one_port_are_allowed(host: str, port: str, expected: bool) -> None:
    assert allows(host, port) is expected


@asynccontextmanager
async def connection(folder: Path, way: Dial, env: Mapping[str, str] | None = None) -> AsyncIterator[Streams]:
    path = str(folder / "egress")
    async with egress(path, env or {}, way):
        streams = await asyncio.open_unix_connection(path)
        yield streams
        streams[1].close()


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
async def test_a_name_that_resolves_to_a_private_address_is_not_connected_to(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> bytes:
        async def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
            return [(0, 0, 0, "", (address, 443))]

        async def never(*_: object, **__: object) -> Streams:
            raise AssertionError("it was connected to")

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        monkeypatch.setattr(asyncio, "open_connection", never)
        async with connection(tmp_path, dial) as (reader, writer):
            writer.write(b"CONNECT github.com:443 HTTP/1.1\r\n\r\n")
            return await reader.readline()

    assert await main() == b"HTTP/1.1 502 Bad Gateway\r\n"


@pytest.mark.parametrize(
    ("answer", "status"),
    [(b"HTTP/1.1 200 OK\r\n\r\n", b"200"), (b"HTTP/1.1 407 Login\r\n\r\n", b"502"), (b"", b"502")],
)
async def test_with_a_user_proxy_connections_go_through_it(
    tmp_path: Path, answer: bytes, status: bytes
) -> None:
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()

    async def main() -> bytes:
        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        env = {"HTTPS_PROXY": f"http://me:p%40ss@127.0.0.1:{port}"}
        async with server, connection(tmp_path, dial, env) as (reader, writer):
            writer.write(b"CONNECT api.github.com:443 HTTP/1.1\r\n\r\n")
            return await reader.readline()

    assert (await main()).split()[1] == status
    login = b"Proxy-Authorization: Basic bWU6cEBzcw=="
    head = (b"CONNECT api.github.com:443 HTTP/1.1", b"Host: api.github.com:443", login, b"", b"")
    assert heads == [b"\r\n".join(head)]


@pytest.mark.parametrize("sent", [b"", b"CONNECT", b"x" * 100_000, b"CONNECT github.com:443\r\n\r\n"])
async def test_a_malformed_connect_request_is_refused(tmp_path: Path, sent: bytes) -> None:
    async def main() -> bytes:
        async with connection(tmp_path, dial) as (reader, writer):
            writer.write(sent)
            if len(sent) < 100:
                writer.write_eof()
            return await reader.readline()

    assert await main() in (b"HTTP/1.1 400 Bad Request\r\n", b"HTTP/1.1 405 Method Not Allowed\r\n")


async def test_exiting_closes_open_connections(tmp_path: Path) -> None:
    dialled = asyncio.Event()

    async def hang(_: str, __: Mapping[str, str]) -> Streams:
        dialled.set()
        await asyncio.sleep(60)
        raise AssertionError("it should not wait so long")

    async with connection(tmp_path, hang) as (_, writer):
        writer.write(b"CONNECT github.com:443 HTTP/1.1\r\n\r\n")
        await dialled.wait()


async def test_a_folder_whose_path_is_too_long_for_a_socket_is_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        async with egress(str(tmp_path / ("x" * 120)), {}):
            pass

    with pytest.raises(ConfigError, match="TMPDIR"):
        await main()
