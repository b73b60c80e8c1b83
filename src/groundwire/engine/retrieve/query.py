"""Query parsing: words, names, phrases and prefixes. There is no other query syntax."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import pairwise

from groundwire.engine.words import camel_parts, dotted_names, stop_words, tokenize, word_list
from groundwire.model.value import replace, value

MOST_WORDS = 32
LONGEST_QUERY = 2000
"""Characters of a query that are read."""
_LONGEST_PHRASE = 6
_QUOTED = re.compile(r'["“”„»«]([^"“”„»«]*)["“”„»«]')
_PREFIX = re.compile(r"(\w+)\*")
_CODE = re.compile(r"(\w+)\(|`([^`]*)`")
_PLAIN = re.compile(r"[a-z0-9 ]+")
_NOTHING: frozenset[str] = frozenset()


@value
class ParsedQuery:
    """A parsed query. Phrases and prefixes are required; of the words, the more the better."""

    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """Parts of camel-case names: optional, they improve the ranking."""
    names: tuple[str, ...] = ()
    """Dotted names as one term: optional too."""
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    light: tuple[str, ...] = ()
    """Stop words that improve the ranking because the query has hardly any content word."""

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases or self.prefixes)


def parse_query(query: str) -> ParsedQuery:
    """Parses a query: quotation marks make a phrase, a `*` after a word a prefix.

    Stop words are left out, unless they are written as code or the query has nothing else.
    """
    query = query[:LONGEST_QUERY]
    if _PLAIN.fullmatch(query) is not None:
        return _parse_words(query.split(), _NOTHING)
    query = _unquoted(query)
    phrases = tuple(phrase for phrase in _QUOTED.findall(query) if tokenize(phrase))
    query = _QUOTED.sub(" ", query)
    prefixes = tuple(word.casefold() for word in _PREFIX.findall(query) if tokenize(word))
    query = _PREFIX.sub(" ", query)
    code = {word for pair in _CODE.findall(query) for word in tokenize(" ".join(pair))}
    found = _parse_words(tokenize(query), code, is_enough=bool(phrases or prefixes))
    parts = _each_once([word for word in tokenize(camel_parts(query)) if word not in found.words])
    return replace(
        found, parts=parts, names=_each_once(dotted_names(query)), phrases=phrases, prefixes=prefixes
    )


def _unquoted(query: str) -> str:
    """Removes quotation marks around a whole question, which some clients add."""
    whole = _QUOTED.fullmatch(query.strip())
    return whole[1] if whole and len(tokenize(whole[1])) > _LONGEST_PHRASE else query


def _parse_words(words: list[str], code: Container[str], *, is_enough: bool = False) -> ParsedQuery:
    """Separates content words from stop words; with `is_enough`, stop words alone are dropped."""
    ignored = stop_words()
    content = _each_once([word for word in words if word not in ignored or word in code])
    if not content:
        return ParsedQuery(() if is_enough else _each_once(words))
    if len(content) > 1 or len(content) == len(words):
        return ParsedQuery(content)
    skipped = word_list("question_words").union(content)
    return ParsedQuery(content, light=_each_once([word for word in words if word not in skipped]))


def joined_pairs(words: tuple[str, ...]) -> list[str]:
    """Adjacent words joined to one name: `date and time` matches `datetime`."""
    return [one + other for one, other in pairwise(words) if one.isalpha() and other.isalpha()]


def _each_once(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:MOST_WORDS]
