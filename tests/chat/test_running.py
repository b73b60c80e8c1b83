"""Answers that go on without a reader, and readers that follow them: in the same process or in another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from groundwire.chat import running as running_answers
from groundwire.chat.answers import state_of
from groundwire.chat.chat import Chat
from groundwire.chat.questions import ChatQuestion
from groundwire.chat.turns import Turn
from groundwire.model import Answer
from groundwire.model.value import replace
from groundwire.store.base import StoredMessage
from groundwire.store.sql import SqlStore
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import answer_in, answered, open_chat
from tests.faces.gateway.serving import provider_at

pytestmark = pytest.mark.server

WHOLE = answer("openai_chat", answer_events("It was said. And more followed."))
STREAM = WHOLE.stream or b""
STALLED = replace(WHOLE, stall_at=STREAM.index(b"\n\n", STREAM.index(b"followed")) + 2)


@asynccontextmanager
async def two_processes(folder: Path) -> AsyncIterator[tuple[Upstream, Chat, Chat]]:
    """Two chats over one store, as two workers have them; the provider stalls before the end."""
    async with (
        Upstream(STALLED) as upstream,
        open_chat(folder, {"p": provider_at("openai_chat", upstream.url)}) as one,
        open_chat(folder, {"p": provider_at("openai_chat", upstream.url)}) as other,
    ):
        yield upstream, one, other
        for chat in (one, other):
            await chat.aclose()


async def states(chat: Chat, session: str, seen: list[Turn]) -> None:
    async with aclosing(chat.follow("", session)) as turns:
        async for turn in turns:
            seen.append(turn)  # noqa: PERF401  the test reads it meanwhile


async def has_text(seen: list[Turn], text: str) -> None:
    async with asyncio.timeout(20):
        while not seen or text not in answer_in(seen[-1].answer).text:
            await asyncio.sleep(0.01)


async def read_once(chat: Chat, running: running_answers.RunningAnswer) -> None:
    async with asyncio.timeout(20), aclosing(chat.states(running)) as turns:
        await anext(turns)


async def test_an_answer_is_followed_and_stopped_from_any_process(tmp_path: Path) -> None:
    async with two_processes(tmp_path) as (upstream, one, other):
        session = (await one.start(ChatQuestion("Was it said?", ""))).session
        near: list[Turn] = []
        far: list[Turn] = []
        readers = [
            asyncio.create_task(states(chat, session, seen)) for chat, seen in ((one, near), (other, far))
        ]
        await has_text(near, "It was said.")
        await has_text(far, "It was said.")
        assert not upstream.requests[0].disconnected
        await other.stop("", session)
        await asyncio.wait_for(asyncio.gather(*readers), 20)
        await upstream.disconnected()
        assert {state_of(answer_in(turn.answer)) for turn in (near[-1], far[-1])} == {"stopped"}
        assert "It was said." in answer_in(far[-1].answer).text
        # The session is free again, and the text so far is part of its history.
        upstream.script = Script((WHOLE,))
        turn = await answered(other, ChatQuestion("Go on.", "", session))
        assert state_of(answer_in(turn.answer)) == "done"
        assert b"It was said." in upstream.requests[-1].body


async def test_the_end_of_the_process_interrupts_its_answers(tmp_path: Path) -> None:
    async with two_processes(tmp_path) as (upstream, one, other):
        session = (await one.start(ChatQuestion("Was it said?", ""))).session
        seen: list[Turn] = []
        reader = asyncio.create_task(states(one, session, seen))
        await has_text(seen, "It was said.")
        await one.aclose()
        await asyncio.wait_for(reader, 20)
        stored = answer_in((await other.open("", session)).turns[-1])
        assert (state_of(stored), stored.text.startswith("It was said.")) == ("interrupted", True)
        await upstream.disconnected()


async def test_an_answer_that_is_stopped_while_it_is_being_stored_stays_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_processes(tmp_path) as (_, one, other):
        storing, go_on = threading.Event(), threading.Event()
        add_message = SqlStore.add_message

        def slow(store: SqlStore, message: StoredMessage) -> StoredMessage:
            content = message.content
            if isinstance(content, Answer) and content.text and state_of(content) == "running":
                storing.set()
                go_on.wait(20)
            return add_message(store, message)

        monkeypatch.setattr(SqlStore, "add_message", slow)
        running = await one.start(ChatQuestion("Was it said?", ""))
        assert await asyncio.to_thread(storing.wait, 20)
        await one.stop("", running.session)
        asyncio.get_running_loop().call_later(0.3, go_on.set)
        async with asyncio.timeout(20):
            while not running.over:
                await asyncio.sleep(0.01)
        assert await asyncio.to_thread(go_on.wait, 20)
        await one.aclose()
        stored = answer_in((await other.open("", running.session)).turns[-1])
        assert (state_of(stored), stored.text.startswith("It was said.")) == ("stopped", True)


async def test_answers_without_a_reader_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_answers, "MAX_UNATTENDED", 1)
    async with two_processes(tmp_path) as (upstream, one, _):
        found = []
        for number in (1, 2):
            running = await one.start(ChatQuestion(f"Number {number}?", ""))
            await upstream.received(number)
            await read_once(one, running)
            found.append(running)
        async with asyncio.timeout(20):
            while not found[1].over:
                await asyncio.sleep(0.01)
        assert not found[0].over
        monkeypatch.setattr(running_answers, "UNATTENDED_SECONDS", 0.0)
        await read_once(one, found[0])
        async with asyncio.timeout(20):
            while not found[0].over:
                await asyncio.sleep(0.01)
