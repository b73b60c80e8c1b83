"""Words as they are kept for finding, and as they are asked for; the same in every database.

Case, accents and the width of signs make no difference, `ß` is `ss`. In scripts without blanks every sign is
a word, so that whatever was written together is found as a sequence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from groundwire.model.value import value

VERSION = 1
"""Of the rules here; it rises together with a step that empties what was kept by others."""
LONGEST = 100
"""Signs of a word that count."""
MOST = 900_000
"""Bytes of one message that can be found; PostgreSQL takes a megabyte of them."""

_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE = re.compile(f"[{_ALONE}]|[^\\W_{_ALONE}]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_QUOTES = str.maketrans(dict.fromkeys("„“”«»", '"'))
_ASKED = re.compile(r'"([^"]*)("?)|([^\s"]+)')


def folded(text: str) -> str:
    """A text in which equal words are written alike."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def words_of(text: str) -> list[str]:
    """The words of a text in their order."""
    return [word[:LONGEST] for word in _PIECE.findall(folded(text))]


def kept_words(text: str) -> str:
    """The words of a text as a line, as much of it as is kept."""
    line = " ".join(words_of(text))
    data = line.encode()
    return line if len(data) <= MOST else data[:MOST].decode(errors="ignore").rpartition(" ")[0]


@value
class Wanted:
    """What somebody looks for."""

    words: tuple[str, ...] = ()
    """All of them must be there."""
    begun: str = ""
    """How one more word begins: the last one, which may not be complete."""
    phrases: tuple[str, ...] = ()
    """What must stand together, between blanks."""

    def __bool__(self) -> bool:
        return bool(self.words or self.begun)

    def holds(self, line: str) -> bool:
        """Do the phrases stand in a line of words?"""
        return all(phrase in f" {line} " for phrase in self.phrases)


def wanted_in(text: str) -> Wanted:
    """What a text asks for: words, "phrases" between quotation marks, and the beginning of the last word."""
    asked = list(_asked(text.translate(_QUOTES)))
    whole = [word for words, complete in asked for word in (words if complete else words[:-1])]
    begun = next((words[-1] for words, complete in asked if not complete), "")
    phrases = (
        " " + " ".join(words) + (" " if complete else "") for words, complete in asked if len(words) > 1
    )
    return Wanted(tuple(dict.fromkeys(whole)), begun, tuple(phrases))


def _asked(text: str) -> Iterator[tuple[list[str], bool]]:
    """What must stand together, and whether it is complete."""
    matches = [
        (words, match) for match in _ASKED.finditer(text) if (words := words_of(match[1] or match[3] or ""))
    ]
    for number, (words, match) in enumerate(matches, 1):
        yield words, number < len(matches) or bool(match[2])
