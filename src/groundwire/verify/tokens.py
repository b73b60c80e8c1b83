"""Tokens of claims and pages: words, quantities and negations, with their offsets in the original text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from groundwire.engine.words import ignored_words, stem_word, word_list
from groundwire.verify.normal import normal_text
from groundwire.verify.quantities import QUANTITY, UNITS, Quantity, read_quantity

TokenKind: TypeAlias = Literal["word", "function", "negation", "value"]
"""function: an article, a preposition or another word that carries little meaning."""

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W\d_{_CJK}](?:[^\W_{_CJK}]|'(?=[^\W\d_]))*|[%$€£¥°]|\d+")
_LONG_UNITS = (
    (re.compile(r"per cent\b"), "%"),
    (re.compile(r"° ?C\b|degrees? Celsius\b|Grad Celsius\b"), "°c"),
    (re.compile(r"° ?F\b|degrees? Fahrenheit\b|Grad Fahrenheit\b"), "°f"),
    (re.compile(r"(?:square|sq\.?) (?:kilomet|km)"), "km2"),
    (re.compile(r"(?:square|sq\.?) (?:met|m\b)"), "m2"),
    (re.compile(r"(?:square|sq\.?) (?:mile|mi\b)"), "mi2"),
    (re.compile(r"cubic met"), "m3"),
)
"""Units of several words."""
_CURRENCIES = frozenset("$€£¥")
_HEDGES = frozenset(
    (
        *("around", "roughly", "nearly", "almost", "approximately", "per", "since", "circa", "ca", "least"),
        *("rund", "ungefähr", "knapp", "fast", "nahezu", "voraussichtlich", "insgesamt"),
    )
)
"""Words next to a number that say nothing of their own."""
_POSSESSIVE = re.compile(r"'s?$")
_ROOT = 5
_CACHED = 32768
_NEGATED_PREFIX = "n't"


class Token(NamedTuple):
    """A word or a quantity of a text."""

    kind: TokenKind
    key: str
    """Equal for forms of one word: a stem, or the unit that stands for all its spellings."""
    surface: str
    """As it is written, in lower case and normal form."""
    start: int
    end: int
    is_name: bool = False
    """Is it written with a capital letter, where that does not only mark the beginning of a sentence?"""
    quantity: Quantity | None = None

    @property
    def root(self) -> str:
        """The beginning of the stem: equal for most words of one family."""
        return self.key[:_ROOT]


def unit_of(token: Token) -> str:
    """The unit of a number; empty if it has none."""
    return token.quantity.unit if token.quantity is not None else ""


@lru_cache(maxsize=_CACHED)
def _classify(word: str) -> tuple[TokenKind, str]:
    """Kind and key of a word in lower case."""
    if word in UNITS:
        return "word", f"unit:{UNITS[word]}"
    if word in word_list("negations") or word.endswith(_NEGATED_PREFIX):
        return "negation", word
    if word in ignored_words() or word in _HEDGES:
        return "function", word
    return "word", stem_word(word)


def tokenize_text(text: str, offset: int = 0) -> list[Token]:
    """The tokens of one sentence, heading or row; offsets count from `offset`."""
    normal = normal_text(text)
    tokens: list[Token] = []
    at = 0
    for match in QUANTITY.finditer(normal.text):
        tokens += _words(normal.text, at, match.start(), is_first=not tokens)
        unit = _unit_after(normal.text, match.end()) or _unit_before(tokens, normal.text, match.start())
        surface = match[0].lower()
        tokens.append(
            Token("value", "#", surface, match.start(), match.end(), quantity=read_quantity(match, unit))
        )
        at = match.end()
    tokens += _words(normal.text, at, len(normal.text), is_first=not tokens)
    if (
        len(tokens) > 1
        and tokens[0].kind == "word"
        and tokens[1].is_name
        and _is_title_case(normal.text, tokens)
    ):
        tokens[0] = tokens[0]._replace(is_name=True)
    placed: list[Token] = []
    for token in tokens:
        start, end = normal.original(token.start, token.end)
        placed.append(token._replace(start=offset + start, end=offset + end))
    return placed


def _words(text: str, start: int, end: int, *, is_first: bool) -> Iterator[Token]:
    for match in _WORD.finditer(text, start, end):
        written = match[0]
        lower = written.lower()
        if not lower.endswith(_NEGATED_PREFIX):
            lower = _POSSESSIVE.sub("", lower)
        kind, key = _classify(lower)
        is_name = kind == "word" and written[0].isupper() and not (is_first and match.start() == start)
        if is_first and _is_capital_later(written):
            is_name = kind == "word"
        yield Token(kind, key, lower, match.start(), match.end(), is_name)
        is_first = False


def _is_title_case(text: str, tokens: list[Token]) -> bool:
    """Does a name follow directly on the first word, as in `Anna Berg said`?"""
    return text[tokens[0].start].isupper() and text[tokens[0].end : tokens[1].start] == " "


def _is_capital_later(word: str) -> bool:
    """Are there capitals beyond the first letter, as in `NATO` and `GitHub`?"""
    return any(char.isupper() for char in word[1:])


def _unit_after(text: str, at: int) -> str:
    start = at + 1 if text[at : at + 1] in (" ", "-") else at
    for pattern, unit in _LONG_UNITS:
        if pattern.match(text, start):
            return unit
    match = _WORD.match(text, start)
    return UNITS.get(match[0].lower(), "") if match else ""


def _unit_before(tokens: list[Token], text: str, at: int) -> str:
    """A currency that is written before the number."""
    before = text[max(0, at - 4) : at].strip().lower()
    if before[-1:] in _CURRENCIES:
        return UNITS[before[-1]]
    last = tokens[-1].surface if tokens else ""
    return UNITS[last] if last in ("usd", "eur", "gbp", "jpy") else ""
