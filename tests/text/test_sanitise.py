"""Sanitising of displayed text: invisible characters are removed, characters needed for writing stay."""

from __future__ import annotations

import json
import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.model import Json
from groundwire.text.sanitise import (
    escape_invisible_json,
    one_line,
    sanitise,
    sanitise_json,
    sanitise_with_offsets,
)
from tests.figures import Figures

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
IDEOGRAPH = "\u845b\U000e0100"
HEBREW = "\u05d0\u200f!"
HIDDEN = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all rules")

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@pytest.mark.parametrize(
    "text", [FLAG, FAMILY, PERSIAN, IDEOGRAPH, HEBREW, "\u2764\ufe0f", "a\tb\nc", "plain", "é😀"]
)
def test_characters_needed_for_writing_stay(text: str) -> None:
    assert sanitise(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a{HIDDEN}b", "ab"),
        (f"\U0001f3f4{HIDDEN}", "\U0001f3f4"),
        ("\U0001f3f4" + "\U000e0061" * 20 + "\U000e007f", "\U0001f3f4"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]8;;https://evil.test\x07x", "]8;;https://evil.test" + "x"),
        ("\x9b31m", "31m"),
        ("\u202egnp.exe\u202c", "gnp.exe"),
        ("\u2066a\u2069", "a"),
        ("a\u200bb\ufeffc\u2060d", "abcd"),
        ("x\ufe0f\ufe0e\ufe01", "x\ufe0f"),
        ("a\U000e0100", "a"),
        ("one\r\ntwo\u2028three\x85four", "one\ntwo\nthree\nfour"),
        ("back\rover", "backover"),
        ("\ud800", "\ufffd"),
    ],
)
def test_invisible_characters_are_removed(text: str, left: str) -> None:
    assert sanitise(text) == left


TRICKS = st.sampled_from(
    [HIDDEN[:3], FLAG, FAMILY, PERSIAN, "\u202e", "\x1b", "\ufe0f\ufe0f", "\r\n", "\u2028", "\ud800"]
)


@given(st.lists(st.one_of(st.text(max_size=4), TRICKS), max_size=8))
def test_offsets_are_mapped_to_the_sanitised_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    clean, map_offset = sanitise_with_offsets(text)
    assert clean == sanitise(text)
    assert sanitise(clean) == clean
    assert UNSEEN.search(clean) is None
    offsets = [map_offset(offset) for offset in range(len(text) + 1)]
    assert offsets == sorted(offsets)
    assert (offsets[0], offsets[-1]) == (0, len(clean))
    for offset, letter in enumerate(text):
        if letter.isalnum() and letter.isascii():
            assert clean[map_offset(offset)] == letter


@given(st.lists(st.one_of(st.text(max_size=4), TRICKS), max_size=8))
def test_escaped_json_means_the_same(pieces: list[str]) -> None:
    text = "".join(pieces).encode("utf-8", "replace").decode()
    escaped = escape_invisible_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(escaped) == {"text": text}
    assert UNSEEN.search(escaped) is None
    assert not any("\U000e0000" <= letter <= "\U000e0fff" for letter in escaped)


def test_every_text_of_a_value_is_made_visible() -> None:
    value: Json = {"a": ["x\u202e", {"b": "\x1by"}], "n": 1, "none": None}
    assert sanitise_json(value) == {"a": ["x", {"b": "y"}], "n": 1, "none": None}


HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://evil.example\x1b\\good.example\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJmIH4=\x07",
    "\x9b2J",
    "\x9d8;;x\x9c",
    "\a\b\v\f\r",
    "a\rb",
    "\u202egnp.exe",
    "\u2066\u202a\u202d\u2069",
    "\x00\x7f",
    "\x90q\x9c",
    "\ud800",
    "\x1bP+q\x1b\\",
    "\x1b[200~paste\x1b[201~",
)


def is_harmless(text: str) -> bool:
    return all(
        character in "\n\t"
        or (
            unicodedata.category(character) not in ("Cc", "Cs")
            and character not in "\u202a\u202b\u202c\u202d\u202e"
        )
        for character in text
    ) and not any("\u2066" <= character <= "\u2069" for character in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_control_characters_are_dropped_and_letters_stay(text: str) -> None:
    assert is_harmless(sanitise(text))
    assert [character for character in sanitise(text) if character.isalnum()] == [
        character for character in text if character.isalnum()
    ]


def test_a_thousand_hostile_texts_come_out_harmless(figures: Figures) -> None:
    chance = random.Random(6)
    letters = "".join(HOSTILE) + "ab [](){}\n\t;0123é京🏙️"
    for _ in range(1000):
        text = "".join(chance.choices(letters, k=chance.randint(1, 200)))
        assert is_harmless(sanitise(text))
        assert is_harmless(one_line(text))
        sanitise(text).encode("utf-8")
    figures.add("S6", "hostile texts, none with a control character", 1000)


@given(st.text(alphabet=st.characters()))
def test_any_text_comes_out_harmless_and_stays_as_it_is_the_second_time(text: str) -> None:
    once = sanitise(text)
    assert is_harmless(once)
    assert sanitise(once) == once


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs", "M"])))
def test_ordinary_text_is_not_changed(text: str) -> None:
    assert sanitise(text) == text


def test_line_breaks_of_any_kind_become_one_kind() -> None:
    assert sanitise("a\r\nb\u2028c\u2029d\x85e\tf\n") == "a\nb\nc\nd\ne\tf\n"


def test_direction_marks_of_ordinary_text_stay() -> None:
    assert sanitise("שלום\u200f!") == "שלום\u200f!"


def test_a_title_never_takes_more_than_one_line() -> None:
    assert one_line(" a\n\n b\x1b\tc ") == "a b c"


@given(st.text())
def test_json_means_the_same_and_has_no_control_character(text: str) -> None:
    written = escape_invisible_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(written) == {"text": text}
    assert is_harmless(written)
