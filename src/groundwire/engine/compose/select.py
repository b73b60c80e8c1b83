"""Statement selection: the few statements of an answer, high-scoring, diverse and self-contained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from groundwire.engine.compose.corroborate import conflicts, supports
from groundwire.engine.compose.score import ScoredStatement
from groundwire.engine.compose.statements import Excerpt, Statement
from groundwire.engine.knowledge.addresses import is_built_in
from groundwire.engine.words import TextTerms
from groundwire.model.value import value
from groundwire.text.lazy_pattern import lazy_pattern

# Chosen by hand on the tuned questions of tests/engine/questions.py.
MOST_STATEMENTS = 5
MOST_CHARACTERS = 700
"""Limits of an answer: about one paragraph."""
_SAME_PAGE = (0.5, 0.5)
_OTHER_PAGE = (0.65, 0.7)
"""Least score and least coverage of a further statement, as shares of the best statement's."""
_FURTHER_ROW = 0.9
"""Least coverage of a row of another table: a table takes more room than a sentence."""
_NEAR_BEST = 0.95
"""Score of a passage, relative to the best one, from which on its page may open the answer. Chosen on the
tuning questions of tests/engine/questions."""
_NEARLY_BEST, _MORE_COVERAGE = 0.9, 1.3
"""A lower score is enough for a statement that covers so many times more of the query."""
_REFERENCE = lazy_pattern(r"(?:See|Siehe) (?:also )?\S+(?: \S+){0,4}\.?$")
_FURTHER_PAGE = 0.7
_FURTHER_COVERAGE = 0.85
"""The same for a further page of the answer, and the coverage of its statement relative to the first one's.
Chosen by reading answers: a weaker page distracts."""
_POOL = 60
"""Statements that are considered at all; keeps the selection fast."""
_LEAST, _LEAST_FOR_LONG_QUERY = 0.4, 0.28
_SHORT_QUERY, _LONG_QUERY = 4, 10
"""Least coverage of an answer for a query of up to 4 terms and of 10 or more. Measured on the 418
questions of tests/engine/test_questions.py and 25 that have no answer: 0.3 for the first finds 2 more
right pages and invents 7 more answers, 0.5 loses 4 right pages and invents 1 less."""
_DUPLICATE_OVERLAP = 0.8
"""Overlap of terms from which on a statement repeats an earlier one."""
_OVERLAP_PENALTY = 0.4
_ADJACENT_BONUS = 1.25
_SHORT_STATEMENT = 220
"""Characters of a sentence that may be added for context."""
_FEW_WORDS = 4
_WHOLE_SECTION = 500
"""Characters of the sentences of a section that is quoted as a whole. Chosen by reading answers."""
_ENTRY = lazy_pattern(r"[^\W\d_][^.:!?;,\n]{0,40}: \S")
_FEWEST_ENTRIES = 3
"""A sentence that explains a term, and how many make a section a list of terms."""
_BRIEF_ANSWER = 70
"""Characters; a shorter answer gets the sentence that follows."""


@value
class SelectedStatement:
    """A statement of the answer, with the statements of other pages that support or contradict it."""

    statement: Statement
    corroborating: tuple[Statement, ...] = ()
    contradicting: tuple[Statement, ...] = ()


@value
class Selection:
    """The selected statements: one paragraph for each page, the best page first."""

    paragraphs: tuple[tuple[SelectedStatement, ...], ...] = ()
    coverage: float = 0.0
    """The highest coverage of the query among the selected statements."""


