"""Spelling correction: words that the index does not know are replaced by similar words that it knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from groundwire.engine.words import stop_words

WordsWithPrefix: TypeAlias = Callable[[str], Sequence[tuple[str, int]]]
"""The words of an index that begin with a prefix, each with the number of passages that have it."""

_WORD = re.compile(r"(?<![\w.`(@/\\-])[^\W\d_]{4,}(?![\w.`(])")
"""A plain word: names in code, paths and numbers are not corrected."""
_SURE_LENGTH = 6
"""Words of at least this many letters may differ in two letters, shorter ones in one."""
_COMMON = 2
"""Passages that must have the replacement: a word of one passage may be a misspelling itself."""


def correct(query: str, words_with_prefix: WordsWithPrefix, is_word: Callable[[str], bool]) -> str:
    """The query with its unknown words replaced; equal to the query if there is nothing to correct.

    `is_word` says of a word that it is spelt correctly, although the index does not have it."""

    def corrected(match: re.Match[str]) -> str:
        # A capital inside a sentence begins a name.
        is_name = match[0] != match[0].lower() and match.start() > 0
        return match[0] if is_name or is_word(match[0].lower()) else _corrected(match[0], words_with_prefix)

    return _WORD.sub(corrected, query)


def _corrected(word: str, words_with_prefix: WordsWithPrefix) -> str:
    lower = word.casefold()
    if lower in stop_words():
        return word
    vocabulary = words_with_prefix(lower[0])
    if any(known == lower for known, _ in vocabulary):
        return word
    most = 2 if len(lower) >= _SURE_LENGTH else 1
    best: tuple[int, int, str] | None = None
    for known, passages in vocabulary:
        if passages < _COMMON or abs(len(known) - len(lower)) > most or not known.isalpha():
            continue
        distance = edit_distance(lower, known, most)
        if distance <= most and (best is None or (distance, -passages) < best[:2]):
            best = (distance, -passages, known)
    return best[2] if best else word


def edit_distance(one: str, other: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.

    Distances above `most` are returned as `most + 1`.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for line, letter in enumerate(one, 1):
        current = [line]
        for column, candidate in enumerate(other, 1):
            cost = min(row[column] + 1, current[-1] + 1, row[column - 1] + (letter != candidate))
            swapped = line > 1 and column > 1 and letter == other[column - 2] and one[line - 2] == candidate
            current.append(min(cost, before[column - 2] + 1) if swapped else cost)
        if min(current) > most:
            return most + 1
        before, row = row, current
    return min(row[-1], most + 1)
