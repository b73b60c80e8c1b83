"""Unigram tokenizer: cuts a text into the pieces of a SentencePiece vocabulary whose scores add up highest.

Texts are normalised to NFKC, and each word begins with `▁` in place of the white space before it. No piece
has a `▁` inside, so words are segmented one by one, and the segments of frequent words are kept.

The vocabulary is sorted lines of pieces with the same beginning, of which those that a text needs are read: a
question needs few of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from groundwire.engine.dense.arrays import Floats

SPACE = "\u2581"
UNKNOWN, BEGIN, END = 0, 1, 2
LONGEST_PIECE = 16
"""Characters of the longest piece of the vocabulary."""
_BEGINNING = 3
"""Characters by which the pieces are grouped; a shorter piece is a group of its own."""
_UNKNOWN_PENALTY = 10.0
"""An unknown character costs this much more than the rarest piece: SentencePiece's constant."""
_IMPOSSIBLE = float("-inf")
_CACHED_WORDS = 32768
_CACHED_BEGINNINGS = 65536

# Characters that the model's normaliser replaces by a space in addition to what NFKC does.
_SPACES = dict.fromkeys(
    (0x09, 0x0A, 0x0C, 0x0D, 0x1680, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD), " "
)
_WORD = re.compile("[^ ]+")


def split_words(text: str) -> list[str]:
    """The words of a text as the vocabulary spells them."""
    return [SPACE + word for word in _WORD.findall(normalize("NFKC", text.translate(_SPACES)))]


def encode_pieces(pieces: Sequence[str]) -> list[bytes]:
    """The lines of a vocabulary: a beginning and a tab, then the pieces that have it, each with its id."""
    groups: dict[str, list[str]] = {}
    for number, piece in enumerate(pieces):
        groups.setdefault(piece[:_BEGINNING], []).append(f"{piece} {number}")
    return sorted(f"{beginning}\t{' '.join(found)}".encode() for beginning, found in groups.items())


def _decode_pieces(line: bytes) -> Iterator[tuple[str, int]]:
    words = line.decode().split(" ")
    return zip(words[::2], map(int, words[1::2]), strict=True)


class UnigramTokenizer:
    """Tokenizes with the lines of a vocabulary, and the scores of all ids."""

    def __init__(self, lines: Sequence[bytes], scores: Floats) -> None:
        self._lines = lines
        self._scores = scores
        self._unknown = scores.min().item() - _UNKNOWN_PENALTY
        self._pieces = lru_cache(_CACHED_BEGINNINGS)(self._pieces_with)
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
        pieces: Mapping[str, tuple[int, float]] = {}
        for start in range(size):
            so_far, character = best[start], text[start]
            # A character without a piece of its own is unknown, so that every position can be reached.
            piece, score = self._pieces(character).get(character, (UNKNOWN, self._unknown))
            if so_far + score > best[start + 1]:
                best[start + 1], last[start + 1] = so_far + score, (start, piece)
            for end in range(start + 2, min(start + LONGEST_PIECE, size) + 1):
                letters = text[start:end]
                if end - start <= _BEGINNING:
                    pieces = self._pieces(letters)
                elif not pieces:
                    break
                known = pieces.get(letters)
                if known is not None and so_far + known[1] > best[end]:
                    best[end], last[end] = so_far + known[1], (start, known[0])
        found: list[int] = []
        at = size
        while at:
            at, piece = last[at]
            found.append(piece)
        return tuple(reversed(found))

    def _pieces_with(self, beginning: str) -> dict[str, tuple[int, float]]:
        """The pieces with a beginning, with their ids and scores."""
        wanted = f"{beginning}\t".encode("utf-8", "surrogatepass")
        at = bisect_left(self._lines, wanted)
        if at == len(self._lines) or not self._lines[at].startswith(wanted):
            return {}
        pieces = _decode_pieces(self._lines[at][len(wanted) :])
        return {piece: (number, self._scores.item(number)) for piece, number in pieces}
