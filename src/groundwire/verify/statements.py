"""Compares one statement with a page by its words: which of them are there, and what is in their place.

The comparison can find that a page says something else, not that it says the same: the same words in another
order may mean the opposite. So a statement is `verbatim`, contradicted, absent, or it stays open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from groundwire.engine.words import guess_language, stem_synonyms
from groundwire.verify.facts import ClaimVerdict, StatementFact
from groundwire.verify.pages import SUPPORTING, PageSentence, PreparedPage, SentenceTerms
from groundwire.verify.passages import TokenRange, find_sequences, passage_text
from groundwire.verify.quantities import Quantity, contradicts, is_less_specific, says, year_of
from groundwire.verify.tokens import Token, tokenize_text

FEWEST_TERMS = 2
"""Content words and quantities below which a statement says too little to be looked for."""
_FEWEST_WORDS = 3
_CANDIDATES = 12
"""Sentences that are compared in detail."""
_MOST_POSTINGS = 4000
"""Sentences of a page that are counted for one statement; the rarest words come first."""
UNION = 3
"""Sentences of a page that together may have what a statement says."""
ABSENT = 0.3
"""Share of the terms of a statement, in the best `UNION` sentences, below which a page has next to nothing of
it. On WiCE dev, of which 33 % are supported, no supported claim is below it."""
SAME_SUBJECT = 0.6
"""Share of the other terms from which a sentence is about the same: only then can it say another value."""
SAME_STATEMENT = 0.75
"""Likewise for a negation, which one more or less common word can bring about."""
_TIE = 0.15
_ROOT_WEIGHT = 0.8
"""What another word of the same family counts."""
_SUBJECT_WEIGHT = 0.6
"""What a word counts that is only in the title or first heading of the page. The values above were chosen on
the tuning half of the labelled pages in tests/verify/labelled."""
_GERMAN_DETERMINERS = frozenset(
    (
        *("der", "die", "das", "dem", "den", "des", "ein", "eine", "einem", "einen", "einer", "eines"),
        *("im", "am", "zum", "zur", "vom", "beim", "ins", "ans", "seine", "ihre", "diese", "dieser"),
    )
)
_AROUND = 3
_LONG_WORD = 5
"""Letters of a stem from which its beginning tells its family."""
_HEDGES = frozenset(
    (
        *("myth", "myths", "false", "falsely", "untrue", "wrong", "wrongly", "denied", "denies", "deny"),
        *("alleged", "allegedly", "rumour", "rumor", "rumoured", "rumored", "hoax", "claimed", "claims"),
        *("supposedly", "purportedly", "if", "unless", "would", "hypothetically", "refuted", "debunked"),
        *("falsch", "fälschlich", "unwahr", "mythos", "gerücht", "angeblich", "bestritt", "bestreitet"),
        *("falls", "wenn", "würde", "widerlegt", "dementierte", "behauptet", "behauptete"),
    )
)
"""Words next to a statement that take it back or put it under a condition."""


class Overlap(NamedTuple):
    """What a sentence has of a statement."""

    number: int
    """Of the sentence."""
    share: float
    """Of the terms, weighted, between 0 and 1."""
    words: float
    """Of the words that are not values."""
    common: float
    """Of the words that are neither values nor names."""
    row: tuple[float, ...]
    """How well each term is there: first the words, then the values."""


class ClaimSentence:
    """A sentence of a claim, with its terms."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self.tokens = tokenize_text(self.text)
        self.words = list(_unique(token for token in self.tokens if token.kind == "word"))
        self.keys = frozenset(token.key for token in self.words)
        self.values = [token for token in self.tokens if token.kind == "value"]
        self.language = guess_language(self.text)

    @property
    def terms(self) -> list[Token]:
        """Content words, names, numbers and dates."""
        return [*self.words, *self.values]

    def shown(self, token: Token) -> str:
        """A term as it is written in the statement."""
        return self.text[token.start : token.end]


def _unique(tokens: Iterable[Token]) -> Iterator[Token]:
    seen: set[str] = set()
    for token in tokens:
        if token.key not in seen:
            seen.add(token.key)
            yield token


def check_statement(text: str, page: PreparedPage) -> StatementFact:
    """The facts about one sentence of a claim."""
    statement = ClaimSentence(text)
    if len(statement.terms) < FEWEST_TERMS:
        return StatementFact(statement.text, "no_claim", note="it says too little to be looked for")
    if (literal := _find_verbatim(statement, page)) is not None:
        return literal
    if not page.sentences:
        return StatementFact(statement.text, "absent", missing=_shown(statement, statement.terms))
    overlaps = rank_sentences(statement, page)
    visible = [item for item in overlaps if page.sentences[item.number].place in SUPPORTING]
    if page.language and statement.language and page.language != statement.language:
        note = "the claim and the page are in different languages"
        return _fact(statement, page, visible[:1], "unproven", note=note)
    if not visible or best_union(visible) < ABSENT:
        return _not_in_text(statement, page, overlaps, visible)
    return _contradiction(statement, page, visible) or _open(statement, page, visible)


