"""Ask two providers at once, and show where they agree and where they contradict each other."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire, Source
from groundwire.config.schema import Config, ProviderSettings
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer

ANSWERS = {"one": "The Nile is 6650 km long.", "two": "The Nile is 6853 km long."}


async def main() -> None:
    source = Source("https://river.example/nile")
    scripts = {
        name: answer("anthropic_messages", answer_events(text, source)) for name, text in ANSWERS.items()
    }
    async with Upstream(scripts["one"]) as one, Upstream(scripts["two"]) as two:
        providers = {
            name: ProviderSettings("anthropic_messages", upstream.url, model="m", search="native")
            for name, upstream in (("one", one), ("two", two))
        }
        async with Groundwire(Config(providers=providers), env={}) as groundwire:
            comparison = await groundwire.acompare("How long is the Nile?", ["one", "two"])
    for item in comparison.contributions:
        print(item.provider, item.outcome)
    for group in comparison.claims:
        print(group.agreement, [side.provider for side in group.sides])


if __name__ == "__main__":
    asyncio.run(main())
