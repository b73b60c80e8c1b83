"""A query, taken apart: words, names, phrases, prefixes. Whatever was typed, it is only ever words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from groundwire.engine.index.words import dotted_names, is_stop_word, plain_words, split_names
from groundwire.model.value import value

MOST_WORDS = 32
_LONGEST = 2000
_QUOTED = re.compile(r'["“”„»«]([^"“”„»«]*)["“”„»«]')
_PREFIX = re.compile(r"(\w+)\*")
_CODE = re.compile(r"(\w+)\(|`([^`]*)`")


@value
class Question:
    """What is looked for. Phrases and prefixes must be there; of the words, the more the better."""

    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """Of the names in camel case: welcome, not wanted."""
    names: tuple[str, ...] = ()
    """Dotted names, whole: welcome too."""
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases or self.prefixes)


def read_question(query: str) -> Question:
    """Quotation marks make a phrase, a star behind a word a prefix.

    Words that carry no weight are left out, unless they are written as code or nothing else is asked for.
    """
    query = query[:_LONGEST]
    phrases = tuple(phrase for phrase in _QUOTED.findall(query) if plain_words(phrase))
    query = _QUOTED.sub(" ", query)
    prefixes = tuple(word.casefold() for word in _PREFIX.findall(query) if plain_words(word))
    query = _PREFIX.sub(" ", query)
    words = plain_words(query)
    code = {word for pair in _CODE.findall(query) for word in plain_words(" ".join(pair))}
    heavy = [word for word in words if word in code or not is_stop_word(word)]
    if not (heavy or phrases or prefixes):
        heavy = words
    return Question(
        _each_once(heavy),
        _each_once(word for word in plain_words(split_names(query)) if word not in heavy),
        _each_once(dotted_names(query)),
        phrases,
        prefixes,
    )


def _each_once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:MOST_WORDS]
