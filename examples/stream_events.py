"""Print an answer while it arrives: searches, text, citations."""

from __future__ import annotations

import asyncio

import groundwire
from groundwire.model import Cited, SearchCalled, TextDelta


async def main() -> None:
    async for event in groundwire.stream("How do I read a JSON file?", provider="local"):
        match event:
            case SearchCalled():
                print("search:", event)
            case TextDelta(text=text):
                print("text:", text)
            case Cited(citation=citation):
                print("cited:", [evidence.source.url for evidence in citation.evidence])


if __name__ == "__main__":
    asyncio.run(main())
