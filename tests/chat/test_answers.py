"""Excerpts of search hits in the chat history."""

from __future__ import annotations

import pytest

from groundwire.chat.answers import extract

LINE = "Der Dom in Köln ist eine Kirche. " * 9 + "Die Straße führt über den Rhein. " + "Und so weiter. " * 20


@pytest.mark.parametrize(
    ("query", "highlighted"),
    [
        ("uber rhei", ["über", "Rhein"]),
        ("STRASSE", ["Straße"]),
        ('"führt über"', ["führt", "über"]),
        ("strasse dom", ["Dom", "Dom", "Dom"]),
        ('"die strasse"', ["Die", "Straße"]),
        ('"eine kirche die"', ["eine", "Kirche", "Die"]),
    ],
)
def test_all_hits_near_the_first_are_highlighted(query: str, highlighted: list[str]) -> None:
    parts = extract(LINE, query)
    assert [text for text, hit in parts if hit] == highlighted
    assert "".join(text for text, _ in parts).strip("…") in LINE
    assert len("".join(text for text, _ in parts)) < 200


def test_a_hit_at_either_end_has_no_ellipsis() -> None:
    assert extract("Köln", "kol") == [("Köln", True)]
    assert extract("in Köln", "koln") == [("in ", False), ("Köln", True)]
    assert extract("Köln am Rhein", "koln") == [("Köln", True), (" am Rhein", False)]


def test_a_text_without_a_hit_is_shown_from_its_start() -> None:
    assert extract("Nothing here", "elsewhere") == [("Nothing here", False)]
    assert extract("", "x") == [("", False)]


def test_text_without_spaces_is_highlighted_as_a_whole() -> None:
    assert extract("これは日本語の本です", "日本語") == [("これは日本語の本です", True)]


def test_words_with_combining_characters_are_highlighted_whole() -> None:
    assert extract("in Ko\u0308ln!", "köln") == [("in ", False), ("Ko\u0308ln", True), ("!", False)]
