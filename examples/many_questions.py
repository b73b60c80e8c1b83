"""Ask several questions at the same time over one client."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire

QUESTIONS = ("How do I walk a directory tree?", "How do I read a JSON file?", "How do I copy a file?")


async def main() -> None:
    async with Groundwire() as groundwire:
        answers = await asyncio.gather(*(groundwire.asearch(text, provider="local") for text in QUESTIONS))
    for question, answer in zip(QUESTIONS, answers, strict=True):
        print(question, len(answer.citations), "citations")


if __name__ == "__main__":
    asyncio.run(main())
