"""`groundwire history`: lists, searches and shows stored conversations of the local user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.chat.agents import CITED_SEARCH
from groundwire.chat.answers import stopped
from groundwire.model import Answer, Message, Text, assemble
from groundwire.store.base import Session, StoredMessage
from groundwire.store.sqlite import open_sqlite
from tests.faces.fakes import COLOGNE, LATE, Bench

OLD, NEW, THEIRS = "a1" * 16, "a2" * 16, "b3" * 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of two conversations of the local user, and one of another; no test changes it."""
    folder = tmp_path_factory.mktemp("history")
    with open_sqlite(folder / "groundwire.db") as store:
        for number, (name, owner, title) in enumerate(
            [(OLD, "", "how many?"), (NEW, "", "and \x1b[31mred?"), (THEIRS, "another key", "how secret?")], 1
        ):
            at = f"2027-01-0{number}T12:00:00+00:00"
            store.put_session(Session(name, CITED_SEARCH.id, owner, title, at, at))
            answer = assemble(LATE) if name == OLD else Answer(parts=(Text("Half"),), error=stopped())
            for content in (Message("user", (Text(title),)), answer):
                store.add_message(StoredMessage(f"{name}{content is answer}", name, content, created=at))
    return folder


def history(folder: Path, *words: str) -> tuple[int, str, str]:
    bench = Bench(env={"GROUNDWIRE_DATA_DIR": str(folder)})
    code = bench.run("history", *words)
    return code, bench.stdout, bench.stderr


def test_the_last_used_conversation_comes_first_and_those_of_others_are_missing(folder: Path) -> None:
    code, out, _ = history(folder)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [NEW[:8], OLD[:8]]
    assert "\x1b" not in out
    assert len(history(folder, "--limit", "1")[1].splitlines()) == 1


def test_words_are_searched_for_in_questions_and_answers(folder: Path) -> None:
    code, out, _ = history(folder, "rhein")
    assert code == 0
    assert out.startswith(OLD[:8])
    assert out.endswith("Es liegt am Rhein.\n")
    code, out, err = history(folder, "secret")
    assert (code, out) == (3, "")
    assert "no conversation contains 'secret'" in err


def test_the_list_as_json_has_full_ids_and_matches(folder: Path) -> None:
    [new, old] = json.loads(history(folder, "--json")[1])["conversations"]
    assert (new["id"], old["id"], old["title"]) == (NEW, OLD, "how many?")
    [found] = json.loads(history(folder, "rhein", "--json")[1])["conversations"]
    assert (found["id"], found["matches"][0]["role"], found["matches"][0]["number"]) == (OLD, "assistant", 2)


def test_one_conversation_is_shown_with_its_sources(folder: Path) -> None:
    code, out, _ = history(folder, "show", OLD[:3].upper())
    assert code == 0
    assert out.startswith("how many?\n\n> how many?\n\nKöln hat")
    assert f"[1] {COLOGNE.title} ({COLOGNE.url})" in out
    assert history(folder, "show", f"http://127.0.0.1:8484/chat/{OLD}")[1] == out


def test_an_interrupted_answer_says_so(folder: Path) -> None:
    _, out, _ = history(folder, "show", NEW)
    assert out.endswith("Half\n(stopped)\n")
    assert "\x1b" not in out


def test_a_conversation_as_markdown_and_json(folder: Path) -> None:
    _, out, _ = history(folder, "show", OLD, "--markdown")
    assert out.startswith("# how many?\n\n> how many?\n")
    assert f"<{COLOGNE.url}>" in out
    body = json.loads(history(folder, "show", OLD, "--json")[1])
    assert [message["number"] for message in body["messages"]] == [1, 2]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("show", "a"), 2, "2 conversations begin with 'a'"),
        (("show", THEIRS), 3, "there is no conversation"),
        (("show", "/"), 3, "there is no conversation"),
        (("show", OLD, "--json", "--markdown"), 2, "cannot be used together"),
        (("--markdown",), 2, "groundwire history show ID --markdown"),
    ],
)
def test_what_cannot_be_shown_is_an_error(
    folder: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = history(folder, *words)
    assert (found, out) == (code, "")
    assert message in err


def test_without_conversations_there_is_nothing(tmp_path: Path) -> None:
    code, out, err = history(tmp_path)
    assert (code, out) == (3, "")
    assert "there is no conversation yet" in err
    assert json.loads(history(tmp_path, "--json")[1]) == {"version": 1, "conversations": []}
