"""Nothing that a terminal obeys comes through."""

from __future__ import annotations

import json
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.sanitise import escape_invisible_json, one_line, sanitise

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
        sign in "\n\t"
        or (unicodedata.category(sign) not in ("Cc", "Cs") and sign not in "\u202a\u202b\u202c\u202d\u202e")
        for sign in text
    ) and not any("\u2066" <= sign <= "\u2069" for sign in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_control_characters_are_dropped_and_letters_stay(text: str) -> None:
    assert is_harmless(sanitise(text))
    assert [sign for sign in sanitise(text) if sign.isalnum()] == [sign for sign in text if sign.isalnum()]


def test_a_thousand_hostile_texts_come_out_harmless() -> None:
    chance = random.Random(6)
    letters = "".join(HOSTILE) + "ab [](){}\n\t;0123é京🏙️"
    for _ in range(1000):
        text = "".join(chance.choices(letters, k=chance.randint(1, 200)))
        assert is_harmless(sanitise(text))
        assert is_harmless(one_line(text))
        sanitise(text).encode("utf-8")


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


def test_marks_of_direction_that_ordinary_texts_need_stay() -> None:
    assert sanitise("שלום\u200f!") == "שלום\u200f!"


def test_a_title_never_takes_more_than_one_line() -> None:
    assert one_line(" a\n\n b\x1b\tc ") == "a b c"


@given(st.text())
def test_json_means_the_same_and_has_no_control_character(text: str) -> None:
    written = escape_invisible_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(written) == {"text": text}
    assert is_harmless(written)