def _find_verbatim(statement: ClaimSentence, page: PreparedPage) -> StatementFact | None:
    """The statement word for word: in the text, in a heading, or in hidden text."""
    if len(statement.tokens) < _FEWEST_WORDS:
        return None
    places = find_sequences(page, [token.surface for token in statement.tokens])
    if not places:
        return None
    for place in places:
        sentence = page.sentences[page.sentence_at(place.first)]
        if sentence.place in SUPPORTING:
            note = _taken_back(statement, page, place)
            if not note:
                return _literal_fact(statement, page, place, "verbatim")
    supporting = [at for at in places if page.sentences[page.sentence_at(at.first)].place in SUPPORTING]
    if supporting:
        note = _taken_back(statement, page, supporting[0])
        return _literal_fact(
            statement, page, supporting[0], "negated" if note == _NEGATED else "unproven", note
        )
    place = min(places, key=lambda at: page.sentences[page.sentence_at(at.first)].place == "hidden")
    hidden = page.sentences[page.sentence_at(place.first)].place == "hidden"
    return _literal_fact(statement, page, place, "hidden_only" if hidden else "heading_only")


_NEGATED = "the sentence around it is negated"
_QUESTION = "the page asks it"
_CONDITION = "the sentence around it takes it back, reports it or puts it under a condition"


def _taken_back(statement: ClaimSentence, page: PreparedPage, place: TokenRange) -> str:
    """Why a sentence that contains the statement does not say it; empty if it does."""
    first, last = page.sentence_at(place.first), page.sentence_at(place.last - 1)
    begin, end = page.sentences[first].first, page.sentences[last].last
    around = [*page.tokens[begin : place.first], *page.tokens[place.last : end]]
    if page.sentences[last].text.rstrip().endswith("?") and not statement.text.endswith("?"):
        return _QUESTION
    if any(token.kind == "negation" for token in around):
        return _NEGATED
    return _CONDITION if any(token.surface in _HEDGES for token in around) else ""


def _literal_fact(
    statement: ClaimSentence, page: PreparedPage, place: TokenRange, verdict: ClaimVerdict, note: str = ""
) -> StatementFact:
    sentence = page.sentences[page.sentence_at(place.first)]
    passage = sentence.text if note else passage_text(page, place)
    return StatementFact(
        statement.text,
        verdict,
        _shown(statement, statement.terms),
        passage=passage,
        place=sentence.place,
        note=note,
    )


def rank_sentences(statement: ClaimSentence, page: PreparedPage) -> list[Overlap]:
    """The sentences that have most of a statement, best first."""
    counts: dict[int, float] = {}
    budget = _MOST_POSTINGS
    for token in sorted(statement.words, key=lambda token: len(page.roots.get(token.root, ()))):
        for number in page.roots.get(token.root, ())[:budget]:
            counts[number] = counts.get(number, 0.0) + 1.0
            budget -= 1
        if budget <= 0:
            break
    for wanted in statement.values:
        for number in page.sentences_with(wanted.quantity)[:_MOST_POSTINGS] if wanted.quantity else ():
            counts[number] = counts.get(number, 0.0) + 1.0
    best = sorted(counts, key=lambda number: (-counts[number], number))[:_CANDIDATES]
    overlaps = (_overlap(statement, page, number) for number in best)
    return sorted(overlaps, key=lambda item: (-item.share, item.number))


def _overlap(statement: ClaimSentence, page: PreparedPage, number: int) -> Overlap:
    row = term_row(statement, page, number)
    count = len(statement.words)
    matched = [
        share or (_SUBJECT_WEIGHT if token.key in page.subject else 0.0)
        for token, share in zip(statement.words, row, strict=False)
    ]
    common = [share for token, share in zip(statement.words, matched, strict=True) if not token.is_name]
    return Overlap(number, _mean([*matched, *row[count:]]), _mean(matched), _mean(common or matched), row)


def term_row(statement: ClaimSentence, page: PreparedPage, number: int) -> tuple[float, ...]:
    """How well each term of a statement is in a sentence: first the words, then the values."""
    terms = page.terms(number)
    return (
        *(match_word(token, terms) for token in statement.words),
        *(float(finds_value(token, terms.values)) for token in statement.values),
    )


def joint_row(statement: ClaimSentence, page: PreparedPage, numbers: Iterable[int]) -> tuple[float, ...]:
    """How well each term is in some sentences together."""
    rows = [term_row(statement, page, number) for number in numbers]
    return tuple(map(max, zip(*rows, strict=True))) if rows else (0.0,) * len(statement.terms)


