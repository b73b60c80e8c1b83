"""Ask a follow-up question: the first answer goes back with its citations."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire, Message, Request, SearchOptions
from groundwire.model import Text, assemble


async def main() -> None:
    messages: list[Message] = []
    async with Groundwire() as groundwire:
        for question in ("How do I read a JSON file?", "And how do I write one?"):
            messages.append(Message("user", (Text(question),)))
            request = Request(tuple(messages), search=SearchOptions())
            events = [event async for event in groundwire.stream(request, provider="local")]
            answer = assemble(events)
            messages.append(answer.message)
            print(f"> {question}\n{answer.text}\n")


if __name__ == "__main__":
    asyncio.run(main())
