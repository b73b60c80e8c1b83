"""Parts of a question, and follow-up questions."""

from __future__ import annotations

import pytest

from groundwire.engine.retrieve.question import (
    asks_how,
    compared_things,
    complete_question,
    is_follow_up,
    split_question,
)

EARLIER = "How do I install the acme client on Linux?"


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How do I open a file and how do I close it?", ("How do I open a file", "how do I close it?")),
        ("What is a list? What is a tuple?", ("What is a list?", "What is a tuple?")),
        (
            "Wie viele Tage Urlaub gibt es und wie beantrage ich sie?",
            ("Wie viele Tage Urlaub gibt es", "wie beantrage ich sie?"),
        ),
    ],
)
def test_a_question_with_several_parts_is_split(question: str, parts: tuple[str, ...]) -> None:
    assert split_question(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What is the difference between a list and a tuple?",
        "How do I read and write files?",
        "ValueError? What",
        "supply and demand",
        "What? Why? How?",
        "What is a cat? It is an animal.",
    ],
)
def test_other_questions_stay_whole(question: str) -> None:
    assert split_question(question) == (question,)


@pytest.mark.parametrize(
    "question",
    [
        "and in Windows?",
        "What about macOS?",
        "how do I undo that?",
        "how do I remove it",
        "und unter Windows?",
        "Wie mache ich das rückgängig?",
        "do I need one?",
        "where do I get new ones",
        "Wo bekomme ich einen?",
    ],
)
def test_a_follow_up_question_gets_the_words_of_the_question_before(question: str) -> None:
    assert complete_question(question, EARLIER) == f"{question} install acme client Linux"


@pytest.mark.parametrize(
    "question",
    [
        "What is json.dumps?",
        "How do I sort a list?",
        "How do I remove one key?",
        "",
        "?",
        "Wie hoch ist der Eiffelturm?",
    ],
)
def test_a_question_with_a_topic_of_its_own_is_complete(question: str) -> None:
    assert not is_follow_up(question)
    assert complete_question(question, EARLIER) == question


@pytest.mark.parametrize(
    ("question", "earlier", "carried"),
    [
        ("and how do I write one?", "How do I read a json file?", "json file"),
        ("and write one?", "how do I read a json file", "json file"),
        ("what about deleting them?", "How can I create folders?", "folders"),
        ("Und wie schreibe ich eine?", "Wie lese ich eine CSV-Datei?", "CSV-Datei"),
        ("und schreibe eine?", "wie lese ich eine csv datei", "csv datei"),
        ("and in Windows?", "how do I read a json file", "read json file"),
    ],
)
def test_another_action_takes_the_place_of_the_one_before(question: str, earlier: str, carried: str) -> None:
    assert complete_question(question, earlier) == f"{question} {carried}"


@pytest.mark.parametrize(
    "question",
    [
        "How do I sort a list?",
        "sort a list by length",
        "please convert bytes to text",
        "Is there a way to read a csv file?",
        "Wie öffne ich eine Datei?",
        "Liste sortieren",
        "kann man eine Datei umbenennen",
    ],
)
def test_a_task_is_a_question_about_how_it_is_done(question: str) -> None:
    assert asks_how(question)


@pytest.mark.parametrize(
    "question", ["list comprehension", "What is a closure?", "sort", "Wie viele Tage Urlaub habe ich?", ""]
)
def test_other_questions_do_not_ask_how_something_is_done(question: str) -> None:
    assert not asks_how(question)


def test_words_that_the_question_has_already_are_not_repeated() -> None:
    assert (
        complete_question("and the client?", "Install the clients of acme") == "and the client? Install acme"
    )


def test_without_a_question_before_nothing_changes() -> None:
    assert complete_question("and in Windows?", " ") == "and in Windows?"


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("What is the difference between a list and a tuple?", ("list", "tuple")),
        ("difference between re.match and re.search in python", ("re.match", "re.search")),
        ("Unterschied zwischen Urlaub und Sonderurlaub", ("Urlaub", "Sonderurlaub")),
        ("threading vs. multiprocessing", ("threading", "multiprocessing")),
        ("os.path or pathlib?", ("os.path", "pathlib")),
        ("when should I use a dataclass instead of a namedtuple", ("dataclass", "namedtuple")),
        ("soll ich asyncio oder threads verwenden", ("asyncio", "threads")),
        ("compare the basic plan with the team plan", ("basic plan", "team plan")),
    ],
)
def test_the_things_that_a_question_compares(question: str, things: tuple[str, str]) -> None:
    assert compared_things(question) == things


@pytest.mark.parametrize(
    "question",
    ["", "is vs ==", "list or list", "how do I read or write a file", "who approves travel or training"],
)
def test_other_questions_compare_nothing(question: str) -> None:
    assert compared_things(question) is None