def coverage(statement: ClaimSentence, page: PreparedPage, numbers: Iterable[int]) -> float:
    """The share of the terms that some sentences have together."""
    return _mean(joint_row(statement, page, numbers))


def best_union(overlaps: Sequence[Overlap]) -> float:
    """The share of the terms that the best few sentences have together: each adds as much as it can."""
    rows = [item.row for item in overlaps]
    joint: tuple[float, ...] = (0.0,) * len(rows[0]) if rows else ()
    for _ in range(UNION):
        joint = max((tuple(map(max, joint, row)) for row in rows), key=sum, default=joint)
    return _mean(joint)


def match_word(wanted: Token, terms: SentenceTerms) -> float:
    """How well a word is in a sentence: itself, or another word of its family."""
    if wanted.key in terms.keys:
        return 1.0
    families = terms.common_families if wanted.is_name else terms.families
    is_family = len(wanted.key) >= _LONG_WORD and wanted.root in families
    if is_family or not terms.keys.isdisjoint(stem_synonyms().get(wanted.key, ())):
        return _ROOT_WEIGHT
    return 0.0


def finds_value(wanted: Token, values: Iterable[Quantity]) -> bool:
    """Is a number or a date among those of a sentence?"""
    return any(_says(found, wanted.quantity) for found in values)


def _says(found: Quantity | None, wanted: Quantity | None) -> bool:
    return found is not None and wanted is not None and says(found, wanted)


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0


def _not_in_text(
    statement: ClaimSentence, page: PreparedPage, overlaps: Sequence[Overlap], visible: Sequence[Overlap]
) -> StatementFact:
    """Not in the text: in a heading, in hidden text, or nowhere."""
    elsewhere = [item for item in overlaps if page.sentences[item.number].place not in SUPPORTING]
    if elsewhere and elsewhere[0].share >= SAME_STATEMENT:
        hidden = page.sentences[elsewhere[0].number].place == "hidden"
        return _fact(statement, page, elsewhere[:1], "hidden_only" if hidden else "heading_only")
    return _fact(statement, page, visible[:1], "absent")


def _contradiction(
    statement: ClaimSentence, page: PreparedPage, visible: Sequence[Overlap]
) -> StatementFact | None:
    """The first sentence about the same that says something else."""
    for item in visible:
        tokens = page.sentence_tokens(item.number)
        if item.words >= SAME_SUBJECT and (pair := _other_value(statement, page, item, visible)):
            return _fact(statement, page, [item], "other_value", pair=pair)
        if not all(item.row[len(statement.words) :]):
            continue
        if item.common >= SAME_SUBJECT and (pair := _other_name(statement, page, item)):
            return _fact(statement, page, [item], "other_name", pair=pair)
        if item.words >= SAME_STATEMENT and _is_negated(statement, tokens):
            return _fact(statement, page, [item], "negated")
    return None


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
        rival = _same_slot(own, statement.tokens, rivals, tokens)
        if rival is not None:
            sentence = page.sentences[item.number]
            return statement.shown(own), sentence.text[rival.start : rival.end]
    return None


_RELATIVE = re.compile(
    r"\b(?:this|last|next|previous) (?:year|month|week|season)|\b(?:today|yesterday|tomorrow)\b"
    r"|\b(?:dieses|letztes|vergangenes|nächstes) Jahr|\b(?:im Vorjahr|heute|gestern|morgen)\b",
    re.IGNORECASE,
)
"""Words for a time that only the date of the page can tell."""


def _is_relative(token: Token, sentence: PageSentence) -> bool:
    """Is a date part of a range, or next to a time that only the date of the page can tell?"""
    if token.quantity is None or not (token.quantity.kind == "date" or year_of(token.quantity)):
        return False
    return sentence.text[token.end : token.end + 1] in _RANGE_SIGNS or bool(_RELATIVE.search(sentence.text))


_RANGE_SIGNS = ("-", "–", "/")


def _contradict(found: Quantity | None, wanted: Quantity | None) -> bool:
    return found is not None and wanted is not None and contradicts(found, wanted)


def _is_said_elsewhere(at: int, item: Overlap, visible: Sequence[Overlap]) -> bool:
    """Is a value in another sentence that is as much about the same?"""
    return any(
        other.number != item.number and other.words >= item.words - _TIE and other.row[at]
        for other in visible
    )


def _same_slot(
    own: Token, ours: Sequence[Token], rivals: Sequence[Token], theirs: Sequence[Token]
) -> Token | None:
    """The rival that stands between the same words, or has the same unit; else the only one."""
    neighbours = _neighbours(own, ours)
    for rival in rivals:
        if not neighbours.isdisjoint(_neighbours(rival, theirs)):
            return rival
    if len(rivals) != 1 or own.quantity is None or rivals[0].quantity is None:
        return None
    return None if is_less_specific(rivals[0].quantity, own.quantity) else rivals[0]


