"""Compares one statement with a page by its words: which of them are there, and what is in their place.

The comparison can find that a page says something else, not that it says the same: the same words in another
order may mean the opposite. So a statement is `verbatim`, contradicted, absent, or it stays open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundwire.verify.clauses import clause_numbers
from groundwire.verify.contradictions import SAME_STATEMENT, find_contradiction
from groundwire.verify.facts import ClaimVerdict, StatementFact
from groundwire.verify.overlap import (
    FEWEST_TERMS,
    ClaimSentence,
    Overlap,
    best_union,
    joint_row,
    rank_sentences,
    union_share,
)
from groundwire.verify.pages import SUPPORTING, PageSentence, PreparedPage
from groundwire.verify.passages import TokenRange, find_sequences, passage_text
from groundwire.verify.quantities import says
from groundwire.verify.tokens import Token

_FEWEST_WORDS = 3
ABSENT = 0.3
"""Share of the terms of a statement, in the best `UNION` sentences, below which a page has next to nothing of
it. On WiCE dev, of which 33 % are supported, no supported claim is below it."""
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
        return _other_language(statement, page, visible)
    if not visible or best_union(visible) < ABSENT:
        return _not_in_text(statement, page, overlaps, visible)
    found = find_contradiction(statement, page, visible)
    if found is not None:
        return _fact(statement, page, [found.item], found.verdict, pair=found.pair)
    if _adds_nothing_known(statement, page, visible):
        return _not_in_text(statement, page, overlaps, visible)
    return _open(statement, page, visible)


def _other_language(
    statement: ClaimSentence, page: PreparedPage, visible: Sequence[Overlap]
) -> StatementFact:
    """Of a claim in another language only numbers, dates and names can be looked for."""
    note = "the claim and the page are in different languages"
    # In German every noun has a capital letter, so names are known in English claims only.
    names = [
        token.key in page.keys for token in statement.words if token.is_name and statement.language == "en"
    ]
    values = [
        token.quantity is not None and bool(page.sentences_with(token.quantity)) for token in statement.values
    ]
    known = any(token.key in page.names for token in statement.words)
    verdict: ClaimVerdict = "unproven"
    if not all(values) or (names and not any(names)):
        verdict = "partial" if known or any(values) or any(names) else "absent"
    return _fact(statement, page, visible[:1], verdict, note=note)


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


_THAT = ("that", "dass", "daß")
_NEGATED = "the sentence around it is negated"
_QUESTION = "the page asks it"
_CONDITION = "the sentence around it takes it back, reports it or puts it under a condition"


def _taken_back(statement: ClaimSentence, page: PreparedPage, place: TokenRange) -> str:
    """Why a sentence that contains the statement does not say it; empty if it does."""
    first, last = page.sentence_at(place.first), page.sentence_at(place.last - 1)
    begin, end = page.sentences[first].first, page.sentences[last].last
    if page.sentences[last].text.rstrip().endswith("?") and not statement.text.endswith("?"):
        return _QUESTION
    before, after = page.tokens[begin : place.first], page.tokens[place.last : end]
    if any(token.kind == "negation" for token in before[_last_clause(page, first, place.first) :]):
        return _NEGATED
    rest = _same_clause(page, last, place.last)
    is_open = any(token.kind == "negation" for token in rest) or any(
        token.surface in _HEDGES for token in (*before, *after)
    )
    return _CONDITION if is_open else ""


def _last_clause(page: PreparedPage, number: int, at: int) -> int:
    """Where the clause begins that leads up to a token, `It is not true that`; counted from the sentence."""
    sentence, tokens = page.sentences[number], page.sentence_tokens(number)
    position = at - sentence.first
    clauses = clause_numbers(tokens, sentence.text)
    if position and tokens[position - 1].surface in _THAT:
        return clauses.index(clauses[position - 1])
    return clauses.index(clauses[position])


def _same_clause(page: PreparedPage, number: int, at: int) -> list[Token]:
    """The tokens after a token in its clause."""
    sentence, tokens = page.sentences[number], page.sentence_tokens(number)
    position = at - sentence.first
    clauses = clause_numbers(tokens, sentence.text)
    return [
        token
        for token, clause in zip(tokens[position:], clauses[position:], strict=True)
        if clause == clauses[position - 1]
    ]


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


def _adds_nothing_known(statement: ClaimSentence, page: PreparedPage, visible: Sequence[Overlap]) -> bool:
    """Has the page next to nothing of what the statement says about its subject? The words of the title are
    in every claim about the page, also in an absurd one."""
    added = [
        at
        for at, token in enumerate(statement.terms)
        if token.key not in page.subject and not _is_in_title(token, page)
    ]
    rows = [[item.row[at] for at in added] for item in visible]
    return FEWEST_TERMS <= len(added) < len(statement.terms) and union_share(rows) < ABSENT


def _is_in_title(token: Token, page: PreparedPage) -> bool:
    return token.quantity is not None and any(says(found, token.quantity) for found in page.subject_values)


def _not_in_text(
    statement: ClaimSentence, page: PreparedPage, overlaps: Sequence[Overlap], visible: Sequence[Overlap]
) -> StatementFact:
    """Not in the text: in a heading, in hidden text, or nowhere."""
    elsewhere = [item for item in overlaps if page.sentences[item.number].place not in SUPPORTING]
    if elsewhere and elsewhere[0].share >= SAME_STATEMENT:
        hidden = page.sentences[elsewhere[0].number].place == "hidden"
        return _fact(statement, page, elsewhere[:1], "hidden_only" if hidden else "heading_only")
    return _fact(statement, page, visible[:1], "absent")


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
