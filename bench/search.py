"""`groundwire search` compared with a minimal script: the same POST with aiohttp.

Both are whole processes that query a scripted provider on loopback. They take turns.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from groundwire.model import Source
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream

ROUNDS = 11
SCRIPT = """
import asyncio, json, os, aiohttp

async def main():
    body = {"contents": [{"role": "user", "parts": [{"text": "Wann?"}]}], "tools": [{"googleSearch": {}}]}
    url = os.environ["GROUNDWIRE_GEMINI_BASE_URL"] + "/v1beta/models/gemini-2.5-flash:generateContent"
    async with aiohttp.ClientSession() as session:
        async with session.post(url, json=body, headers={"x-goog-api-key": "key"}) as response:
            found = json.loads(await response.read())
    print(found["candidates"][0]["content"]["parts"][0]["text"])

asyncio.run(main())
"""


def time_command(command: list[str], environment: dict[str, str]) -> float:
    start = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return perf_counter() - start


async def main() -> None:
    events = answer_events(
        "Der Dom wurde 1880 vollendet.", Source("https://dom.example/", "Dom"), query="Dom"
    )
    program = str(Path(sysconfig.get_path("scripts")) / "groundwire")
    commands = {
        "a script with aiohttp": [sys.executable, "-c", SCRIPT],
        "groundwire search --json": [
            program,
            "search",
            "--provider",
            "gemini",
            "--no-stream",
            "--json",
            "Wann?",
        ],
    }
    with tempfile.TemporaryDirectory() as home:
        async with Upstream(answer("gemini", events)) as upstream:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": home,
                "GEMINI_API_KEY": "not-a-real-key",
                "GROUNDWIRE_GEMINI_BASE_URL": upstream.url,
            }
            times: dict[str, list[float]] = {name: [] for name in commands}
            for _ in range(ROUNDS):
                for name, command in commands.items():
                    times[name].append(await asyncio.to_thread(time_command, command, environment))
    base = median(times["a script with aiohttp"])
    print("| command | ms | ratio |\n|---|--:|--:|")
    for name, measured in times.items():
        print(f"| {name} | {median(measured) * 1000:.0f} | {median(measured) / base:.2f} |")


if __name__ == "__main__":
    asyncio.run(main())
