"""Text cut into passages: whole paragraphs and sentences, as many as make a readable piece.

The pieces follow each other without a gap, so that joined they are the text again. Between borders of equal
kind the later one is taken; a word is cut only where nothing else is left to cut at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SHORTEST = 600
LONGEST = 1000

# What a piece may end with, best first: a blank line, a sentence, a line, a word.
_BORDERS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"(?<![A-ZÄÖÜ]\.)(?<=[.!?…])[\"'”’»)\]]*\s+(?=[^a-zäöüß\s])|(?<=[。！？])"),
    re.compile(r"\n\s*"),
    re.compile(r"\s+"),
)


def cut(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the pieces, in code points."""
    at, end = 0, len(text)
    while end - at > LONGEST:
        to = _end_of_piece(text, at, min(at + LONGEST, end - 1))
        yield at, to
        at = to
    if end > at or end == 0:
        yield at, end


def trimmed(piece: str) -> tuple[int, str]:
    """A piece without the white space around it, and how much of it stood before."""
    words = piece.lstrip()
    return len(piece) - len(words), words.rstrip()


def _end_of_piece(text: str, at: int, latest: int) -> int:
    """Where the piece that starts at `at` ends: at the last border of the best kind that is not too early."""
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, at + SHORTEST // 2, latest + 1)]
        late = [to for to in ends if at + SHORTEST <= to <= latest]
        if late:
            return late[-1]
    return latest
