"""One answer at a time in a session, across all processes that share the store."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from contextlib import aclosing
from pathlib import Path

import pytest

from groundwire.chat import storage
from groundwire.chat.answers import state_of
from groundwire.chat.chat import Chat
from groundwire.chat.questions import ChatQuestion
from groundwire.errors import TurnedAway
from groundwire.store.base import StoredMessage
from groundwire.store.open import open_store
from groundwire.testing.answers import answer_events
from groundwire.testing.script import ScriptedResponse
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import answer_in, answered, expire_leases, open_chat
from tests.faces.gateway.serving import provider_at

pytestmark = pytest.mark.server

# Asks one question in a session, and prints the outcome: `done`, or the status of the refusal.
CLIENT_PROCESS = """
import asyncio, sys
from pathlib import Path
from groundwire.chat.questions import ChatQuestion
from groundwire.chat.answers import state_of
from groundwire.errors import TurnedAway
from tests.chat.scripted_chat import answer_in, answered, open_chat
from tests.faces.gateway.serving import provider_at

async def run(folder, store, url, session):
    async with open_chat(Path(folder), {"p": provider_at("openai_chat", url)}, address=store) as chat:
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            turn = await answered(chat, ChatQuestion("And?", "", session))
            print(state_of(answer_in(turn.answer)))
        except TurnedAway as error:
            print(error.status_hint)

asyncio.run(run(*sys.argv[1:]))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of the store."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres"))
    return f"sqlite:///{tmp_path}/chat.db"


async def outcome(chat: Chat, session: str) -> str:
    try:
        turn = await answered(chat, ChatQuestion("And?", "", session))
    except TurnedAway as error:
        return str(error.status_hint)
    return state_of(answer_in(turn.answer))


async def test_of_six_concurrent_questions_one_is_answered_and_five_are_refused(
    tmp_path: Path, address: str
) -> None:
    slow = answer("openai_chat", answer_events("Said."))
    async with (
        Upstream(slow) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}, address=address) as chat,
    ):
        turn = await answered(chat, ChatQuestion("First?", ""))
        name = turn.session.id
        began: asyncio.Event = asyncio.Event()

        async def hold() -> None:
            """Keep the first question open until all others are refused."""
            async with aclosing(chat.ask(ChatQuestion("And?", "", name))) as turns:
                await anext(turns)
                began.set()
                await refused.wait()
                async for _ in turns:
                    pass

        refused = asyncio.Event()
        holding = asyncio.create_task(hold())
        await asyncio.wait_for(began.wait(), 20)
        found = await asyncio.gather(*(outcome(chat, name) for _ in range(5)))
        assert found == ["409"] * 5
        refused.set()
        await asyncio.wait_for(holding, 20)
        turns = (await chat.open("", name)).turns
        assert [turn.content.text for turn in turns] == ["First?", "Said.", "And?", "Said."]
        # The session is free again.
        assert await outcome(chat, name) == "done"


async def test_concurrent_questions_never_interleave(tmp_path: Path, address: str) -> None:
    async with (
        Upstream(answer("openai_chat", answer_events("Said."))) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}, address=address) as chat,
    ):
        name = (await answered(chat, ChatQuestion("First?", ""))).session.id
        found = Counter(await asyncio.gather(*(outcome(chat, name) for _ in range(6))))
        assert found["done"] >= 1
        assert found["done"] + found["409"] == 6
        turns = (await chat.open("", name)).turns
        kinds = [type(turn.content).__name__ for turn in turns]
        assert kinds == ["Message", "Answer"] * (found["done"] + 1)
        assert all(state_of(answer_in(turn)) == "done" for turn in turns[1::2])


async def test_processes_that_share_a_store_answer_one_at_a_time(tmp_path: Path, address: str) -> None:
    async with (
        Upstream(ScriptedResponse(delay=60)) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}, address=address) as chat,
        aclosing(chat.ask(ChatQuestion("First?", ""))) as turns,
    ):
        name = (await anext(turns)).session.id
        command = [sys.executable, "-c", CLIENT_PROCESS, str(tmp_path), address, upstream.url, name]
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(60):
            out, _ = await process.communicate(b"\n")
        assert out.split() == [b"ready", b"409"]


async def test_the_lease_is_renewed_while_the_client_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "RENEWAL", 0.02)

    async def run() -> None:
        async with (
            Upstream(ScriptedResponse(delay=60)) as upstream,
            open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
            aclosing(chat.ask(ChatQuestion("First?", ""))) as turns,
        ):
            name = (await anext(turns)).session.id
            renewals = 0
            renew = chat._store.renew_lease

            def counted(session: str, holder: str, seconds: float) -> bool:
                nonlocal renewals
                renewals += 1
                return renew(session, holder, seconds)

            chat._store.renew_lease = counted  # type: ignore[method-assign]
            async with asyncio.timeout(20):
                while renewals < 3:
                    await asyncio.sleep(0.01)
            assert await outcome(chat, name) == "409"

    await run()


async def test_an_answer_that_lost_its_lease_does_not_overwrite_newer_data(
    tmp_path: Path,
) -> None:
    async with (
        Upstream(answer("openai_chat", answer_events("Said."))) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
    ):
        async with aclosing(chat.ask(ChatQuestion("First?", ""))) as turns:
            turn = await anext(turns)
            name = turn.session.id
            expire_leases(chat)
            with open_store(f"sqlite:///{tmp_path}/chat.db") as other:
                assert other.take_lease(name, "another holder", 1000)
                late = [one async for one in turns][-1]
        # The client sees the whole answer, and that it was not stored.
        assert answer_in(late.answer).text == "Said."
        assert answer_in(late.answer).warnings[-1].code == "not_stored"
        assert answer_in((await chat.open("", name)).turns[-1]).text == ""


async def test_a_disconnect_while_the_question_is_stored_releases_the_session(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            Upstream(answer("openai_chat", answer_events("Said."))) as upstream,
            open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
        ):
            name = (await answered(chat, ChatQuestion("First?", ""))).session.id
            put, stored, go_on = chat._store.add_message, threading.Event(), threading.Event()

            def slow(message: StoredMessage) -> StoredMessage:
                stored.set()
                assert go_on.wait(20)
                return put(message)

            chat._store.add_message = slow  # type: ignore[method-assign]
            asking = asyncio.create_task(answered(chat, ChatQuestion("And?", "", name)))
            await asyncio.to_thread(stored.wait, 20)
            asking.cancel()
            await asyncio.wait([asking])
            go_on.set()
            async with asyncio.timeout(8):  # shorter than the lease
                while (await outcome(chat, name)) == "409":
                    await asyncio.sleep(0.01)
            states = [state_of(answer_in(turn)) for turn in (await chat.open("", name)).turns[1::2]]
            assert states == ["done", "stopped", "done"]

    await run()
