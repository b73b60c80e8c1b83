"""German in English: word by word, with numbers, names and code as they are."""

from __future__ import annotations

import pytest

from groundwire.engine.data_files import data_lines
from groundwire.engine.retrieve import translate
from groundwire.engine.retrieve.translate import english_words, gloss, is_german_word


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Die Frist ist vier Wochen.", "the deadline period is four weeks."),
        ("Schlüssel: `door --open 7`", "key: `door --open 7`"),
        ("Kein Urlaub ohne Antrag", "no vacation leave without application request"),
        ("Zufallszahl", "random number"),
        ("die Zahl, die wir zahlen", "the number, the we numbers pay"),
    ],
)
def test_a_text_is_read_word_by_word_with_two_meanings_of_each(german: str, english: str) -> None:
    assert gloss(german) == english


def test_what_has_no_translation_is_kept() -> None:
    assert gloss("Hemmeroog 42 xyzzy") == "Hemmeroog 42 xyzzy"


@pytest.mark.parametrize(
    ("text", "language", "english"),
    [
        ("Die Frist, und noch eine Frist", "de", "deadline period"),
        ("Zufallszahlen im Urlaub", "de-AT", "random numbers vacation leave"),
        ("Der Urlaub ist kurz und die Frist auch.", "", "vacation leave short deadline period"),
        ("The deadline is short.", "", ""),
        ("die Frist", "en", ""),
    ],
)
def test_a_german_text_has_english_words_for_its_own(text: str, language: str, english: str) -> None:
    assert english_words(text, language) == english


def test_no_function_word_is_listed_twice() -> None:
    listed = [line.split()[0] for line in data_lines(translate.FOLDER, "function_words_de")]
    assert len(listed) == len(set(listed))
    assert all(len(line.split()) > 1 for line in data_lines(translate.FOLDER, "function_words_de"))


def test_every_listed_word_has_a_translation() -> None:
    lines = [line.split() for line in data_lines(translate.FOLDER, "translations_de")]
    assert [words[0] for words in lines if len(words) == 1] == []
    assert all(is_german_word(words[0]) for words in lines[:: len(lines) // 50])


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("wie fange ich eine Exception ab", "catch exception"),
        ("wie schalte ich die Heizung im Lager aus", "disable heating warehouse"),
        ("wie lösche ich ein Verzeichnis mit allen Dateien darin", "delete directory files"),
        ("wie viel Urlaub habe ich", "vacation"),
        ("darf man den Schlüssel behalten", "key keep"),
        ("xyzzy", ""),
    ],
)
def test_a_question_is_translated_by_its_content_words_and_separated_verbs(german: str, english: str) -> None:
    assert translate.translate(german, meanings=1) == english
