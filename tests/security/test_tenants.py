"""What a key can do beyond its limits, and what it learns of others, by every path that spends."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

import aiohttp
import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.model import Source
from groundwire.model.access import KeyLimits, KeyRights, KeyScope
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.built_index import copy_index
from tests.faces.gateway.serving import provider_at
from tests.faces.web.serving import RunningPage, running_page
from tests.faces.web.test_pages import log_in, token_of
from tests.memory_folders import tmp_path

__all__ = ["copy_index", "tmp_path"]
pytestmark = pytest.mark.server

ANSWER = answer("openai_chat", answer_events("Yes.", Source("https://a.example/"), query="q"))
CHAT = {"messages": [{"role": "user", "content": "q?"}], "model": "mine/m"}
UI_CHAT = {"messages": [{"role": "user", "parts": [{"type": "text", "text": "q?"}]}], "model": "mine/m"}


@dataclass
class Tenants:
    """A gateway with keys."""

    page: RunningPage
    upstream: Upstream
    folder: Path
    client: aiohttp.ClientSession

    def key(self, name: str, limits: KeyLimits | None = None, owner: str = "") -> str:
        rights = KeyRights(owner=owner, scope=KeyScope(limits=limits or KeyLimits()))
        return KeyFile(str(self.folder)).create(name, time(), rights)[0]

    async def send(
        self, key: str, method: str, path: str, body: Mapping[str, Any] | None = None, **headers: str
    ) -> tuple[int, Mapping[str, str]]:
        head = {"authorization": f"Bearer {key}", **headers}
        async with self.client.request(method, self.page.url + path, json=body, headers=head) as response:
            await response.read()
            return response.status, response.headers


@asynccontextmanager
async def tenants(folder: Path, **gateway: Any) -> AsyncIterator[Tenants]:
    KeyFile(str(folder)).create("first", time())
    async with (
        Upstream(ANSWER) as upstream,
        running_page(
            folder,
            {"mine": provider_at("openai_chat", upstream.url)},
            Config(gateway=GatewaySettings(**gateway)),
        ) as page,
        aiohttp.ClientSession() as client,
    ):
        yield Tenants(page, upstream, folder, client)


SPENDING: tuple[tuple[str, str, Mapping[str, Any] | None], ...] = (
    ("GET", "/search?format=json&q=nile", None),
    ("HEAD", "/search?format=json&q=nile", None),
    ("GET", "/v1/find?query=nile", None),
    ("POST", "/v1/find", {"query": "nile"}),
    ("POST", "/v1/external", {"query": "nile"}),
    ("POST", "/api/web_search", {"query": "nile"}),
    ("POST", "/search", {"query": "nile"}),
    ("POST", "/extract", {"urls": ["http://127.0.0.1/"]}),
    ("POST", "/api/web_fetch", {"url": "http://127.0.0.1/"}),
    ("POST", "/api/chat", UI_CHAT),
    ("POST", "/v1/responses", {"model": "mine/m", "input": "q?", "background": True}),
)
"""Method, path and body of requests that search or ask a model."""


async def test_requests_by_any_method_and_path_count_against_the_limit_of_a_key(
    tmp_path: Path, copy_index: Callable[[Path], None]
) -> None:
    copy_index(tmp_path)
    async with tenants(tmp_path) as here:
        for number, (method, path, body) in enumerate(SPENDING):
            key = here.key(f"limited {number}", KeyLimits(requests_per_minute=3))
            statuses = [(await here.send(key, method, path, body))[0] for _ in range(5)]
            assert statuses[3:] == [429, 429], (method, path, statuses)
            assert 429 not in statuses[:3], (method, path, statuses)


async def test_reading_what_exists_is_not_limited(tmp_path: Path) -> None:
    """A background response is polled more often than it is created."""
    async with tenants(tmp_path) as here:
        key = here.key("limited", KeyLimits(requests_per_minute=1))
        for path in ("/v1/models", "/v1/responses/resp_none", "/v1/models"):
            assert (await here.send(key, "GET", path))[0] in (200, 404)


@pytest.mark.parametrize(("path", "body"), [("/v1/chat/completions", CHAT), ("/api/chat", UI_CHAT)])
async def test_tokens_are_reserved_before_requests_at_once_are_sent(
    tmp_path: Path, path: str, body: Mapping[str, Any]
) -> None:
    async with tenants(tmp_path) as here:
        key = here.key("limited", KeyLimits(tokens_per_minute=1500))
        sent = await asyncio.gather(*(here.send(key, "POST", path, body) for _ in range(8)))
        assert Counter(status for status, _ in sent) == {200: 1, 429: 7}


SEARCH = {**CHAT, "web_search_options": {}}


async def test_the_cache_does_not_tell_what_other_owners_have_asked(tmp_path: Path) -> None:
    async with tenants(tmp_path, cache_seconds=60) as here:
        mine, also_mine, other = here.key("a", owner="ann"), here.key("b", owner="ann"), here.key("c")
        seen = [
            (await here.send(key, "POST", "/v1/chat/completions", SEARCH))[1]["x-groundwire-cache"]
            for key in (mine, mine, also_mine, other, other)
        ]
        assert seen == ["miss", "hit", "hit", "miss", "hit"]
        assert len(here.upstream.requests) == 2


async def test_all_keys_can_share_the_cache(tmp_path: Path) -> None:
    async with tenants(tmp_path, cache_seconds=60, cache_scope="all") as here:
        seen = [
            (await here.send(here.key(name), "POST", "/v1/chat/completions", SEARCH))[1]["x-groundwire-cache"]
            for name in ("a", "b")
        ]
        assert seen == ["miss", "hit"]


async def test_many_idempotency_keys_of_one_caller_displace_no_response_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.server.idempotency.MAX_RESPONSES", 5)
    async with tenants(tmp_path) as here:
        careful, greedy = here.key("careful"), here.key("greedy")
        path = "/v1/chat/completions"
        await here.send(careful, "POST", path, CHAT, **{"idempotency-key": "pay once"})
        for number in range(8):
            await here.send(greedy, "POST", path, CHAT, **{"idempotency-key": f"k{number}"})
        _, headers = await here.send(careful, "POST", path, CHAT, **{"idempotency-key": "pay once"})
        assert headers.get("idempotent-replayed") == "true"
        assert len(here.page.gateway.idempotency) <= 6


async def test_links_to_sessions_end_with_the_last_key_of_their_owner(tmp_path: Path) -> None:
    async with tenants(tmp_path) as here:
        key, second = here.key("a", owner="ann"), here.key("b", owner="ann")
        async with aiohttp.ClientSession(here.page.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            await log_in(browser, key)
            token = await token_of(browser)
            body = {"text": "Which river?"}
            async with browser.post("/chat/ask", json=body, headers={"x-groundwire-token": token}) as asked:
                session = re.search(r'"session": ?"(\w+)"', await asked.text())
            assert session
            data = {"token": token, "lifetime": "1d"}
            async with browser.post(f"/chat/{session[1]}/share", data=data) as made:
                link = re.search(r"/shared/[\w-]+", await made.text())
        assert link

        async def status() -> int:
            async with here.client.get(here.page.url + link[0]) as response:
                return response.status

        assert await status() == 200
        keys = KeyFile(str(tmp_path))
        keys.revoke("a", time())
        assert await status() == 200
        keys.revoke("b", time())
        assert await status() == 404
        assert second
