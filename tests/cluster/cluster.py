"""Gateways that share PostgreSQL and Redis behind nginx: one service of real processes."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import randrange
from socket import socket
from time import time

import aiohttp

from groundwire.commands.keys import announcer
from groundwire.model import Source
from groundwire.model.access import KeyLimits, KeyRights, KeyScope, Role
from groundwire.model.value import value
from groundwire.server.auth import fingerprint
from groundwire.server.keys import SECRET_VARIABLE
from groundwire.server.shared_access import StoredKeys
from groundwire.store.base import BudgetState, Store
from groundwire.store.open import open_store
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.fakes import Bench
from tests.faces.web.test_pages import stream_of, token_of
from tests.server.billing_upstream import NANO_INPUT, NANO_OUTPUT, BillingUpstream, billing_upstream
from tests.server.processes import NO_ENV, ServeProcess, command_env, start_serve
from tests.servers.process import free_port
from tests.system.test_deploy import nginx
from tests.transport.certificates import certificate

SECONDS = 30.0
"""Limit of every wait."""
SECRET = {SECRET_VARIABLE: "the same on all gateways"}
ANSWER = answer("openai_chat", answer_events("Yes.", Source("https://a.example/x", "A"), query="q"))
QUESTION = {"model": "mine/m", "messages": [{"role": "user", "content": "q?"}], "max_tokens": 100}
SEARCH = {**QUESTION, "web_search_options": {}}
BILLED = "tokens 10 5 1 finish"
"""A question to the upstream that keeps a bill, and what it costs in nano-USD."""
COST = 10 * NANO_INPUT + 5 * NANO_OUTPUT
PAID = {"model": "scripted/m", "messages": [{"role": "user", "content": BILLED}], "max_tokens": 100}


def quiet_port() -> int:
    """A free port that the system gives to nobody who asks for any: it stays free until a gateway listens,
    which takes seconds."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = randrange(10_000, lowest)
        with socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@value
class GatewayPlace:
    """Where a gateway finds what it shares, and what is special about it."""

    store: str
    redis: str
    env: Mapping[str, str] = NO_ENV
    arguments: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    wrapper: tuple[str, ...] = ()
    """The command that starts it elsewhere, such as in a network namespace."""
    reach: Callable[[str], Awaitable[str]] | None = None
    """Makes a URL of this machine one that it can reach."""


@dataclass
class Gateway:
    """A gateway that can be killed and started again at the same address."""

    folder: Path
    config: str
    place: GatewayPlace
    port: int
    running: ServeProcess | None = None
    before_ready: Counter[int] = field(default_factory=Counter)
    """How it answered requests without a key while it started."""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def url(self) -> str:
        return f"http://{self.place.host}:{self.port}"

    @property
    def process(self) -> ServeProcess:
        assert self.running is not None
        return self.running

    async def start(self) -> None:
        """Start it, and send requests without a key until it answers."""
        self.folder.mkdir(exist_ok=True)
        address = ["--host", self.place.host, "--port", str(self.port)]
        arguments = [*address, "--drain", "1", *self.place.arguments]
        env = {**SECRET, **self.place.env}
        self.running = await self._stack.enter_async_context(
            start_serve(self.folder, arguments, config=self.config, env=env, wrapper=self.place.wrapper)
        )
        knocking = asyncio.create_task(self._knock())
        try:
            await self.running.serving()
            async with asyncio.timeout(SECONDS):
                while not self.before_ready:
                    await asyncio.sleep(0.01)
        finally:
            knocking.cancel()
            await asyncio.wait({knocking})

    async def kill(self) -> None:
        """kill -9."""
        self.process.process.kill()
        await self.process.ended()

    async def close(self) -> None:
        await self._stack.aclose()

    async def _knock(self) -> None:
        async with aiohttp.ClientSession() as client:
            while True:
                try:
                    async with client.get(f"{self.url}/v1/models") as response:
                        self.before_ready[response.status] += 1
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.005)


