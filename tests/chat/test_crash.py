"""After a kill, nothing that was acknowledged is lost, and incomplete answers are marked as interrupted.

Everything that the killed process has printed counts as acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import TypedDict

import pytest

from groundwire.chat.answers import state_of
from groundwire.chat.chat import Chat
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    assemble,
)
from groundwire.model.value import replace
from groundwire.testing.script import Dribble
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import answer_in, expire_leases, open_chat
from tests.figures import Figures
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[2]
TIMEOUT = 60
SENTENCES = [f"Sentence number {number} says something." for number in range(40)]
MAX_LOSS = 1.0
"""The last seconds of an answer that may be missing."""
MANY = 10
"""Number of kills from which most should hit an answer in progress."""


class TurnLine(TypedDict):
    """One printed update of a turn."""

    session: str
    question: str
    question_text: str
    answer: str
    text: str
    state: str
    over: bool
    stored: bool
    at: float


def slow_events() -> list[Event]:
    events: list[Event] = [Started("1", "m")]
    at = 0
    for part, sentence in enumerate(SENTENCES):
        source = Source(f"https://example.com/{part}", f"Page {part}")
        events += (
            TextDelta(part, sentence),
            Cited(Citation(Span(at, at + len(sentence)), (Evidence(source, sentence),))),
            TextSettled(part),
        )
        at += len(sentence)
    return [*events, Finished("stop")]


WHOLE = assemble(slow_events())


@asynccontextmanager
async def chat_process(
    folder: Path, store: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, list[TurnLine]]]:
    """Run a chat process and collect the lines that it prints; kill it when the block ends."""
    slow = replace(answer("anthropic_messages", slow_events()), dribble=Dribble(1500, 0.05))
    lines: list[TurnLine] = []
    async with Upstream(slow) as upstream:
        command = (sys.executable, "-m", "tests.chat.chat_process", str(folder), store, upstream.url)
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)

        async def read_lines() -> None:
            assert process.stdout is not None
            async for line in process.stdout:
                lines.append(json.loads(line))  # noqa: PERF401  the list is read while it grows

        reader = asyncio.create_task(read_lines())
        try:
            yield process, lines
        finally:
            process.kill()
            await process.wait()
            await reader


async def wait_for_more(lines: list[TurnLine], count: int) -> None:
    async with asyncio.timeout(TIMEOUT):
        while len(lines) <= count:
            await asyncio.sleep(0.01)


def links(answer: Answer) -> set[tuple[Span | None, str]]:
    return {(cited.span, item.source.url) for cited in answer.citations for item in cited.evidence}


async def check(chat: Chat, lines: list[TurnLine]) -> list[str]:
    """Check that everything acknowledged is stored; return the states of the answers."""
    last = {line["answer"]: line for line in lines}
    kept_sessions = {
        name: {turn.id: turn for turn in (await chat.open("", name)).turns}
        for name in {line["session"] for line in lines}
    }
    states: list[str] = []
    for name, line in last.items():
        turns = kept_sessions[line["session"]]
        assert turns[line["question"]].content.text == line["question_text"]
        stored = answer_in(turns[name])
        states.append(state_of(stored))
        if not line["stored"]:
            continue  # the client was warned
        assert WHOLE.text.startswith(stored.text)
        # A kill between the last word and the end leaves all of the text, which is not known to be all.
        assert stored.text == WHOLE.text or states[-1] != "done"
        assert states[-1] in ((line["state"],) if line["over"] else ("done", "interrupted"))
        early = [item for item in lines if item["answer"] == name and item["at"] <= line["at"] - MAX_LOSS]
        assert len(stored.text) >= max((len(item["text"]) for item in early), default=0)
        assert links(stored) <= links(WHOLE)
        assert len(stored.citations) >= stored.text.count(".") - 1
    return states


def is_intact(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        found: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
        connection.execute("INSERT INTO groundwire_found (groundwire_found) VALUES ('integrity-check')")
        return found == "ok"


async def kill_again_and_again(folder: Path, store: str, runs: int, rng: Random) -> list[str]:
    all_lines: list[TurnLine] = []
    states: list[str] = []
    for _ in range(runs):
        async with chat_process(folder, store) as (_, lines):
            await wait_for_more(lines, 0)
            await asyncio.sleep(rng.uniform(0, 3))
        async with open_chat(folder, {}, address=store) as chat:
            expire_leases(chat)
            states += await check(chat, lines)
        assert not store.startswith("sqlite") or is_intact(folder / "chat.db")
        all_lines += lines
    async with open_chat(folder, {}, address=store) as chat:
        assert sorted(await check(chat, all_lines)) == sorted(states)
    return states


def check_kills(states: list[str], runs: int) -> None:
    """Check that most of many kills hit an answer in progress; each of a few may be too late."""
    assert states
    assert set(states) <= {"done", "interrupted"}
    assert runs < MANY or states.count("interrupted") >= runs / 2


def write_down(figures: Figures, states: list[str], runs: int, store: str) -> None:
    """Record the figures of many kills. `check` has compared every answer with what was sent."""
    if runs >= MANY:
        figures.add("R22", "kills, after which every stored text was a prefix", runs, part=store)
        figures.add("R22", "answers that were marked as interrupted", states.count("interrupted"), part=store)


@pytest.mark.parametrize(
    ("runs", "seed"), [(2, 0), *(pytest.param(50, seed, marks=pytest.mark.thorough) for seed in range(1, 5))]
)
async def test_a_killed_chat_on_sqlite_loses_nothing_and_marks_interrupted_answers(
    runs: int, seed: int, tmp_path: Path, figures: Figures
) -> None:
    store = f"sqlite:///{tmp_path}/chat.db"
    states = await kill_again_and_again(tmp_path, store, runs, Random(seed))
    check_kills(states, runs)
    write_down(figures, states, runs, f"SQLite {seed}")


@pytest.mark.parametrize("runs", [1, pytest.param(40, marks=pytest.mark.thorough)])
async def test_a_killed_chat_on_postgres_loses_nothing_and_marks_interrupted_answers(
    runs: int, tmp_path: Path, postgres: str, figures: Figures
) -> None:
    states = await kill_again_and_again(tmp_path, postgres, runs, Random(23))
    check_kills(states, runs)
    write_down(figures, states, runs, "PostgreSQL")


@pytest.mark.parametrize("deaths", [1, pytest.param(10, marks=pytest.mark.thorough)])
async def test_a_killed_postgres_loses_nothing_and_the_chat_continues_after_its_restart(
    deaths: int, tmp_path: Path, postgres: str, postgres_server: PostgresServer, figures: Figures
) -> None:
    rng = Random(24)

    async def run() -> list[TurnLine]:
        async with chat_process(tmp_path, postgres) as (process, lines):
            for _ in range(deaths):
                await wait_for_more(lines, len(lines) + 40)
                await asyncio.sleep(rng.uniform(0, 1))
                postgres_server.die()  # in this thread: servers stop with the thread that started them
                await wait_for_more(lines, len(lines) + 40)
                known = {line["answer"] for line in lines}
                async with asyncio.timeout(TIMEOUT):
                    while not any(
                        line["over"] and line["stored"] and line["answer"] not in known for line in lines
                    ):
                        await asyncio.sleep(0.01)
                assert process.returncode is None
        async with open_chat(tmp_path, {}, address=postgres) as chat:
            expire_leases(chat)
            await check(chat, lines)
        return lines

    lines = await run()
    questions = len({line["question"] for line in lines})
    assert questions > 2 * deaths
    if deaths >= MANY:
        figures.add("R24", f"questions while PostgreSQL was killed {deaths} times, none lost", questions)
