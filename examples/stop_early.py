"""Stop an answer early: closing the stream cancels the request at the provider."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from groundwire import Groundwire, Source
from groundwire.config.schema import Config, ProviderSettings
from groundwire.model import TextDelta
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Dribble
from groundwire.testing.upstream import Upstream, answer


async def main() -> None:
    events = answer_events("The Nile is 6650 km long. " * 200, Source("https://river.example/nile"))
    slow = replace(answer("anthropic_messages", events), dribble=Dribble(512, 0.05))
    async with Upstream(slow) as upstream:
        config = Config(providers={"anthropic": ProviderSettings(base_url=upstream.url)})
        async with (
            Groundwire(config, env={"ANTHROPIC_API_KEY": "sk-test"}) as groundwire,
            aclosing(groundwire.stream("How long is the Nile?", provider="anthropic")) as stream,
        ):
            async for event in stream:
                if isinstance(event, TextDelta):
                    print("first text:", event.text[:25])
                    break
    print("sent completely:", upstream.requests[0].finished)


if __name__ == "__main__":
    asyncio.run(main())
