"""How exactly a budget and a rate limit of one key are enforced by groundwire and by LiteLLM's proxy.

    python bench/peers_budgets.py [--requests N] [--rounds N] [--processes N]

Both proxies run at the same time, with one scripted provider, and get the same requests. Several processes of
a proxy have their own addresses, get every other request, and share a Redis server.

    budget  requests at once, by a key whose budget pays for ten answers, then requests one by one until ten
            are refused in a row: counted are the answers that the provider was asked for
    limit   requests at once, by a key with a limit for a minute: counted are those that reach the provider

LiteLLM stores its keys in PostgreSQL by way of prisma, which downloads a program when it is first used. So
that no download is needed, LiteLLM gets its keys from the hook that it offers for keys of another source
(`custom_auth` with `custom_auth_run_common_checks`), and reserves and limits by its own code, in memory and
Redis. Without PostgreSQL it does not book what an answer has cost, so the rest of its budget is not shown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import NamedTuple

import aiohttp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from gateway.contenders import QUIET  # noqa: E402
from gateway.environments import LITELLM, environment  # noqa: E402
from gateway.processes import BenchmarkFailed, free_port, started  # noqa: E402
from tests.server.processes import start_serve  # noqa: E402
from tests.servers.redis import RedisServer  # noqa: E402

from groundwire.model import Source  # noqa: E402
from groundwire.model.access import KeyLimits, KeyRights, KeyScope  # noqa: E402
from groundwire.model.value import replace  # noqa: E402
from groundwire.server.keys import KeyFile  # noqa: E402
from groundwire.testing.answers import answer_events  # noqa: E402
from groundwire.testing.script import Script  # noqa: E402
from groundwire.testing.upstream import Upstream, answer  # noqa: E402

START_TIMEOUT = 120.0
PATIENCE = 60.0
"""Seconds within which a request is answered or refused."""
SLOW = replace(answer("openai_chat", answer_events("Yes.", Source("https://a.example/"))), delay=0.5)
"""Half a second, so that requests overlap. It reports 12 tokens of input and 34 of output."""
INPUT_PRICE, OUTPUT_PRICE = 10, 100
"""USD for a million tokens."""
MAX_TOKENS = 50
COST = Decimal(12 * INPUT_PRICE + 34 * OUTPUT_PRICE) / 10**6
PAID_FOR = 10
BUDGET = PAID_FOR * COST
LIMIT = 50
MODEL = "model-1"
_CUSTOM_AUTH = """
from litellm.proxy._types import UserAPIKeyAuth, hash_token

LIMITS = {limits!r}

async def check(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, token=hash_token(api_key), user_role="internal_user",
                          **LIMITS[api_key.rpartition("-")[0]])
"""


class Proxy(NamedTuple):
    """A proxy, the name of the scripted model there, and a new pair of keys for each round."""

    name: str
    urls: Sequence[str]
    model: str
    buyers: Sequence[str]
    limited: Sequence[str]
    books_costs: bool = True
    """Does it replace what was reserved by what an answer has cost?"""


class Size(NamedTuple):
    """How often each request is sent, and by how many processes it is answered."""

    requests: int
    rounds: int
    processes: int


@asynccontextmanager
async def groundwire(upstream: str, size: Size, redis: RedisServer | None) -> AsyncIterator[Proxy]:
    """Run this gateway."""
    config = f"""
order = ["mine"]
{f'redis = "{redis.url}"' if redis is not None else ""}
[providers.mine]
dialect = "openai_chat"
base_url = "{upstream}/v1"
model = "{MODEL}"
[prices.mine]
input = {INPUT_PRICE}
output = {OUTPUT_PRICE}
search = 0
"""
    with TemporaryDirectory() as name:
        (Path(name) / "data").mkdir(mode=0o700)
        keys = KeyFile(str(Path(name) / "data"))

        def made(what: str, limits: KeyLimits) -> list[str]:
            rights = KeyRights(scope=KeyScope(limits=limits))
            return [keys.create(f"{what} {number}", time(), rights)[0] for number in range(size.rounds)]

        buyers = made("buyer", KeyLimits(usd_per_day=BUDGET))
        limited = made("limited", KeyLimits(requests_per_minute=LIMIT))
        async with AsyncExitStack() as stack:
            processes = [
                await stack.enter_async_context(start_serve(Path(name), ["--port", "0"], config=config))
                for _ in range(size.processes)
            ]
            for process in processes:
                await process.serving()
            urls = [process.url for process in processes]
            yield Proxy("groundwire", urls, f"mine/{MODEL}", buyers, limited)


@contextmanager
def litellm(upstream: str, size: Size, redis: RedisServer | None) -> Iterator[Proxy]:
    """Run LiteLLM's proxy in an environment of its own."""
    model = {
        "model_name": MODEL,
        "litellm_params": {"model": f"openai/{MODEL}", "api_base": f"{upstream}/v1", "api_key": "k"},
        "model_info": {
            "input_cost_per_token": INPUT_PRICE / 10**6,
            "output_cost_per_token": OUTPUT_PRICE / 10**6,
        },
    }
    settings = {
        "model_list": [model],
        "general_settings": {"custom_auth": "custom_keys.check", "custom_auth_run_common_checks": True},
        "litellm_settings": {
            "telemetry": False,
            "num_retries": 0,
            "enable_post_custom_auth_checks": True,
            **(_shared(redis) if redis is not None else {}),
        },
        "router_settings": {"disable_cooldowns": True, "num_retries": 0},
    }
    limits = {"sk-buyer": {"max_budget": float(BUDGET)}, "sk-limited": {"rpm_limit": LIMIT}}
    ports = [free_port() for _ in range(size.processes)]
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "config.yaml").write_text(json.dumps(settings))
        (folder / "custom_keys.py").write_text(_CUSTOM_AUTH.format(limits=limits))
        command = [str(environment("litellm", LITELLM) / "litellm"), "--config", str(folder / "config.yaml")]
        command += ["--host", "127.0.0.1", "--telemetry", "False"]
        plain = {"PATH": os.environ.get("PATH", ""), "HOME": name, "LANG": "C.UTF-8"}
        variables = {**plain, **QUIET, "LITELLM_MASTER_KEY": "sk-master"}
        for port in ports:
            place = [*command, "--port", str(port)]
            stack.enter_context(started(place, variables, folder / f"log {port}", port, START_TIMEOUT))
        buyers, limited = (
            [f"sk-{what}-{number}" for number in range(size.rounds)] for what in ("buyer", "limited")
        )
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        yield Proxy("LiteLLM", urls, MODEL, buyers, limited, books_costs=False)


