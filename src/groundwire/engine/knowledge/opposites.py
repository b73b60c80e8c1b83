"""Opposites: a phrase about the opposite of what a question asks shares nearly all of its words and meaning.

`get the modification time` and `set the modification time`, `text to date` and `date to text`, `a folder that
is not empty` and `an empty folder`: only a verb, the order or a negation tells them apart. The verbs are in
`data/opposites.txt`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from groundwire.engine.data_files import data_lines
from groundwire.engine.words import stem_synonyms, stem_word, tokenize

_ENGINE = Path(__file__).parents[1]
_ARTICLE = r"(?:(?:an?|the|eine?[nrsm]?|de[rmns]|das|die) )?"
_WORD = r"[^\W\d_]+"
_TWO_WORDS = rf"({_WORD}(?: {_WORD})?)"
"""The second thing may be the word after the first one: `date as an ISO string`."""
_FORWARD = re.compile(rf"(?=\b({_WORD}) (?:to|into|as|in|zu|als|nach) {_ARTICLE}{_TWO_WORDS})")
_BACKWARD = re.compile(
    rf"(?:^|\b(?:make|create|build|construct|parse|get) ){_ARTICLE}({_WORD}) (?:from|out of|aus|von)"
    rf" {_ARTICLE}{_TWO_WORDS}"
)
"""Not `copy files from a folder`, where nothing is made."""

_NEGATION = re.compile(rf"(?:\b(?:not|non|without|nicht|ohne)|n['’]t)[ -]({_WORD})")
_DENIED = "not "


def phrase_keys(phrase: str) -> Iterator[str]:
    """What a phrase says by its verb, which is its first or its last word, by the order of words, and by what
    it denies."""
    words = tokenize(phrase)
    yield from _verbs().intersection((*words[:1], *words[-1:]))
    yield from (_direction(*pair) for pair in _directions(phrase))
    yield from (f"{_DENIED}{stem}" for stem in denied_stems(phrase))


def denied_stems(text: str) -> frozenset[str]:
    """The stems of the words that a text denies: `not empty`, `nicht leer`."""
    return frozenset(map(stem_word, _NEGATION.findall(text.casefold())))


def opposite_keys(question: str) -> Mapping[str, frozenset[str]]:
    """The keys of phrases that say the opposite of a question. With each, the stems of the question that make
    up for it if the phrase has one of them too."""
    stems = frozenset(map(stem_word, tokenize(question)))
    found: dict[str, frozenset[str]] = {}
    for stem in stems & _opposites().keys():
        opposites = _opposites()[stem]
        if stems.isdisjoint(map(stem_word, opposites)):
            found |= {opposite: found.get(opposite, frozenset()) | {stem} for opposite in opposites}
    found |= dict.fromkeys((f"{_DENIED}{stem}" for stem in stems - denied_stems(question)), frozenset())
    directions = frozenset(_directions(question))
    for start, end in directions:
        starts, ends = (start, *stem_synonyms(start)), (end, *stem_synonyms(end))
        reverse = {(other, one) for one in starts for other in ends}
        if reverse.isdisjoint(directions):
            found |= dict.fromkeys((_direction(*pair) for pair in reverse), frozenset())
    return found


def _direction(start: str, end: str) -> str:
    return f"{start}>{end}"


def _directions(text: str) -> Iterator[tuple[str, str]]:
    """From what to what something is made, read or written: `text to date`, `date from text`."""
    folded = text.lower()
    for start, ends in _FORWARD.findall(folded):
        yield from ((stem_word(start), stem_word(end)) for end in ends.split())
    for end, starts in _BACKWARD.findall(folded):
        yield from ((stem_word(start), stem_word(end)) for start in starts.split())


@cache
def _opposites() -> Mapping[str, frozenset[str]]:
    """The words that mean the opposite of a stem."""
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for line in data_lines(_ENGINE, "opposites"):
        one, _, other = line.casefold().partition("|")
        for words, opposites in ((one.split(), other.split()), (other.split(), one.split())):
            for word in words:
                found[stem_word(word)] |= frozenset(opposites)
    return dict(found)


@cache
def _verbs() -> frozenset[str]:
    return frozenset().union(*_opposites().values())
