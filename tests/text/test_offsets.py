"""Offsets against an independent definition: the length of the text before them, encoded."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import groundwire.text.offsets as offsets_module
from groundwire.text.offsets import Unit, from_points, to_points
from tests.model.strategies import PIECES, cases, texts

UNITS: tuple[Unit, ...] = ("point", "utf8", "utf16")
WIDTHS: dict[Unit, Callable[[str], int]] = {
    "point": len,
    "utf8": lambda text: len(text.encode()),
    "utf16": lambda text: len(text.encode("utf-16-le")) // 2,
}
CASES = 10_000


def awkward_texts(seed: int) -> Iterator[tuple[random.Random, str]]:
    chance = random.Random(seed)
    for _ in range(CASES):
        yield chance, "".join(chance.choices(PIECES, k=chance.randrange(12)))


def boundaries(text: str, unit: Unit) -> list[int]:
    """Where each code point begins in the unit, and where the text ends."""
    measure = WIDTHS[unit]
    return [measure(text[:index]) for index in range(len(text) + 1)]


@pytest.mark.parametrize("unit", UNITS)
def test_points_become_units_by_definition(unit: Unit) -> None:
    for chance, text in awkward_texts(1):
        wanted = [chance.randrange(len(text) + 1) for _ in range(3)]
        assert from_points(text, wanted, unit) == [WIDTHS[unit](text[:point]) for point in wanted]


@pytest.mark.parametrize("unit", UNITS)
def test_units_become_points_by_definition_and_snap_to_the_beginning_of_a_character(unit: Unit) -> None:
    for chance, text in awkward_texts(2):
        known = boundaries(text, unit)
        wanted = [chance.randrange(-2, known[-1] + 3) for _ in range(3)]
        expected = [
            max((point for point, begin in enumerate(known) if begin <= offset), default=0)
            for offset in wanted
        ]
        assert to_points(text, wanted, unit) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_converting_to_units_and_back_gives_the_same_point(unit: Unit) -> None:
    for chance, text in awkward_texts(3):
        wanted = [chance.randrange(len(text) + 1) for _ in range(4)]
        assert to_points(text, from_points(text, wanted, unit), unit) == wanted


@pytest.mark.parametrize("unit", UNITS)
def test_converting_to_points_and_back_never_exceeds_the_offset(unit: Unit) -> None:
    for chance, text in awkward_texts(4):
        size = WIDTHS[unit](text)
        offset = chance.randrange(size + 1)
        (there,) = from_points(text, to_points(text, [offset], unit), unit)
        assert offset - 4 < there <= offset


@cases(300)
@given(texts(30), st.lists(st.integers(-5, 200), max_size=8), st.sampled_from(UNITS))
def test_converting_many_offsets_equals_converting_each(text: str, offsets: list[int], unit: Unit) -> None:
    assert to_points(text, offsets, unit) == [to_points(text, [offset], unit)[0] for offset in offsets]
    assert from_points(text, offsets, unit) == [from_points(text, [offset], unit)[0] for offset in offsets]


@cases(300)
@given(texts(30), st.lists(st.integers(-5, 200), max_size=8), st.sampled_from(UNITS))
def test_order_is_preserved(text: str, offsets: list[int], unit: Unit) -> None:
    ascending = sorted(offsets)
    assert to_points(text, ascending, unit) == sorted(to_points(text, ascending, unit))
    assert from_points(text, ascending, unit) == sorted(from_points(text, ascending, unit))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("text", ["", "abc", "aé😀\u2028"])
def test_offsets_outside_the_text_are_clamped(text: str, unit: Unit) -> None:
    far = [-1, -(10**30), 10**30]
    assert to_points(text, far, unit) == [0, 0, len(text)]
    assert from_points(text, far, unit) == [0, 0, WIDTHS[unit](text)]


@pytest.mark.parametrize(
    ("unit", "offsets", "points"),
    [
        ("utf8", [0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 1, 2, 2, 2, 2, 3, 3]),
        ("utf16", [0, 1, 2, 3, 4, 5], [0, 1, 2, 2, 3, 3]),
    ],
)
def test_an_offset_inside_a_character_is_its_beginning(
    unit: Unit, offsets: list[int], points: list[int]
) -> None:
    assert to_points("aé😀", offsets, unit) == points


def test_no_offsets_give_no_offsets() -> None:
    assert to_points("é", [], "utf8") == from_points("é", [], "utf16") == []


def test_offsets_may_be_an_iterator() -> None:
    assert to_points("éa", iter([2, 3]), "utf8") == [1, 2]
    assert from_points("éa", iter([1, 2]), "utf8") == [2, 3]


@pytest.mark.parametrize("unit", UNITS)
def test_ten_thousand_offsets_in_a_megabyte_are_correct(unit: Unit) -> None:
    text = "aé你😀\u2028" * 200_000
    chance = random.Random(5)
    wanted = [chance.randrange(len(text) + 1) for _ in range(10_000)]
    each = {"point": (0, 1, 2, 3, 4), "utf8": (0, 1, 3, 6, 10), "utf16": (0, 1, 2, 3, 5)}[unit]
    period = {"point": 5, "utf8": 13, "utf16": 6}[unit]
    expected = [point // 5 * period + each[point % 5] for point in wanted]
    assert from_points(text, wanted, unit) == expected
    assert to_points(text, expected, unit) == wanted


@pytest.mark.parametrize("unit", ["utf8", "utf16"])
def test_each_segment_of_the_text_is_measured_once(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[tuple[int, int]] = []
    original = offsets_module._accumulate

    def counting(offsets: list[int], measure: Callable[[int, int], int]) -> list[int]:
        def counted(start: int, end: int) -> int:
            measured.append((start, end))
            return measure(start, end)

        return original(offsets, counted)

    monkeypatch.setattr(offsets_module, "_accumulate", counting)
    text = "é😀" * 1000
    to_points(text, [*range(0, 3000, 7)] * 2, unit)
    assert all(earlier[1] == later[0] for earlier, later in pairwise(measured))
    assert sum(end - start for start, end in measured) <= WIDTHS[unit](text)
