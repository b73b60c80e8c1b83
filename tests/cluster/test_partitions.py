"""What clients see while one of two gateways is cut off from PostgreSQL, from Redis, or from both."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from urllib.parse import urlsplit

import aiohttp
import pytest

from groundwire.model.access import KeyLimits
from groundwire.server.keys import timestamp
from tests.cluster.clients import (
    PLENTY,
    STREAM,
    ChatUser,
    answered,
    chat_users,
    load,
    plan,
    show,
    until_exact,
    write_down,
)
from tests.cluster.cluster import (
    PAID,
    SECONDS,
    Cluster,
    GatewayPlace,
    at_once,
    budget_of,
    running_cluster,
    until_ready,
    until_status,
)
from tests.cluster.namespaces import OtherMachine, other_machine
from tests.figures import Figures
from tests.servers.fixtures import redis_server
from tests.servers.postgres import PostgresServer
from tests.servers.process import free_port
from tests.servers.redis import RedisServer

__all__ = ["redis_server"]
pytestmark = [pytest.mark.server, pytest.mark.thorough]

NAMES = {"postgres": "PostgreSQL", "redis": "Redis"}
CUT_SECONDS = 8.0


@pytest.mark.parametrize("cut", [("postgres",), ("redis",), ("postgres", "redis")], ids="-".join)
async def test_a_gateway_that_is_cut_off_goes_on_admits_no_stranger_and_is_right_again_when_healed(
    tmp_path: Path, redis_server: RedisServer, cut: tuple[str, ...], figures: Figures
) -> None:
    redis_server.command("FLUSHALL")
    port = free_port()
    server = await asyncio.to_thread(lambda: PostgresServer(port=port))
    try:
        address = server.database()
        name = urlsplit(address).path.lstrip("/")
        async with other_machine(tuple(NAMES)) as machine:
            show("the gateway is cut off by a", machine.kind)
            postgres_host, postgres_port = await machine.port_to("postgres", port)
            redis_host, redis_port = await machine.port_to("redis", redis_server.port)
            there = GatewayPlace(
                f"postgresql://tests@{postgres_host}:{postgres_port}/{name}",
                f"redis://{redis_host}:{redis_port}/0",
                host=machine.host,
                wrapper=machine.wrapper,
                reach=machine.reach,
            )
            here = GatewayPlace(address, redis_server.url)
            async with running_cluster(tmp_path, [here, there]) as cluster:
                await check_partition(cluster, machine, cut, figures)
    finally:
        server.close()


async def statuses_of(url: str, *keys: str) -> Counter[int]:
    """How a gateway answers keys; an empty text sends none."""
    seen: Counter[int] = Counter()
    async with aiohttp.ClientSession() as client:
        for key in keys:
            headers = {"authorization": f"Bearer {key}"} if key else {}
            async with client.get(f"{url}/v1/models", headers=headers) as response:
                seen[response.status] += 1
    return seen


@dataclass
class ChatLoad:
    """Users who chat at every gateway until they are stopped."""

    users: dict[str, list[ChatUser]]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for url, some in self.users.items():
                for user in some:
                    group.create_task(self._chat(user, url))

    async def _chat(self, user: ChatUser, url: str) -> None:
        while not self.stopping.is_set():
            await user.ask(url, f"question {sum(user.outcomes.values())}?")
            await asyncio.sleep(0.1)

    async def check(self, cluster: Cluster) -> dict[str, float]:
        """All can go on at the gateway that was cut off, and miss nothing; returns what is written down."""
        connected, cut_off = cluster.urls
        everybody = [user for some in self.users.values() for user in some]
        for user in everybody:
            async with asyncio.timeout(SECONDS):
                while await user.ask(cut_off, "after?") != "done":
                    await asyncio.sleep(0.2)
        for url, some in self.users.items():
            show(f"chat at {url}", dict(sum((user.outcomes for user in some), Counter[str]())))
        lost = [text for user in everybody for text in await user.lost(connected)]
        acknowledged = sum(len(user.questions) + len(user.answers) for user in everybody)
        show("acknowledged and lost", (acknowledged, len(lost)))
        assert not lost
        return {"chat_messages_acknowledged": acknowledged, "of_them_lost": len(lost)}


async def while_cut_off(cluster: Cluster, limited: str, leaving: str, brief: str) -> dict[str, float]:
    """What holds at a gateway that is cut off; returns what is written down."""
    connected, cut_off = cluster.urls
    await asyncio.to_thread(cluster.keys.revoke, "leaving", time())
    await until_status(connected, leaving, 401)
    await asyncio.sleep(1)  # without Redis, keys are read twice a second
    still = await statuses_of(cut_off, leaving)
    show("a key that was revoked meanwhile, at the gateway that is cut off", dict(still))
    strangers = await statuses_of(cut_off, "", "gw_wrong", f"{limited}x")
    show("no key and wrong ones there", dict(strangers))
    assert strangers == {401: 3}
    admitted = await at_once(cluster, limited, 20)
    show("a limit of 20 meanwhile", dict(admitted))
    assert admitted[200] <= 2 * 20
    assert set(admitted) <= {200, 429}
    await until_status(cut_off, brief, 401)  # keys expire as always
    return {
        "answered_without_a_valid_key": strangers[200],
        "a_key_that_was_revoked_meanwhile_answered": still[200],
        "admitted_by_a_limit_of_20": admitted[200],
    }


async def check_partition(
    cluster: Cluster, machine: OtherMachine, cut: tuple[str, ...], figures: Figures
) -> None:
    connected, cut_off = cluster.urls
    clock = asyncio.get_running_loop().time
    key = await cluster.new_key("load", PLENTY)
    buyer = await cluster.new_key("buyer", budget_of(100_000))
    limited = await cluster.new_key("limited", KeyLimits(requests_per_minute=20))
    leaving = await cluster.new_key("leaving")
    chats = ChatLoad({url: await chat_users(cluster, 2, *cluster.urls) for url in cluster.urls})
    brief = await cluster.new_key("brief", expires=timestamp(time() + 3 + CUT_SECONDS / 2))
    async with load(
        connected_without_budget=plan(connected, key, STREAM, 6, 16),
        connected_with_budget=plan(connected, buyer, PAID, 2, 16),
        cut_off_without_budget=plan(cut_off, key, STREAM, 6, 16),
        cut_off_with_budget=plan(cut_off, buyer, PAID, 2, 16),
    ) as reports:
        chatting = asyncio.create_task(chats.run())
        await asyncio.sleep(3)
        for neighbour in cut:
            await machine.cut(neighbour)
        ends = clock() + CUT_SECONDS
        await asyncio.sleep(1)
        seen = await while_cut_off(cluster, limited, leaving, brief)
        assert "postgres" in cut or not seen["a_key_that_was_revoked_meanwhile_answered"]
        await asyncio.sleep(max(0.0, ends - clock()))
        for neighbour in cut:
            await machine.mend(neighbour)
        healed = clock()
        await until_status(cut_off, leaving, 401)
        await until_ready(cut_off)
        seconds = clock() - healed
        show("seconds until keys and readiness are right, healed", seconds)
        await asyncio.sleep(2)
        chats.stopping.set()
        async with asyncio.timeout(SECONDS):
            await chatting
    for name, report in reports.items():
        needs_store = "postgres" in cut and name == "cut_off_with_budget"
        assert set(report.outcomes) <= ({"200", "503"} if needs_store else {"200"}), name
    messages = await chats.check(cluster)
    spent = (await cluster.settled(buyer)).day.spent
    show("ledger and bill, in nano-USD", (spent, cluster.billing.nano_usd))
    assert spent == cluster.billing.nano_usd
    await until_exact(cluster)
    there = reports.pop("cut_off_with_budget").outcomes
    longest = max(sample.seconds for sample in reports["connected_with_budget"].samples)
    assert longest < CUT_SECONDS - 2, "the other gateway waited for the one that is cut off"
    write_down(
        figures,
        f"one of two gateways is cut off from {' and '.join(NAMES[one] for one in cut)} for eight seconds",
        **answered(*reports.values()),
        with_a_budget_at_the_gateway_that_is_cut_off_answered=there.get("200", 0),
        with_a_budget_there_refused_with_503=there.get("503", 0),
        seconds_of_the_longest_answer_with_a_budget_at_the_other=round(longest, 2),
        **messages,
        **seen,
        seconds_until_keys_are_right_after_it=round(seconds, 2),
    )
