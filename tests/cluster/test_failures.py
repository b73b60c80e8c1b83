"""What clients of a cluster see while a part of it fails: every test prints the outcomes, by status."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import aiohttp
import pytest

from groundwire.testing.upstream import Upstream
from tests.cluster.clients import (
    PLENTY,
    SLOW,
    STREAM,
    ChatUser,
    answered,
    chat_users,
    failures,
    load,
    plan,
    show,
    until_exact,
    write_down,
)
from tests.cluster.cluster import (
    PAID,
    QUESTION,
    SEARCH,
    SECONDS,
    SECRET,
    Cluster,
    GatewayPlace,
    budget_of,
    quiet_port,
    running_cluster,
    until_ready,
)
from tests.figures import Figures
from tests.server.processes import start_serve
from tests.servers.fixtures import postgres, postgres_server, redis, redis_server
from tests.servers.postgres import PostgresServer, ReplicatedPostgres
from tests.servers.redis import RedisServer

__all__ = ["postgres", "postgres_server", "redis", "redis_server"]
pytestmark = [pytest.mark.server, pytest.mark.thorough]

FAULTS = {"hanging": "does not respond", "away": "is stopped and started"}


async def test_a_gateway_that_is_killed_harms_only_the_requests_that_it_was_answering(
    tmp_path: Path, postgres: str, redis: str, figures: Figures
) -> None:
    """R20, R22. kill -9 of one of two gateways under load; it is started again later."""
    place = GatewayPlace(postgres, redis)
    async with running_cluster(tmp_path, [place, place], Upstream(SLOW)) as cluster:
        doomed, other = cluster.gateways
        key = await cluster.new_key("load", PLENTY)
        users = await chat_users(cluster, 4, doomed.url)
        stopping = asyncio.Event()

        async def chat(user: ChatUser) -> None:
            number = 0
            while not stopping.is_set():
                number += 1
                if await user.ask(doomed.url, f"question {number}?") == "broken":
                    return

        async with load(
            through_nginx=plan(cluster.proxy, key, STREAM, 12, 16),
            at_the_other_gateway=plan(other.url, key, STREAM, 4, 16),
        ) as reports:
            chats = [asyncio.create_task(chat(user)) for user in users]
            await asyncio.sleep(6)
            async with asyncio.timeout(SECONDS):
                while all(len(user.questions) == len(user.answers) for user in users):
                    await asyncio.sleep(0.01)
            in_flight = sum(
                not one.finished and one.disconnected is None for one in cluster.upstream.requests
            )
            await doomed.kill()
            await asyncio.wait(chats, timeout=SECONDS)
            await asyncio.sleep(2)
            await doomed.start()
        stopping.set()
        show("in flight when it was killed", in_flight)
        asked = sum(len(user.questions) for user in users)
        answered_chats = sum(len(user.answers) for user in users)
        lost = [text for user in users for text in await user.lost(other.url)]
        show("chat", f"{asked} questions and {answered_chats} answers acknowledged, {len(lost)} lost")
        assert not lost
        assert asked > answered_chats, "no answer was in progress"
        assert not failures(reports["at_the_other_gateway"])
        assert 0 < failures(reports["through_nginx"]) <= in_flight
        assert set(reports["through_nginx"].outcomes) <= {"200", "502", "incomplete"}
        # The sessions go on where they were, on the other gateway, when the leases are over.
        for user in users:
            async with asyncio.timeout(SECONDS):
                while await user.ask(other.url, "and now?") != "done":
                    await asyncio.sleep(0.5)
        show("chat afterwards", dict(sum((user.outcomes for user in users), Counter[str]())))
        assert set(doomed.before_ready) == {401}
        write_down(
            figures,
            "kill -9 of one of two gateways",
            **answered(*reports.values()),
            in_flight_when_it_was_killed=in_flight,
            chat_messages_acknowledged=asked + answered_chats,
            of_them_lost=len(lost),
        )


@pytest.mark.parametrize("fault", ["hanging", "away"])
async def test_clients_do_not_notice_a_redis_that_fails(
    tmp_path: Path, postgres: str, redis: str, redis_server: RedisServer, fault: str, figures: Figures
) -> None:
    place = GatewayPlace(postgres, redis)
    async with running_cluster(tmp_path, [place, place]) as cluster:
        key = await cluster.new_key("load", PLENTY)
        fail: Callable[[], AbstractContextManager[None]] = getattr(redis_server, fault)
        async with load(
            not_cached=plan(cluster.proxy, key, QUESTION, 15, 12),
            cached=plan(cluster.proxy, key, SEARCH, 5, 12),
            streams=plan(cluster.proxy, key, STREAM, 5, 12),
        ) as reports:
            for _ in range(2):
                await asyncio.sleep(2)
                with fail():
                    await asyncio.sleep(3)
        for report in reports.values():
            assert report.outcomes == {"200": len(report.samples)}
            assert not report.skipped
        await until_exact(cluster)
        write_down(figures, f"Redis {FAULTS[fault]}, twice", **answered(*reports.values()))


@pytest.mark.parametrize("fault", ["hanging", "away"])
async def test_a_postgresql_that_fails_stops_only_what_needs_it(
    tmp_path: Path, postgres: str, redis: str, postgres_server: PostgresServer, fault: str, figures: Figures
) -> None:
    """R24. Keys without a budget are answered; those with one, and the chat page, wait or get 503."""
    place = GatewayPlace(postgres, redis)
    async with running_cluster(tmp_path, [place, place]) as cluster:
        key = await cluster.new_key("load", PLENTY)
        buyer = await cluster.new_key("buyer", budget_of(100_000))
        users = await chat_users(cluster, 2, cluster.urls[0])
        fail: Callable[[], AbstractContextManager[None]] = getattr(postgres_server, fault)
        async with load(
            without_budget=plan(cluster.proxy, key, STREAM, 10, 14),
            with_budget=plan(cluster.proxy, buyer, PAID, 4, 14),
        ) as reports:
            await asyncio.sleep(3)
            for user in users:
                assert await user.ask(cluster.proxy, "before?") == "done"
            with fail():
                chats = [asyncio.create_task(user.ask(cluster.proxy, "meanwhile?")) for user in users]
                await asyncio.sleep(4)
            async with asyncio.timeout(SECONDS):
                await asyncio.wait(chats)
            for url in cluster.urls:
                await until_ready(url)
            for user in users:
                async with asyncio.timeout(SECONDS):
                    while await user.ask(cluster.proxy, "after?") != "done":
                        await asyncio.sleep(0.2)
        show("chat", dict(sum((user.outcomes for user in users), Counter[str]())))
        assert reports["without_budget"].outcomes == {"200": len(reports["without_budget"].samples)}
        assert set(reports["with_budget"].outcomes) <= {"200", "503"}
        assert not [text for user in users for text in await user.lost(cluster.urls[1])]
        spent = (await cluster.settled(buyer)).day.spent
        show("ledger and bill, in nano-USD", (spent, cluster.billing.nano_usd))
        assert spent == cluster.billing.nano_usd
        budgeted = reports["with_budget"]
        write_down(
            figures,
            f"PostgreSQL {FAULTS[fault]}",
            requests_without_a_budget_all_answered=len(reports["without_budget"].samples),
            with_a_budget_answered=budgeted.outcomes.get("200", 0),
            with_a_budget_refused_with_503=budgeted.outcomes.get("503", 0),
            chat_messages_lost=0,
        )


@pytest.mark.parametrize("fault", ["hanging", "away"])
async def test_a_gateway_that_starts_while_postgresql_fails_answers_nothing(
    tmp_path: Path, postgres: str, redis: str, postgres_server: PostgresServer, fault: str
) -> None:
    place = GatewayPlace(postgres, redis)
    async with running_cluster(tmp_path, [place]) as cluster:
        folder = tmp_path / "late"
        folder.mkdir()
        port = quiet_port()
        fail: Callable[[], AbstractContextManager[None]] = getattr(postgres_server, fault)
        seen: Counter[str] = Counter()
        with fail():
            async with (
                start_serve(
                    folder, ["--port", str(port)], config=cluster.gateways[0].config, env=SECRET
                ) as late,
                aiohttp.ClientSession() as client,
                asyncio.timeout(60),
            ):
                while late.process.returncode is None:
                    try:
                        async with client.get(f"http://127.0.0.1:{port}/v1/models") as response:
                            seen[str(response.status)] += 1
                    except aiohttp.ClientConnectionError:
                        seen["refused"] += 1
                    await asyncio.sleep(0.02)
                assert late.process.returncode != 0
                assert not [line for line in late.lines if "serving at" in line]
        show("a client of the late gateway", dict(seen))
        assert set(seen) == {"refused"}


def cpu_seconds(process: int) -> float:
    """What a process and those that it started have used; 0 when it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except FileNotFoundError:
        return 0.0
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(int(child)) for child in children)