def select_statements(  # noqa: PLR0913  each is a fact about the evidence
    scored: Sequence[ScoredStatement],
    statements: Sequence[Statement],
    max_sources: int | None,
    *,
    least_coverage: float = 0.0,
    ranked: Sequence[Excerpt] = (),
    superseded: frozenset[str] = frozenset(),
    is_thin: bool = False,
) -> Selection:
    """The best statements within the limits; none if none covers enough of the query.

    With `ranked`, the excerpts if their scores can be trusted, a page of the best passages opens the answer,
    even if a sentence of another page repeats more words of the query. Of the pages in `superseded`, nothing
    is selected but what contradicts the answer. If the evidence is thin, other pages would only distract: one
    page is quoted then, and what supports or contradicts it."""
    pool = scored[:_POOL]
    units = _units(pool, statements)
    current = [unit for unit in units if unit.item.statement.url not in superseded]
    most_pages = 1 if is_thin and max_sources != 0 else max_sources
    picked = _pick(current or units, most_pages, ranked)
    if not picked or max(unit.item.coverage for unit in picked) < least_coverage:
        return Selection()
    everything = [statement for unit in picked for statement in unit.statements]
    everything += _next_sentence(everything, statements)
    answering = {(statement.url, statement.offset) for statement in everything}
    section = ranked[picked[0].item.statement.excerpt].section if ranked else ""
    if section:
        everything += _rest_of_section(picked[0], everything, statements)
    if section.endswith("?"):
        everything += _rest_of_reply(picked[0], everything, statements)
    pages = list(dict.fromkeys(statement.url for statement in everything))
    allowed = None if max_sources is None else max(0, max_sources - len(pages))
    chosen = _with_corroboration(everything, pool, pages, allowed)
    paragraphs = tuple(
        tuple(item for item in chosen if item.statement.url == url)
        for url in dict.fromkeys(item.statement.url for item in chosen)
    )
    best = {unit.item.statement.url: unit for unit in reversed(picked)}
    ordered = tuple(_in_order(group, best.get(group[0].statement.url), answering) for group in paragraphs)
    return Selection(ordered, max(unit.item.coverage for unit in picked))


def _in_order(
    group: Sequence[SelectedStatement], best: _Unit | None, answering: AbstractSet[tuple[str, int]]
) -> tuple[SelectedStatement, ...]:
    """The statements of a page in its order, from the one that answers best; others follow it, unless they
    answer too and lead up to it without a gap. What announces code or a list needs what is before it."""
    group = sorted(group, key=lambda item: item.statement.offset)
    if best is None:
        return tuple(group)
    first = best.statements[0]
    start = next(index for index, item in enumerate(group) if item.statement.offset == first.offset)
    announces = first.quote.endswith(":")
    while start and _are_adjacent(group[start - 1].statement, group[start].statement):
        before = group[start - 1].statement
        if not announces and (before.url, before.offset) not in answering:
            break
        start -= 1
    return (*group[start:], *group[:start])


def _next_sentence(chosen: Sequence[Statement], statements: Sequence[Statement]) -> list[Statement]:
    """The sentence after a very short answer, if it continues the same subject."""
    last = chosen[-1]
    if len(chosen) > 1 or len(last.quote) >= _BRIEF_ANSWER or not last.subject:
        return []
    return [
        other
        for other in statements
        if (other.excerpt, other.number, other.subject) == (last.excerpt, last.number + 1, last.subject)
        and other.kind == last.kind == "prose"
        and _is_short(other)
        and len(other.words.order) > _FEW_WORDS
    ]


def _rest_of_section(
    opening: _Unit, chosen: Sequence[Statement], statements: Sequence[Statement]
) -> list[Statement]:
    """The other sentences of the section that opens the answer, if the user added its page and it is short:
    a rule is followed by its conditions and exceptions, in sentences that share no word with the question."""
    first = opening.statements[0]
    if is_built_in(first.url) or first.kind == "row":
        return []
    of_page = [item for item in statements if item.excerpt == first.excerpt]
    start = max((item.number for item in of_page if item.is_lead and item.number <= first.number), default=0)
    end = min((item.number for item in of_page if item.is_lead and item.number > first.number), default=None)
    section = _same_entry(
        first, [item for item in of_page if start <= item.number and (end is None or item.number < end)]
    )
    if sum(len(item.quote) for item in section) > _WHOLE_SECTION:
        return []
    taken = {(item.url, item.offset) for item in chosen}
    return [item for item in section if item.kind != "row" and (item.url, item.offset) not in taken]


def _same_entry(statement: Statement, section: Sequence[Statement]) -> list[Statement]:
    """Of a section that explains several terms (`Hairball: an incident. Each gets a review.`), the sentences
    about the term of a statement; of another section all."""
    entries = [item.number for item in section if _ENTRY.match(item.quote)]
    own = [number for number in entries if number <= statement.number]
    if not own or len(entries) < _FEWEST_ENTRIES:
        return list(section)
    end = next((number for number in entries if number > statement.number), None)
    return [item for item in section if own[-1] <= item.number and (end is None or item.number < end)]


