"""A phrase about the opposite of a question is recognised by its verb and by its direction."""

from __future__ import annotations

import pytest

from groundwire.engine.knowledge.opposites import opposite_keys, phrase_keys


def is_opposite(question: str, phrase: str) -> bool:
    return not opposite_keys(question).keys().isdisjoint(phrase_keys(phrase))


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ("how can I get the modification time of a file", "set the modification time of a file"),
        ("getting the time zone", "set the time zone"),
        ("decode base64", "encode bytes as base64"),
        ("unzip a file", "zip a file"),
        ("convert a string to a datetime", "datetime to string"),
        ("make a date from text", "date as text"),
        ("bytes to str", "bytes from a str"),
        ("wie öffne ich eine Verbindung", "Verbindung schließen"),
        ("Text in Datum umwandeln", "Datum als Text"),
        ("remove an empty folder", "folder that is not empty"),
        ("leeren Ordner anlegen", "Ordner nicht leer"),
    ],
)
def test_the_opposite_verb_or_direction_is_recognised(question: str, phrase: str) -> None:
    assert is_opposite(question, phrase)


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ("get the modification time", "modification time of a file"),
        ("get and set the time zone", "set the time zone"),
        ("encode bytes", "encode text"),
        ("string to datetime", "string to a date"),
        ("copy files from one folder to another", "copy a file to a folder"),
        ("open a file", "a door that does not close properly"),
        ("a folder that is not empty", "remove a folder that isn't empty"),
        ("", ""),
    ],
)
def test_other_phrases_are_no_opposites(question: str, phrase: str) -> None:
    assert not is_opposite(question, phrase)


def test_a_phrase_that_also_has_the_verb_of_the_question_is_excused() -> None:
    keys = opposite_keys("read a file")
    assert keys["write"] == {"read"}
