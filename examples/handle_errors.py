"""Handle errors: every one has a code, a message, and says whether a retry makes sense."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire, GroundwireError
from groundwire.config.schema import Config, ProviderSettings
from groundwire.errors import AuthRejected
from groundwire.testing.answers import error_body
from groundwire.testing.script import json_response
from groundwire.testing.upstream import Upstream


async def main() -> None:
    refused = error_body("anthropic_messages", AuthRejected("the key is not valid"))
    async with Upstream(json_response(refused.body, refused.status)) as upstream:
        config = Config(providers={"anthropic": ProviderSettings(base_url=upstream.url)})
        async with Groundwire(config, env={"ANTHROPIC_API_KEY": "sk-wrong"}) as groundwire:
            try:
                await groundwire.asearch("How long is the Nile?", provider="anthropic")
            except GroundwireError as error:
                print(error.code, "retry" if error.retryable else "do not retry")


if __name__ == "__main__":
    asyncio.run(main())
