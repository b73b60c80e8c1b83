"""Clauses of a sentence, found by its punctuation and conjunctions: what stands together belongs together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundwire.verify.tokens import Token

_BREAK = re.compile(r"[,;()]|:\s|\s[-–—]\s|\t")
_CONJUNCTIONS = frozenset(
    (
        *("and", "but", "while", "whereas", "although", "though", "however", "because", "or", "than"),
        *("und", "aber", "sondern", "während", "obwohl", "jedoch", "weil", "oder", "doch", "als"),
    )
)


def clause_numbers(tokens: Sequence[Token], text: str) -> list[int]:
    """The number of the clause that each token belongs to. A conjunction opens a clause."""
    numbers: list[int] = []
    number, end = 0, 0
    for token in tokens:
        if numbers and (token.surface in _CONJUNCTIONS or _BREAK.search(text[end : token.start])):
            number += 1
        numbers.append(number)
        end = token.end
    return numbers
