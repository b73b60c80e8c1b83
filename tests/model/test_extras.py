"""Extras of several dialects are kept side by side."""

from __future__ import annotations

from groundwire.model import NO_EXTRAS, Extras
from groundwire.model.extras import merge_extras


def test_where_both_have_a_key_the_second_wins() -> None:
    merged = merge_extras({"a": {"x": 1, "y": 1}, "b": {}}, {"a": {"y": 2}, "c": {"z": 3}})
    assert merged == {"a": {"x": 1, "y": 2}, "b": {}, "c": {"z": 3}}
    assert list(merged) == ["a", "b", "c"]


def test_empty_extras_do_not_change_others() -> None:
    something: Extras = {"a": {"x": 1}}
    assert merge_extras(NO_EXTRAS, something) == something == merge_extras(something, NO_EXTRAS)


def test_merging_does_not_change_its_arguments() -> None:
    first: Extras = {"a": {"x": 1}}
    second: Extras = {"a": {"x": 2}}
    merge_extras(first, second)
    assert (first, second) == ({"a": {"x": 1}}, {"a": {"x": 2}})
