"""WordPiece tokenizer: words of a text, each cut into the longest pieces of the vocabulary, from the left.

The rules are those of BERT's uncased vocabularies: lower case, no accents, punctuation and Chinese characters
are words of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from unicodedata import category, normalize

from groundwire.model.value import value

_UNKNOWN, _BEGIN, _END = "[UNK]", "[CLS]", "[SEP]"
_CONTINUED = "##"
"""What marks a piece that does not begin a word."""
_LONGEST_WORD = 100
_CACHED_WORDS = 32768
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f"
)
_ASCII_PUNCTUATION = r"!-/:-@\[-`{-~"
_WORD = re.compile(rf"[{_ASCII_PUNCTUATION}{_IDEOGRAPHS}]|[^\s{_ASCII_PUNCTUATION}{_IDEOGRAPHS}]+")


@value
class PieceIds:
    """A text as ids of pieces. The pieces from `second` on are a second text, if there is one."""

    ids: Sequence[int]
    second: int | None = None


class WordPieceTokenizer:
    """Tokenizes with a vocabulary: its pieces with their ids."""

    def __init__(self, pieces: Mapping[str, int], longest: int) -> None:
        self._pieces = pieces
        self._longest = longest
        self._segmented = lru_cache(_CACHED_WORDS)(self._segment)

    def ids(self, text: str) -> list[int]:
        """The ids of the beginning of a text, between the marks of its beginning and its end."""
        return [self._pieces[_BEGIN], *self._beginning(text, self._longest - 2), self._pieces[_END]]

    def pair(self, first: str, second: str, longest: tuple[int, int]) -> PieceIds:
        """Two texts after each other, each cut after so many pieces, with a mark after each of them."""
        begin, end = self._pieces[_BEGIN], self._pieces[_END]
        before = [begin, *self._beginning(first, longest[0]), end]
        return PieceIds([*before, *self._beginning(second, longest[1]), end], len(before))

    def _beginning(self, text: str, longest: int) -> list[int]:
        found: list[int] = []
        for word in split_words(text):
            found += self._segmented(word)
            if len(found) >= longest:
                break
        return found[:longest]

    def _segment(self, word: str) -> tuple[int, ...]:
        unknown = (self._pieces[_UNKNOWN],)
        if len(word) > _LONGEST_WORD:
            return unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = _CONTINUED if start else ""
            for end in range(len(word), start, -1):
                piece = self._pieces.get(mark + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                return unknown
        return tuple(found)


def read_tokenizer(vocabulary: Path, longest: int) -> WordPieceTokenizer:
    """A tokenizer for a file with a piece in each line, which cuts texts after `longest` pieces."""
    lines = vocabulary.read_text("utf-8").removesuffix("\n").split("\n")
    return WordPieceTokenizer({piece: number for number, piece in enumerate(lines)}, longest)


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    if not text.isascii() or not text.isprintable():
        text = "".join(_cleaned(character) for character in text)
    words = _WORD.findall(text.lower())
    return words if text.isascii() else [part for word in words for part in _without_accents(word)]


@lru_cache(_CACHED_WORDS)
def _cleaned(character: str) -> str:
    """A character without a meaning is left out; every kind of white space is a space."""
    if character in "\t\n\r" or category(character) == "Zs":
        return " "
    return "" if character == "\ufffd" or category(character) in ("Cc", "Cf", "Co", "Cs") else character


@lru_cache(_CACHED_WORDS)
def _without_accents(word: str) -> tuple[str, ...]:
    """The parts of a word between punctuation, without combining characters."""
    parts = [""]
    for character in normalize("NFD", word):
        kind = category(character)
        if kind.startswith("P"):
            parts += (character, "")
        elif kind != "Mn":
            parts[-1] += character
    return tuple(filter(None, parts))
