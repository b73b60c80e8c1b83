"""A PostgreSQL that is down or hangs: readiness reports it, threads stay few, and the page recovers."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from groundwire.chat import storage
from groundwire.store import postgres as store_postgres
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from groundwire.transport import postgres as transport_postgres
from tests.faces.gateway.serving import provider_at
from tests.faces.web.serving import running_page
from tests.faces.web.test_pages import stream_of, token_of
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server

REQUESTS = 60
EXECUTOR_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""The most threads that `asyncio.to_thread` uses."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten all time limits."""
    monkeypatch.setattr(transport_postgres, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(transport_postgres, "FREE_SECONDS", 0.5)
    monkeypatch.setattr(store_postgres, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(storage, "THREAD_TIMEOUT", 0.5)


@asynccontextmanager
async def open_page(folder: Path, address: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        Upstream(answer("openai_chat", answer_events("Said."))) as upstream,
        running_page(folder, {"p": provider_at("openai_chat", upstream.url)}, address=address) as here,
        aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        assert await status(browser, "/readyz") == 200
        events = await stream_of(browser, await token_of(browser), text="What?")
        assert events[-1][0] == "done"
        yield browser


async def status(browser: aiohttp.ClientSession, path: str) -> int:
    async with asyncio.timeout(30), browser.get(path) as response:
        await response.read()
        return response.status


async def recovered(browser: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(30):
        while await status(browser, "/readyz") != 200:
            await asyncio.sleep(0.05)
        while await status(browser, "/") != 200:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("how", ["hanging", "away"])
async def test_readiness_and_pages_report_an_unresponsive_database_and_threads_stay_few(
    how: str, tmp_path: Path, postgres: str, postgres_server: PostgresServer
) -> None:
    async with open_page(tmp_path, postgres) as browser:
        before = threading.active_count()
        with getattr(postgres_server, how)():
            assert await status(browser, "/readyz") == 503
            assert await status(browser, "/healthz") == 200
            calls = [status(browser, "/" if n % 2 else "/readyz") for n in range(REQUESTS)]
            pending = asyncio.gather(*calls)
            most = 0
            while not pending.done():
                most = max(most, threading.active_count())
                await asyncio.sleep(0.01)
            assert set(await pending) == {503}
            # At most one thread for each concurrent call of the store, and those of the loop's own executor.
            assert most - before <= storage.MAX_THREADS + EXECUTOR_THREADS + 4
        await recovered(browser)
        events = await stream_of(browser, await token_of(browser), text="And now?")
        assert events[-1][0] == "done"


async def test_an_error_of_the_database_does_not_name_its_host_on_the_page(
    tmp_path: Path, postgres: str, postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    folder = postgres.partition("host=")[2]

    async def run() -> None:
        async with open_page(tmp_path, postgres) as browser:
            with postgres_server.away():
                async with browser.get("/") as response:
                    html = await response.text()
            await recovered(browser)
        assert response.status == 503
        assert folder not in html
        assert "PostgreSQL" not in html
        assert "does not respond" in html

    await run()
    assert "PostgreSQL" in caplog.text
