"""Gateways whose clocks are five minutes ahead of the database's and five minutes behind decide as one."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import Counter
from glob import glob
from pathlib import Path
from time import time
from typing import NamedTuple

import aiohttp
import pytest

from groundwire.chat.shares import digest_of
from groundwire.model.access import KeyLimits
from groundwire.server.keys import timestamp
from groundwire.store.base import SessionShare
from groundwire.testing.script import Script
from tests.cluster.clients import PLENTY, SLOW, STREAM, ChatUser, answered, load, plan, show, write_down
from tests.cluster.cluster import (
    ANSWER,
    COST,
    SEARCH,
    SECONDS,
    Browser,
    Cluster,
    GatewayPlace,
    at_once,
    budget_of,
    check_limit,
    post,
    running_cluster,
    until_spent,
    until_status,
)
from tests.faces.web.test_pages import token_of
from tests.figures import Figures
from tests.servers.fixtures import postgres, postgres_server, redis, redis_server

__all__ = ["postgres", "postgres_server", "redis", "redis_server"]
pytestmark = [pytest.mark.server, pytest.mark.thorough]

OFFSETS = (0, 300, -300)
"""Seconds by which the clock of each gateway is ahead of the database's."""
SOON = 120
"""Seconds in which something expires, or since it has: less than the clocks differ."""


def faketime() -> str:
    """The library that shifts the clock of a program."""
    places = [os.environ.get("GROUNDWIRE_TEST_FAKETIME", ""), *glob("/usr/lib/*/faketime/libfaketime.so.1")]
    found = next((place for place in places if place and Path(place).exists()), "")
    if not found:
        pytest.fail("faketime is missing: apt-get install faketime")
    return found


