"""WordPiece tokenizer: words of a text, each cut into the longest pieces of the vocabulary, from the left.

The rules are those of BERT's uncased vocabularies: lower case, no accents, punctuation and Chinese characters
are words of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from unicodedata import category, normalize

from groundwire.model.value import value

_UNKNOWN, _BEGIN, _END = "[UNK]", "[CLS]", "[SEP]"
_CONTINUED = "##"
"""What marks a piece that does not begin a word."""
_LONGEST_WORD = 100
_CACHED_WORDS = 32768
_FEW_PIECES = 100
"""Pieces that are searched for, 30 µs each; a dictionary of 30,000 pieces takes 15 ms."""
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


class Vocabulary:
    """The pieces of a text, one in each line, with their ids: the numbers of the lines.

    A command looks up the few pieces of a question. To make a dictionary would take longer than to search the
    text for them, so it is made only for more."""

    def __init__(self, lines: bytes) -> None:
        self._lines = b"\n" + lines.removesuffix(b"\n") + b"\n"
        self._looked_up = 0
        self._ids: dict[str, int] = {}

    def id_of(self, piece: str) -> int | None:
        """The id of a piece; None if there is none."""
        if self._ids:
            return self._ids.get(piece)
        self._looked_up += 1
        if self._looked_up > _FEW_PIECES:
            pieces = self._lines[1:-1].decode().split("\n")
            self._ids = {known: number for number, known in enumerate(pieces)}
            return self._ids.get(piece)
        at = self._lines.find(b"\n" + piece.encode("utf-8", "surrogatepass") + b"\n")
        return self._lines.count(b"\n", 0, at) if at >= 0 else None

    def required(self, piece: str) -> int:
        """The id of a piece that every vocabulary has. Raises `ValueError` if it is missing."""
        found = self.id_of(piece)
        if found is None:
            raise ValueError(f"the vocabulary has no {piece}")
        return found


class WordPieceTokenizer:
    """Tokenizes with a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, longest: int) -> None:
        self._id_of = vocabulary.id_of
        self._unknown, self._begin, self._end = map(vocabulary.required, (_UNKNOWN, _BEGIN, _END))
        self._longest = longest
        self._segmented = lru_cache(_CACHED_WORDS)(self._segment)

    def ids(self, text: str) -> list[int]:
        """The ids of the beginning of a text, between the marks of its beginning and its end."""
        return [self._begin, *self._beginning(text, self._longest - 2), self._end]

    def pair(self, first: str, second: str, longest: tuple[int, int]) -> PieceIds:
        """Two texts after each other, each cut after so many pieces, with a mark after each of them."""
        before = [self._begin, *self._beginning(first, longest[0]), self._end]
        return PieceIds([*before, *self._beginning(second, longest[1]), self._end], len(before))

    def _beginning(self, text: str, longest: int) -> list[int]:
        found: list[int] = []
        for word in split_words(text):
            found += self._segmented(word)
            if len(found) >= longest:
                break
        return found[:longest]

    def _segment(self, word: str) -> tuple[int, ...]:
        unknown = (self._unknown,)
        if len(word) > _LONGEST_WORD:
            return unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = _CONTINUED if start else ""
            for end in range(len(word), start, -1):
                piece = self._id_of(mark + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                return unknown
        return tuple(found)


def read_tokenizer(vocabulary: Path, longest: int) -> WordPieceTokenizer:
    """A tokenizer for a file with a piece in each line, which cuts texts after `longest` pieces."""
    return WordPieceTokenizer(_read_vocabulary(vocabulary), longest)


@lru_cache(2)
def _read_vocabulary(path: Path) -> Vocabulary:
    return Vocabulary(path.read_bytes().replace(b"\r\n", b"\n"))


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
