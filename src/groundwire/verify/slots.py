"""Which number of a sentence a statement is about, where the sentence has several of a kind.

`Births were 48,200 and deaths 44,900` has both numbers, but says only one of them of births. A number is told
by the words next to it: the nearest content word on each side within its clause, and the preposition before.
What is left out in a clause (`10 gold, 12 silver`) is taken from the clause before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from groundwire.verify.clauses import clause_numbers
from groundwire.verify.overlap import same_word
from groundwire.verify.quantities import ORDINAL, contradicts, says
from groundwire.verify.roles import NamedSentence, NameRun
from groundwire.verify.tokens import Token

_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einem"))
_DISTRIBUTING = frozenset(("respectively", "beziehungsweise", "bzw", "jeweils"))
"""Words with which the order of numbers, not the words next to them, tells what they belong to."""


class Slot(NamedTuple):
    """What is next to a number."""

    before: Token | None
    """The nearest content word or number before it in its clause."""
    after: Token | None
    preposition: str
    """The word directly before it, if it is no content word."""


class SlotReader:
    """The slots of one sentence."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.tokens = tokens
        self.clauses = clause_numbers(tokens, text)

    def slot(self, at: int) -> Slot:
        """The slot of the number at a position."""
        before = self._nearest(at, -1)
        if before is None:
            before = self._inherited(at)
        return Slot(before, self._nearest(at, 1), self.preposition(at))

    def preposition(self, at: int) -> str:
        """The word directly before, if it is no content word; articles and currencies are skipped."""
        for token in reversed(self.tokens[:at]):
            if not token.key.startswith("unit:") and token.surface not in _ARTICLES:
                return token.surface if token.kind == "function" else ""
        return ""

    def _nearest(self, at: int, step: int) -> Token | None:
        clause = self.clauses[at]
        at += step
        while 0 <= at < len(self.tokens) and self.clauses[at] == clause:
            token = self.tokens[at]
            if token.kind == "value" or (token.kind == "word" and not token.key.startswith("unit:")):
                return token
            at += step
        return None

    def _inherited(self, at: int) -> Token | None:
        """The word before the number of the clause before: `won 10 gold, 12 silver`."""
        own = self.tokens[at].quantity
        for earlier in range(at - 1, -1, -1):
            other = self.tokens[earlier].quantity
            if other is not None and own is not None and self.clauses[earlier] != self.clauses[at]:
                return self._nearest(earlier, -1) if contradicts(other, own) else None
        return None

    def clause_words(self, at: int) -> list[Token]:
        """The words of the clause of a position, without prepositions and articles."""
        return [
            token
            for token, clause in zip(self.tokens, self.clauses, strict=True)
            if clause == self.clauses[at] and (token.kind == "word" or token.surface in _TELLING)
        ]


_TELLING = frozenset(("dafür", "dagegen", "against", "more", "mehr", "both"))
"""Words that tell clauses apart although they are no content words."""


def other_slot(
    own: Token,
    ours: Sequence[Token],
    claim: str,
    theirs: Sequence[Token],
    sentence: str,
    names: frozenset[str],
) -> Token | None:
    """The number that a sentence has where a statement has another one, although the sentence has that one
    too, for something else. None if that is not clear."""
    if own.quantity is None or any(token.surface in _DISTRIBUTING for token in theirs):
        return None
    claimed = SlotReader(ours, claim)
    stated = SlotReader(theirs, sentence)
    wanted = claimed.slot(ours.index(own))
    said = [at for at, token in enumerate(theirs) if token.quantity and says(token.quantity, own.quantity)]
    rivals = [
        at for at, token in enumerate(theirs) if token.quantity and contradicts(token.quantity, own.quantity)
    ]
    if not said or not rivals:
        return None
    claimed_names = {token.key for token in ours if token.key in names}
    for rival in rivals:
        if all(_has_other_owner(claimed_names, names, stated, at, rival) for at in said):
            return theirs[rival]
        fits = _fits(wanted, stated.slot(rival))
        if all(
            fits - _fits(wanted, stated.slot(at)) - {"preposition"}
            and not _fits(wanted, stated.slot(at)) - fits
            and not _names_clause(claimed, ours.index(own), stated, at, rival)
            for at in said
        ):
            return theirs[rival]
    return None


