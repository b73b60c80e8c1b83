"""Interpretations of a question: pasted errors, corrections, translations."""

from __future__ import annotations

import pytest

from groundwire.engine.retrieve.interpret import (
    error_query,
    interpretations,
    spell_symbols,
    without_circumstances,
)
from groundwire.engine.retrieve.names import with_public_names
from groundwire.engine.retrieve.question import compared_things
from groundwire.engine.retrieve.translate import is_german, translate
from groundwire.engine.words import query_terms

WORDS = ("error", "file", "json", "decode", "nonetype", "object", "subscriptable", "attribute", "directory")
TRACEBACK = """Traceback (most recent call last):
  File "/home/mia/app.py", line 12, in <module>
    data = json.loads(text)
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"""


def words_with_prefix(prefix: str) -> list[tuple[str, int]]:
    return [(word, 9) for word in WORDS if word.startswith(prefix)]


def test_a_traceback_is_reduced_to_its_error() -> None:
    assert error_query(TRACEBACK, words_with_prefix) == "json.decoder.JSONDecodeError Expecting value:"
    assert error_query(" ".join(TRACEBACK.split()), words_with_prefix).startswith(
        "json.decoder.JSONDecodeError"
    )


@pytest.mark.parametrize(
    ("message", "query"),
    [
        (
            "TypeError: 'NoneType' object is not subscriptable",
            "TypeError NoneType object is not subscriptable",
        ),
        ("KeyError: 'username' how to avoid", "KeyError how to avoid"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/config.yaml'",
            "FileNotFoundError No such file or directory:",
        ),
        ("I get ValueError: invalid literal", "I get ValueError invalid literal"),
        ("re.error: unbalanced parenthesis at position 4", "re.error unbalanced parenthesis at"),
        ("binascii.Error: Incorrect padding", "binascii.Error Incorrect padding"),
    ],
)
def test_names_of_the_user_are_left_out(message: str, query: str) -> None:
    assert error_query(message, words_with_prefix) == query


@pytest.mark.parametrize(
    "query",
    ["how do I catch a KeyError", "what is an exception", "Error handling", "parts of a pathlib.Path"],
)
def test_a_question_about_errors_is_not_an_error(query: str) -> None:
    assert error_query(query, words_with_prefix) == ""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("json.decoder.JSONDecodeError", "json.JSONDecodeError"),
        ("what is _queue.Empty", "what is queue.Empty"),
        ("asyncio.exceptions.CancelledError in my task", "asyncio.CancelledError in my task"),
        ("concurrent.futures.process.BrokenProcessPool", "concurrent.futures.process.BrokenProcessPool"),
        ("os.path.join or posixpath.join", "os.path.join or posixpath.join"),
        ("acme.errors.Broken", "acme.errors.Broken"),
    ],
    ids=["module inside", "private module", "in a question", "documented", "functions", "unknown"],
)
def test_names_are_searched_as_they_are_documented(query: str, expected: str) -> None:
    assert with_public_names(query) == expected
    assert next(interpretations(query, words_with_prefix)).text == expected


@pytest.mark.parametrize(
    ("query", "searched"),
    [
        ("how do i make an http request without third party packages", "how do i make an http request"),
        ("parse yaml without installing any external libraries?", "parse yaml ?"),
        ("resize an image in pure python", "resize an image"),
        ("send mail with only the standard library", "send mail"),
        ("wie lese ich csv ohne externe Bibliotheken", "wie lese ich csv"),
        ("xml nur mit der standardbibliothek lesen", "xml  lesen"),
        ("open a file without overwriting it", "open a file without overwriting it"),
        ("import a package without its submodules", "import a package without its submodules"),
        ("what is in the standard library", "what is in the standard library"),
        ("without external libraries", "without external libraries"),
        (TRACEBACK, TRACEBACK),
    ],
)
def test_what_need_not_be_installed_is_not_searched(query: str, searched: str) -> None:
    assert without_circumstances(query) == searched


def test_a_german_question_is_translated_word_by_word() -> None:
    words = translate("Wie lese ich eine Datei?").split()
    assert {"read", "file"} <= set(words)


def test_a_german_comparison_is_one_in_english_too() -> None:
    found = interpretations(
        "Was ist der Unterschied zwischen einer Liste und einem Tupel?", words_with_prefix
    )
    translated = next(item.text for item in found if item.kind == "translated")
    things = compared_things(translated)
    assert things is not None
    assert [set(query_terms(thing)) for thing in things] == [{"list"}, {"tupl"}]


def test_separable_verbs_and_compounds_are_translated() -> None:
    assert "catch" in translate("Wie fange ich das ab?").split()
    assert {"random", "number"} <= set(translate("Zufallszahl").split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Wie lese ich eine Datei?", True),
        ("Umgebungsvariable auslesen", True),
        ("how do I read a file", False),
    ],
)
def test_german_is_recognised(query: str, expected: bool) -> None:
    assert is_german(query) is expected


def test_the_question_as_typed_is_always_the_first_interpretation() -> None:
    found = list(interpretations("jsn fil decod", words_with_prefix))
    assert found[0] == ("jsn fil decod", "typed")
    assert [item.kind for item in interpretations("Wie lese ich eine Datei?", words_with_prefix)] == [
        "typed",
        "translated",
    ]
    assert next(interpretations(TRACEBACK, words_with_prefix)).kind == "error"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("what does := mean", "walrus"),
        ("lines with an `@` above a function", "decorator"),
        ("the ... thing?", "ellipsis"),
        ("what does a // b do", "floor division"),
        ("difference between == and is", "equality"),
        ("*", "asterisk"),
        ("a ==", "equality"),
    ],
)
def test_symbols_of_code_get_the_words_that_people_use_for_them(query: str, words: str) -> None:
    spelt = spell_symbols(query)
    assert spelt.startswith(f"{query} ")
    assert words in spelt.removeprefix(query)


@pytest.mark.parametrize("query", ["mail to mia@works.example", "a/b or c.d", "3*4", "and so on..."])
def test_symbols_inside_other_words_are_left_alone(query: str) -> None:
    assert spell_symbols(query) == query


@pytest.mark.parametrize(
    "query",
    [
        "why if __name__ == '__main__'",
        "what does if __name__ == '__main__' do",
        "how do i run tool add / tool remove",
    ],
)
def test_symbols_that_are_only_used_are_left_alone(query: str) -> None:
    assert spell_symbols(query) == query