def shifted(seconds: int) -> dict[str, str]:
    """The environment of a program whose clock is ahead by so many seconds, or behind."""
    if not seconds:
        return {}
    return {"LD_PRELOAD": faketime(), "FAKETIME": f"{seconds:+}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class Expiries(NamedTuple):
    """What the gateways did with things that expire."""

    decisions: int
    wrong: int
    spread: float
    """Seconds between the first and the last gateway that refuses a key which expires."""


async def test_clocks_five_minutes_apart_change_nothing(
    tmp_path: Path, postgres: str, redis: str, figures: Figures
) -> None:
    places = [GatewayPlace(postgres, redis, shifted(seconds)) for seconds in OFFSETS]
    async with running_cluster(tmp_path, places) as cluster:
        for gateway, seconds in zip(cluster.gateways, OFFSETS, strict=True):
            warned = [line for line in gateway.process.lines if "the clock of this machine" in line]
            assert len(warned) == bool(seconds), gateway.process.lines
        key = await cluster.new_key("load", PLENTY)
        loads = (plan(url, key, STREAM, 4, 6) for url in cluster.urls)
        async with load(**dict(zip(("right", "ahead", "behind"), loads, strict=True))) as reports:
            pass
        for report in reports.values():
            assert report.outcomes == {"200": len(report.samples)}
        admitted, statuses = await check_limits(cluster)
        hits = await check_cache(cluster, key)
        in_order, refused = await check_chat(cluster)
        expiries = await check_expiries(cluster)
        write_down(
            figures,
            "clocks of three gateways: the database's, five minutes ahead, five minutes behind",
            **answered(*reports.values()),
            admitted_by_a_limit_of_20=admitted,
            answered_by_a_budget_for_six=statuses[200],
            equal_questions_answered_from_the_cache=hits,
            chat_messages_out_of_order=4 - in_order,
            second_questions_in_a_session_that_is_being_answered_refused=refused,
            decisions_about_expired_and_valid_keys_logins_and_links=expiries.decisions,
            of_them_wrong=expiries.wrong,
            seconds_between_the_first_and_last_refusal_of_a_key_that_expires=round(expiries.spread, 2),
        )


async def check_limits(cluster: Cluster) -> tuple[int, Counter[int]]:
    """A rate limit and a budget are exact over all gateways."""
    limited = await cluster.new_key("limited", KeyLimits(requests_per_minute=20))
    admitted = await at_once(cluster, limited, 20)
    check_limit(cluster, admitted, 20)
    buyer = await cluster.new_key("buyer", budget_of(6))
    async with aiohttp.ClientSession() as client:
        statuses = await until_spent(client, cluster.urls, buyer)
    show("a budget for six answers", dict(statuses))
    assert statuses[200] == 6
    assert (await cluster.settled(buyer)).day.spent == cluster.billing.nano_usd == 6 * COST
    return admitted[200], statuses


async def check_cache(cluster: Cluster, key: str) -> int:
    """An answer that one gateway has stored is valid on the others."""
    question = {**SEARCH, "messages": [{"role": "user", "content": "the same everywhere?"}]}
    before = len(cluster.upstream.requests)
    async with aiohttp.ClientSession() as client:
        for url in cluster.urls:
            assert (await post(client, url, key, question))[0] == 200
    sent = len(cluster.upstream.requests) - before
    show("upstream requests for one question at three gateways", sent)
    assert sent == 1
    return len(cluster.urls) - sent


async def check_chat(cluster: Cluster) -> tuple[int, int]:
    """A session has one order, and one answer at a time. Returns how many questions are in order, and how
    many were refused because the session was being answered."""
    right, ahead, behind = cluster.urls
    user = ChatUser(Browser())
    await user.browser.login(ahead, await cluster.new_key("user"))
    for number, url in enumerate((right, ahead, behind, right)):
        assert await user.ask(url, f"question {number}?") == "done"
    async with user.browser.at(right) as page, page.get(f"/chat/{user.session}/export.json") as response:
        stored = (await response.json())["messages"]
    texts = [json.dumps(message["content"]) for message in stored[::2]]
    order = [f"question {number}?" in text for number, text in enumerate(texts)]
    assert order == [True] * 4, stored
    times = [message["created"] for message in stored]
    assert times == sorted(times)
    assert not await user.lost(behind)
    cluster.upstream.script = Script((SLOW,))
    before = len(cluster.upstream.requests)
    answering = asyncio.create_task(user.ask(behind, "a long answer?"))
    async with asyncio.timeout(SECONDS):
        while len(cluster.upstream.requests) == before:
            await asyncio.sleep(0.01)
    second = ChatUser(user.browser, user.session)
    statuses = [await second.ask(url, "me too?") for url in (ahead, right)]
    show("second questions during an answer", statuses)
    assert statuses == ["409", "409"]
    assert await answering == "done"
    cluster.upstream.script = Script((ANSWER,))
    return len(order), len(statuses)


async def is_expired(url: str, key: str) -> bool:
    """Is this key refused because it has expired? Waits until the gateway knows it."""
    async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as client:
        while True:
            async with client.get(f"{url}/v1/models", headers={"x-api-key": key}) as response:
                if response.status == 200 or b"has expired" in await response.read():
                    return response.status == 401
            await asyncio.sleep(0.05)


async def check_expiries(cluster: Cluster) -> Expiries:
    """Keys, logins and links expire by the clock of the database."""
    behind = cluster.urls[-1]
    seen: list[bool] = []

    async def status(url: str, path: str, key: str = "") -> int:
        headers = {"x-api-key": key} if key else {}
        async with aiohttp.ClientSession() as client, client.get(url + path, headers=headers) as response:
            return response.status

    valid = await cluster.new_key("valid for two minutes", expires=timestamp(time() + SOON))
    over = await asyncio.to_thread(cluster.key, "expired two minutes ago", None, timestamp(time() - SOON))
    for url in cluster.urls:
        seen.append(await status(url, "/v1/models", valid) == 200)
        seen.append(await is_expired(url, over))
    # A login and a link of one gateway are good on the others, and end everywhere.
    user = ChatUser(Browser())
    await user.browser.login(behind, await cluster.new_key("sharer"))
    assert await user.ask(behind, "what do I share?") == "done"
    for url in cluster.urls:
        async with user.browser.at(url) as page:
            form = {"token": await token_of(page), "lifetime": "1d"}
            async with page.post(f"/chat/{user.session}/share", data=form) as response:
                made = re.search(r"/shared/[\w-]+", await response.text())
        assert made
        seen.extend([await status(other, made[0]) == 200 for other in cluster.urls])
    stored = await asyncio.to_thread(cluster.store.session, user.session)
    assert stored is not None
    for token, seconds, wanted in (("still-valid", SOON, 200), ("just-expired", -SOON, 404)):
        # The times of a share are texts that are compared.
        share = SessionShare(
            token,
            digest_of(token),
            stored.id,
            stored.owner,
            2,
            timestamp(time() - 86_400),
            timestamp(time() + seconds),
        )
        await asyncio.to_thread(cluster.store.add_share, share)
        seen.extend([await status(url, f"/shared/{token}") == wanted for url in cluster.urls])
    show("decisions about what expires, right and wrong", dict(Counter(seen)))
    assert all(seen)
    brief = await cluster.new_key("brief", expires=timestamp(time() + 3))
    loop = asyncio.get_running_loop()

    async def refused(url: str) -> float:
        await until_status(url, brief, 401)
        return loop.time()

    moments = await asyncio.gather(*map(refused, cluster.urls))
    show("seconds between the first and the last refusal", max(moments) - min(moments))
    assert max(moments) - min(moments) < 1
    return Expiries(len(seen) + len(moments), seen.count(False), max(moments) - min(moments))
