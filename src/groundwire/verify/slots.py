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
from groundwire.verify.quantities import contradicts, says
from groundwire.verify.tokens import Token

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
        last = self.tokens[at - 1] if at else None
        preposition = last.surface if last is not None and last.kind == "function" else ""
        return Slot(before, self._nearest(at, 1), preposition)

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
    own: Token, ours: Sequence[Token], claim: str, theirs: Sequence[Token], sentence: str
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
    for rival in rivals:
        fits = _fits(wanted, stated.slot(rival))
        if all(
            fits - _fits(wanted, stated.slot(at)) - {"preposition"}
            and not _fits(wanted, stated.slot(at)) - fits
            and not _names_clause(ours, stated, at, rival)
            for at in said
        ):
            return theirs[rival]
    return None


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
    return equal | ({"preposition"} if wanted.preposition and wanted.preposition == found.preposition else set())


def _names_clause(ours: Sequence[Token], stated: SlotReader, at: int, rival: int) -> bool:
    """Has the statement a word that is in the clause of its number, and not in that of the rival?"""
    if stated.clauses[at] == stated.clauses[rival]:
        return False
    others = stated.clause_words(rival)
    return any(
        any(same_word(own, token) for own in ours)
        for token in stated.clause_words(at)
        if not any(same_word(token, other) for other in others)
    )
