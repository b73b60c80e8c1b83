"""Give a search tool to an agent of your own: its definition, and what it returns."""

from __future__ import annotations

import asyncio

from groundwire import Groundwire
from groundwire.tools import run_tool


async def main() -> None:
    async with Groundwire() as groundwire:
        arguments = {"query": "How do I walk a directory tree?", "provider": "local"}
        result = await run_tool(groundwire, "websearch", arguments)
    print(result)


if __name__ == "__main__":
    asyncio.run(main())
