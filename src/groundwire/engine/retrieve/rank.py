"""Ranks passages for a question: lexical search, purposes of names and pages, names in the question, prior.

Every interpretation of the question is ranked; the one with the strongest evidence is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from groundwire.engine.index.base import Index
from groundwire.engine.knowledge.addresses import DOCS_SITE, DOCS_URL, documentation_link, local_address, titled_name
from groundwire.engine.knowledge.prior import page_prior
from groundwire.engine.knowledge.purposes import PurposeMatch, purpose_index
from groundwire.engine.pages import Page, Passage, page_passages
from groundwire.engine.retrieve.filters import date_range
from groundwire.engine.retrieve.interpret import Interpretation, interpretations
from groundwire.engine.words import code_names
from groundwire.model import SearchOptions, Source
from groundwire.model.value import replace
from groundwire.text.domains import admits

_CANDIDATES = 3
"""Passages that are searched for each one that is returned."""
_LEXICAL = 0.5
_PURPOSE = 1.0
_NAMED = 0.6
"""Weights of the lexical score (relative to the best one), of the similarity of a purpose, and of a name in the
question. Chosen on the tuning questions of tests/engine/questions."""
_MOST_TARGETS = 8
_TARGET_PASSAGES = 2
_CALLED = re.compile(r"\b([A-Za-z_][\w.]*)\(|@([A-Za-z_][\w.]*)|`([A-Za-z_][\w.]*)`")


class RankedPassages(NamedTuple):
    """The passages for one interpretation of a question, best first."""

    interpretation: Interpretation
    passages: tuple[Passage, ...] = ()
    strength: float = 0.0
    """Of the best passage; comparable between interpretations of one question."""


def find_passages(index: Index, query: str, options: SearchOptions, limit: int) -> RankedPassages:
    """The passages for the best interpretation of a question."""
    best: RankedPassages | None = None
    for interpretation in interpretations(query, index.words_with_prefix):
        ranked = rank(index, interpretation, options, limit)
        if best is None or ranked.strength > best.strength:
            best = ranked
    return best or RankedPassages(Interpretation(query))


def rank(index: Index, interpretation: Interpretation, options: SearchOptions, limit: int) -> RankedPassages:
    """The passages for an interpretation."""
    query = interpretation.text
    found = index.search(query, options, _CANDIDATES * limit)
    highest = max((passage.score for passage in found), default=1.0) or 1.0
    targets = _targets(query)
    scores: dict[tuple[str, int], tuple[float, Passage]] = {}
    for passage in [*found, *_target_passages(index, targets, options)]:
        key = (passage.url, passage.start)
        lexical = passage.score / highest * page_prior(passage.url, passage.title, query)
        strength = _LEXICAL * lexical + targets.get(_target_of(passage, targets), 0.0)
        if key not in scores or strength > scores[key][0]:
            scores[key] = (strength, replace(passage, score=strength))
    ordered = sorted(scores.values(), key=lambda item: -item[0])
    passages = tuple(_without_doubles([passage for _, passage in ordered]))[:limit]
    return RankedPassages(interpretation, passages, passages[0].score if passages else 0.0)


def _targets(query: str) -> dict[str, float]:
    """Names and documentation pages that the question is about, with their strength."""
    strengths: dict[str, float] = {}
    for match in purpose_index().match(query, _MOST_TARGETS):
        strengths[match.target] = _PURPOSE * match.similarity
    for name in mentioned_names(query):
        strengths[name] = strengths.get(name, 0.0) + _NAMED
    return strengths


def mentioned_names(query: str) -> list[str]:
    """The names that a question writes as code: dotted, called, decorated, in backticks or in camel case."""
    called = ["".join(groups) for groups in _CALLED.findall(query)]
    return list(dict.fromkeys((*called, *code_names(query))))


def _target_passages(index: Index, targets: Iterable[str], options: SearchOptions) -> Iterator[Passage]:
    """The first passages of the pages of targets."""
    if any(bound is not None for bound in date_range(options.since, options.until)):
        return  # documentation has no date
    for target in targets:
        for page in _pages(index, target, options):
            if not (options.allowed_domains or options.blocked_domains) or admits(options, Source(page.url)):
                for number, passage in enumerate(page_passages(page)):
                    if number < _TARGET_PASSAGES:
                        yield passage


def _pages(index: Index, target: str, options: SearchOptions) -> Iterator[Page]:
    if ".html" in target:
        page = index.page(f"{DOCS_URL}{target}")
        if page is not None:
            yield page
        return
    link = documentation_link(local_address(target), target)
    documented = index.page(link) if link else None
    if documented is not None:
        yield documented
    for passage in index.search(target, options, 5):
        if titled_name(passage.title) == target and (page := index.page(passage.url)) is not None:
            yield page


def _target_of(passage: Passage, targets: dict[str, float]) -> str:
    """The target that the page of a passage belongs to."""
    name = titled_name(passage.title)
    if name in targets:
        return name
    return passage.url.removeprefix(DOCS_SITE).partition("/")[2] if passage.url.startswith(DOCS_SITE) else ""


def _without_doubles(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Without docstrings of objects whose documentation is among the passages."""
    documented = {passage.url for passage in passages}
    for passage in passages:
        if documentation_link(passage.url, passage.title) not in documented:
            yield passage
