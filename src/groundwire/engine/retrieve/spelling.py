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
        word = match[0].casefold()
        if is_name or word in stop_words() or _is_known(word, words_with_prefix) or is_word(word):
            return match[0]
        return _most_similar(word, words_with_prefix) or match[0]

    return _WORD.sub(corrected, query)


def _is_known(word: str, words_with_prefix: WordsWithPrefix) -> bool:
    return any(known == word for known, _ in words_with_prefix(word))


def _most_similar(word: str, words_with_prefix: WordsWithPrefix) -> str:
    """The known word with the same initial and the fewest edits, of several the most frequent; or empty."""
    most = 2 if len(word) >= _SURE_LENGTH else 1
    similar = [
        (edit_distance(word, known, most), -passages, known)
        for known, passages in words_with_prefix(word[0])
        if passages >= _COMMON and abs(len(known) - len(word)) <= most and known.isalpha()
    ]
    distance, _, best = min(similar, default=(most + 1, 0, ""))
    return best if distance <= most else ""


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
