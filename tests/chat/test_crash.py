"""An answer whose process is killed is honest about it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from random import Random
from time import time

import pytest

from groundwire.chat.states import state_of
from groundwire.chat.turns import LEASE
from groundwire.model import Event, Finished, Started, TextDelta
from groundwire.model.value import replace
from groundwire.testing.script import Dribble
from groundwire.testing.upstream import Upstream, answer
from tests.chat.speaking import chatting, said

ROOT = Path(__file__).parents[2]
WORDS = [f"word{number} " for number in range(400)]


def slow_answer() -> list[Event]:
    return [Started("1", "m"), *(TextDelta(0, word) for word in WORDS), Finished("stop")]


async def killed(folder: Path, url: str, after: float) -> list[dict[str, str]]:
    """What a process was told before it was killed; the time counts from its first words on."""
    command = (sys.executable, "-m", "tests.chat.answering", str(folder), url)
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    lines: list[dict[str, str]] = []

    async def listen() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            lines.append(json.loads(line))  # noqa: PERF401  looked at while they come

    listening = asyncio.create_task(listen())
    async with asyncio.timeout(30):
        while not any(line["text"] for line in lines):
            await asyncio.sleep(0.02)
        await asyncio.sleep(after)
    process.kill()
    await process.wait()
    await listening
    return lines


@pytest.mark.parametrize("runs", [2, pytest.param(40, marks=pytest.mark.thorough)])
def test_a_killed_answer_is_interrupted_and_lost_little_of_itself(runs: int, tmp_path: Path) -> None:
    chance = Random(22)

    async def run(folder: Path) -> None:
        dribble = replace(answer("openai_chat", slow_answer()), dribble=Dribble(600, 0.05))
        async with Upstream(dribble) as upstream:
            lines = await killed(folder, upstream.url, chance.uniform(0.9, 2.5))
        async with chatting(folder, {}, clock=lambda: time() + LEASE + 1) as chat:
            kept = said((await chat.open("", lines[0]["session"])).turns[-1])
        told = lines[-1]["text"]
        assert state_of(kept) == "interrupted"
        assert told.startswith(kept.text) or kept.text.startswith(told)
        assert kept.text
        assert len(kept.text) >= len(told) * 0.2

    for number in range(runs):
        folder = tmp_path / str(number)
        folder.mkdir()
        asyncio.run(run(folder))
