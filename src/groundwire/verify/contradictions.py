"""Where a page says something else than a statement: another number, date or name, or the opposite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from groundwire.engine.words import word_list
from groundwire.verify.facts import ClaimVerdict
from groundwire.verify.overlap import ClaimSentence, Overlap, same_word
from groundwire.verify.pages import PageSentence, PreparedPage
from groundwire.verify.polarity import PolarSentence, differ_in_negation, opposite_words
from groundwire.verify.quantities import Quantity, contradicts, is_less_specific, says, year_of
from groundwire.verify.roles import NamedSentence, swapped_comparison, swapped_names
from groundwire.verify.slots import fitting_slot, other_name_slot, other_rank, other_slot
from groundwire.verify.tables import row_difference
from groundwire.verify.tokens import Token, unit_of
from groundwire.verify.vocabulary import are_opposite

SAME_SUBJECT = 0.6
"""Share of the other terms from which a sentence is about the same: only then can it say another value."""
SAME_STATEMENT = 0.75
"""Likewise for a negation, which one more or less common word can bring about."""
_PART_OF_STATEMENT = 0.45
"""Likewise for a sentence whose own words are all in the statement."""
_LONGEST_SENTENCE = 600
"""Tokens of a sentence beyond which it is none, but a text without full stops: every word is compared with
every other."""
_TIE = 0.15
_AROUND = 3
_GERMAN_DETERMINERS = frozenset(
    (
        *("der", "die", "das", "dem", "den", "des", "ein", "eine", "einem", "einen", "einer", "eines"),
        *("im", "am", "zum", "zur", "vom", "beim", "ins", "ans", "seine", "ihre", "diese", "dieser"),
    )
)
_RELATIVE = re.compile(
    r"\b(?:this|last|next|previous) (?:year|month|week|season)|\b(?:today|yesterday|tomorrow)\b"
    r"|\b(?:dieses|letztes|vergangenes|nächstes) Jahr|\b(?:im Vorjahr|heute|gestern|morgen)\b",
    re.IGNORECASE,
)
"""Words for a time that only the date of the page can tell."""
_RANGE_SIGNS = ("-", "–", "/")


class Contradiction(NamedTuple):
    """The sentence that says something else."""

    item: Overlap
    verdict: ClaimVerdict
    pair: tuple[str, str] = ("", "")
    """What the statement says, and what the page says."""


def find_contradiction(
    statement: ClaimSentence, page: PreparedPage, visible: Sequence[Overlap]
) -> Contradiction | None:
    """The first sentence about the same that says something else; `visible` has the best one first."""
    for item in visible:
        found = _in_sentence(statement, page, item, visible)
        if found is not None:
            return found
    return None


def _in_sentence(
    statement: ClaimSentence, page: PreparedPage, item: Overlap, visible: Sequence[Overlap]
) -> Contradiction | None:
    if len(page.sentence_tokens(item.number)) > _LONGEST_SENTENCE:
        return None
    if page.sentences[item.number].header >= 0:
        cell = row_difference(statement, page, item.number)
        return None if cell is None else Contradiction(item, cell.verdict, (cell.claimed, cell.stated))
    if item.words >= SAME_SUBJECT:
        pair = _other_value(statement, page, item, visible) or _misplaced_value(
            statement, page, item, visible
        )
        if pair:
            return Contradiction(item, "other_value", pair)
    if not all(item.row[len(statement.words) :]):
        return None
    if item.words >= SAME_SUBJECT and (
        rank := other_rank(statement.tokens, page.sentence_tokens(item.number))
    ):
        text = page.sentences[item.number].text
        stated = text[rank[1].start : rank[1].end]
        return Contradiction(item, "other_value", (statement.shown(rank[0]), stated))
    if item.common >= SAME_SUBJECT and (pair := _other_name(statement, page, item, visible)):
        return Contradiction(item, "other_name", pair)
    if item.share >= visible[0].share - _TIE and _is_same_statement(statement, page, item):
        return _opposite(statement, page, item)
    return None


def _is_same_statement(statement: ClaimSentence, page: PreparedPage, item: Overlap) -> bool:
    """Has a sentence most words of a statement or their opposites, or no others than it?"""
    if not statement.words:
        return False
    tokens = page.sentence_tokens(item.number)
    opposite = [
        any(are_opposite(token.surface, other.surface) for other in tokens)
        for token, share in zip(statement.words, item.row, strict=False)
        if not share
    ]
    if item.words + sum(opposite) / len(statement.words) >= SAME_STATEMENT:
        return True
    words = [token for token in tokens if token.kind == "word"]
    return (
        item.words >= _PART_OF_STATEMENT
        and len(words) > 1
        and all(any(same_word(token, own) for own in statement.words) for token in words)
    )


def _opposite(statement: ClaimSentence, page: PreparedPage, item: Overlap) -> Contradiction | None:
    """Two turns cancel each other out: `is larger than` with the names swapped is `is smaller than`."""
    sentence, tokens = page.sentences[item.number], page.sentence_tokens(item.number)
    claimed, stated = PolarSentence(statement.tokens, statement.text), PolarSentence(tokens, sentence.text)
    known = page.names | {token.key for token in statement.words if token.is_name}
    ours = NamedSentence(statement.tokens, statement.text, known)
    theirs = NamedSentence(tokens, sentence.text, known)
    names = swapped_names(ours, theirs) or other_name_slot(ours, theirs, statement.keys)
    sides = swapped_comparison(statement.tokens, tokens)
    if sides is not None:
        names = statement.shown(sides[0]), statement.shown(sides[1])
    words = opposite_words(claimed, stated, anywhere=names is not None)
    is_negated = differ_in_negation(claimed, stated)
    if words is not None and any(same_word(words[1], own) for own in statement.tokens):
        is_negated = False  # `accepted it and did not reject it` says it twice
    turns = is_negated + (words is not None) + (names is not None)
    if turns % 2 == 0:
        return None
    if words is not None:
        one, other = words
        return Contradiction(item, "negated", (statement.shown(one), sentence.text[other.start : other.end]))
    return Contradiction(item, "negated") if names is None else Contradiction(item, "other_name", names)


def _other_value(
    statement: ClaimSentence, page: PreparedPage, item: Overlap, visible: Sequence[Overlap]
) -> tuple[str, str] | None:
    """What the statement and the sentence say in the same slot; None if they do not differ there."""
    tokens = page.sentence_tokens(item.number)
    theirs = [
        token
        for token in tokens
        if token.quantity is not None
        and not any(_says(token.quantity, own.quantity) for own in statement.values)
    ]
    for at, own in enumerate(statement.values, len(statement.words)):
        if item.row[at] or _is_said_elsewhere(at, item, visible):
            continue
        rivals = [
            token
            for token in theirs
            if _contradict(token.quantity, own.quantity)
            and not _is_relative(token, page.sentences[item.number])
        ]
        sentence = page.sentences[item.number]
        rival = _same_slot(own, statement.tokens, rivals, tokens)
        if rival is None and not any(other.row[at] for other in visible):
            rival = _only_rival(own, rivals)
        if rival is None:
            rival = fitting_slot(own, statement.tokens, statement.text, rivals, tokens, sentence.text)
        if rival is not None:
            return statement.shown(own), sentence.text[rival.start : rival.end]
    return None


def _misplaced_value(
    statement: ClaimSentence, page: PreparedPage, item: Overlap, visible: Sequence[Overlap]
) -> tuple[str, str] | None:
    """A value that the sentence has for something else, and what it has in its place."""
    sentence, tokens = page.sentences[item.number], page.sentence_tokens(item.number)
    for at, own in enumerate(statement.values, len(statement.words)):
        if not item.row[at] or _is_said_elsewhere(at, item, visible):
            continue
        known = page.names | {token.key for token in statement.words if token.is_name}
        rival = other_slot(own, statement.tokens, statement.text, tokens, sentence.text, known)
        if rival is not None and not _is_relative(rival, sentence):
            return statement.shown(own), sentence.text[rival.start : rival.end]
    return None


def _is_relative(token: Token, sentence: PageSentence) -> bool:
    """Is a date part of a range, or next to a time that only the date of the page can tell?"""
    if token.quantity is None or not (token.quantity.kind == "date" or year_of(token.quantity)):
        return False
    return sentence.text[token.end : token.end + 1] in _RANGE_SIGNS or bool(_RELATIVE.search(sentence.text))


def _says(found: Quantity | None, wanted: Quantity | None) -> bool:
    return found is not None and wanted is not None and says(found, wanted)


def _contradict(found: Quantity | None, wanted: Quantity | None) -> bool:
    return found is not None and wanted is not None and contradicts(found, wanted)


def _is_said_elsewhere(at: int, item: Overlap, visible: Sequence[Overlap]) -> bool:
    """Is a term in another sentence that is as much about the same?"""
    return any(
        other.number != item.number and other.words >= item.words - _TIE and other.row[at]
        for other in visible
    )


def _same_slot(
    own: Token, ours: Sequence[Token], rivals: Sequence[Token], theirs: Sequence[Token]
) -> Token | None:
    """The rival that stands between the same words, or has the same unit, or is nearly the same date."""
    for rival in rivals:
        # A preposition tells nothing about numbers of which one has a unit.
        is_kind = bool(unit_of(own)) == bool(unit_of(rival))
        if _neighbours(own, ours, is_kind=is_kind) & _neighbours(rival, theirs, is_kind=is_kind):
            return rival
    close = [rival for rival in rivals if _share_parts(rival.quantity, own.quantity)]
    return close[0] if len(close) == 1 else None


def _share_parts(one: Quantity | None, other: Quantity | None) -> bool:
    """Do two dates differ in one part only?"""
    if one is None or other is None:
        return False
    parts = (one.day, other.day), (one.month, other.month), (one.year, other.year)
    return all(all(pair) for pair in parts) and sum(left == right for left, right in parts) == 2


def _only_rival(own: Token, rivals: Sequence[Token]) -> Token | None:
    """The only other value, if it is of the same kind."""
    if len(rivals) != 1 or own.quantity is None or rivals[0].quantity is None:
        return None
    if bool(own.quantity.unit) != bool(rivals[0].quantity.unit):
        return None
    return None if is_less_specific(rivals[0].quantity, own.quantity) else rivals[0]


def _neighbours(token: Token, tokens: Sequence[Token], *, is_kind: bool) -> set[tuple[str, str]]:
    """The words before and after a token, and its unit."""
    at = tokens.index(token)
    found = {
        ("before", before.key)
        for before in tokens[max(0, at - 1) : at]
        if is_kind or before.kind != "function"
    }
    found |= {("after", after.key) for after in tokens[at + 1 : at + 2] if after.kind != "function"}
    if token.quantity is not None and token.quantity.unit:
        found.add(("unit", token.quantity.unit))
    return found


def _other_name(
    statement: ClaimSentence, page: PreparedPage, item: Overlap, visible: Sequence[Overlap]
) -> tuple[str, str] | None:
    """Names that stand between the same words of the statement and of the sentence, and differ."""
    theirs = page.sentence_tokens(item.number)
    missing = {
        token.key
        for at, (token, share) in enumerate(zip(statement.words, item.row, strict=False))
        if (token.is_name or token is _first_name(statement, theirs, page))
        and not share
        and (token.key not in page.keys or _is_only_elsewhere(at, statement, item, visible))
    }
    if not missing:
        return None
    ours = statement.tokens
    matcher = SequenceMatcher(
        None, [_slot(token) for token in ours], [_slot(token) for token in theirs], autojunk=False
    )
    for kind, left, right, begin, end in matcher.get_opcodes():
        # The sentence may say more before and after.
        high = min(end, begin + _AROUND) if right == len(ours) else end
        low = max(begin, high - _AROUND) if left == 0 else begin
        if kind != "replace" or right - left > _AROUND or high - low > _AROUND:
            continue
        own = [token for token in ours[left:right] if token.key in missing]
        other = [token for token in theirs[low:high] if _may_be_name(token, low)]
        is_noun = _is_common_noun(statement, ours, left) or _is_common_noun(statement, theirs, low)
        if is_noun or any(token.key in statement.keys for token in other):
            continue
        if own and other and not _may_be_same(own, other, page):
            sentence = page.sentences[item.number]
            return (
                statement.text[own[0].start : own[-1].end],
                sentence.text[other[0].start : other[-1].end],
            )
    return None


def _first_name(statement: ClaimSentence, theirs: Sequence[Token], page: PreparedPage) -> Token | None:
    """The first word of a statement, if the sentence begins with a name: then it may be one too."""
    first, other = statement.tokens[0], theirs[0]
    is_name = other.kind == "word" and (other.is_name or other.key in page.names)
    return (
        first if is_name and first.kind == "word" and first.surface not in word_list("common_words") else None
    )


def _is_only_elsewhere(at: int, statement: ClaimSentence, item: Overlap, visible: Sequence[Overlap]) -> bool:
    """Is a name that the page has missing in a sentence that has all the rest of the statement?"""
    rest = [
        share
        for token, share in zip(statement.terms, item.row, strict=True)
        if not (token.is_name and not share)
    ]
    return len(rest) > 1 and all(rest) and not _is_said_elsewhere(at, item, visible)


def _may_be_same(own: Sequence[Token], other: Sequence[Token], page: PreparedPage) -> bool:
    """May two names mean the same: a short form, initials, or parts of one name that the page has in full?"""
    if _is_short_form(own[0].surface, other[0].surface):
        return True
    initials = "".join(token.surface[0] for token in other), "".join(token.surface[0] for token in own)
    if own[0].surface == initials[0] or other[0].surface == initials[1]:
        return True
    surfaces = {token.surface for token in other}
    return any(
        not surfaces.isdisjoint(token.surface for token in page.tokens[max(0, at - 2) : at + 3])
        for token in own
        for at in page.surfaces.get(token.surface, ())[:_MOST_PLACES]
    )


_MOST_PLACES = 200


def _is_short_form(one: str, other: str) -> bool:
    """May one name be short for the other: `Al` for `Albert`, `J` for `John`?"""
    short, long = sorted((one, other), key=len)
    return short[0] == long[0] and len(short) <= 3 and len(short) < len(long)


def _is_common_noun(statement: ClaimSentence, tokens: Sequence[Token], at: int) -> bool:
    """In German every noun has a capital letter; names rarely have an article or a number before them."""
    if statement.language != "de" or at == 0:
        return False
    return tokens[at - 1].surface in _GERMAN_DETERMINERS or tokens[at - 1].kind == "value"


def _slot(token: Token) -> str:
    return token.surface if token.kind == "value" else token.key


def _may_be_name(token: Token, position: int) -> bool:
    """A name, or the first word of a sentence, where every word has a capital letter."""
    return token.kind == "word" and (token.is_name or position == 0)