@dataclass
class Cluster:
    """The running service."""

    folder: Path
    gateways: list[Gateway]
    upstream: Upstream
    billing: BillingUpstream
    store: Store
    keys: StoredKeys
    proxy: str = ""
    """The URL of nginx without TLS, for load."""
    secure_proxy: str = ""
    trust: ssl.SSLContext | None = None

    @property
    def urls(self) -> list[str]:
        return [gateway.url for gateway in self.gateways]

    def key(
        self, name: str, limits: KeyLimits | None = None, expires: str = "", role: Role = "member"
    ) -> str:
        """A new key. Blocks."""
        rights = KeyRights(role, expires=expires, scope=KeyScope(limits=limits or KeyLimits()))
        return self.keys.create(name, time(), rights)[0]

    async def new_key(
        self, name: str, limits: KeyLimits | None = None, expires: str = "", role: Role = "member"
    ) -> str:
        """A new key that all gateways know."""
        key = await asyncio.to_thread(self.key, name, limits, expires, role)
        for url in self.urls:
            await until_status(url, key, 200)
        return key

    async def command(self, *arguments: str) -> str:
        """What `groundwire ARGUMENTS` prints, with the configuration of the first gateway."""
        console = Bench(env={**command_env(self.gateways[0].folder), **SECRET})
        assert await asyncio.to_thread(console.run, *arguments) == 0, console.stderr
        return console.stdout

    async def settled(self, key: str) -> BudgetState:
        """The ledger of a key, when nothing is reserved."""
        async with asyncio.timeout(SECONDS):
            while (state := await asyncio.to_thread(self.store.budget, fingerprint(key))).day.reserved:
                await asyncio.sleep(0.02)
        return state


@asynccontextmanager
async def running_cluster(
    folder: Path,
    places: Sequence[GatewayPlace],
    upstream: Upstream | None = None,
) -> AsyncIterator[Cluster]:
    """Start everything; it ends with the block. The first place is also that of the command line."""
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(upstream or Upstream(ANSWER))
        billing = await stack.enter_async_context(billing_upstream())
        gateways = [
            Gateway(
                folder / f"gateway-{number}", await _config(place, upstream, billing), place, quiet_port()
            )
            for number, place in enumerate(places, 1)
        ]
        store = await asyncio.to_thread(open_store, places[0].store)
        stack.push_async_callback(asyncio.to_thread, store.close)
        keys = StoredKeys(store, announcer(places[0].redis))
        # Before the gateways start: from their first response on, they need a key.
        await asyncio.to_thread(keys.create, "first", time())
        for gateway in gateways:
            stack.push_async_callback(gateway.close)
        await asyncio.gather(*(gateway.start() for gateway in gateways))
        cluster = Cluster(folder, gateways, upstream, billing, store, keys)
        await stack.enter_async_context(_proxied(cluster))
        yield cluster


async def _config(place: GatewayPlace, upstream: Upstream, billing: BillingUpstream) -> str:
    mine, scripted = upstream.url, billing.url
    if place.reach is not None:
        mine, scripted = await place.reach(mine), await place.reach(scripted)
    return f"""
order = ["mine"]
store = "{place.store}"
redis = "{place.redis}"
[gateway]
cache_seconds = 60
trusted_proxies = ["127.0.0.1"]
[providers.mine]
dialect = "openai_chat"
base_url = "{mine}/v1"
model = "m"
[providers.scripted]
dialect = "gemini"
base_url = "{scripted}"
model = "m"
[prices.scripted]
input = 2
output = 8
search = 10
max_output_tokens = 1000
[prices.mine]
input = 0
output = 0
search = 0
"""


@asynccontextmanager
async def _proxied(cluster: Cluster) -> AsyncIterator[None]:
    """nginx with the file of deploy/, which also listens without TLS here."""
    first, second = (url.removeprefix("http://") for url in (cluster.urls[0], cluster.urls[-1]))
    _, cluster.trust = certificate(cluster.folder, "localhost")
    command, cluster.secure_proxy = nginx(cluster.folder, free_port(), first, second)
    plain = free_port()
    path = cluster.folder / "nginx.conf"
    path.write_text(re.sub(r"(listen \S+ ssl)", rf"listen 127.0.0.1:{plain};\n\1", path.read_text()))
    cluster.proxy = f"http://127.0.0.1:{plain}"
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(cluster.folder)},
    )
    try:
        async with asyncio.timeout(SECONDS):
            while not await _is_ready(cluster.proxy):
                assert process.returncode is None
                await asyncio.sleep(0.02)
        yield
    finally:
        process.terminate()
        await process.wait()


