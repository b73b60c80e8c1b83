"""MCP over standard input and output, as clients start the server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from groundwire.commands.main import parse
from groundwire.commands.runner import run_command
from groundwire.faces.mcp.stdio import StdinLines
from groundwire.testing.upstream import Upstream
from tests.faces.fakes import Bench
from tests.faces.mcp.served import ANSWER, SILENT, TEXT, environment

pytestmark = pytest.mark.server

SOURCE = Path(__file__).parents[3] / "src"
BOUND = 60.0
STARTING = (
    "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); "
    "os.execv(sys.executable, [sys.executable, '-m', 'groundwire', *sys.argv[2:]])"
)
"""Writes its process id to a file before it becomes the server."""


def parameters(upstream: Upstream, home: Path, *words: str) -> StdioServerParameters:
    env = {**environment(upstream, home), "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)}
    arguments = ["-c", STARTING, str(home / "pid"), "mcp", *words]
    return StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=home)


@asynccontextmanager
async def process(upstream: Upstream, home: Path, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    given = parameters(upstream, home, *words)
    started = await asyncio.create_subprocess_exec(
        given.command,
        *given.args,
        env=given.env,
        cwd=home,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_lists_calls_and_cancels(mode: Literal["auto", "legacy"], tmp_path: Path) -> None:
    messages: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        messages.append(message)

    async def work() -> None:
        async with (
            Upstream((ANSWER, SILENT)) as upstream,
            Client(parameters(upstream, tmp_path, "--all"), mode=mode) as client,
        ):
            assert "websearch_openrouter" in [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("websearch_gemini", {"query": "x"}, progress_callback=note)
            assert TEXT in (result.structured_content or {})["llmContent"]
            call = asyncio.create_task(client.call_tool("websearch_gemini", {"query": "y"}))
            await upstream.received(2, timeout=30)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await upstream.disconnected(2, timeout=20)

    await asyncio.wait_for(work(), BOUND)
    assert messages[0] == "Asking"


async def test_the_client_gets_a_clear_error_if_the_server_is_killed_during_a_call(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            Upstream((SILENT,)) as upstream,
            Client(parameters(upstream, tmp_path)) as client,
        ):
            call = asyncio.create_task(client.call_tool("websearch_gemini", {"query": "y"}))
            await upstream.received(timeout=30)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
            with pytest.raises(MCPError, match="Connection closed"):
                async with asyncio.timeout(20):
                    await call
            await upstream.disconnected(timeout=20)

    await asyncio.wait_for(work(), BOUND)


ENDS = (HANDSHAKE_PROTOCOL_VERSIONS[0], LATEST_HANDSHAKE_VERSION)
"""The oldest and the newest version: between them, results have got links."""


@pytest.mark.parametrize(
    "version",
    [
        *ENDS,
        "1999-01-01",
        *(
            pytest.param(version, marks=pytest.mark.thorough)
            for version in HANDSHAKE_PROTOCOL_VERSIONS
            if version not in ENDS
        ),
    ],
)
async def test_every_protocol_version_with_initialize_is_supported(version: str, tmp_path: Path) -> None:
    """Known versions are answered before the package is imported, others after it; each once."""

    async def work() -> list[dict[str, Any]]:
        async with Upstream((ANSWER,)) as upstream, process(upstream, tmp_path) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(_lines(({"method": "initialize", "id": 1, "params": _hello(version)},)))
            responses = [json.loads(await server.stdout.readline())]
            server.stdin.write(_lines(({"method": "tools/list", "id": 1},)))
            responses.append(json.loads(await server.stdout.readline()))
            more = (
                {"method": "notifications/initialized"},
                {"method": "tools/call", "id": 1, "params": _CALL},
            )
            server.stdin.write(_lines(more))
            responses.append(json.loads(await server.stdout.readline()))
            server.stdin.close()
            return [*responses, *map(json.loads, (await server.stdout.read()).splitlines())]

    initialized, listed, called = await asyncio.wait_for(work(), BOUND)
    agreed = version if version in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
    assert (initialized["id"], initialized["result"]["protocolVersion"]) == (1, agreed)
    assert "websearch_gemini" in [tool["name"] for tool in listed["result"]["tools"]]
    assert (called["id"], TEXT in called["result"]["structuredContent"]["llmContent"]) == (1, True)
    kinds = [entry["type"] for entry in called["result"]["content"]]
    assert kinds == (["text", "resource_link"] if agreed >= "2025-06-18" else ["text"])


@pytest.mark.parametrize("ending", ["end of input", signal.SIGTERM, signal.SIGINT])
async def test_the_server_stops_during_a_call_on_a_signal(
    ending: str | signal.Signals, tmp_path: Path
) -> None:
    async def work() -> None:
        async with Upstream((SILENT,)) as upstream, process(upstream, tmp_path) as server:
            assert server.stdin is not None
            bodies = (
                {"method": "initialize", "id": 0, "params": _hello()},
                {"method": "notifications/initialized"},
                {"method": "tools/call", "id": 1, "params": _CALL},
            )
            server.stdin.write(_lines(bodies))
            await upstream.received(timeout=30)
            if isinstance(ending, str):
                server.stdin.close()
            else:
                server.send_signal(ending)
            await upstream.disconnected(timeout=20)
            async with asyncio.timeout(20):
                code = await server.wait()
            assert code == (130 if ending == signal.SIGINT else 0)

    await asyncio.wait_for(work(), BOUND)


@pytest.mark.parametrize(
    "version", ["2025-06-18", "1999-01-01"], ids=["before the import", "after the import"]
)
async def test_the_server_exits_quietly_when_the_client_closes_the_pipe(version: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with Upstream((ANSWER,)) as upstream:
            given = parameters(upstream, tmp_path)
            reading, writing = os.pipe()
            os.close(reading)
            server = await asyncio.create_subprocess_exec(
                given.command,
                *given.args,
                env=given.env,
                cwd=tmp_path,
                stdin=asyncio.subprocess.PIPE,
                stdout=writing,
                stderr=asyncio.subprocess.PIPE,
            )
            os.close(writing)
            assert server.stdin is not None
            assert server.stderr is not None
            server.stdin.write(_lines(({"method": "initialize", "id": 0, "params": _hello(version)},)))
            try:
                async with asyncio.timeout(30):
                    errors = await server.stderr.read()
                    assert (await server.wait(), errors) == (0, b"")
            finally:
                if server.returncode is None:
                    server.kill()
                await server.communicate()

    await asyncio.wait_for(work(), BOUND)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
async def test_an_idle_server_stops_on_a_signal(ending: signal.Signals, tmp_path: Path) -> None:
    async def work() -> None:
        async with Upstream((SILENT,)) as upstream, process(upstream, tmp_path) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            # The first line waits for the import of the package: its answer means that the server is ready.
            server.stdin.write(_lines(({"method": "ping", "id": 0},)))
            await server.stdout.readline()
            server.send_signal(ending)
            assert await server.wait() == (130 if ending == signal.SIGINT else 0)

    await asyncio.wait_for(work(), BOUND)


_CALL = {"name": "websearch_gemini", "arguments": {"query": "x"}}


def _hello(version: str = "2025-06-18") -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def _lines(bodies: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"jsonrpc": "2.0", **body}).encode() + b"\n" for body in bodies)


async def test_lines_are_complete_however_the_input_is_chunked() -> None:
    async def work() -> list[str]:
        reading, writing = os.pipe()
        lines = StdinLines(reading)
        for chunk in (b'{"a', b'": "\xc3', b'\xbc"}\n{"b": 1}\n\n{"c', b'"}\nno end'):
            os.write(writing, chunk)
        os.close(writing)
        assert await lines.peek() == '{"a": "ü"}'
        lines.push_back(["one", await anext(lines)])
        found = [line async for line in lines]
        assert await lines.peek() == ""
        os.close(reading)
        return found

    assert await asyncio.wait_for(work(), BOUND) == [
        "one",
        '{"a": "ü"}',
        '{"b": 1}',
        "",
        '{"c"}',
        "no end",
    ]


def test_without_the_package_one_sentence_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.startswith("groundwire.faces.mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    bench = Bench(env={"HOME": str(tmp_path)})
    assert run_command("mcp", parse(["mcp"]), bench.console) == 4
    assert bench.stderr == (
        "groundwire: The package `mcp` is missing or incomplete; "
        "run: pip install --force-reinstall groundwire\n"
    )
    assert bench.stdout == ""
