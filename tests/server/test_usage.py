"""Usage recorder: rows reach the store in the background, and no request waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path

import pytest

from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config, GatewaySettings
from groundwire.errors import Overloaded
from groundwire.model import Event, Finished, Request, Started, TextDelta, Usage, UsageSeen
from groundwire.server.app import HttpApp
from groundwire.server.keys import KeyFile
from groundwire.server.usage import UsageRecorder
from groundwire.store.base import Store, UsageRow
from groundwire.store.open import open_store
from tests.faces.gateway.asgi_client import LOCAL, SMALLEST_REQUESTS, FixedBackend, send_request

COST = Usage(input_tokens=3, output_tokens=4, searches=1)
CODEX = {"id": "1", "model": "auto", "commands": {"search_query": [{"q": "one"}, {"q": "two"}]}}


class BackendWithUsage(FixedBackend):
    """Reports its provider and its usage."""

    async def answer(
        self, request: Request, *, provider: str, model: str
    ) -> AsyncGenerator[Sequence[Event], None]:
        self.requests.append(request)
        yield (Started("1", "model-1", "gemini"), TextDelta(0, "Yes."), UsageSeen(COST), Finished())


class FailingStore:
    """A store that cannot be written to at first."""

    def __init__(self, store: Store, times: int) -> None:
        self._store = store
        self.left = times

    def add_usage(self, rows: Sequence[UsageRow]) -> None:
        if self.left:
            self.left -= 1
            raise Overloaded("locked")
        self._store.add_usage(rows)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/usage.db") as opened:
        yield opened


def gateway_with(booking: UsageRecorder, folder: Path, **settings: object) -> HttpApp:
    made = GatewaySettings(**settings)  # type: ignore[arg-type]
    gateway = create_app(BackendWithUsage(Config(data_dir=str(folder), gateway=made)), {})
    gateway.usage_recorder = booking
    return gateway


async def ask(gateway: HttpApp, path: str, body: object, key: str = "") -> int:
    head = {**LOCAL, "content-type": "application/json", **({"x-api-key": key} if key else {})}
    return (await send_request(gateway, "POST", path, head, json.dumps(body).encode())).status


async def test_usage_is_recorded_with_the_key_in_every_dialect(store: Store, tmp_path: Path) -> None:
    key, entry = KeyFile(str(tmp_path)).create("me", 0)

    async def converse() -> None:
        booking = UsageRecorder(store, interval=0.01)
        gateway = gateway_with(booking, tmp_path)
        for path, body in SMALLEST_REQUESTS.values():
            assert await ask(gateway, path, body, key) == 200
        await booking.aclose()

    await converse()
    (total,) = store.usage(owner=entry.fingerprint)
    assert (total.provider, total.model, total.requests, total.errors) == ("gemini", "model-1", 5, 0)
    assert (total.usage.input_tokens, total.usage.output_tokens, total.usage.searches) == (15, 20, 5)
    assert store.usage(owner="another user") == []


async def test_rows_are_written_in_the_background(store: Store, tmp_path: Path) -> None:
    async def converse() -> None:
        gateway = gateway_with(UsageRecorder(store, interval=0.01), tmp_path)
        await ask(gateway, *SMALLEST_REQUESTS["openai_chat"])
        async with asyncio.timeout(10):
            while not store.usage(""):
                await asyncio.sleep(0.01)

    await converse()
    assert store.usage("")[0].requests == 1


async def test_all_searches_of_one_request_are_added_up(store: Store, tmp_path: Path) -> None:
    async def converse() -> None:
        booking = UsageRecorder(store)
        assert await ask(gateway_with(booking, tmp_path), "/v1/alpha/search", CODEX) == 200
        await booking.aclose()

    await converse()
    (total,) = store.usage("")
    assert (total.requests, total.usage.searches) == (1, 2)


async def test_rows_that_the_store_refuses_are_written_later_and_once(store: Store, tmp_path: Path) -> None:
    async def converse() -> None:
        sulking = FailingStore(store, 2)
        booking = UsageRecorder(sulking, interval=0.01)  # type: ignore[arg-type]
        gateway = gateway_with(booking, tmp_path)
        await ask(gateway, *SMALLEST_REQUESTS["openai_chat"])
        async with asyncio.timeout(10):
            while sulking.left:
                await asyncio.sleep(0.01)
        await ask(gateway, *SMALLEST_REQUESTS["openai_chat"])
        await booking.aclose()

    await converse()
    assert [total.requests for total in store.usage("")] == [2]


async def test_an_unavailable_store_delays_no_request_and_lost_rows_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def converse() -> int:
        booking = UsageRecorder(FailingStore(None, 10**9), interval=60.0, max_rows=2)  # type: ignore[arg-type]
        gateway = gateway_with(booking, tmp_path)
        for _ in range(5):
            assert await ask(gateway, *SMALLEST_REQUESTS["openai_chat"]) == 200
        await booking.aclose()
        return booking.dropped

    with caplog.at_level("WARNING", "groundwire.gateway"):
        assert await converse() == 5
    assert "5 usage rows were not stored: locked" in caplog.text


async def test_a_cached_answer_is_counted_without_usage(store: Store, tmp_path: Path) -> None:
    path, body = SMALLEST_REQUESTS["openai_chat"]
    searching = {**body, "web_search_options": {}}

    async def converse() -> None:
        booking = UsageRecorder(store)
        gateway = gateway_with(booking, tmp_path, cache_seconds=60.0)
        for _ in range(3):
            await ask(gateway, path, searching)
        await booking.aclose()

    await converse()
    (total,) = store.usage("")
    assert (total.requests, total.cache_hits) == (3, 2)
    assert total.usage.input_tokens == COST.input_tokens


async def test_no_usage_is_recorded_for_refused_requests(store: Store, tmp_path: Path) -> None:
    async def converse() -> None:
        booking = UsageRecorder(store)
        assert await ask(gateway_with(booking, tmp_path), "/v1/messages", {"max_tokens": "many"}) == 400
        await booking.aclose()

    await converse()
    assert store.usage("") == []