async def _is_ready(url: str) -> bool:
    try:
        async with aiohttp.ClientSession() as client, client.get(f"{url}/readyz") as response:
            return response.status == 200
    except aiohttp.ClientConnectionError:
        return False


async def until_ready(url: str) -> None:
    """Wait until a gateway reports that it is ready."""
    async with asyncio.timeout(SECONDS):
        while not await _is_ready(url):
            await asyncio.sleep(0.05)


async def until_status(url: str, key: str, wanted: int) -> float:
    """Wait until a gateway answers a key with a status; returns the seconds that it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as client:
        while True:
            async with client.get(f"{url}/v1/models", headers={"x-api-key": key}) as response:
                if response.status == wanted:
                    return loop.time() - began
            await asyncio.sleep(0.01)


async def post(
    client: aiohttp.ClientSession, url: str, key: str, body: Mapping[str, object]
) -> tuple[int, bytes]:
    """Send a chat completion; returns the status and the body."""
    headers = {"authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(SECONDS)
    async with client.post(
        f"{url}/v1/chat/completions", json=body, headers=headers, timeout=timeout
    ) as reply:
        return reply.status, await reply.read()


async def at_once(cluster: Cluster, key: str, each: int) -> Counter[int]:
    """Statuses of requests that are sent to all gateways at the same time, so many to each."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        calls = (post(client, url, key, QUESTION) for url in cluster.urls for _ in range(each))
        return Counter(status for status, _ in await asyncio.gather(*calls))


def check_limit(cluster: Cluster, statuses: Counter[int], limit: int) -> None:
    """A limit is exact. If a gateway of a busy machine has lost Redis, it may admit up to twice as much."""
    lines = [line for gateway in cluster.gateways for line in gateway.process.lines]
    has_lost = any("Redis at" in line and "cannot be used" in line for line in lines)
    assert set(statuses) == {200, 429}
    assert limit <= statuses[200] <= (2 * limit if has_lost else limit), lines


async def until_spent(client: aiohttp.ClientSession, urls: Sequence[str], key: str) -> Counter[int]:
    """Send requests that cost money over all gateways until the budget is spent; returns the statuses."""
    statuses: Counter[int] = Counter()

    async def spend(url: str) -> None:
        async with asyncio.timeout(SECONDS):
            while (status := (await post(client, url, key, PAID))[0]) != 402:
                statuses[status] += 1
                await asyncio.sleep(0.01)
            statuses[402] += 1

    await asyncio.gather(*(spend(url) for url in urls for _ in range(5)))
    return statuses


def budget_of(answers: int) -> KeyLimits:
    """A budget for exactly so many answers."""
    return KeyLimits(usd_per_day=Decimal(answers * COST) / 10**9)


class Browser:
    """A user of the chat page; the login is good for all gateways."""

    def __init__(self) -> None:
        self._cookies = aiohttp.CookieJar(unsafe=True)

    @asynccontextmanager
    async def at(self, url: str) -> AsyncIterator[aiohttp.ClientSession]:
        """Visit the page at a gateway."""
        async with aiohttp.ClientSession(
            url, cookie_jar=self._cookies, timeout=aiohttp.ClientTimeout(SECONDS)
        ) as session:
            yield session

    async def login(self, url: str, key: str) -> None:
        async with self.at(url) as page:
            form = {"key": key, "token": await token_of(page, "/login")}
            async with page.post("/login", data=form) as response:
                assert response.status == 200

    async def ask(self, url: str, text: str, session: str = "") -> list[tuple[str, dict[str, object]]]:
        """Ask a question; returns the events of the stream."""
        async with self.at(url) as page:
            more = {"session": session} if session else {}
            return await stream_of(page, await token_of(page), text=text, **more)

    async def read(self, url: str, session: str) -> str:
        """The page of a session."""
        async with self.at(url) as page, page.get(f"/chat/{session}") as response:
            assert response.status == 200
            return await response.text()
