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
_SIGNS = re.compile(r'["“”„»«*]')
# What questions are made with, whatever they are about.
_FRAME = frozenset(
    """
    a an the i me my you your we it its is are was be do does did can could should would will has have what
    when where which who why how of to please tell explain describe mean means der die das den dem des ein
    eine einen einem einer ich man du sie es ist sind kann was wann wo warum wer wie welche welcher welches
    bitte erkläre zu
    """.split()
)


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
    light: tuple[str, ...] = ()
    """What carries little weight and is welcome because hardly anything else is asked for."""

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases or self.prefixes)


def read_question(query: str) -> Question:
    """Quotation marks make a phrase, a star behind a word a prefix.

    Words that carry no weight are left out, unless they are written as code or nothing else is asked for.
    """
    query = query[:_LONGEST]
    if _SIGNS.search(query) is None:
        return _question(query)
    phrases = tuple(phrase for phrase in _QUOTED.findall(query) if plain_words(phrase))
    query = _QUOTED.sub(" ", query)
    prefixes = tuple(word.casefold() for word in _PREFIX.findall(query) if plain_words(word))
    return _question(_PREFIX.sub(" ", query), phrases, prefixes)


def _question(query: str, phrases: tuple[str, ...] = (), prefixes: tuple[str, ...] = ()) -> Question:
    words = plain_words(query)
    code = {word for pair in _CODE.findall(query) for word in plain_words(" ".join(pair))}
    heavy = _each_once([word for word in words if word in code or not is_stop_word(word)])
    light: tuple[str, ...] = ()
    if not (heavy or phrases or prefixes):
        heavy = _each_once(words)
    elif len(heavy) == 1:
        light = _each_once([word for word in words if word not in heavy and word not in _FRAME])
    parts = split_names(query)
    return Question(
        heavy,
        _each_once([word for word in plain_words(parts) if word not in heavy]) if parts else (),
        _each_once(dotted_names(query)) if "." in query else (),
        phrases,
        prefixes,
        light,
    )


def _each_once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:MOST_WORDS]
