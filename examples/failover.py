"""If the first provider is down, the next one answers."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire, Source
from groundwire.config.schema import Config, ProviderSettings
from groundwire.testing.answers import answer_events
from groundwire.testing.script import json_response
from groundwire.testing.upstream import Upstream, answer


async def main() -> None:
    events = answer_events("The Nile is 6650 km long.", Source("https://river.example/nile"), query="nile")
    async with (
        Upstream(json_response({"error": {"message": "down for maintenance"}}, status=501)) as broken,
        Upstream(answer("anthropic_messages", events)) as working,
    ):
        providers = {
            "first": ProviderSettings("anthropic_messages", broken.url, model="a", search="native"),
            "second": ProviderSettings("anthropic_messages", working.url, model="b", search="native"),
        }
        async with Groundwire(Config(providers=providers, order=("first", "second")), env={}) as groundwire:
            found = await groundwire.asearch("How long is the Nile?")
        print(found.text)
        print("requests:", len(broken.requests), "to the first,", len(working.requests), "to the second")


if __name__ == "__main__":
    asyncio.run(main())
