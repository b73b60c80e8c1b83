"""Cost of traces and metrics: CPU of requests through a gateway with and without a collector.

Gateway, provider, client and collector share one process, so only the difference between two columns is the
cost of OpenTelemetry. It must not grow with the events of a stream.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

import aiohttp

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faces.gateway.serving import provider_at, running_server

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_service
from groundwire.config.schema import Config, GatewaySettings
from groundwire.model import Event, Finished, Started, TextDelta, Usage, UsageSeen
from groundwire.testing.upstream import ScriptedResponse, Upstream, answer

ROUNDS, REQUESTS = 9, 40
EVENTS = (1, 100, 1000)


def events(count: int) -> list[Event]:
    """An answer with so many deltas."""
    deltas: list[Event] = [TextDelta(0, "word ") for _ in range(count)]
    return [Started("r", "m"), *deltas, UsageSeen(Usage(10, count)), Finished("stop")]


@asynccontextmanager
async def gateway(provider: str, collector: str) -> AsyncIterator[str]:
    """A gateway; an empty collector turns traces and metrics off."""
    with TemporaryDirectory() as folder:
        config = Config(
            providers={"mine": provider_at("openai_chat", provider)},
            order=("mine",),
            data_dir=folder,
            gateway=GatewaySettings(otlp_endpoint=collector),
        )
        async with running_server(create_service(Groundwire(config, env={}), {})) as (url, _):
            yield url


async def ask(client: aiohttp.ClientSession, url: str) -> None:
    """Send one request, and read the stream to its end."""
    body = {"model": "auto", "stream": True, "messages": [{"role": "user", "content": "?"}]}
    async with client.post(f"{url}/v1/chat/completions", json=body) as response:
        response.raise_for_status()
        await response.read()


async def cost(client: aiohttp.ClientSession, url: str) -> float:
    """CPU milliseconds of a request."""
    began = process_time()
    for _ in range(REQUESTS):
        await ask(client, url)
    return 1000 * (process_time() - began) / REQUESTS


async def main() -> None:
    """Print the table."""
    print("| events of a stream | CPU ms without | with | added |\n|--:|--:|--:|--:|")
    for count in EVENTS:
        async with (
            Upstream(answer("openai_chat", events(count))) as provider,
            Upstream(ScriptedResponse()) as collector,
            gateway(provider.url, "") as plain,
            gateway(provider.url, collector.url) as traced,
            aiohttp.ClientSession() as client,
        ):
            rounds = [(await cost(client, plain), await cost(client, traced)) for _ in range(ROUNDS)][1:]
            without, with_spans = median(pair[0] for pair in rounds), median(pair[1] for pair in rounds)
            added = median(pair[1] - pair[0] for pair in rounds)
            print(f"| {count:,} | {without:.2f} | {with_spans:.2f} | {added:.2f} |")


if __name__ == "__main__":
    asyncio.run(main())
