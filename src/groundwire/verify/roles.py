"""Who does what to whom: names that have changed places around the same verb.

`Alder bought Birch` and `Birch bought Alder` have the same words. The names next to a word that both
sentences share are compared. A passive, a possessive and a German object before its verb turn the
order round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from groundwire.engine.words import stem_word
from groundwire.verify.clauses import clause_numbers
from groundwire.verify.overlap import same_word
from groundwire.verify.tokens import Token
from groundwire.verify.vocabulary import are_opposite

_AGENT = frozenset(("by", "von", "durch", "vom"))
_RELATIVE = frozenset(("who", "which", "that", "whom", "der", "die", "das", "den", "dem", "and", "und"))
_OF = frozenset(("of", "von", "des", "der"))
_ARTICLES = frozenset(("the", "a", "its", "his", "her", "their", "der", "die", "das", "den", "dem"))
_PLACING = frozenset(
    (
        *("in", "at", "on", "from", "of", "with", "for", "to", "after", "before", "near", "against"),
        *(
            "an",
            "am",
            "im",
            "auf",
            "bei",
            "beim",
            "aus",
            "nach",
            "mit",
            "vor",
            "für",
            "zu",
            "zum",
            "zur",
            "über",
        ),
    )
)
"""Prepositions of names that are not the subject."""
_MOST_OBJECTS = 4
_OBJECT_ARTICLES = frozenset(("den", "dem", "einen", "einem"))
_ROUTES = (("from", "to"), ("von", "nach"), ("aus", "nach"))
_SYMMETRIC = frozenset(
    map(
        stem_word,
        (
            *(
                "meet",
                "met",
                "marry",
                "married",
                "border",
                "borders",
                "face",
                "faced",
                "play",
                "played",
                "merge",
            ),
            *("merged", "draw", "drew", "tie", "tied", "near", "agree", "agreed", "differ", "equal", "match"),
            *(
                "neighbour",
                "neighbor",
                "cooperate",
                "compete",
                "connect",
                "connects",
                "link",
                "links",
                "partner",
            ),
            *("rival", "ally", "allied", "twin", "share", "shared", "joint", "jointly", "together", "final"),
            *("treffen", "traf", "heiraten", "heiratete", "grenzt", "spielen", "spielte", "fusionieren"),
            *("fusionierte", "verbindet", "gemeinsam", "zusammen", "verheiratet", "benachbart", "rivale"),
        ),
    )
)
"""Words that say the same if the names around them change places."""


class NameRun(NamedTuple):
    """Names that follow each other, as positions of tokens, end exclusive."""

    first: int
    last: int


class Roles(NamedTuple):
    """The names around a word."""

    subject: NameRun
    object: NameRun
    preposition: str = ""
    """Before the object."""


class NamedSentence:
    """The tokens of a sentence and its names."""

    def __init__(self, tokens: Sequence[Token], text: str, names: frozenset[str]) -> None:
        self.tokens = tokens
        self.text = text
        self.runs = list(_runs(tokens, names))
        self.clauses = clause_numbers(tokens, text)

    def keys(self, run: NameRun) -> frozenset[str]:
        """The words of a name."""
        return frozenset(token.key for token in self.tokens[run.first : run.last])

    def shown(self, run: NameRun) -> str:
        """A name as it is written."""
        return self.text[self.tokens[run.first].start : self.tokens[run.last - 1].end]

    def roles(self, at: int) -> Iterator[Roles]:
        """The name before a word with each of the names after it, the one that does it first."""
        left = [run for run in self.runs if run.last <= at]
        right = [run for run in self.runs if run.first > at and self.clauses[run.first] == self.clauses[at]]
        if not left:
            return
        one = self._subject(left, at)
        if not right:  # a German verb at the end of its clause
            one, *right = [run for run in left if self.clauses[run.first] == self.clauses[at]] or [one]
        if self._preposition(one) in _PLACING and not self._is_relative(at):
            return  # `In Paris Alder bought` and `an Schultagen schlafen`: not who does it
        for other in right[:_MOST_OBJECTS]:
            first = at + 1 if other.first > at else one.last
            is_agent = any(token.surface in _AGENT for token in self.tokens[first : other.first])
            turned = is_agent + self._owns(one, at) + self._is_object(one)
            preposition = "" if is_agent else self._preposition(other)
            yield Roles(other, one, preposition) if turned % 2 else Roles(one, other, preposition)

    def _preposition(self, run: NameRun) -> str:
        """The preposition before a name; articles are skipped."""
        before = next((t for t in reversed(self.tokens[: run.first]) if t.surface not in _ARTICLES), None)
        return before.surface if before is not None and before.kind == "function" else ""

    def _subject(self, left: Sequence[NameRun], at: int) -> NameRun:
        """The name nearest before the word; not one in an apposition, `Alder, the Danish firm, bought`."""
        nearest = left[-1]
        if self.clauses[nearest.first] == self.clauses[at] or self._is_relative(at):
            return nearest
        return next(
            (run for run in reversed(left) if self.clauses[run.first] < self.clauses[nearest.first]), nearest
        )

    def _is_relative(self, at: int) -> bool:
        """Does a relative pronoun or a conjunction open the clause?"""
        return self.tokens[self.clauses.index(self.clauses[at])].surface in _RELATIVE

    def is_relation(self, at: int) -> bool:
        """Does `of` follow, as in `the son of`?"""
        return at + 1 < len(self.tokens) and self.tokens[at + 1].surface in _OF

    def _owns(self, run: NameRun, at: int) -> bool:
        """Is a name in the genitive before the word: `Anna's mother`?"""
        end = self.tokens[run.last - 1].end
        written = self.text[self.tokens[run.last - 1].start : end + 2]
        return run.last <= at and written.replace("’", "'").rstrip(" ,.").endswith("'s")

    def _is_object(self, run: NameRun) -> bool:
        return run.first > 0 and self.tokens[run.first - 1].surface in _OBJECT_ARTICLES

    def routes(self) -> Iterator[Roles]:
        """Names between `from` and `to`."""
        for one, other in pairwise(self.runs):
            if one.first and other.first:
                words = self.tokens[one.first - 1].surface, self.tokens[other.first - 1].surface
                if words in _ROUTES:
                    yield Roles(one, other)


def _runs(tokens: Sequence[Token], names: frozenset[str]) -> Iterator[NameRun]:
    first = -1
    for at, token in enumerate(tokens):
        is_name = token.kind == "word" and (token.is_name or (at == 0 and token.key in names))
        if is_name and first < 0:
            first = at
        if not is_name and first >= 0:
            yield NameRun(first, at)
            first = -1
    if first >= 0:
        yield NameRun(first, len(tokens))


def swapped_names(claim: NamedSentence, sentence: NamedSentence) -> tuple[str, str] | None:
    """What the claim says where the sentence says the other of two names; None if the names are in place."""
    for ours, theirs in _shared_words(claim, sentence):
        for own, other in product(claim.roles(ours), sentence.roles(theirs)):
            if own.preposition == other.preposition and _are_swapped(claim, own, sentence, other):
                return claim.shown(own.subject), sentence.shown(other.subject)
    for own in claim.routes():
        for other in sentence.routes():
            if _are_swapped(claim, own, sentence, other):
                return claim.shown(own.subject), sentence.shown(other.subject)
    return None


def _shared_words(claim: NamedSentence, sentence: NamedSentence) -> Iterator[tuple[int, int]]:
    """Words that both have once, and that do not mean the same in both directions."""
    for ours, token in enumerate(claim.tokens):
        if token.kind != "word" or token.is_name or token.key in _SYMMETRIC or token.key.startswith("unit:"):
            continue
        places = [
            at
            for at, other in enumerate(sentence.tokens)
            if not other.is_name
            and other.kind == "word"
            and (same_word(token, other) or are_opposite(token.surface, other.surface))
        ]
        if len(places) == 1 and claim.is_relation(ours) == sentence.is_relation(places[0]):
            yield ours, places[0]


def _are_swapped(claim: NamedSentence, own: Roles, sentence: NamedSentence, other: Roles) -> bool:
    one, two = claim.keys(own.subject), claim.keys(own.object)
    three, four = sentence.keys(other.subject), sentence.keys(other.object)
    crosses = not one.isdisjoint(four) and not two.isdisjoint(three)
    return crosses and one.isdisjoint(three) and two.isdisjoint(four) and one.isdisjoint(two)


def swapped_comparison(ours: Sequence[Token], theirs: Sequence[Token]) -> tuple[Token, Token] | None:
    """What is compared with what, if both sides have changed places around `than`."""
    own, other = _compared(ours), _compared(theirs)
    if own is None or other is None:
        return None
    first = _moved(own[0], other[1], other[0])
    second = _moved(own[1], other[0], own[0])
    return None if first is None or second is None else (first, second)


def _compared(tokens: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]] | None:
    places = [at for at, token in enumerate(tokens) if token.surface in ("than", "als")]
    return (tokens[: places[0]], tokens[places[0] + 1 :]) if len(places) == 1 else None


def _moved(tokens: Sequence[Token], target: Sequence[Token], origin: Sequence[Token]) -> Token | None:
    """The first content word that is on the one side and not on the other."""
    return next(
        (
            token
            for token in tokens
            if token.kind == "word"
            and any(same_word(token, other) for other in target)
            and not any(same_word(token, other) for other in origin)
        ),
        None,
    )
