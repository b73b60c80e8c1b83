"""`groundwire chat`: questions and follow-up questions, stored like those of the chat page."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, closing, contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from groundwire.chat.agents import CITED_SEARCH, DEFAULT
from groundwire.chat.answers import state_of
from groundwire.errors import Unreachable
from groundwire.faces.cli.last_sources import load_sources
from groundwire.model import (
    Answer,
    Event,
    Finished,
    Message,
    Request,
    SearchOptions,
    Started,
    TextDelta,
    Warned,
    assemble,
)
from groundwire.store.base import Agent, Session, Store, StoredMessage
from groundwire.store.sqlite import open_sqlite
from groundwire.text.markdown import render_answer
from tests.commands.test_processes import BOUND, COMMAND, environment
from tests.faces.fakes import CITIES, COLOGNE, LATE, TEXT, Bench, FakeClient
from tests.faces.loopback import loopback
from tests.faces.screen import Screen

ANSWER = render_answer(assemble(LATE)) + "\n"


def chat(folder: Path, stdin: str, *flags: str, client: FakeClient | None = None) -> tuple[Bench, int]:
    bench = Bench(client or FakeClient(LATE), stdin=stdin, env={"GROUNDWIRE_DATA_DIR": str(folder)})
    return bench, bench.run("chat", *flags)


@contextmanager
def stored(folder: Path) -> Iterator[Store]:
    with closing(open_sqlite(folder / "groundwire.db")) as store:
        yield store


def sessions(folder: Path) -> list[tuple[Session, list[StoredMessage]]]:
    with stored(folder) as store:
        return [(session, store.messages(session.id)) for session in store.sessions("")]


def test_every_line_of_a_pipe_is_a_question_of_one_conversation(tmp_path: Path) -> None:
    bench, code = chat(tmp_path, "how many?\n\nand where?\n")
    assert code == 0
    assert bench.stdout == f"{ANSWER}\n{ANSWER}"
    assert bench.stderr == ""
    assert bench.client.closed
    [(session, messages)] = sessions(tmp_path)
    assert (session.owner, session.title, session.agent) == ("", "how many?", CITED_SEARCH.id)
    assert [message.content.text for message in messages] == ["how many?", TEXT, "and where?", TEXT]


def test_a_follow_up_question_is_sent_with_what_was_said_before(tmp_path: Path) -> None:
    bench, _ = chat(tmp_path, "how many?\nand where?\n")
    first, second = (request for request, _, _ in bench.client.requests)
    assert [message.text for message in first.messages] == ["how many?"]
    assert [message.text for message in second.messages] == ["how many?", TEXT, "and where?"]
    assert second.search == SearchOptions()


def test_the_last_conversation_is_continued(tmp_path: Path) -> None:
    chat(tmp_path, "an old one\n")
    chat(tmp_path, "how many?\n")
    bench, code = chat(tmp_path, "/sources\nand where?\n", "-c")
    assert code == 0
    assert "Continuing: how many?" in bench.stderr
    assert bench.stdout.startswith(f"Sources\n[1] {COLOGNE.title}\n")
    assert bench.client.requests[0][0].messages[0].text == "how many?"
    assert {session.title: len(messages) for session, messages in sessions(tmp_path)} == {
        "how many?": 4,
        "an old one": 2,
    }


def test_continuing_without_a_conversation_begins_one(tmp_path: Path) -> None:
    bench, code = chat(tmp_path, "how many?\n", "--continue")
    assert code == 0
    assert "There is no conversation yet" in bench.stderr
    assert len(sessions(tmp_path)) == 1


def test_a_conversation_of_the_page_without_search_goes_on_with_search(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        store.put_agent(Agent("plain", {"en": "Plain"}))
        store.put_session(Session("s1", "plain", "", "on the page", "2027-01-01", "2027-01-01"))
        store.put_session(Session("s2", DEFAULT.id, "another key", "theirs", "2027-01-02", "2027-01-02"))
    bench, _ = chat(tmp_path, "how many?\n", "-c")
    assert bench.client.requests[0][0].search is not None
    [(session, _)] = sessions(tmp_path)
    assert (session.id, session.agent) == ("s1", CITED_SEARCH.id)


def test_a_conversation_that_is_being_answered_elsewhere_is_not_disturbed(tmp_path: Path) -> None:
    chat(tmp_path, "how many?\n")
    [(session, _)] = sessions(tmp_path)
    with stored(tmp_path) as store:
        assert store.take_lease(session.id, "the page", 60.0)
    bench, code = chat(tmp_path, "and where?\n", "-c")
    assert code == 1
    assert bench.stderr.endswith(
        "groundwire: this session is being answered; wait for the answer, or stop it\n"
    )
    assert bench.client.requests == []
    assert [len(messages) for _, messages in sessions(tmp_path)] == [2]


def test_a_new_conversation_does_not_know_the_one_before(tmp_path: Path) -> None:
    bench, _ = chat(tmp_path, "how many?\n/new\nand where?\n")
    assert [len(request.messages) for request, _, _ in bench.client.requests] == [1, 1]
    assert len(sessions(tmp_path)) == 2


def test_options_and_the_target_apply_to_every_question(tmp_path: Path) -> None:
    flags = ("--provider", "gemini", "--model", "m", "--allow", "a.com")
    bench, _ = chat(tmp_path, "one\ntwo\n", *flags)
    for request, provider, model in bench.client.requests:
        assert request.search == SearchOptions(allowed_domains=("a.com",))
        assert (provider, model) == ("gemini", "m")


def test_an_unknown_provider_is_refused(tmp_path: Path) -> None:
    bench, code = chat(tmp_path, "one\n", "--provider", "nobody")
    assert code == 2
    assert "unknown provider 'nobody'" in bench.stderr
    assert not (tmp_path / "groundwire.db").exists()


class KnowingClient(FakeClient):
    """Can use gemini and anthropic."""

    def usable(self) -> dict[str, bool]:
        return {"gemini": True, "anthropic": True}


def test_another_model_can_be_chosen_and_a_wrong_name_changes_nothing(tmp_path: Path) -> None:
    stdin = "one\n/model anthropic/claude-x\ntwo\n/model nobody/x\nthree\n/model\n"
    bench, code = chat(tmp_path, stdin, "--provider", "gemini", client=KnowingClient(LATE))
    assert [(provider, model) for _, provider, model in bench.client.requests] == [
        ("gemini", ""),
        ("auto", "anthropic/claude-x"),
        ("auto", "anthropic/claude-x"),
    ]
    assert code == 2
    assert "unknown model 'nobody/x'" in bench.stderr
    assert bench.stderr.endswith("Model: anthropic/claude-x\n")


def test_commands_are_listed_and_end_the_conversation(tmp_path: Path) -> None:
    bench, code = chat(tmp_path, "/help\n/quit\nnot asked\n")
    assert code == 0
    assert all(name in bench.stderr for name in ("/new", "/sources", "/open", "/model", "Ctrl-D"))
    assert bench.client.requests == []


@pytest.mark.parametrize(
    ("line", "asked"), [("/etc/hosts, what is it?", True), (" /usr is what?", True), ("/usr is what?", False)]
)
def test_a_question_may_begin_with_a_slash(tmp_path: Path, line: str, asked: bool) -> None:
    bench, code = chat(tmp_path, f"{line}\n")
    assert [request.query for request, _, _ in bench.client.requests] == ([line.strip()] if asked else [])
    assert code == (0 if asked else 2)


def test_sources_are_opened_and_kept_for_the_next_command(tmp_path: Path) -> None:
    bench = Bench(
        FakeClient(LATE), stdin="q\n/open 2\n/open 3\n/open x\n", env={"GROUNDWIRE_DATA_DIR": str(tmp_path)}
    )
    assert bench.run("chat") == 3
    assert bench.opened == [CITIES.url]
    assert "there is no source 3; the last answer has 2 sources" in bench.stderr
    assert [source.url for source in load_sources(str(tmp_path)) or ()] == [COLOGNE.url, CITIES.url]


def test_the_conversation_goes_on_after_an_error_and_ends_with_its_code(tmp_path: Path) -> None:
    bench, code = chat(tmp_path, "one\ntwo\n", client=FakeClient([Unreachable("no route")]))
    assert code == 5
    assert bench.stderr.count("no route") == 2
    assert len(bench.client.requests) == 2
    assert load_sources(str(tmp_path)) is None


def test_binary_input_is_refused(tmp_path: Path) -> None:
    bench, code = chat(tmp_path, "one\0\n")
    assert code == 2
    assert "not UTF-8 text" in bench.stderr


class InterruptedClient(FakeClient):
    """Sends half an answer, then Ctrl-C to this process."""

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = "auto",
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
    ) -> AsyncGenerator[Event, None]:
        assert isinstance(query, Request)
        self.requests.append((query, provider, model))
        yield Started()
        yield TextDelta(0, "Half an answer")
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
        yield Finished()


def test_an_interrupted_answer_is_stored_with_what_came(tmp_path: Path) -> None:
    bench, code = chat(tmp_path, "one\ntwo\n", client=InterruptedClient())
    assert code == 130
    assert bench.stdout == "Half an answer\n"
    assert "Interrupted. The received part is stored." in bench.stderr
    assert len(bench.client.requests) == 1
    [(_, [_, answer])] = sessions(tmp_path)
    assert isinstance(answer.content, Answer)
    assert (answer.content.text, state_of(answer.content)) == ("Half an answer", "stopped")


class StubbornClient(InterruptedClient):
    """Does not end when its answer is stopped, but gets another Ctrl-C."""

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = "auto",
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
    ) -> AsyncGenerator[Event, None]:
        try:
            async with aclosing(super().stream(query, provider=provider, model=model)) as events:
                async for event in events:
                    yield event
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()


def test_a_second_interruption_ends_the_command_and_the_answer_is_stored(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        chat(tmp_path, "one\ntwo\n", client=StubbornClient())
    [(_, [_, answer])] = sessions(tmp_path)
    assert isinstance(answer.content, Answer)
    assert state_of(answer.content) == "stopped"


class Dialogue:
    """A conversation in a pseudo terminal."""

    def __init__(self, *words: str, env: dict[str, str], home: Path) -> None:
        self.screen = Screen()
        self._terminal, theirs = pty.openpty()
        # `setsid --ctty`: keys such as Ctrl-C send signals only to the sessions that a terminal controls.
        self.process = subprocess.Popen(  # noqa: S603
            ["setsid", "--ctty", *COMMAND, *words],  # noqa: S607
            env=env,
            cwd=home,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def until(self, text: str) -> None:
        """Read until a text is on the screen."""
        self._until(lambda: text in self.screen.text)

    def until_prompt(self) -> None:
        """Read until the last line is an empty prompt: readline does not read keys typed earlier."""
        self._until(lambda: self.screen.text.endswith("\n>"))

    def _until(self, is_shown: Callable[[], bool]) -> None:
        ends = time.monotonic() + BOUND
        while not is_shown():
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, ends - time.monotonic()))
            assert ready, self.screen.text
            self.screen.feed(os.read(self._terminal, 65536).decode("utf-8", "replace"))

    def close(self) -> None:
        self.process.kill()
        self.process.wait(BOUND)
        os.close(self._terminal)


@pytest.mark.server
@pytest.mark.skipif(sys.platform != "linux", reason="setsid --ctty is of util-linux")
def test_on_a_terminal_an_answer_is_interrupted_and_the_conversation_goes_on(tmp_path: Path) -> None:
    with loopback() as provider:
        provider.events = (Started(), TextDelta(0, "Half an answer. "), TextDelta(0, "Rest."), Finished())
        provider.stall_after(1)
        env = environment(provider, tmp_path, TERM="xterm", NO_COLOR="1")
        with closing(Dialogue("chat", "--provider", "gemini", env=env, home=tmp_path)) as dialogue:
            dialogue.until_prompt()
            dialogue.type("many?\x01how \r")  # Ctrl-A moves to the beginning: the line is edited
            dialogue.until("Half an answer.")
            assert provider.stalled.wait(BOUND)
            dialogue.type("\x03")
            dialogue.until("Interrupted. The received part is stored.")
            assert provider.disconnected.wait(BOUND)
            provider.events, provider.pause = LATE, lambda _: None
            dialogue.until_prompt()
            dialogue.type("and where?\r")
            dialogue.until("[2] Großstädte")
            dialogue.until_prompt()
            dialogue.type("\x04")
            assert dialogue.process.wait(BOUND) == 0
        contents = provider.requests[-1]["body"]["contents"]
    assert [content["parts"][0]["text"].strip() for content in contents] == [
        "how many?",
        "Half an answer.",
        "and where?",
    ]
    [(_, messages)] = sessions(tmp_path / ".local" / "share" / "groundwire")
    assert [isinstance(message.content, Message) for message in messages] == [True, False, True, False]


def test_the_state_of_the_index_is_noted_once(tmp_path: Path) -> None:
    notice = "The index is being completed in the background; later answers may find more."
    client = FakeClient((*LATE[:1], Warned("index_building", notice), *LATE[1:]))
    bench, code = chat(tmp_path, "first\nsecond\n", client=client)
    assert code == 0
    assert bench.stderr.count(notice) == 1