def _rest_of_reply(
    opening: _Unit, chosen: Sequence[Statement], statements: Sequence[Statement]
) -> list[Statement]:
    """The sentences after the one that opens the answer, if the heading above it is a question of our own
    documentation or Python's: a reply takes several sentences, of which the first often only begins it."""
    last = opening.statements[-1]
    if not is_built_in(last.url):
        return []
    taken = {(item.url, item.offset) for item in chosen}
    room = _WHOLE_SECTION - sum(len(item.quote) for item in chosen if item.url == last.url)
    found: list[Statement] = []
    following = (item for item in statements if item.excerpt == last.excerpt and item.number > last.number)
    for item in following:
        if item.kind != "prose" or item.is_cut or len(item.quote) > room:
            break
        if (item.url, item.offset) not in taken:
            found.append(item)
            room -= len(item.quote) + 1
    while found and found[-1].is_interrupted:
        found.pop()
    return found


def least_coverage(query_length: int) -> float:
    """The least coverage of an answer to a query of so many terms: less for long queries."""
    share = (query_length - _SHORT_QUERY) / (_LONG_QUERY - _SHORT_QUERY)
    return _LEAST + (_LEAST_FOR_LONG_QUERY - _LEAST) * min(1.0, max(0.0, share))


@value
class _Unit:
    """A statement with the statements around it that it needs to be understood."""

    item: ScoredStatement
    statements: tuple[Statement, ...]

    @property
    def length(self) -> int:
        return sum(len(statement.text) + 1 for statement in self.statements)


def _units(pool: Sequence[ScoredStatement], statements: Sequence[Statement]) -> list[_Unit]:
    """Self-contained units; statements whose predecessor is not known are left out."""
    by_position = {(statement.excerpt, statement.number): statement for statement in statements}
    leads = {
        (statement.url, statement.subject): statement
        for statement in reversed(statements)
        if statement.is_lead and statement.subject and statement.kind != "row" and _is_short(statement)
    }
    units: list[_Unit] = []
    for item in pool:
        group = _with_context(item.statement, by_position)
        lead = leads.get((item.statement.url, item.statement.subject))
        if group and lead is not None and lead not in group:
            # A detail of a documented name is understood after the sentence that introduces the name.
            group = (lead, *group)
        if group:
            units.append(_Unit(item, group))
    return units


def _is_short(statement: Statement) -> bool:
    return len(statement.quote) <= _SHORT_STATEMENT and not statement.quote.endswith(":")


def _with_context(
    statement: Statement, by_position: Mapping[tuple[int, int], Statement], reach: int = 2
) -> tuple[Statement, ...]:
    """A statement with those before it that it needs, and the rest of a sentence that code interrupts; none
    if one of them is not known."""
    group = [statement]
    references = 0
    while group[0].depends_on_previous or group[0].continues:
        references += not group[0].continues
        before = by_position.get((statement.excerpt, group[0].number - 1))
        if before is None or before.subject != statement.subject or references > reach:
            return ()
        group.insert(0, before)
    while group[-1].is_interrupted:
        rest = by_position.get((statement.excerpt, group[-1].number + 1))
        if rest is None:
            return ()
        group.append(rest)
    return tuple(group)


def _pick(units: Sequence[_Unit], max_sources: int | None, ranked: Sequence[Excerpt]) -> list[_Unit]:
    """Greedy selection: each time the unit that adds most (maximal marginal relevance).

    `ranked`: the excerpts, if their scores decide which pages are used."""
    picked: list[_Unit] = []
    taken: set[tuple[str, int]] = set()
    pages: set[str] = set()
    room = MOST_CHARACTERS
    rest = list(units)
    opening = _opening(units, ranked)
    while rest and len(taken) < MOST_STATEMENTS:
        _, worth, best = max(
            (unit in opening if not picked else _may_follow(unit, picked, ranked), worth, -position)
            for position, (unit, worth) in enumerate((unit, _worth(unit, picked)) for unit in rest)
        )
        unit = rest.pop(-best)
        if worth <= 0:
            break
        new = [item for item in unit.statements if (item.url, item.offset) not in taken]
        length = sum(len(item.text) + 1 for item in new)
        is_allowed = unit.item.statement.url in pages or max_sources is None or len(pages) < max_sources
        if picked and not _may_follow(unit, picked, ranked):
            break
        if not new or not is_allowed or len(taken) + len(new) > MOST_STATEMENTS or (picked and length > room):
            continue
        picked.append(unit)
        taken.update((item.url, item.offset) for item in new)
        pages.add(unit.item.statement.url)
        room -= length
    return picked


