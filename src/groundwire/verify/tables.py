"""Rows of a table: the cell that a statement is about, by the label of the row and the column names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from groundwire.verify.overlap import ClaimSentence, same_word
from groundwire.verify.pages import PreparedPage
from groundwire.verify.quantities import contradicts, says
from groundwire.verify.tokens import Token, unit_of


class Cell(NamedTuple):
    """A cell of a row with the words of its column."""

    tokens: Sequence[Token]
    column: Sequence[Token]


class CellDifference(NamedTuple):
    """What a statement says, and what the cell says."""

    verdict: Literal["other_value", "other_name"]
    claimed: str
    stated: str


def row_difference(statement: ClaimSentence, page: PreparedPage, number: int) -> CellDifference | None:
    """Where a row with named columns says something else than a statement; None if it does not, or the row is
    about something else."""
    cells = _cells(page, number)
    if len(cells) < 2 or not _is_about(statement, cells[0].tokens):
        return None
    text = page.sentences[number].text
    asked = [cell for cell in cells[1:] if any(_has(statement.words, token) for token in cell.column)]
    for own in statement.values:
        if any(_says(token, own) for token in cells[0].tokens):
            continue
        stated = _other_value(own, asked) or _only_value(own, cells[1:])
        if stated is not None and not any(_says(token, own) for cell in asked for token in cell.tokens):
            return CellDifference("other_value", statement.shown(own), text[stated.start : stated.end])
    return _other_name(statement, page, number, asked)


def _cells(page: PreparedPage, number: int) -> list[Cell]:
    header = page.sentences[number].header
    if header < 0:
        return []
    columns = _split(page, header)
    cells = _split(page, number)
    return [Cell(tokens, column) for tokens, column in zip(cells, columns, strict=False)]


def _split(page: PreparedPage, number: int) -> list[list[Token]]:
    """The tokens of each cell of a row."""
    text = page.sentences[number].text
    cells: list[list[Token]] = [[] for _ in range(text.count("\t") + 1)]
    for token in page.sentence_tokens(number):
        cells[text.count("\t", 0, token.start)].append(token)
    return cells


def _is_about(statement: ClaimSentence, label: Sequence[Token]) -> bool:
    """Are all words and numbers of the label in the statement?"""
    terms = [token for token in label if token.kind in ("word", "value")]
    return bool(terms) and all(_has(statement.terms, token) for token in terms)


def _has(tokens: Sequence[Token], wanted: Token) -> bool:
    return any(same_word(token, wanted) for token in tokens)


def _says(found: Token, own: Token) -> bool:
    return found.quantity is not None and own.quantity is not None and says(found.quantity, own.quantity)


def _rivals(own: Token, cells: Sequence[Cell]) -> list[Token]:
    return [
        token
        for cell in cells
        for token in cell.tokens
        if token.quantity is not None
        and own.quantity is not None
        and contradicts(token.quantity, own.quantity)
    ]


def _other_value(own: Token, asked: Sequence[Cell]) -> Token | None:
    """The number in the only column that the statement names; either both have a unit or neither has."""
    rivals = [rival for rival in _rivals(own, asked) if bool(unit_of(rival)) == bool(unit_of(own))]
    return rivals[0] if len(rivals) == 1 else None


def _only_value(own: Token, cells: Sequence[Cell]) -> Token | None:
    """The only number of the row with the unit of the statement, if the row does not say what it says."""
    if any(_says(token, own) for cell in cells for token in cell.tokens):
        return None
    rivals = [rival for rival in _rivals(own, cells) if unit_of(rival) == unit_of(own)]
    return rivals[0] if len(rivals) == 1 and unit_of(own) else None


def _other_name(
    statement: ClaimSentence, page: PreparedPage, number: int, asked: Sequence[Cell]
) -> CellDifference | None:
    """The name in the only column that the statement names, if the statement has another name."""
    named = [cell for cell in asked if cell.tokens and all(token.is_name for token in cell.tokens)]
    row = page.sentence_tokens(number)
    header = page.sentence_tokens(page.sentences[number].header)
    if len(named) != 1 or any(_has(statement.words, token) for token in named[0].tokens):
        return None
    others = [
        token
        for token in statement.words
        if token.is_name and not _has([*row, *header], token) and token.key not in page.subject
    ]
    first = named[0].tokens[0]
    if not others:
        return None
    text = page.sentences[number].text
    stated = text[first.start : named[0].tokens[-1].end]
    return CellDifference("other_name", statement.text[others[0].start : others[-1].end], stated)