def _shared(redis: RedisServer) -> Mapping[str, object]:
    """Redis for counters; no call type is answered from the cache."""
    place = {"type": "redis", "host": "127.0.0.1", "port": redis.port, "supported_call_types": []}
    return {"cache": True, "cache_params": place}


async def ask(client: aiohttp.ClientSession, proxy: Proxy, key: str, number: int = 0) -> int:
    """Send a request to one of the processes; returns the status."""
    body = {
        "model": proxy.model,
        "messages": [{"role": "user", "content": "Which river is the longest?"}],
        "max_tokens": MAX_TOKENS,
    }
    url = proxy.urls[number % len(proxy.urls)]
    async with client.post(
        f"{url}/v1/chat/completions", json=body, headers={"authorization": f"Bearer {key}"}
    ) as response:
        await response.read()
        return response.status


class BudgetUse(NamedTuple):
    """How many answers the provider was asked for."""

    at_once: int
    in_the_end: int | None
    """None if what is left cannot be spent."""


def asked(upstream: Upstream) -> int:
    """How many answers the provider was asked for."""
    return sum(request.method == "POST" for request in upstream.requests)


async def spend(proxy: Proxy, key: str, requests: int, upstream: Upstream) -> BudgetUse:
    """Spend a budget at once, then what is left one by one."""
    before = asked(upstream)
    async with _client() as client:
        seen = Counter(await asyncio.gather(*(ask(client, proxy, key, number) for number in range(requests))))
        at_once = asked(upstream) - before
        # What was reserved is settled within a moment.
        refusals = 0
        while proxy.books_costs and refusals < PAID_FOR and asked(upstream) - before < requests:
            refused = await ask(client, proxy, key) != 200
            refusals = refusals + 1 if refused else 0
            await asyncio.sleep(0.2 if refused else 0.0)
    _note(f"{proxy.name}: {requests} requests at once, by status {dict(seen)}")
    return BudgetUse(at_once, asked(upstream) - before if proxy.books_costs else None)


async def flood(proxy: Proxy, key: str, requests: int, upstream: Upstream) -> int:
    """How many of many requests at once pass a limit."""
    before = asked(upstream)
    async with _client() as client:
        seen = Counter(await asyncio.gather(*(ask(client, proxy, key, number) for number in range(requests))))
    _note(f"{proxy.name}: {requests} requests at once with a limit of {LIMIT}, by status {dict(seen)}")
    return asked(upstream) - before


def _client() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(PATIENCE)
    )


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def compare(size: Size) -> list[str]:
    """The rows of the table."""
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(Script((SLOW,))))
        servers = [RedisServer() if size.processes > 1 else None for _ in range(2)]
        for server in servers:
            if server is not None:
                stack.callback(server.close)
        proxies = (
            await stack.enter_async_context(groundwire(upstream.url, size, servers[0])),
            stack.enter_context(litellm(upstream.url, size, servers[1])),
        )
        uses: dict[str, list[BudgetUse]] = {proxy.name: [] for proxy in proxies}
        admitted: dict[str, list[int]] = {proxy.name: [] for proxy in proxies}
        for number in range(size.rounds):
            for proxy in proxies:
                uses[proxy.name].append(await spend(proxy, proxy.buyers[number], size.requests, upstream))
                admitted[proxy.name].append(
                    await flood(proxy, proxy.limited[number], size.requests, upstream)
                )
    rows = [
        (
            f"answers that were paid for, of {size.requests} requests at once with a budget for {PAID_FOR}",
            *(_range([use.at_once for use in found]) for found in uses.values()),
        ),
        (
            "answers in the end, when the rest of the budget is spent one by one",
            *(_range([use.in_the_end for use in found]) for found in uses.values()),
        ),
        (
            f"admitted by a limit of {LIMIT} a minute, of {size.requests} requests at once",
            *(_range(found) for found in admitted.values()),
        ),
    ]
    heads = ("", *(proxy.name for proxy in proxies))
    return ["| " + " | ".join(row) + " |" for row in (heads, ("---",) * len(heads), *rows)]


def _range(counts: Sequence[int | None]) -> str:
    known = [count for count in counts if count is not None]
    if not known:
        return "-"
    return str(known[0]) if len(set(known)) == 1 else f"{min(known)} to {max(known)}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=200, help="requests at once")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with new keys")
    parser.add_argument("--processes", type=int, default=1, help="processes of each proxy")
    arguments = parser.parse_args()
    size = Size(arguments.requests, arguments.rounds, arguments.processes)
    try:
        print("\n".join(asyncio.run(compare(size))))
    except BenchmarkFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
