"""Choosing the few statements that make an answer: good, different from each other, and able to stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundwire.engine.compose.corroborate import conflicts, supports
from groundwire.engine.compose.score import ScoredStatement
from groundwire.engine.compose.statements import Statement
from groundwire.engine.words import TextTerms
from groundwire.model.value import value

MOST_STATEMENTS = 5
MOST_CHARACTERS = 700
_RELATIVE = 0.5
_ELSEWHERE = 0.65
"""What a further statement must be worth, as a share of the best: of the same page, and of another."""
_AS_APT = 0.7
"""What a statement of another page must cover, as a share of what the best covers."""
_POOL = 60
_LEAST, _LEAST_OF_LONG = 0.4, 0.28
_SHORT_QUERY, _LONG_QUERY = 4, 10
"""What the best must cover to be an answer at all: of a query of few words, and of one of many."""
_SAMENESS = 0.8
_SHORT = 220
_FEW = 4
_BRIEF = 70
"""Characters; an answer below that is told with the sentence that follows."""


@value
class SelectedStatement:
    """A statement of the answer."""

    statement: Statement
    supporters: tuple[Statement, ...] = ()
    """Of other pages, which say the same."""
    opposed: tuple[Statement, ...] = ()
    """Of other pages, which say otherwise."""


@value
class Selection:
    """What was chosen: paragraphs, one for each page, the best page first."""

    paragraphs: tuple[tuple[SelectedStatement, ...], ...] = ()
    coverage: float = 0.0
    """The share of the query that the one who covers most speaks of."""


def select_statements(
    weighed: Sequence[ScoredStatement],
    statements: Sequence[Statement],
    max_sources: int | None,
    asked: int = 0,
) -> Selection:
    """The best statements within the limits; none if nothing answers. `asked` is the words of the query."""
    pool = weighed[:_POOL]
    picked = _pick(_units(pool, statements), max_sources)
    if not picked or max(unit.item.coverage for unit in picked) < _least(asked):
        return Selection()
    everything = [statement for unit in picked for statement in unit.statements]
    everything += _sequel(everything, statements)
    pages = list(dict.fromkeys(statement.url for statement in everything))
    allowed = None if max_sources is None else max(0, max_sources - len(pages))
    chosen = _with_company(everything, pool, pages, allowed)
    paragraphs = tuple(
        tuple(item for item in chosen if item.statement.url == url)
        for url in dict.fromkeys(item.statement.url for item in chosen)
    )
    ordered = tuple(tuple(sorted(group, key=lambda item: item.statement.place)) for group in paragraphs)
    return Selection(ordered, max(unit.item.coverage for unit in picked))


def _sequel(chosen: Sequence[Statement], statements: Sequence[Statement]) -> list[Statement]:
    """What goes on where a very short answer ends, if that can be told with it."""
    last = chosen[-1]
    if len(chosen) > 1 or len(last.quote) >= _BRIEF or not last.subject:
        return []
    return [
        other
        for other in statements
        if (other.stretch, other.number, other.subject) == (last.stretch, last.number + 1, last.subject)
        and other.kind == last.kind == "prose"
        and _is_short(other)
        and len(other.words.order) > _FEW
    ]


def _least(asked: int) -> float:
    """Between the two ends in proportion."""
    share = (asked - _SHORT_QUERY) / (_LONG_QUERY - _SHORT_QUERY)
    return _LEAST + (_LEAST_OF_LONG - _LEAST) * min(1.0, max(0.0, share))


@value
class _Unit:
    """A statement with the ones before it that it leans on."""

    item: ScoredStatement
    statements: tuple[Statement, ...]

    @property
    def length(self) -> int:
        return sum(len(statement.text) + 1 for statement in self.statements)


def _units(pool: Sequence[ScoredStatement], statements: Sequence[Statement]) -> list[_Unit]:
    """Statements that can stand; those that lean on something unknown are left out."""
    places = {(statement.stretch, statement.number): statement for statement in statements}
    leads = {
        (statement.url, statement.subject): statement
        for statement in reversed(statements)
        if statement.is_lead and statement.subject and _is_short(statement)
    }
    units: list[_Unit] = []
    for item in pool:
        group = _with_predecessors(item.statement, places)
        lead = leads.get((item.statement.url, item.statement.subject))
        if group and lead is not None and lead not in group:
            # A detail of a documented thing is understood after the sentence that says what it is.
            group = (lead, *group)
        if group:
            units.append(_Unit(item, group))
    return units


def _is_short(statement: Statement) -> bool:
    return len(statement.quote) <= _SHORT and not statement.quote.endswith(":")


def _with_predecessors(
    statement: Statement, places: Mapping[tuple[int, int], Statement], reach: int = 2
) -> tuple[Statement, ...]:
    group = [statement]
    while group[0].leans:
        before = places.get((statement.stretch, group[0].number - 1))
        if before is None or before.subject != statement.subject or len(group) > reach:
            return ()
        group.insert(0, before)
    return tuple(group)


def _pick(units: Sequence[_Unit], max_sources: int | None) -> list[_Unit]:
    """One after the other: each time the one that adds most."""
    picked: list[_Unit] = []
    taken: set[tuple[str, int]] = set()
    pages: set[str] = set()
    room = MOST_CHARACTERS
    rest = list(units)
    while rest and len(taken) < MOST_STATEMENTS:
        worth, best = max(
            ((_worth(unit, picked), -place) for place, unit in enumerate(rest)), default=(0.0, 0)
        )
        unit = rest.pop(-best)
        if worth <= 0:
            break
        new = [item for item in unit.statements if (item.url, item.place) not in taken]
        length = sum(len(item.text) + 1 for item in new)
        is_welcome = unit.item.statement.url in pages or max_sources is None or len(pages) < max_sources
        if not new or not is_welcome or len(taken) + len(new) > MOST_STATEMENTS or (picked and length > room):
            continue
        picked.append(unit)
        taken.update((item.url, item.place) for item in new)
        pages.add(unit.item.statement.url)
        room -= length
    return picked


def _worth(unit: _Unit, picked: Sequence[_Unit]) -> float:
    """The score, less what has been said already, more for what goes on where the answer is."""
    if not picked:
        return unit.item.score
    statement = unit.item.statement
    said = max(_said(statement.words, other.item.statement.words) for other in picked)
    is_new = all(other.item.statement.url != statement.url for other in picked)
    if is_new and statement.subject and not unit.statements[0].is_lead:
        # A detail of another thing, without what that thing is, only distracts.
        return 0.0
    least, cover = (_ELSEWHERE, _AS_APT) if is_new else (_RELATIVE, _RELATIVE)
    follows = any(_adjoin(other.item.statement, statement) for other in picked)
    best = picked[0].item
    worth = unit.item.score * (1 - 0.4 * said) * (1.25 if follows else 1.0)
    is_apt = unit.item.coverage >= cover * best.coverage and worth >= least * best.score
    return worth if is_apt and said < _SAMENESS else 0.0


def _adjoin(one: Statement, other: Statement) -> bool:
    return (one.stretch, one.subject) == (other.stretch, other.subject) and abs(
        one.number - other.number
    ) == 1


def _said(words: TextTerms, before: TextTerms) -> float:
    """The share of the words that has been said."""
    new = words.stems | words.values
    return len(new & (before.stems | before.values)) / max(1, len(new))


def _with_company(
    picked: Sequence[Statement], pool: Sequence[ScoredStatement], pages: Sequence[str], allowed: int | None
) -> list[SelectedStatement]:
    """Each statement with those of other pages that say the same, or the opposite."""
    known = set(pages)
    chosen: dict[tuple[str, int], SelectedStatement] = {}
    for statement in picked:
        same: dict[str, Statement] = {}
        against: dict[str, Statement] = {}
        for _, _, other in pool:
            group = same if supports(statement, other) else against if conflicts(statement, other) else None
            if group is None or other.url in group:
                continue
            if other.url not in known and allowed is not None:
                if allowed <= 0:
                    continue
                allowed -= 1
            known.add(other.url)
            group[other.url] = other
        chosen[statement.url, statement.place] = SelectedStatement(
            statement, tuple(same.values()), tuple(against.values())
        )
    return list(chosen.values())