def machine_seconds() -> float:
    """What all processes of the machine have used."""
    user, nice, system, _, _, interrupts, soft, *_ = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    )
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


async def test_the_throughput_of_two_workers_is_printed(
    tmp_path: Path, postgres: str, redis: str, figures: Figures
) -> None:
    """More than a worker can answer is sent. The CPU times show which part of the machine is the limit."""
    goodput = {}
    body = tmp_path / "body.json"
    body.write_text(json.dumps(QUESTION))
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        place = GatewayPlace(postgres, redis, arguments=("--workers", str(workers)))
        async with running_cluster(folder, [place]) as cluster:
            key = await cluster.new_key("load", PLENTY)
            gateway = cluster.gateways[0].process.process.pid
            seconds = 8
            before, own, machine = cpu_seconds(gateway), cpu_seconds(os.getpid()), machine_seconds()
            sender = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "groundwire.testing.load", f"{cluster.urls[0]}/v1/chat/completions"),
                *("--body", str(body), "--header", f"authorization:Bearer {key}"),
                *("--rate", "600", "--seconds", str(seconds), "--timeout", "10"),
                stdout=asyncio.subprocess.PIPE,
            )
            reading = asyncio.create_task(sender.communicate())
            sent = 0.0
            while not reading.done():
                sent = cpu_seconds(sender.pid) or sent
                await asyncio.wait({reading}, timeout=0.2)
            report = json.loads((await reading)[0])
            # The gateway is a child of this process, which is also the upstream; the sender has ended.
            used = {"gateway": cpu_seconds(gateway) - before, "sender": sent}
            used["upstream"] = cpu_seconds(os.getpid()) - own - used["gateway"]
            used["machine"] = machine_seconds() - machine
            goodput[workers] = report["outcomes"].get("200", 0) / seconds
            show(f"{workers} workers", {"per second": goodput[workers], **report["outcomes"]})
            show("CPU seconds", {name: round(spent, 1) for name, spent in used.items()})
            name = f"{workers} worker{'s' * (workers > 1)} with PostgreSQL and Redis"
            figures.add("workers", f"{name}: requests per second", goodput[workers])
            for part, spent in used.items():
                figures.add("workers", f"{name}: CPU of the {part}", round(spent, 1), "s")
    show("two workers to one", round(goodput[2] / goodput[1], 2))
    assert all(goodput.values())


