"""The server's way down: first readiness fails, then requests are refused, then connections end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.commands.main import parse
from groundwire.config.schema import Config
from groundwire.faces.cli.arguments import UsageError
from tests.faces.gateway.serving import provider_at, running_server

pytestmark = pytest.mark.server

ENOUGH = 60.0
"""A delay that does not end during the test."""


async def test_during_the_drain_delay_only_readiness_fails(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    config = Config(
        providers={"mine": provider_at("openai_chat", "http://127.0.0.1:9")},
        order=("mine",),
        data_dir=str(tmp_path),
    )
    async with Groundwire(config, env=env) as groundwire, aiohttp.ClientSession() as client:
        app = create_app(groundwire, env)

        async def get(path: str) -> tuple[int, str]:
            async with client.get(url + path) as response:
                return response.status, response.headers.get("connection", "")

        async with running_server(app, drain_delay=ENOUGH) as (url, server):
            assert await get("/readyz") == (200, "")
            server.should_exit = True
            async with asyncio.timeout(10):
                while (await get("/readyz"))[0] != 503:
                    await asyncio.sleep(0.01)
            # The connection of a load balancer ends with the response: it opens the next one elsewhere.
            assert await get("/readyz") == (503, "close")
            assert await get("/healthz") == (200, "close")
            assert await get("/v1/models") == (200, "close")
            assert not app.draining
            server.force_exit = True
        await app.aclose()


async def test_every_readiness_check_is_asked_and_its_problem_is_shown(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    config = Config(
        providers={"mine": provider_at("openai_chat", "http://127.0.0.1:9")},
        order=("mine",),
        data_dir=str(tmp_path),
    )
    groundwire = Groundwire(config, env=env)
    app = create_app(groundwire, env)
    both = asyncio.Barrier(2)

    def check(problem: str) -> Callable[[], Awaitable[str]]:
        async def run() -> str:
            await both.wait()  # checks that ran one after the other would wait for ever
            return problem

        return run

    app.readiness_checks += [check("redis does not answer"), check("")]
    async with running_server(app) as (url, _), aiohttp.ClientSession() as client:
        async with asyncio.timeout(10), client.get(f"{url}/readyz") as response:
            assert (response.status, (await response.json())["status"]) == (503, "redis does not answer")
        app.readiness_checks[:] = [check(""), check("")]
        async with asyncio.timeout(10), client.get(f"{url}/readyz") as response:
            assert response.status == 200


@pytest.mark.parametrize(
    ("words", "seconds"), [([], 0), (["--drain-delay", "0"], 0), (["--drain-delay", "9"], 9)]
)
def test_there_is_no_drain_delay_unless_one_is_given(words: list[str], seconds: int) -> None:
    assert parse(["serve", *words]).drain_delay == seconds


def test_a_drain_delay_is_a_whole_number() -> None:
    with pytest.raises(UsageError, match="whole number"):
        parse(["serve", "--drain-delay", "-1"])
