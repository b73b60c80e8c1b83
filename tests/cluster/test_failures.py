"""What clients of a cluster see while a part of it fails: every test prints the outcomes, by status."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from glob import glob
from itertools import count
from pathlib import Path
from time import time
from urllib.parse import urlsplit

import aiohttp
import pytest

from groundwire.model.access import KeyLimits
from groundwire.model.value import replace
from groundwire.server.keys import timestamp
from groundwire.testing.fault_proxy import FaultProxy, Faults
from groundwire.testing.load import LoadPlan, LoadReport, send_load
from groundwire.testing.script import Dribble
from groundwire.testing.upstream import Upstream
from tests.cluster.cluster import (
    ANSWER,
    COST,
    PAID,
    QUESTION,
    SEARCH,
    SECONDS,
    SECRET,
    Browser,
    Cluster,
    GatewayPlace,
    at_once,
    budget_of,
    check_limit,
    post,
    quiet_port,
    running_cluster,
    until_ready,
    until_spent,
    until_status,
)
from tests.faces.web.test_pages import token_of
from tests.figures import Figures
from tests.server.processes import start_serve
from tests.servers.fixtures import postgres, postgres_server, redis, redis_server
from tests.servers.postgres import PostgresServer, ReplicatedPostgres
from tests.servers.process import free_port
from tests.servers.redis import RedisServer

__all__ = ["postgres", "postgres_server", "redis", "redis_server"]
pytestmark = [pytest.mark.server, pytest.mark.thorough]

PLENTY = KeyLimits(requests_per_minute=1_000_000, tokens_per_minute=1_000_000_000)
SLOW = replace(ANSWER, dribble=Dribble(len(ANSWER.stream or b"") // 10 + 1, 0.1))
"""An answer whose stream lasts a second."""
STREAM = {**QUESTION, "stream": True}
NOT_STORED = "The answer could not be stored."
"""What the page says about an answer that is complete and not acknowledged."""


FAULTS = {"hanging": "does not respond", "away": "is stopped and started"}


def show(what: str, seen: object) -> None:
    print(f"\n  {what}: {seen}", end="", flush=True)  # noqa: T201


def plan(url: str, key: str, body: Mapping[str, object], rate: float, seconds: float) -> LoadPlan:
    headers = {"authorization": f"Bearer {key}"}
    return LoadPlan(
        f"{url}/v1/chat/completions",
        json.dumps(body).encode(),
        headers,
        rate=rate,
        seconds=seconds,
        timeout=SECONDS,
    )


@asynccontextmanager
async def load(**plans: LoadPlan) -> AsyncIterator[dict[str, LoadReport]]:
    """Send loads during the block, and print what their clients saw; the reports are there after it."""
    reports: dict[str, LoadReport] = {}
    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(send_load(one)) for name, one in plans.items()}
        yield reports
    for name, task in tasks.items():
        reports[name] = task.result()
        show(name.replace("_", " "), {**reports[name].outcomes, **reports[name].percentiles("seconds")})


def write_down(figures: Figures, scenario: str, **counts: float) -> None:
    """Record what clients saw; `docs/reliability.md` has a table of it."""
    for what, number in counts.items():
        figures.add("failures", f"{scenario}: {what.replace('_', ' ')}", number)


def answered(*reports: LoadReport) -> dict[str, float]:
    """How many requests of some loads were answered, and how many were not."""
    samples = [sample for report in reports for sample in report.samples]
    count = sum(sample.is_ok for sample in samples)
    return {"requests": len(samples), "answered": count, "not_answered": len(samples) - count}


def failures(report: LoadReport) -> int:
    return sum(not sample.is_ok for sample in report.samples)


@dataclass
class ChatUser:
    """Asks one question after the other, and remembers what the page has acknowledged."""

    browser: Browser
    session: str = ""
    questions: list[tuple[str, str]] = field(default_factory=list)
    """Ids and texts of the questions that are stored, says the page."""
    answers: list[str] = field(default_factory=list)
    """Ids of the questions whose answers are complete, says the page."""
    outcomes: Counter[str] = field(default_factory=Counter)

    async def ask(self, url: str, text: str) -> str:
        """Ask; returns the last event, a status, or `broken`."""
        outcome = "broken"
        try:
            async with asyncio.timeout(SECONDS), self.browser.at(url) as page:
                headers = {"x-groundwire-token": await token_of(page)}
                body = {"text": text, **({"session": self.session} if self.session else {})}
                async with page.post("/chat/ask", json=body, headers=headers) as response:
                    outcome = str(response.status)
                    async for line in response.content:
                        if line.startswith(b"event: "):
                            outcome = line[7:].decode().strip()
                        elif line.startswith(b"data: "):
                            self._note(outcome, json.loads(line[6:]), text)
        except (aiohttp.ClientError, AssertionError, TimeoutError):
            outcome = "broken"
        self.outcomes[outcome] += 1
        return outcome

    def _note(self, event: str, data: Mapping[str, str], text: str) -> None:
        if event == "turn":
            self.session = data["session"]
            self.questions.append((data["question"], text))
        elif event == "done" and NOT_STORED not in data["html"]:
            self.answers.append(self.questions[-1][0])

    async def lost(self, url: str) -> list[str]:
        """What was acknowledged and is not there."""
        async with self.browser.at(url) as page, page.get(f"/chat/{self.session}/export.json") as response:
            stored = (await response.json())["messages"]
        texts = {message["id"]: json.dumps(message["content"]) for message in stored}
        after = {stored[at]["id"]: texts[stored[at + 1]["id"]] for at in range(len(stored) - 1)}
        lost = [text for id_, text in self.questions if text not in texts.get(id_, "")]
        return lost + [id_ for id_ in self.answers if "Yes." not in after.get(id_, "")]


async def chat_users(cluster: Cluster, count: int, url: str) -> list[ChatUser]:
    users = [ChatUser(Browser()) for _ in range(count)]
    for number, user in enumerate(users):
        await user.browser.login(url, await cluster.new_key(f"user {number}"))
    return users


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


async def until_shared(cluster: Cluster) -> None:
    """Wait until every gateway uses Redis."""
    async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as client:
        for url in cluster.urls:
            while True:
                async with client.get(f"{url}/readyz") as response:
                    if not (await response.json()).get("degraded"):
                        break
                await asyncio.sleep(0.05)


async def until_exact(cluster: Cluster) -> None:
    """Wait until a limit is exact over all gateways: a busy machine may lose Redis for a moment again."""
    async with asyncio.timeout(SECONDS):
        for attempt in count(1):
            await until_shared(cluster)
            key = await cluster.new_key(f"limited {attempt}", KeyLimits(requests_per_minute=20))
            seen = await at_once(cluster, key, 20)
            show("a limit of 20 afterwards", dict(seen))
            assert seen[200] <= 2 * 20
            if seen[200] == 20:
                return


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


async def test_a_gateway_that_is_cut_off_from_the_stores_goes_on_and_is_right_again_when_healed(
    tmp_path: Path, redis_server: RedisServer, figures: Figures
) -> None:
    """PostgreSQL and Redis do not respond to one of two gateways for eight seconds."""
    redis_server.command("FLUSHALL")
    port = free_port()
    server = PostgresServer(port=port)
    try:
        address = server.database()
        name = urlsplit(address).path.lstrip("/")
        async with (
            FaultProxy("127.0.0.1", port) as to_postgres,
            FaultProxy("127.0.0.1", redis_server.port) as to_redis,
            running_cluster(
                tmp_path,
                [
                    GatewayPlace(address, redis_server.url),
                    GatewayPlace(
                        f"postgresql://tests@127.0.0.1:{to_postgres.port}/{name}",
                        f"redis://127.0.0.1:{to_redis.port}/0",
                    ),
                ],
            ) as cluster,
        ):
            await check_partition(cluster, figures, to_postgres, to_redis)
    finally:
        server.close()


async def check_partition(cluster: Cluster, figures: Figures, *proxies: FaultProxy) -> None:
    connected, cut_off = cluster.urls
    key = await cluster.new_key("load", PLENTY)
    buyer = await cluster.new_key("buyer", budget_of(100_000))
    leaving = await cluster.new_key("leaving")
    limited = await cluster.new_key("limited", KeyLimits(requests_per_minute=20))
    async with load(
        connected_without_budget=plan(connected, key, STREAM, 6, 16),
        connected_with_budget=plan(connected, buyer, PAID, 2, 16),
        cut_off_without_budget=plan(cut_off, key, STREAM, 6, 16),
        cut_off_with_budget=plan(cut_off, buyer, PAID, 2, 16),
    ) as reports:
        await asyncio.sleep(3)
        for proxy in proxies:
            proxy.faults = Faults(partitioned=True)
        await asyncio.sleep(1)
        await asyncio.to_thread(cluster.keys.revoke, "leaving", time())
        await until_status(connected, leaving, 401)
        async with aiohttp.ClientSession() as client:
            still = (await post(client, cut_off, leaving, QUESTION))[0]
        show("a key that was revoked meanwhile, at the gateway that is cut off", still)
        meanwhile = await at_once(cluster, limited, 20)
        show("a limit of 20 meanwhile", dict(meanwhile))
        assert meanwhile[200] <= 2 * 20
        assert set(meanwhile) <= {200, 429}
        await asyncio.sleep(6)
        for proxy in proxies:
            proxy.faults = Faults()
        seconds = await until_status(cut_off, leaving, 401)
        show("seconds until the revocation is known, healed", seconds)
    for name, report in reports.items():
        allowed = {"200", "503"} if name == "cut_off_with_budget" else {"200"}
        assert set(report.outcomes) <= allowed, name
    await until_ready(cut_off)
    spent = (await cluster.settled(buyer)).day.spent
    show("ledger and bill, in nano-USD", (spent, cluster.billing.nano_usd))
    assert spent == cluster.billing.nano_usd
    await until_exact(cluster)
    cut = reports["cut_off_with_budget"].outcomes
    write_down(
        figures,
        "one of two gateways is cut off from PostgreSQL and Redis for eight seconds",
        **answered(*(report for name, report in reports.items() if name != "cut_off_with_budget")),
        with_a_budget_at_the_gateway_that_is_cut_off_answered=cut.get("200", 0),
        with_a_budget_there_refused_with_503=cut.get("503", 0),
        admitted_by_a_limit_of_20=meanwhile[200],
        seconds_until_a_revocation_is_known_after_it=round(seconds, 2),
    )


def faketime() -> str:
    """The library that shifts the clock of a program."""
    places = [os.environ.get("GROUNDWIRE_TEST_FAKETIME", ""), *glob("/usr/lib/*/faketime/libfaketime.so.1")]
    found = next((place for place in places if place and Path(place).exists()), "")
    if not found:
        pytest.fail("faketime is missing: apt-get install faketime")
    return found


async def test_clocks_that_differ_by_five_minutes_change_nothing_that_is_shared(
    tmp_path: Path, postgres: str, redis: str, figures: Figures
) -> None:
    shifted = {"LD_PRELOAD": faketime(), "FAKETIME": "+300s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    places = [GatewayPlace(postgres, redis), GatewayPlace(postgres, redis, shifted)]
    async with running_cluster(tmp_path, places) as cluster:
        right, ahead = cluster.urls
        async with aiohttp.ClientSession() as client:
            limited = await cluster.new_key("limited", KeyLimits(requests_per_minute=20))
            admitted = await at_once(cluster, limited, 20)
            check_limit(cluster, admitted, 20)
            buyer = await cluster.new_key("buyer", budget_of(6))
            statuses = await until_spent(client, cluster.urls, buyer)
            show("a budget for six answers", dict(statuses))
            assert statuses[200] == 6
            assert (await cluster.settled(buyer)).day.spent == cluster.billing.nano_usd == 6 * COST
        user = ChatUser(Browser())
        await user.browser.login(ahead, await cluster.new_key("user"))
        for number in range(4):
            assert await user.ask(cluster.urls[number % 2], f"question {number}?") == "done"
        page = await user.browser.read(right, user.session)
        order = [page.index(f"question {number}?") for number in range(4)]
        assert order == sorted(order)
        # Only the expiry of a key is a matter of the gateway's own clock.
        brief = await asyncio.to_thread(cluster.key, "brief", None, timestamp(time() + 120))
        await until_status(right, brief, 200)
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"{ahead}/v1/models", headers={"x-api-key": brief}) as response,
        ):
            show("a key with two minutes left, at the gateway that is ahead", response.status)
            assert response.status == 401
        write_down(
            figures,
            "clocks of two gateways five minutes apart",
            admitted_by_a_limit_of_20=admitted[200],
            answered_by_a_budget_for_six=statuses[200],
            chat_messages_out_of_order=0,
        )


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