def _neighbours(token: Token, tokens: Sequence[Token]) -> set[tuple[str, str]]:
    """The words before and after a token, and its unit."""
    at = tokens.index(token)
    found = {("before", before.key) for before in tokens[max(0, at - 1) : at]}
    found |= {("after", after.key) for after in tokens[at + 1 : at + 2] if after.kind != "function"}
    if token.quantity is not None and token.quantity.unit:
        found.add(("unit", token.quantity.unit))
    return found


def _other_name(statement: ClaimSentence, page: PreparedPage, item: Overlap) -> tuple[str, str] | None:
    """Names that stand between the same words of the statement and of the sentence, and differ."""
    theirs = page.sentence_tokens(item.number)
    missing = {
        token.key
        for token, share in zip(statement.words, item.row, strict=False)
        if token.is_name and not share and token.key not in page.keys
    }
    if not missing:
        return None
    ours = statement.tokens
    matcher = SequenceMatcher(
        None, [_slot(token) for token in ours], [_slot(token) for token in theirs], autojunk=False
    )
    for kind, left, right, low, high in matcher.get_opcodes():
        if kind != "replace" or right - left > _AROUND or high - low > _AROUND:
            continue
        own = [token for token in ours[left:right] if token.key in missing]
        other = [token for token in theirs[low:high] if _may_be_name(token, low)]
        if _is_common_noun(statement, ours, left) or any(token.key in statement.keys for token in other):
            continue
        if own and other and not _is_short_form(own[0].surface, other[0].surface):
            sentence = page.sentences[item.number]
            return (
                statement.text[own[0].start : own[-1].end],
                sentence.text[other[0].start : other[-1].end],
            )
    return None


def _is_short_form(one: str, other: str) -> bool:
    """May one name be short for the other: `Al` for `Albert`, `J` for `John`?"""
    short, long = sorted((one, other), key=len)
    return short[0] == long[0] and len(short) <= 3 and len(short) < len(long)


def _is_common_noun(statement: ClaimSentence, tokens: Sequence[Token], at: int) -> bool:
    """In German every noun has a capital letter; names rarely have an article."""
    return statement.language == "de" and at > 0 and tokens[at - 1].surface in _GERMAN_DETERMINERS


def _slot(token: Token) -> str:
    return token.surface if token.kind == "value" else token.key


def _may_be_name(token: Token, position: int) -> bool:
    """A name, or the first word of a sentence, where every word has a capital letter."""
    return token.kind == "word" and (token.is_name or position == 0)


def _is_negated(statement: ClaimSentence, tokens: Sequence[Token]) -> bool:
    """Is exactly one of both negated, near the words that they share?"""
    own = sum(token.kind == "negation" for token in statement.tokens)
    shared = [at for at, token in enumerate(tokens) if token.kind == "word" and token.key in statement.keys]
    if not shared:
        return False
    first, last = max(0, shared[0] - _AROUND), shared[-1] + _AROUND + 1
    theirs = sum(token.kind == "negation" for token in tokens[first:last])
    return own % 2 != theirs % 2


def _open(statement: ClaimSentence, page: PreparedPage, visible: Sequence[Overlap]) -> StatementFact:
    """Neither word for word nor contradicted: what is there and what is not."""
    complete = all(joint_row(statement, page, _neighbourhood(visible[0].number, page)))
    return _fact(statement, page, visible[:1], "unproven" if complete else "partial")


def _neighbourhood(number: int, page: PreparedPage) -> list[int]:
    """A sentence and those next to it that readers see."""
    around = range(max(0, number - 1), min(len(page.sentences), number + 2))
    return [at for at in around if page.sentences[at].place != "hidden"]


def _fact(
    statement: ClaimSentence,
    page: PreparedPage,
    items: Sequence[Overlap],
    verdict: ClaimVerdict,
    *,
    pair: tuple[str, str] = ("", ""),
    note: str = "",
) -> StatementFact:
    sentence: PageSentence | None = page.sentences[items[0].number] if items else None
    near: list[int] = []
    if sentence is not None:
        near = [items[0].number] if sentence.place == "hidden" else _neighbourhood(items[0].number, page)
    shares = joint_row(statement, page, near)
    found = [token for token, share in zip(statement.terms, shares, strict=True) if share]
    missing = [token for token, share in zip(statement.terms, shares, strict=True) if not share]
    return StatementFact(
        statement.text,
        verdict,
        _shown(statement, found),
        _shown(statement, missing),
        sentence.text if sentence is not None and found else "",
        sentence.place if sentence is not None and found else "",
        *pair,
        note,
    )


def _shown(statement: ClaimSentence, tokens: Iterable[Token]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(statement.shown(token) for token in tokens))
