"""Words with the same and with the opposite meaning (`data/synonyms.txt`, `data/antonyms.txt`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from groundwire.engine.data_files import data_lines
from groundwire.engine.words import stem_word

_FOLDER = Path(__file__).parent
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non")
_SHORTEST = 4
"""Letters of a word whose opposite may be formed with a prefix."""


@cache
def synonym_stems() -> Mapping[str, frozenset[str]]:
    """Stems with the stems of words that say the same."""
    found: dict[str, set[str]] = {}
    for line in data_lines(_FOLDER, "synonyms"):
        stems = set(map(stem_word, line.split()))
        for stem in stems:
            found.setdefault(stem, set()).update(stems - {stem})
    return {stem: frozenset(others) for stem, others in found.items()}


@cache
def _antonym_words() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in data_lines(_FOLDER, "antonyms"):
        left, right = (frozenset(part.split()) for part in line.split("|"))
        for words, opposites in ((left, right), (right, left)):
            for word in words:
                found.setdefault(word, set()).update(opposites)
    return {word: frozenset(opposites) for word, opposites in found.items()}


def are_opposite(one: str, other: str) -> bool:
    """Does one word, in lower case, say the opposite of the other?"""
    if other in _antonym_words().get(one, ()):
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST and any(long == prefix + short for prefix in _PREFIXES)
