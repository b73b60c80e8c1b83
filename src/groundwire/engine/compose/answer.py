"""The composer: passages in, a short cited answer out. Pure: the same passages give the same answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from groundwire.engine.compose.clean import one_line
from groundwire.engine.compose.score import score_statements
from groundwire.engine.compose.select import SelectedStatement, Selection, select_statements
from groundwire.engine.compose.statements import Statement, join_passages, mentions, read_statements
from groundwire.engine.pages import Passage
from groundwire.engine.words import query_terms, split_words, word_list
from groundwire.model import Citation, Evidence, Source, Span, Warned
from groundwire.model.value import replace, value
from groundwire.text.urls import domain_of

Phrase: TypeAlias = Literal["nothing", "disagreeing"]

_PHRASES: Mapping[Phrase, tuple[str, str]] = {
    "nothing": ("Nothing was found for “{query}”.", "Zu „{query}“ wurde nichts gefunden."),
    "disagreeing": ("Another page says otherwise: ", "Eine andere Seite sagt es anders: "),
}


def phrase(name: Phrase, query: str) -> str:
    """A phrase, in German for a German question, else in English."""
    english, german = _PHRASES[name]
    return german if word_list("german_words").intersection(split_words(query)) else english


THIN_EVIDENCE = "thin_evidence"
"""The code of the warning that the pages hardly answer."""

_THIN_COVERAGE = 0.5
_FIRM_COVERAGE = 0.75
"""Of the query, by the statement that covers most: below the first nobody answers; from the second on one
page is enough."""


@value
class Composition:
    """An answer before it is told. Spans count code points of `text`; quotes are page text, verbatim."""

    text: str = ""
    citations: tuple[Citation, ...] = ()
    notes: tuple[Warned, ...] = ()
    found: bool = False
    is_plain: bool = False
    """Page text, word for word; what a model wrote is Markdown."""


def compose(query: str, passages: Sequence[Passage], *, max_sources: int | None = None) -> Composition:
    """The best-supported sentences of the passages, each with its citation; nothing that no page says."""
    stretches = join_passages(passages)
    statements = read_statements(stretches)
    weighed = score_statements(query, stretches, statements)
    choice = select_statements(weighed, statements, max_sources, len(query_terms(query)))
    if not choice.paragraphs:
        return Composition(phrase("nothing", query).format(query=one_line(query)), is_plain=True)
    draft = _AnswerBuilder(query, sources_in(passages))
    draft.write(choice)
    return Composition(
        draft.text, tuple(draft.citations), tuple(_notes(choice, draft)), found=True, is_plain=True
    )


def sources_in(passages: Sequence[Passage]) -> dict[str, Source]:
    """The pages that passages stand in, by address, best first, each with its passages as excerpts."""
    sources: dict[str, Source] = {}
    for passage in passages:
        known = sources.setdefault(passage.url, Source(passage.url, passage.title, date=passage.published))
        if passage.text and passage.text not in known.excerpts:
            sources[passage.url] = replace(known, excerpts=(*known.excerpts, passage.text))
    return sources


class _AnswerBuilder:
    """The answer while it is written, so that spans are counted as the text grows."""

    __slots__ = ("_length", "_pieces", "_query", "_sources", "citations", "disagreeing")

    def __init__(self, query: str, sources: Mapping[str, Source]) -> None:
        self._query = query
        self._sources = sources
        self._pieces: list[str] = []
        self._length = 0
        self.citations: list[Citation] = []
        self.disagreeing: list[tuple[Statement, Statement]] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, choice: Selection) -> None:
        """All paragraphs, and after the sentence that it opposes whatever other pages say against it."""
        told: set[tuple[str, int]] = set()
        for paragraph in choice.paragraphs:
            fresh = [item for item in paragraph if (item.statement.url, item.statement.place) not in told]
            if fresh and self._pieces:
                self._put("\n\n")
            subject = ""
            for place, item in enumerate(fresh):
                self._put(" " if place else "")
                self._put(_lead_in(item.statement, subject))
                subject = item.statement.subject
                self._cite(item.statement, item.supporters)
                told.add((item.statement.url, item.statement.place))
            for item in fresh:
                self._oppose(item, told)

    def _oppose(self, item: SelectedStatement, told: set[tuple[str, int]]) -> None:
        for other in item.opposed:
            if (other.url, other.place) in told:
                self.disagreeing.append((item.statement, other))
                continue
            told.add((other.url, other.place))
            self.disagreeing.append((item.statement, other))
            self._put("\n\n" + phrase("disagreeing", self._query))
            self._put(_lead_in(other, ""))
            self._cite(other, ())

    def _cite(self, statement: Statement, supporters: Sequence[Statement]) -> None:
        start = self._length
        self._put(statement.text)
        evidence = tuple(
            Evidence(replace(self._sources[item.url], state="cited"), item.quote)
            for item in (statement, *supporters)
        )
        self.citations.append(Citation(Span(start, self._length), evidence))

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)


def _lead_in(statement: Statement, subject: str) -> str:
    """The name of what the sentence is about, if neither it nor the one before says so."""
    name = statement.subject
    if not name or name == subject or mentions(statement.text, name):
        return ""
    return f"{name}: "


def _notes(choice: Selection, draft: _AnswerBuilder) -> Iterator[Warned]:
    for one, other in draft.disagreeing:
        yield Warned("contradictory_evidence", f"{_places(one, other)} disagree: both are quoted")
    if choice.coverage < _THIN_COVERAGE:
        yield Warned(THIN_EVIDENCE, "thin evidence: no page speaks of all that was asked")
    elif choice.coverage < _FIRM_COVERAGE and _is_lone_claim(choice, draft):
        yield Warned(THIN_EVIDENCE, "thin evidence: one page alone says this, and not quite what was asked")


def _is_lone_claim(choice: Selection, draft: _AnswerBuilder) -> bool:
    """Does one page alone say it, and is it none that documents the very thing?"""
    pages = {item.source.url for citation in draft.citations for item in citation.evidence}
    return len(pages) == 1 and not any(item.statement.subject for item in choice.paragraphs[0])


def _places(one: Statement, other: Statement) -> str:
    """Two pages by their hosts, or by their addresses where one host has both."""
    hosts = [domain_of(item.url) or item.url for item in (one, other)]
    shown = hosts if hosts[0] != hosts[1] else [one.url, other.url]
    return " and ".join(map(one_line, shown))