def _opening(units: Sequence[_Unit], ranked: Sequence[Excerpt]) -> list[_Unit]:
    """The units that may open the answer by the rank of their passages; a reference to another page does
    not."""
    scored = [(ranked[unit.item.statement.excerpt].score if ranked else 1.0, unit) for unit in units]
    best = [
        unit
        for score, unit in scored
        if score >= _NEAR_BEST and not _REFERENCE.match(unit.item.statement.quote)
    ]
    covered = max((unit.item.coverage for unit in best), default=0.0)
    return best + [
        unit
        for score, unit in scored
        if _NEARLY_BEST <= score < _NEAR_BEST and unit.item.coverage > _MORE_COVERAGE * covered
    ]


def _may_follow(unit: _Unit, picked: Sequence[_Unit], ranked: Sequence[Excerpt]) -> bool:
    """May the unit follow what is picked, by the rank of its passage?"""
    if not ranked:
        return True
    statement = unit.item.statement
    score = ranked[statement.excerpt].score
    if any(other.item.statement.url == statement.url for other in picked):
        return True
    first = picked[0].item
    if unit.item.coverage < _FURTHER_COVERAGE * first.coverage or statement.kind == "row":
        return False
    # Pages that the user added are about other things than the built-in ones, whatever words they share.
    is_alike = is_built_in(first.statement.url) or not is_built_in(statement.url)
    return score >= _FURTHER_PAGE and is_alike


def _worth(unit: _Unit, picked: Sequence[_Unit]) -> float:
    """The score, lowered by overlap with the selected statements, raised for an adjacent sentence."""
    if not picked:
        return unit.item.score
    statement = unit.item.statement
    overlap = max(_overlap(statement.words, other.item.statement.words) for other in picked)
    is_new = all(other.item.statement.url != statement.url for other in picked)
    if statement.kind == "row" and any(_is_better_row(other.item, unit.item) for other in picked):
        return 0.0
    if statement.kind == "row" and unit.item.coverage < _FURTHER_ROW * picked[0].item.coverage:
        return 0.0
    if is_new and statement.subject and not unit.statements[0].is_lead:
        # A detail of another name, without the sentence that introduces it, only distracts.
        return 0.0
    least, cover = _OTHER_PAGE if is_new else _SAME_PAGE
    follows = any(_are_adjacent(other.item.statement, statement) for other in picked)
    best = picked[0].item
    worth = unit.item.score * (1 - _OVERLAP_PENALTY * overlap) * (_ADJACENT_BONUS if follows else 1.0)
    is_relevant = unit.item.coverage >= cover * best.coverage and worth >= least * best.score
    return worth if is_relevant and overlap < _DUPLICATE_OVERLAP else 0.0


def _is_better_row(one: ScoredStatement, other: ScoredStatement) -> bool:
    """Does another row of the table cover more? All rows share the names of the columns."""
    same_table = one.statement.kind == "row" and one.statement.excerpt == other.statement.excerpt
    return same_table and one.coverage > other.coverage


def _are_adjacent(one: Statement, other: Statement) -> bool:
    return (one.excerpt, one.subject) == (other.excerpt, other.subject) and abs(
        one.number - other.number
    ) == 1


def _overlap(words: TextTerms, before: TextTerms) -> float:
    """The share of the terms that an earlier statement already contains."""
    new = words.stems | words.values
    return len(new & (before.stems | before.values)) / max(1, len(new))


def _with_corroboration(
    picked: Sequence[Statement], pool: Sequence[ScoredStatement], pages: Sequence[str], allowed: int | None
) -> list[SelectedStatement]:
    """Each statement with the statements of other pages that support or contradict it."""
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
        chosen[statement.url, statement.offset] = SelectedStatement(
            statement, tuple(same.values()), tuple(against.values())
        )
    return list(chosen.values())