def _has_other_owner(
    claimed: set[str], names: frozenset[str], stated: SlotReader, at: int, rival: int
) -> bool:
    """Is the number in a clause about another name, and the rival in one about the name of the statement:
    `Alder costs $6, Birch $8`?"""
    own, other = (
        {token.key for token in stated.clause_words(position) if token.key in names}
        for position in (at, rival)
    )
    return bool(own) and own.isdisjoint(claimed) and bool(other & claimed) and not other - claimed


def fitting_slot(
    own: Token,
    ours: Sequence[Token],
    claim: str,
    rivals: Sequence[Token],
    theirs: Sequence[Token],
    sentence: str,
) -> Token | None:
    """The only rival that has the word next to it that the number of the statement has."""
    stated = SlotReader(theirs, sentence)
    wanted = SlotReader(ours, claim).slot(ours.index(own))
    fitting = [rival for rival in rivals if _fits(wanted, stated.slot(theirs.index(rival))) - {"preposition"}]
    return fitting[0] if len(fitting) == 1 else None


def _fits(wanted: Slot, found: Slot) -> set[str]:
    """The sides on which two slots are equal."""
    sides = {
        "before": (wanted.before, found.before),
        "after": (wanted.after, found.after),
    }
    equal = {
        name
        for name, (one, other) in sides.items()
        if one is not None and other is not None and same_word(one, other)
    }
    return equal | (
        {"preposition"} if wanted.preposition and wanted.preposition == found.preposition else set()
    )


def _names_clause(claimed: SlotReader, own: int, stated: SlotReader, at: int, rival: int) -> bool:
    """Has the statement a word next to its number that is in the clause of that number, not in the
    rival's?"""
    if stated.clauses[at] == stated.clauses[rival]:
        return False
    ours, others = claimed.clause_words(own), stated.clause_words(rival)
    return any(
        any(same_word(word, token) for word in ours)
        for token in stated.clause_words(at)
        if not any(same_word(token, other) for other in others)
    )


def other_rank(ours: Sequence[Token], theirs: Sequence[Token]) -> tuple[Token, Token] | None:
    """A superlative of the statement, and the ordinal that the sentence has before it: `third-largest`."""
    for at, token in enumerate(theirs[1:], 1):
        rank = theirs[at - 1]
        if (
            rank.quantity is None
            or rank.quantity.unit != ORDINAL
            or not token.surface.endswith(_SUPERLATIVES)
        ):
            continue
        for own, wanted in enumerate(ours):
            if same_word(wanted, token) and not (own and ours[own - 1].quantity is not None):
                return wanted, rank
    return None


_SUPERLATIVES = ("est", "ste", "sten", "ster", "stes", "stem", "ßte", "ßten", "ßter", "ßtes", "ßtem")


def other_name_slot(
    claim: NamedSentence, sentence: NamedSentence, keys: frozenset[str]
) -> tuple[str, str] | None:
    """A name of the statement that the sentence has in another place, and the name that it has in its place:
    after the same content word and the same preposition or verb form, as in `its capital is`."""
    claimed, stated = SlotReader(claim.tokens, claim.text), SlotReader(sentence.tokens, sentence.text)
    for run in claim.runs:
        preposition, before = claimed.preposition(run.first), claimed.slot(run.first).before
        places = [other for other in sentence.runs if not sentence.keys(other).isdisjoint(claim.keys(run))]
        if not preposition or before is None or before.is_name or not places:
            continue
        if any(_follows(stated, other, before) for other in places):
            continue
        for rival in sentence.runs:
            if (
                stated.preposition(rival.first) == preposition
                and _follows(stated, rival, before)
                and sentence.keys(rival).isdisjoint(keys)
            ):
                return claim.shown(run), sentence.shown(rival)
    return None


def _follows(stated: SlotReader, run: NameRun, wanted: Token) -> bool:
    before = stated.slot(run.first).before
    return before is not None and same_word(before, wanted)
