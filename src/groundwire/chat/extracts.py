"""The piece of a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from groundwire.store.full_text import TextQuery, parse_query, tokenize

_WRITTEN = re.compile("(?:[^\\W_]|[\u0300-\u036f])+")
Word: TypeAlias = tuple[int, str, tuple[int, int]]
"""Its place, its folded form, and where it stands."""

_MOST = 20_000
"""Words that are looked at: a long text is shown by its beginning."""


def extract(text: str, wanted: str, around: int = 80) -> list[tuple[str, bool]]:
    """Pieces of a text around the first hit, each with whether it is one."""
    asked = parse_query(wanted)
    words = list(islice(_words(text), _MOST))
    begin = _phrase(words, asked)
    hits = [span for place, word, span in words if place >= begin and _is_hit(word, asked)]
    if not hits:
        return [(text[: 2 * around], False)]
    start, end = max(0, hits[0][0] - around), min(len(text), hits[0][1] + around)
    pieces = [("…", False)] if start else []
    for left, right in dict.fromkeys(hit for hit in hits if hit[0] < end):
        pieces += ((text[start:left], False), (text[left:right], True))
        start = right
    pieces += ((text[start : max(start, end)], False), ("…" if max(start, end) < len(text) else "", False))
    return [piece for piece in pieces if piece[0]]


def _words(text: str) -> Iterator[Word]:
    written = ((word, match.span()) for match in _WRITTEN.finditer(text) for word in tokenize(match[0]))
    return ((place, word, span) for place, (word, span) in enumerate(written))


def _is_hit(word: str, asked: TextQuery) -> bool:
    return word in asked.words or bool(asked.prefix and word.startswith(asked.prefix))


def _phrase(words: list[Word], asked: TextQuery) -> int:
    """The word with which the first phrase begins that was asked for."""
    if not asked.phrases:
        return 0
    line = " " + " ".join(word for _, word, _ in words) + " "
    return line.count(" ", 0, max(0, line.find(asked.phrases[0])))
