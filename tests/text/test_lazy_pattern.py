"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from groundwire.text.lazy_pattern import lazy_pattern


def test_a_lazy_pattern_finds_what_the_compiled_one_finds() -> None:
    lazy, compiled = lazy_pattern(r"(\w)\d", re.IGNORECASE), re.compile(r"(\w)\d", re.IGNORECASE)
    text = "a1 b2 C3"
    assert lazy.findall(text) == compiled.findall(text)
    assert [found.span() for found in lazy.finditer(text)] == [
        found.span() for found in compiled.finditer(text)
    ]
    assert lazy.sub(r"\1", text) == compiled.sub(r"\1", text)
    assert lazy.split(text) == compiled.split(text)
    assert lazy.fullmatch(text) is None
    assert lazy.match(text, 3) is not None
    assert lazy_pattern(rb"\d").search(b"a1") is not None


def test_it_is_compiled_with_the_first_use() -> None:
    broken = lazy_pattern("(")
    assert broken.pattern == "("
    for _ in range(2):
        with pytest.raises(re.error):
            broken.search("")


def test_what_is_not_a_method_is_missing() -> None:
    with pytest.raises(AttributeError, match="groups"):
        _ = lazy_pattern("a").groups