async def test_a_standby_of_postgresql_takes_over(tmp_path: Path, redis: str, figures: Figures) -> None:
    """R24. The primary is killed under load, and its standby promoted three seconds later."""
    servers = await asyncio.to_thread(ReplicatedPostgres)
    try:
        place = GatewayPlace(servers.database(), redis)
        async with running_cluster(tmp_path, [place, place]) as cluster:
            await check_failover(cluster, servers, figures)
    finally:
        servers.close()


async def check_failover(cluster: Cluster, servers: ReplicatedPostgres, figures: Figures) -> None:
    key = await cluster.new_key("load", PLENTY)
    buyer = await cluster.new_key("buyer", budget_of(100_000))
    users = await chat_users(cluster, 3, cluster.urls[0])
    stopping = asyncio.Event()

    async def chat(user: ChatUser) -> None:
        while not stopping.is_set():
            await user.ask(cluster.proxy, f"question {sum(user.outcomes.values())}?")
            await asyncio.sleep(0.1)

    async with load(
        without_budget=plan(cluster.proxy, key, STREAM, 10, 16),
        with_budget=plan(cluster.proxy, buyer, PAID, 4, 16),
    ) as reports:
        chats = [asyncio.create_task(chat(user)) for user in users]
        await asyncio.sleep(4)
        servers.primary.kill()
        await asyncio.sleep(3)
        promoted = asyncio.get_running_loop().time()
        await asyncio.to_thread(servers.standby.execute, "SELECT pg_promote()")
        for url in cluster.urls:
            await until_ready(url)
        seconds = asyncio.get_running_loop().time() - promoted
        await asyncio.sleep(4)
        stopping.set()
        async with asyncio.timeout(SECONDS):
            await asyncio.wait(chats)
    for user in users:
        async with asyncio.timeout(SECONDS):
            while await user.ask(cluster.urls[1], "after?") != "done":
                await asyncio.sleep(0.2)
    lost = [text for user in users for text in await user.lost(cluster.urls[1])]
    acknowledged = sum(len(user.questions) + len(user.answers) for user in users)
    show("chat", dict(sum((user.outcomes for user in users), Counter[str]())))
    show("acknowledged and lost", (acknowledged, len(lost)))
    spent = (await cluster.settled(buyer)).day.spent
    show("ledger and bill, in nano-USD", (spent, cluster.billing.nano_usd))
    without, budgeted = reports["without_budget"], reports["with_budget"]
    for what, number, unit in (
        ("failover of PostgreSQL: messages acknowledged", acknowledged, ""),
        ("of them lost", len(lost), ""),
        ("from the promotion until both gateways are ready", seconds, "s"),
        ("requests without a budget, all answered", len(without.samples), ""),
        ("requests with a budget answered", budgeted.outcomes.get("200", 0), ""),
        ("requests with a budget refused (503)", budgeted.outcomes.get("503", 0), ""),
    ):
        figures.add("R24", what, number, unit)
    assert not lost
    assert without.outcomes == {"200": len(without.samples)}
    assert set(budgeted.outcomes) <= {"200", "503"}
    assert spent == cluster.billing.nano_usd
