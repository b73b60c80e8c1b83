"""The numbers with which a model cites are read, however the text is cut; nothing else is touched."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.annotate import CitedNumbers, NumberReader
from tests.model.strategies import cases

TEXT = (
    "Snow ☃ fell in May[1]. It melted [2][3], then froze [1, 2].\n```\na = b[1]\n```\n"
    "Use `x[1]` and [1](http://a.b) or [77] and x = [1].\n[1] Title\n- item here [3]【2†L1-L4】 so [1][9]."
)


def read(pieces: Iterable[str]) -> list[str | CitedNumbers]:
    """What comes out, with neighbouring words joined."""
    reader = NumberReader(lambda number: number <= 3)
    out: list[str | CitedNumbers] = []
    for piece in (*(item for text in pieces for item in reader.feed(text)), *reader.close()):
        last = out[-1] if out else None
        if isinstance(piece, str) and isinstance(last, str):
            out[-1] = last + piece
        else:
            out.append(piece)
    return out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Snow [1].", ["Snow", CitedNumbers((1,)), "."]),
        ("Snow[1][3].", ["Snow", CitedNumbers((1, 3)), "."]),
        ("Snow [1-3]", ["Snow", CitedNumbers((1, 2, 3))]),
        ("Snow【2†source】", ["Snow", CitedNumbers((2,))]),
        ("Snow [1][9].", ["Snow", CitedNumbers((1,)), "[9]."]),
        ("Snow [9].", ["Snow [9]."]),
        ("In [2031] it fell.", ["In [2031] it fell."]),
        ("[1] A title", ["[1] A title"]),
        ("- [1] A title", ["- [1] A title"]),
        ("[label][1](https://a.example)", ["[label][1](https://a.example)"]),
        ("x = [1]", ["x = [1]"]),
        ("f([1])", ["f([1])"]),
        ("`a[1]` b", ["`a[1]` b"]),
        ("~~~\na[1]\n~~~\nb[1]", ["~~~\na[1]\n~~~\nb", CitedNumbers((1,))]),
        ("Snow [", ["Snow ["]),
    ],
)
def test_only_what_cites_is_taken_out(text: str, expected: list[str | CitedNumbers]) -> None:
    assert read([text]) == expected


@cases(100)
@given(st.lists(st.integers(0, len(TEXT)), max_size=40))
def test_it_does_not_matter_where_the_text_is_cut(cuts: list[int]) -> None:
    points = sorted({0, *cuts, len(TEXT)})
    assert read(TEXT[a:b] for a, b in pairwise(points)) == read([TEXT])


def test_places_of_the_text_as_it_came_are_found_in_the_text_as_it_went() -> None:
    reader = NumberReader(lambda number: number <= 3)
    pieces = [*reader.feed(TEXT), *reader.close()]
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    for word in ("Snow", "melted", "froze", "Title", "item", "so"):
        assert text[reader.map_offset(TEXT.index(word)) :].startswith(word)


def test_a_long_text_of_nothing_but_marks_is_read_in_time() -> None:
    assert read(["a" + "[1]" * 20_000 + " " * 20_000 + "[" * 20_000])[0] == "a"
