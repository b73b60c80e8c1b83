"""Use a server of your own that speaks the OpenAI Chat API."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire, Source
from groundwire.config.schema import Config, ProviderSettings
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer


async def main() -> None:
    events = answer_events("The Nile is 6650 km long.", Source("https://river.example/nile"), query="nile")
    async with Upstream(answer("openai_chat", events)) as upstream:  # your server
        settings = ProviderSettings("openai_chat", f"{upstream.url}/v1", model="my-model", search="native")
        async with Groundwire(Config(providers={"mine": settings}), env={}) as groundwire:
            found = await groundwire.asearch("How long is the Nile?", model="mine/my-model")
    print(found.text, [source.url for source in found.sources])


if __name__ == "__main__":
    asyncio.run(main())
