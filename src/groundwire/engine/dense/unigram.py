"""Unigram tokenizer: cuts a text into the pieces of a SentencePiece vocabulary whose scores add up highest.

Texts are normalised to NFKC, and each word begins with `▁` in place of the white space before it. No piece
has a `▁` inside, so words are segmented one by one, and the segments of frequent words are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from unicodedata import normalize

SPACE = "\u2581"
UNKNOWN, BEGIN, END = 0, 1, 2
LONGEST_PIECE = 16
"""Characters of the longest piece of the vocabulary."""
_UNKNOWN_PENALTY = 10.0
"""An unknown character costs this much more than the rarest piece: SentencePiece's constant."""
_IMPOSSIBLE = float("-inf")
_CACHED_WORDS = 32768

# Characters that the model's normaliser replaces by a space in addition to what NFKC does.
_SPACES = dict.fromkeys(
    (0x09, 0x0A, 0x0C, 0x0D, 0x1680, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD), " "
)
_WORD = re.compile("[^ ]+")


def split_words(text: str) -> list[str]:
    """The words of a text as the vocabulary spells them."""
    return [SPACE + word for word in _WORD.findall(normalize("NFKC", text.translate(_SPACES)))]


class UnigramTokenizer:
    """Tokenizes with a vocabulary: its pieces with their ids, and the score of each id."""

    def __init__(self, pieces: Mapping[str, int], scores: Sequence[float]) -> None:
        self._pieces = pieces
        self._scores = scores
        self._unknown = min(scores) - _UNKNOWN_PENALTY
        self._segmented = lru_cache(_CACHED_WORDS)(self._segment)

    def ids(self, text: str) -> list[int]:
        """The ids of a text, between the marks of its beginning and its end."""
        found = [piece for word in split_words(text) for piece in self._segmented(word)]
        return [BEGIN, *(found or [UNKNOWN]), END]

    def _segment(self, text: str) -> tuple[int, ...]:
        """Viterbi: the best segmentation of each prefix of the text, from the left."""
        size = len(text)
        best = [0.0] + [_IMPOSSIBLE] * size
        last: list[tuple[int, int]] = [(0, UNKNOWN)] * (size + 1)
        find, scores = self._pieces.get, self._scores
        for start in range(size):
            so_far = best[start]
            # A character without a piece of its own is unknown, so that every position can be reached.
            if text[start] not in self._pieces and so_far + self._unknown > best[start + 1]:
                best[start + 1], last[start + 1] = so_far + self._unknown, (start, UNKNOWN)
            for end in range(start + 1, min(start + LONGEST_PIECE, size) + 1):
                piece = find(text[start:end])
                if piece is not None and so_far + scores[piece] > best[end]:
                    best[end], last[end] = so_far + scores[piece], (start, piece)
        found: list[int] = []
        at = size
        while at:
            at, piece = last[at]
            found.append(piece)
        return tuple(reversed(found))
