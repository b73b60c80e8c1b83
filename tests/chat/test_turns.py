"""Turns: stored before the first event and while they grow, with the state in which they ended."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import aclosing
from pathlib import Path

import pytest

from groundwire.chat.answers import state_of
from groundwire.chat.questions import ChatQuestion, Controls, controls_of
from groundwire.config.schema import ProviderSettings
from groundwire.errors import GroundwireError, RequestError, TurnedAway
from groundwire.model import (
    Event,
    Finished,
    Message,
    Source,
    Started,
    TextDelta,
    ToolCallDelta,
)
from groundwire.model.value import replace
from groundwire.store.base import Agent, StoredMessage
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import SEARCHING, answer_in, answered, expire_leases, open_chat
from tests.faces.gateway.serving import provider_at

pytestmark = pytest.mark.server

PAGE = Source("https://docs.example/page", "A page", excerpts=("The page says so.",))


def body_of(upstream: Upstream, nth: int = 0) -> str:
    return upstream.requests[nth].body.decode()


@pytest.mark.parametrize("dialect", ["anthropic_messages", "openai_responses", "gemini", "openai_chat"])
async def test_an_answer_is_stored_and_read_back_unchanged(dialect: str, tmp_path: Path) -> None:
    async with (
        Upstream(answer(dialect, answer_events("It does.", PAGE, query="does it?"))) as upstream,
        open_chat(tmp_path, {"p": provider_at(dialect, upstream.url)}) as chat,
    ):
        turn = await answered(chat, ChatQuestion("Does it?", "", agent="finder"))
        assert answer_in(turn.answer).text.startswith("It does.")
        assert answer_in(turn.answer).grounded
        assert turn.answer.provider == "p"
        stored = await chat.open("", turn.session.id)
        assert [one.content for one in stored.turns] == [turn.question.content, turn.answer.content]
        assert stored.session.title == "Does it?"


async def test_a_question_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    async with (
        Upstream(ScriptedResponse(delay=30)) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
        aclosing(chat.ask(ChatQuestion("Is it there?", ""))) as turns,
    ):
        turn = await anext(turns)
        assert not upstream.requests
        question, empty = (await chat.open("", turn.session.id)).turns
        assert question.content == turn.question.content
        assert state_of(answer_in(empty)) == "running"


async def test_a_disconnect_cancels_the_provider_and_keeps_the_text_so_far(tmp_path: Path) -> None:
    whole = answer("openai_chat", answer_events("Words that were sent before it stalled.", PAGE))
    stream = whole.stream or b""
    at = stream.index(b"\n\n", stream.index(b"stalled")) + 2

    async with (
        Upstream(replace(whole, stall_at=at)) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
    ):
        seen = ""
        async with asyncio.timeout(10), aclosing(chat.ask(ChatQuestion("Go on?", ""))) as turns:
            async for turn in turns:
                seen = answer_in(turn.answer).text
                if seen:
                    break
        await upstream.disconnected()
        stored = answer_in((await chat.open("", turn.session.id)).turns[-1])
        assert state_of(stored) == "stopped"
        assert stored.text == seen


async def test_an_answer_whose_writer_died_becomes_interrupted(tmp_path: Path) -> None:
    whole = answer("openai_chat", answer_events("Half of it was sent.", PAGE))
    async with Upstream(whole) as upstream:
        providers = {"p": provider_at("openai_chat", upstream.url)}
        async with open_chat(tmp_path, providers) as chat:
            turns = chat.ask(ChatQuestion("Will it end?", ""))
            turn = await anext(turns)
            half = replace(
                turn.answer, content=replace(answer_in(turn.answer), parts=answer_in(turn.answer).parts)
            )
            assert state_of(answer_in((await chat.open("", turn.session.id)).turns[-1])) == "running"
            expire_leases(chat)
            ended = answer_in((await chat.open("", turn.session.id)).turns[-1])
            assert state_of(ended) == "interrupted"
            assert ended.parts == answer_in(half).parts
            await turns.aclose()


async def test_a_session_that_is_being_answered_refuses_a_second_question(tmp_path: Path) -> None:
    async with (
        Upstream(ScriptedResponse(delay=30)) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
        aclosing(chat.ask(ChatQuestion("First?", ""))) as turns,
    ):
        turn = await anext(turns)
        with pytest.raises(TurnedAway, match="being answered"):
            await answered(chat, ChatQuestion("Second?", "", session=turn.session.id))


async def test_an_error_of_the_provider_ends_the_turn(tmp_path: Path) -> None:
    async with (
        Upstream(ScriptedResponse(400, body=b'{"error": {"message": "no such thing"}}')) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
    ):
        turn = await answered(chat, ChatQuestion("Well?", ""))
        assert state_of(answer_in(turn.answer)) == "failed"
        stored = answer_in((await chat.open("", turn.session.id)).turns[-1])
        assert "no such thing" in (stored.error.message if stored.error else "")


def encrypted(response: ScriptedResponse) -> ScriptedResponse:
    """The same response with encrypted results that only the provider can read."""
    stream = re.sub(rb"gw1\.[\w.-]+", b"EqOnlyTheirs", response.stream or b"")
    return replace(response, stream=stream.replace(b"srvtoolu_gw_", b"srvtoolu_01"))


async def test_encrypted_results_are_sent_to_their_provider_and_readable_ones_to_others(
    tmp_path: Path,
) -> None:
    first_answer = encrypted(answer("anthropic_messages", answer_events("So it is.", PAGE, query="what?")))
    assert b"EqOnlyTheirs" in (first_answer.stream or b"")

    async with (
        Upstream(first_answer) as first,
        Upstream(answer("openai_chat", answer_events("Again."))) as second,
        open_chat(
            tmp_path,
            {
                "a": provider_at("anthropic_messages", first.url),
                "b": provider_at("openai_chat", second.url),
            },
            replace(SEARCHING, provider="a"),
        ) as chat,
    ):
        turn = await answered(chat, ChatQuestion("What?", ""))
        await answered(chat, ChatQuestion("Sure?", "", session=turn.session.id))
        assert "EqOnlyTheirs" in body_of(first, 1)
        await chat.save_agent(replace(SEARCHING, provider="b"), "")
        await answered(chat, ChatQuestion("And you?", "", session=turn.session.id))
        assert "EqOnlyTheirs" not in body_of(second)
        assert PAGE.url in body_of(second)


async def test_an_unrequested_tool_call_is_neither_executed_nor_sent_back(tmp_path: Path) -> None:
    events: list[Event] = [
        Started("1", "m"),
        TextDelta(0, "Let me run this."),
        ToolCallDelta(1, "call_1", "run_shell", '{"command": "rm"}'),
        Finished("tool_calls"),
    ]

    async with (
        Upstream(answer("openai_chat", events)) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
    ):
        turn = await answered(chat, ChatQuestion("Do it.", ""))
        assert len(upstream.requests) == 1
        await answered(chat, ChatQuestion("Well?", "", session=turn.session.id))
        assert "run_shell" not in body_of(upstream, 1)
        assert "Let me run this." in body_of(upstream, 1)


async def test_asking_again_replaces_all_later_turns(tmp_path: Path) -> None:
    script = [answer("openai_chat", answer_events(f"Answer {number}.")) for number in range(4)]
    async with (
        Upstream(Script(tuple(script))) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
    ):
        first = await answered(chat, ChatQuestion("One?", "", controls=Controls(city="Bonn")))
        await answered(chat, ChatQuestion("Two?", "", session=first.session.id))
        retried = await answered(
            chat, ChatQuestion("", "", session=first.session.id, replaces=first.question.id)
        )
        assert isinstance(retried.question.content, Message)
        assert controls_of(retried.question.content).city == "Bonn"
        edited = await answered(
            chat, ChatQuestion("Uno?", "", session=first.session.id, replaces=first.question.id)
        )
        texts = [one.content.text for one in (await chat.open("", first.session.id)).turns]
        assert texts == ["Uno?", answer_in(edited.answer).text]
        assert "One?" not in body_of(upstream, 3)


async def test_search_is_requested_only_if_the_agent_enables_it(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_responses", answer_events("Fine."))) as upstream,
        open_chat(tmp_path, {"openai": ProviderSettings(base_url=f"{upstream.url}/v1")}) as chat,
    ):
        await chat.save_agent(replace(SEARCHING, web_search=False), "")
        await answered(chat, ChatQuestion("Without?", ""))
        assert "web_search" not in body_of(upstream)
        await chat.save_agent(SEARCHING, "")
        controls = Controls(("docs.example",), country="de", city="Bonn")
        await answered(chat, ChatQuestion("With?", "", controls=controls))
        tool = json.loads(body_of(upstream, 1))["tools"][0]
        assert tool["filters"]["allowed_domains"] == ["docs.example"]
        assert tool["user_location"]["country"] == "DE"
        chosen = await answered(chat, ChatQuestion("Without, once?", "", controls=Controls(search="off")))
        assert "web_search" not in body_of(upstream, 2)
        again = ChatQuestion(
            "", "", chosen.session.id, controls=Controls(search="on"), replaces=chosen.question.id
        )
        await answered(chat, again)
        assert "web_search" in body_of(upstream, 3)


async def test_an_agent_without_search_is_not_routed_to_an_engine(tmp_path: Path) -> None:
    silent = Agent("silent", {"en": "Silent"})
    async with open_chat(tmp_path, {}, silent) as chat:
        turn = await answered(chat, ChatQuestion("Anything?", "", agent="silent"))
        error = answer_in(turn.answer).error
        assert error is not None
        assert "turn on web search" in error.message


async def test_sessions_of_other_owners_cannot_be_read_or_changed(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_chat", answer_events("Mine."))) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
    ):
        turn = await answered(chat, ChatQuestion("Whose?", owner="alice"))
        for attempt in (
            chat.open("bob", turn.session.id),
            chat.rename("bob", turn.session.id, "Bob's"),
            chat.remove("bob", turn.session.id),
            answered(chat, ChatQuestion("More?", owner="bob", session=turn.session.id)),
        ):
            with pytest.raises(TurnedAway, match="no such session"):
                await attempt
        assert await chat.find("bob", "Mine") == []
        assert await chat.sessions("bob") == []
        assert len(await chat.find("alice", "mine")) == 1
        assert (await chat.open("alice", turn.session.id)).session.title == "Whose?"
        assert [total.requests for total in await chat.usage("alice")] == [1]
        assert await chat.usage("bob") == []


async def test_a_store_failure_during_an_answer_does_not_interrupt_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            Upstream(answer("openai_chat", answer_events("Still sent."))) as upstream,
            open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
        ):
            add_message = chat._store.add_message
            stored: list[StoredMessage] = []

            def failing(message: StoredMessage) -> StoredMessage:
                if len(stored) == 2:
                    raise GroundwireError("the disk is full")
                stored.append(message)
                return add_message(message)

            chat._store.add_message = failing  # type: ignore[method-assign]
            turn = await answered(chat, ChatQuestion("Full?", ""))
            assert answer_in(turn.answer).text == "Still sent."
            assert answer_in(turn.answer).warnings[-1].code == "not_stored"

    await run()


async def test_an_empty_question_creates_no_session(tmp_path: Path) -> None:
    async with open_chat(tmp_path, {}) as chat:
        with pytest.raises(RequestError):
            await answered(chat, ChatQuestion("  ", ""))
        assert await chat.sessions("") == []
