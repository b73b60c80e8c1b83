"""Test code of yours without a provider: a scripted one answers on loopback."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire, Source
from groundwire.config.schema import Config, ProviderSettings
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer


async def main() -> None:
    events = answer_events("The Nile is 6650 km long.", Source("https://river.example/nile"), query="nile")
    async with Upstream(answer("anthropic_messages", events)) as upstream:
        config = Config(providers={"anthropic": ProviderSettings(base_url=upstream.url)})
        async with Groundwire(config, env={"ANTHROPIC_API_KEY": "sk-test"}) as groundwire:
            found = await groundwire.asearch("How long is the Nile?", provider="anthropic")
        print(found.text, [source.url for source in found.sources])
        print("the provider received:", upstream.requests[0].body.decode())


if __name__ == "__main__":
    asyncio.run(main())
