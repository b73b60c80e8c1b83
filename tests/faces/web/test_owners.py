"""Two keys on one gateway: neither can see or change the data of the other, on any route."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time

import aiohttp
import pytest

from groundwire.faces.web.app import PAGES
from groundwire.server.auth import fingerprint
from groundwire.server.keys import KeyFile
from groundwire.store.base import Agent
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at
from tests.faces.web.serving import RunningPage, running_page
from tests.faces.web.test_pages import log_in, stream_of, token_of

pytestmark = pytest.mark.server

SECRET = "hazelnut"  # noqa: S105  a word to look for
PRIVATE = Agent("", {"en": f"Private {SECRET}"}, prompt={"en": f"The password is {SECRET}."})
SHARED = Agent("shared", {"en": "Shared"}, prompt={"en": "Be brief."})


@dataclass
class LoggedInUser:
    """A browser that is logged in with a key."""

    browser: aiohttp.ClientSession
    owner: str
    token: str

    async def get(self, path: str) -> tuple[int, str]:
        async with self.browser.get(path) as response:
            return response.status, await response.text()

    async def post(self, path: str, **fields: str) -> tuple[int, str]:
        """Send a form; returns the status and the redirect."""
        data, headers = {"token": self.token, **fields}, {"x-groundwire-token": self.token}
        async with self.browser.post(path, data=data, headers=headers, allow_redirects=False) as response:
            return response.status, response.headers.get("location", "")


@asynccontextmanager
async def two_users(folder: Path) -> AsyncIterator[tuple[RunningPage, LoggedInUser, LoggedInUser]]:
    """A gateway with two keys, and a browser logged in with each."""
    keys = [KeyFile(str(folder)).create(name, time())[0] for name in ("mine", "theirs")]
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(answer("openai_chat", answer_events("Said."))))
        providers = {"p": provider_at("openai_chat", upstream.url)}
        here = await stack.enter_async_context(running_page(folder, providers))
        users = []
        for key in keys:
            jar = aiohttp.CookieJar(unsafe=True)
            browser = await stack.enter_async_context(aiohttp.ClientSession(here.url, cookie_jar=jar))
            await log_in(browser, key)
            users.append(LoggedInUser(browser, fingerprint(key), await token_of(browser)))
        yield here, users[0], users[1]


async def test_turning_on_web_search_changes_the_users_own_agent_and_shares_nothing(tmp_path: Path) -> None:
    async with two_users(tmp_path) as (here, me, you):
        kept = await here.chat.save_agent(PRIVATE, me.owner)
        status, location = await me.post(f"/agents/{kept.id}/search", session="")
        assert (status, location) == (303, f"/?agent={kept.id}")
        assert [(agent.id, agent.web_search) for agent in await here.chat.agents(me.owner)] == [
            (kept.id, True)
        ]
        assert {agent.owner for agent in here.store.agents()} == {me.owner}
        for path in ("/", "/agents", f"/?agent={kept.id}"):
            assert SECRET not in (await you.get(path))[1]


async def test_turning_on_web_search_of_a_shared_agent_switches_the_session_to_a_copy(
    tmp_path: Path,
) -> None:
    async with two_users(tmp_path) as (here, me, you):
        await here.chat.save_agent(SHARED, "")
        began = await stream_of(me.browser, me.token, text="What?", agent="shared")
        session = str(began[0][1]["session"])
        assert await me.post("/agents/shared/search", session=session) == (303, f"/chat/{session}")
        opened = await here.chat.open(me.owner, session)
        assert (opened.agent.web_search, opened.agent.owner) == (True, me.owner)
        assert [agent.web_search for agent in await here.chat.agents(you.owner)] == [False]
        # It gives no access to the session of another key either.
        await you.post("/agents/shared/search", session=session)
        assert (await here.chat.open(me.owner, session)).agent == opened.agent


async def test_no_route_shows_or_changes_what_belongs_to_the_other_key(tmp_path: Path) -> None:
    async with two_users(tmp_path) as (here, me, you):
        agent = await here.chat.save_agent(PRIVATE, me.owner)
        events = await stream_of(me.browser, me.token, text=f"{SECRET}?", agent=agent.id)
        session = str(events[0][1]["session"])
        before = (here.store.agents(), here.store.messages(session), here.store.session(session))
        fields = {"title": "Theirs", "name_en": "Theirs", "q": SECRET, "session": session}
        for page in PAGES:
            if page.is_public or page.path == "/chat/ask":
                continue
            for name in (session, agent.id):
                path = page.path.replace("{id}", name)
                query = f"?q={SECRET}&agent={agent.id}" if page.method == "GET" else ""
                call = you.get(path + query) if page.method == "GET" else you.post(path, **fields)
                status, text = await call
                assert SECRET not in text.replace(f'value="{SECRET}"', ""), path
                if "{id}" in page.path:
                    assert status == 404, path
        assert (await you.get(f"/find?before={session}"))[0] == 404
        for body in (
            {"session": session},
            {"agent": agent.id},
            {"session": session, "replaces": str(events[0][1]["question"])},
        ):
            assert (await stream_of(you.browser, you.token, text="x", **body))[0][0] == "refused"
        kept = [one for one in here.store.agents() if one.owner == me.owner]
        assert (kept, here.store.messages(session), here.store.session(session)) == before
        assert [total.requests for total in here.store.usage(me.owner)] == [1]
        assert here.store.usage(you.owner) == []
        assert (await me.get(f"/chat/{session}"))[0] == 200


async def test_importing_an_app_does_not_change_an_agent_of_another_key_with_the_same_id(
    tmp_path: Path,
) -> None:
    async with two_users(tmp_path) as (here, me, you):
        kept = await here.chat.save_agent(PRIVATE, me.owner)
        app = json.dumps({"id": kept.id, "name": "Mine now"})
        status, location = await you.post("/agents/import", app=app)
        assert status == 303
        assert location != f"/agents/{kept.id}"
        assert await here.chat.agent(kept.id, me.owner) == kept
        assert SECRET not in (await you.get(f"{location}/app.json"))[1]
