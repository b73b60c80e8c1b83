"""Worker processes: `groundwire serve` from its first line to its exit code, and garbage collection."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.raw import INBOUND, fetch, request_of
from tests.faces.gateway.serving import provider_at, run, serving
from tests.faces.loopback import Loopback, loopback
from tests.server.processes import BOUND, running_serve, start_serve

pytestmark = pytest.mark.server

_ASK = """
import gc, json
from groundwire.server.workers import tune_gc
before = gc.get_threshold()
tune_gc()
print(json.dumps([before, gc.get_threshold(), gc.get_freeze_count()]))
"""


def test_imported_objects_are_frozen_and_garbage_collection_runs_less_often() -> None:
    done = subprocess.run(  # noqa: S603  fixed arguments
        [sys.executable, "-c", _ASK], capture_output=True, check=True, timeout=30
    )
    before, after, frozen = json.loads(done.stdout)
    assert after[0] >= 10 * before[0]
    assert frozen > 1000


@pytest.mark.parametrize("stream", [True, False])
def test_answering_creates_few_reference_cycles(stream: bool) -> None:
    """Garbage that only the collector can free must not grow faster than it is collected."""

    async def main() -> float:
        async with AsyncExitStack() as stack:
            providers = {}
            for dialect in INBOUND:
                events = answer_events("Yes.", Source("https://a.example/"), query="q")
                upstream = await stack.enter_async_context(Upstream(answer(dialect, events)))
                providers[f"my_{dialect}"] = provider_at(dialect, upstream.url)
            here = await stack.enter_async_context(serving(providers))

            async def ask() -> None:
                for provider in INBOUND:
                    response = await fetch(
                        here.url, request_of("openai_chat", f"my_{provider}/m", stream=stream)
                    )
                    assert response.status == 200

            await ask()
            gc.collect()
            gc.disable()
            try:
                for _ in range(10):
                    await ask()
                return gc.collect() / (10 * len(INBOUND))
            finally:
                gc.enable()

    assert run(main()) < 100


EVENTS = answer_events("Yes, it does.", Source("https://a.example/x", "A"))
ANSWER = answer("openai_chat", EVENTS)
QUESTION: dict[str, object] = {
    "model": "mine",
    "stream": True,
    "messages": [{"role": "user", "content": "q?"}],
}


def _provider(url: str) -> str:
    return (
        f'order = ["mine"]\n[providers.mine]\ndialect = "openai_chat"\nbase_url = "{url}/v1"\nmodel = "m"\n'
    )


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_serve_prints_its_address_and_exits_without_an_error(tmp_path: Path, how: signal.Signals) -> None:
    async def run() -> tuple[int, list[str]]:
        async with running_serve(tmp_path, config=_provider("http://127.0.0.1:1")) as one:
            one.process.send_signal(how)
            return await one.ended(), one.lines

    code, lines = asyncio.run(run())
    assert code == 0
    text = "".join(lines)
    for text_part in (
        "mine",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:",
        "OPENAI_BASE_URL=",
        "/docs",
        "not needed on this machine",
    ):
        assert text_part in text
    records = [json.loads(line) for line in lines if line.startswith("{")]
    assert [(record["message"], record["outcome"]) for record in records] == [("GET /healthz 200", "done")]


def test_a_running_stream_finishes_while_new_requests_are_refused(tmp_path: Path) -> None:
    go_on = threading.Event()

    def hold(_: int) -> None:
        go_on.wait(BOUND)

    async def run(provider: Loopback) -> tuple[int, str, str, int]:
        async with (
            running_serve(tmp_path, config=_provider(provider.address)) as one,
            aiohttp.ClientSession() as client,
        ):
            stream = asyncio.create_task(_text(client, f"{one.url}/v1/chat/completions"))
            async with asyncio.timeout(BOUND):
                while not provider.requests:
                    await asyncio.sleep(0.01)
                one.process.terminate()
                while await _readiness(client, one.url) == 200:
                    await asyncio.sleep(0.02)
            async with client.post(f"{one.url}/v1/chat/completions", json=QUESTION) as late:
                status, wait = late.status, late.headers["retry-after"]
            go_on.set()
            return status, wait, await stream, await one.ended()

    with loopback() as provider:
        provider.events = EVENTS
        provider.pause = hold
        status, wait, text, code = asyncio.run(run(provider))
    assert (status, code) == (503, 0)
    assert int(wait) >= 1
    assert "Yes, it does." in text
    assert text.rstrip().endswith("data: [DONE]")


async def _readiness(client: aiohttp.ClientSession, url: str) -> int:
    async with client.get(f"{url}/readyz") as response:
        return response.status


async def _text(client: aiohttp.ClientSession, url: str) -> str:
    async with client.post(url, json=QUESTION) as response:
        return await response.text()


DIALECTS: dict[str, tuple[dict[str, object], str]] = {
    "/v1/messages": (
        {"model": "mine", "max_tokens": 9, "messages": QUESTION["messages"]},
        'event: error\ndata: {"type":"error"',
    ),
    "/v1/responses": ({"model": "mine", "input": "q?"}, "event: response.failed"),
    "/v1/chat/completions": ({"model": "mine", "messages": QUESTION["messages"]}, 'data: {"error":'),
    "/v1beta/models/mine:streamGenerateContent?alt=sse": (
        {"contents": [{"parts": [{"text": "q?"}]}]},
        'data: {"error":',
    ),
}
"""A request of each dialect, and how a stream ends that failed."""


@pytest.mark.parametrize(
    ("workers", "count"),
    [("1", 12), ("2", 12), pytest.param("1", 200, marks=pytest.mark.thorough)],
)
def test_streams_that_do_not_end_get_an_error_in_their_dialect(
    tmp_path: Path, workers: str, count: int
) -> None:
    stream = ANSWER.stream or b""
    endless = replace(ANSWER, stall_at=stream.index(b"Yes, it does.") + 100)

    async def run() -> tuple[list[tuple[str, str]], int]:
        async with (
            Upstream(endless) as upstream,
            running_serve(
                tmp_path, "--drain", "2", "--workers", workers, config=_provider(upstream.url)
            ) as one,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
        ):

            async def read(path: str) -> tuple[str, str]:
                body = {**DIALECTS[path][0], "stream": True}
                head = {"x-groundwire-citations": "live"}
                async with client.post(one.url + path, json=body, headers=head) as response:
                    return path, await response.text()

            streams = [asyncio.create_task(read(list(DIALECTS)[n % len(DIALECTS)])) for n in range(count)]
            for nth in range(1, count + 1):
                await upstream.stalled(nth, timeout=BOUND)
            one.process.terminate()
            async with asyncio.timeout(BOUND):
                texts = await asyncio.gather(*streams)
            return texts, await one.ended()

    texts, code = asyncio.run(run())
    assert code == 0
    for path, text in texts:
        assert text.count(DIALECTS[path][1]) == 1, (path, text)
        assert "the gateway is closing" in text[text.index(DIALECTS[path][1]) :]


def test_a_port_in_use_is_reported_in_one_sentence(tmp_path: Path) -> None:
    async def run(*arguments: str) -> tuple[int, list[str]]:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            async with start_serve(tmp_path, ["--port", port, *arguments]) as one:
                return await one.ended(), one.lines

    for arguments in ((), ("--workers", "2")):
        code, lines = asyncio.run(run(*arguments))
        assert code == 4
        assert [("is in use; choose another with --port" in line) for line in lines] == [True]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--host", "0.0.0.0", "--port", "0"), "groundwire keys create"),  # noqa: S104  refused
        (("--host", "203.0.113.7", "--port", "0"), "groundwire keys create"),
    ],
)
def test_serve_does_not_listen_on_a_public_address_without_keys(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    async def run() -> tuple[int, str]:
        async with start_serve(tmp_path, arguments) as one:
            return await one.ended(), "".join(one.lines)

    code, output = asyncio.run(run())
    assert code == 4
    assert sentence in output


def test_workers_share_an_address_are_replaced_and_follow_revocation(tmp_path: Path) -> None:
    file = KeyFile(str(tmp_path / "data"))
    key, made = file.create("me", 0)

    async def ask(url: str) -> int:
        # Another connection each time, so that every worker has its turn.
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"{url}/v1/models", headers={"x-api-key": key}) as response,
        ):
            return response.status

    async def run() -> tuple[list[int], list[int], int, str]:
        async with running_serve(tmp_path, "--workers", "2") as one:
            first = _children(one.process.pid)
            assert len(first) == 2
            before = [await ask(one.url) for _ in range(20)]
            os.kill(first[0], signal.SIGKILL)
            await one.wait_for_log("starting another")
            async with asyncio.timeout(BOUND):
                while len(now := _children(one.process.pid)) < 2 or now == first:
                    await asyncio.sleep(0.05)
            file.revoke(made.id, 1)
            after = [await ask(one.url) for _ in range(20)]
            one.process.terminate()
            return before, after, await one.ended(), "".join(one.lines)

    before, after, code, output = asyncio.run(run())
    assert before == [200] * 20
    assert set(after) == {401}
    assert code == 0
    assert "Traceback" not in output


def test_workers_exit_with_their_parent(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_serve(tmp_path, "--workers", "2", "--drain", "1") as one:
            children = _children(one.process.pid)
            one.process.kill()
            await one.process.wait()
            async with asyncio.timeout(BOUND):
                while any(Path(f"/proc/{child}/fd/0").exists() for child in children):
                    await asyncio.sleep(0.05)

    asyncio.run(run())


def test_workers_share_their_metrics(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with running_serve(tmp_path, "--workers", "2") as one:
            for _ in range(24):
                async with aiohttp.ClientSession() as client, client.get(f"{one.url}/api/hello") as response:
                    assert response.status == 200
            async with asyncio.timeout(BOUND), aiohttp.ClientSession() as client:
                while True:
                    async with client.get(f"{one.url}/metrics") as response:
                        lines = [
                            line for line in (await response.text()).splitlines() if "/api/hello" in line
                        ]
                    if lines and lines[0].endswith(" 24.0"):
                        return lines
                    await asyncio.sleep(0.2)

    assert len(asyncio.run(run())) == 1
