"""A query, taken apart: words, names, phrases, prefixes. Whatever was typed, it is only ever words."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import pairwise

from groundwire.engine.words import camel_parts, dotted_names, stop_words, tokenize, word_list
from groundwire.model.value import replace, value

MOST_WORDS = 32
LONGEST = 2000
"""Characters; what comes after them is not read."""
_LONGEST_PHRASE = 6
_QUOTED = re.compile(r'["“”„»«]([^"“”„»«]*)["“”„»«]')
_PREFIX = re.compile(r"(\w+)\*")
_CODE = re.compile(r"(\w+)\(|`([^`]*)`")
_PLAIN = re.compile(r"[a-z0-9 ]+")
_NOTHING: frozenset[str] = frozenset()


@value
class ParsedQuery:
    """What is looked for. Phrases and prefixes must be there; of the words, the more the better."""

    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """Of the names in camel case: welcome, not wanted."""
    names: tuple[str, ...] = ()
    """Dotted names, whole: welcome too."""
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    light: tuple[str, ...] = ()
    """What carries little weight and is welcome because hardly anything else is asked for."""

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases or self.prefixes)


def parse_query(query: str) -> ParsedQuery:
    """Quotation marks make a phrase, a star behind a word a prefix.

    Words that carry no weight are left out, unless they are written as code or nothing else is asked for.
    """
    query = query[:LONGEST]
    if _PLAIN.fullmatch(query) is not None:
        return _question(query.split(), _NOTHING)
    query = _unquoted(query)
    phrases = tuple(phrase for phrase in _QUOTED.findall(query) if tokenize(phrase))
    query = _QUOTED.sub(" ", query)
    prefixes = tuple(word.casefold() for word in _PREFIX.findall(query) if tokenize(word))
    query = _PREFIX.sub(" ", query)
    code = {word for pair in _CODE.findall(query) for word in tokenize(" ".join(pair))}
    found = _question(tokenize(query), code, is_enough=bool(phrases or prefixes))
    parts = _each_once([word for word in tokenize(camel_parts(query)) if word not in found.words])
    return replace(
        found, parts=parts, names=_each_once(dotted_names(query)), phrases=phrases, prefixes=prefixes
    )


def _unquoted(query: str) -> str:
    """Some clients put a whole question between quotation marks; nobody looks for so long a phrase."""
    whole = _QUOTED.fullmatch(query.strip())
    return whole[1] if whole and len(tokenize(whole[1])) > _LONGEST_PHRASE else query


def _question(words: list[str], code: Container[str], *, is_enough: bool = False) -> ParsedQuery:
    """The words by their weight; where something else is asked for, that is enough."""
    ignored = stop_words()
    heavy = _each_once([word for word in words if word not in ignored or word in code])
    if not heavy:
        return ParsedQuery(() if is_enough else _each_once(words))
    if len(heavy) > 1 or len(heavy) == len(words):
        return ParsedQuery(heavy)
    skipped = word_list("question_words").union(heavy)
    return ParsedQuery(heavy, light=_each_once([word for word in words if word not in skipped]))


def joined_pairs(words: tuple[str, ...]) -> list[str]:
    """What words that follow each other would be as one name: `date and time` is `datetime`."""
    return [one + other for one, other in pairwise(words) if one.isalpha() and other.isalpha()]


def _each_once(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:MOST_WORDS]
