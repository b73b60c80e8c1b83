"""The composer: turns passages into a short cited answer. Pure: equal passages give equal answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from groundwire.engine.compose.arrange import Entry, arrange
from groundwire.engine.compose.clean import clean_line, one_line
from groundwire.engine.compose.exhibits import Layout
from groundwire.engine.compose.score import first_statements, score_statements
from groundwire.engine.compose.select import SelectedStatement, Selection, least_coverage, select_statements
from groundwire.engine.compose.statements import Excerpt, Statement, join_passages, mentions, read_statements
from groundwire.engine.knowledge.addresses import (
    documentation_link,
    documentation_title,
    is_built_in,
    is_news,
    titled_name,
)
from groundwire.engine.knowledge.prior import page_prior
from groundwire.engine.pages import Passage
from groundwire.engine.words import analyse, query_terms, split_words, word_list
from groundwire.model import Citation, Evidence, Source, Span, Warned
from groundwire.model.value import replace, value
from groundwire.text.urls import domain_of

Phrase: TypeAlias = Literal["nothing", "doubt", "reference", "contradiction", "older"]

_PHRASES: Mapping[Phrase, tuple[str, str]] = {
    "nothing": ("Nothing was found for “{query}”.", "Zu „{query}“ wurde nichts gefunden."),
    "doubt": (
        "The index may not have the answer. The closest passage:",
        "Der Index enthält die Antwort vielleicht nicht. Am nächsten kommt diese Stelle:",
    ),
    "reference": (
        "Python’s documentation explains this under “{heading}”.",
        "Die Dokumentation von Python erklärt das unter „{heading}“.",
    ),
    "contradiction": ("Another page says otherwise: ", "Eine andere Seite sagt es anders: "),
    "older": (
        "An older page ({older}) says otherwise; the page above is of {newer}: ",
        "Eine ältere Seite ({older}) sagt es anders; die Seite oben ist vom {newer}: ",
    ),
}


def phrase(name: Phrase, query: str) -> str:
    """One of our own sentences: in German for a German question, else in English."""
    english, german = _PHRASES[name]
    return german if word_list("german_words").intersection(split_words(query)) else english


_DAY_LENGTH = len("2024-05-01")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")

THIN_EVIDENCE = "thin_evidence"
"""Warning code: the pages hardly answer the question."""

_THIN_COVERAGE = 0.5
_FIRM_COVERAGE = 0.75
"""Coverage of the query by the best statement: below the first, the evidence is thin; from the second on, one
page is enough. Chosen by hand."""


_FIRM_PROBABILITY = 0.85
"""Probability of an answer, where the engine judges it, below which it quotes one page only."""


class _Thresholds(NamedTuple):
    """Probabilities of an answer, where the engine judges it."""

    doubtful: float
    """Below it, the answer itself begins with the doubt."""
    firm: float
    """Below it, the evidence is thin."""


_BUILT_IN, _OWN = _Thresholds(0.6, _FIRM_PROBABILITY), _Thresholds(0.8, 0.8)
"""For built-in pages and for pages that the user added. On the tuning questions about Python, the evidence is
called thin at 10 % of the right answers and at 55 % of the wrong ones; by coverage at 17 % and at 41 %.
On those about handbooks, it is at 16 % of the right answers and at three in four of the answers to questions
that have none; with the higher limit, it would be at 21 % of the right ones."""

_WITH_REFERENCE = 0.6
"""Score of a passage, relative to that of a page of which only the address is known, from which on it is
quoted after it. Chosen by reading answers."""
NOT_INDEXED = "page_not_indexed"
"""Warning code: the answer refers to a page that the index does not have."""


@value
class Composition:
    """A composed answer. Spans count code points of `text`; quotes are page text, verbatim."""

    text: str = ""
    citations: tuple[Citation, ...] = ()
    notes: tuple[Warned, ...] = ()
    found: bool = False
    is_plain: bool = False
    """The text is verbatim page text; an answer written by a model is Markdown."""
    is_doubtful: bool = False
    """The text, or a part of it, begins by saying that the index may not have the answer."""


@value
class QuestionPart:
    """A part of a question, with the passages that were found for it."""

    question: str
    """As the user wrote it."""
    query: str
    """With the words it takes over from the part or the question before."""
    passages: Sequence[Passage]
    is_answer: bool | None = None
    """Do the passages answer it? None if that is to be judged by the words of the answer."""
    probability: float | None = None
    """That they answer it, if the engine judges that."""


def compose(query: str, passages: Sequence[Passage], *, max_sources: int | None = None) -> Composition:
    """An extractive answer: the best sentences of the passages, each with its citation."""
    return _compose_part(QuestionPart(query, query, passages), max_sources)


def _compose_part(part: QuestionPart, max_sources: int | None) -> Composition:
    if part.is_answer is False:
        return _nothing(part)
    reference = _reference(part)
    if reference is not None:
        close = (item for item in part.passages if item.score >= _WITH_REFERENCE * reference.score)
        part = replace(part, passages=(reference, *(item for item in close if item.text)))
        max_sources = None if max_sources is None else max(0, max_sources - 1)
    excerpts, selection = _select(part, max_sources)
    if not selection.paragraphs and reference is None:
        return _nothing(part)
    sources = sources_in(part.passages)
    selection = replace(
        selection, paragraphs=tuple(_newest_first(group, sources) for group in selection.paragraphs)
    )
    # Further links would count as sources.
    builder = _AnswerBuilder(part.question, sources, has_links=max_sources is None)
    is_doubtful = part.probability is not None and part.probability < _thresholds(part).doubtful
    if is_doubtful:
        builder.doubt()
    if reference is not None:
        builder.refer(reference)
    builder.write(arrange(part.query, selection, excerpts))
    return Composition(
        builder.text,
        tuple(builder.citations),
        tuple(_notes(part, selection, builder)),
        found=True,
        is_plain=True,
        is_doubtful=is_doubtful,
    )


def _thresholds(part: QuestionPart) -> _Thresholds:
    return _BUILT_IN if is_built_in(part.passages[0].url) else _OWN


def _reference(part: QuestionPart) -> Passage | None:
    """The page that answers best, if only its address is known."""
    best = part.passages[0] if part.is_answer and part.passages else None
    return best if best is not None and not best.text else None


def _nothing(part: QuestionPart) -> Composition:
    return Composition(phrase("nothing", part.question).format(query=one_line(part.question)), is_plain=True)


def _select(part: QuestionPart, max_sources: int | None) -> tuple[list[Excerpt], Selection]:
    excerpts = join_passages(part.passages)
    statements = read_statements(excerpts)
    scored = score_statements(part.query, excerpts, statements)
    if part.is_answer and not any(excerpts[item.statement.excerpt].score >= 1.0 for item in scored):
        # The passages were found by other evidence than their words.
        scored = first_statements(excerpts, statements) + scored
    least = 0.0 if part.is_answer else least_coverage(len(query_terms(part.query)))
    is_thin = part.probability is not None and part.probability < _FIRM_PROBABILITY
    selection = select_statements(
        scored,
        statements,
        max_sources,
        least_coverage=least,
        ranked=excerpts if part.is_answer else (),
        superseded=_superseded(part.query, part.passages) | _news(part.passages),
        is_thin=is_thin,
    )
    return excerpts, selection


def _superseded(query: str, passages: Sequence[Passage]) -> frozenset[str]:
    """The pages of which a newer edition was found: titles that differ in the year only. A query with a year
    means that edition."""
    if _YEAR.search(query):
        return frozenset()
    editions: dict[str, dict[str, set[str]]] = {}
    for passage in passages:
        year = _date(Source(passage.url, passage.title))
        if year:
            known = editions.setdefault(_YEAR.sub("", passage.title), {})
            known.setdefault(year, set()).add(passage.url)
    older = (urls for years in editions.values() for year, urls in years.items() if year != max(years))
    return frozenset().union(*older)


def _news(passages: Sequence[Passage]) -> frozenset[str]:
    """The pages about the changes of a version, unless one of them ranks first: they say of a thing only what
    was new in it."""
    found = frozenset(passage.url for passage in passages if is_news(passage.url))
    return frozenset() if passages and passages[0].url in found else found


def _newest_first(
    group: Sequence[SelectedStatement], sources: Mapping[str, Source]
) -> tuple[SelectedStatement, ...]:
    """Of statements that contradict each other, the one of the newest page comes first."""
    ordered: list[SelectedStatement] = []
    for item in group:
        newest = max(item.contradicting, key=lambda other: _date(sources[other.url]), default=item.statement)
        own = _date(sources[item.statement.url])
        if own and _date(sources[newest.url]) > own:
            rest = tuple(other for other in item.contradicting if other is not newest)
            item = SelectedStatement(newest, (), (item.statement, *rest))  # noqa: PLW2901
        ordered.append(item)
    return tuple(ordered)


def _date(source: Source) -> str:
    """The day a page was published, or the only year in its title; empty if it is not known."""
    years = set(_YEAR.findall(source.title))
    return source.date[:_DAY_LENGTH] or (years.pop() if len(years) == 1 else "")


def compose_parts(parts: Sequence[QuestionPart], *, max_sources: int | None = None) -> Composition:
    """The answers to the parts of a question, each under the part as its heading. Parts with the same answer
    share it."""
    if len(parts) == 1:
        return _compose_part(parts[0], max_sources)
    answers: list[Composition] = []
    headings: list[str] = []
    for part in parts:
        answer = _compose_part(part, _left(max_sources, answers))
        quotes = _quotes(answer)
        same = next((at for at, known in enumerate(answers) if quotes and quotes <= _quotes(known)), None)
        if same is None:
            answers.append(answer)
            headings.append(_heading(part.question))
        else:
            headings[same] += f" {_heading(part.question)}"
    return _joined(answers, [f"{heading}\n\n" for heading in headings])


def compose_comparison(
    answer: Composition, things: Sequence[QuestionPart], *, max_sources: int | None = None
) -> Composition:
    """The answer to a question that compares things, and after it what the index has about each of `things`.
    If it has something about all of them, they replace a doubtful answer."""
    is_sure = answer.found and not answer.is_doubtful
    answers = [answer] if is_sure else []
    for thing in things:
        described = _best_description(thing, answers, _left(max_sources, answers))
        if described is not None:
            answers.append(described)
    return _joined(answers) if is_sure or len(answers) == len(things) else answer


def _best_description(
    thing: QuestionPart, answers: Sequence[Composition], max_sources: int | None
) -> Composition | None:
    """What the first passage about the thing says that none of the answers quotes. The beginning of a page of
    that name comes first."""
    if not thing.is_answer:
        return None
    quoted = frozenset[str]().union(*map(_quotes, answers))
    about = [item for item in thing.passages if _mentions_all(f"{item.title} {item.section}", thing.query)]
    about.sort(key=lambda item: _description_order(item, thing.query))
    described = (_compose_part(replace(thing, passages=(item,)), max_sources) for item in about)
    return next((item for item in described if item.found and quoted.isdisjoint(_quotes(item))), None)


def _quotes(answer: Composition) -> frozenset[str]:
    return frozenset(item.quote for citation in answer.citations for item in citation.evidence if item.quote)


def _description_order(passage: Passage, thing: str) -> tuple[bool, float, int]:
    name = titled_name(passage.title).casefold()
    is_other = thing.casefold() not in (name, name.rpartition(".")[2])
    return (is_other, -page_prior(passage.url, passage.title), 0 if is_other else passage.start)


def missing_things(answer: Composition, things: Sequence[str]) -> tuple[str, ...]:
    """The compared things that an answer does not describe; all of them if it is doubtful. The page of one
    thing may mention the other, but does not describe it."""
    if answer.is_doubtful or not answer.found:
        return tuple(things)
    evidence = [item for citation in answer.citations for item in citation.evidence]
    own = {thing for thing in things for item in evidence if _is_page_of(item.source.title, thing, things)}
    others = (item.source.title for item in evidence if not _is_page_of_any(item.source.title, things))
    compares = any(_mentions_all(title, " ".join(things)) for title in others)
    if own and not compares:
        return tuple(thing for thing in things if thing not in own)
    return tuple(thing for thing in things if not _mentions_all(answer.text, thing))


def _is_page_of(title: str, thing: str, things: Sequence[str]) -> bool:
    """Is a page about a thing: of that name, or of something in the module of that name? Not if it is about
    another one of `things`: `copy.deepcopy` is not the page of `copy`."""
    first, *rest = titled_name(title).casefold().split(".")
    last = rest[-1] if rest else first
    others = {other.casefold() for other in things} - {thing.casefold()}
    return thing.casefold() in (last, ".".join((first, *rest))) or (
        thing.casefold() == first and last not in others
    )


def _is_page_of_any(title: str, things: Sequence[str]) -> bool:
    return any(_is_page_of(title, thing, things) for thing in things)


def _mentions_all(text: str, thing: str) -> bool:
    return analyse(text).stems.issuperset(analyse(thing).stems)


def _left(max_sources: int | None, answers: Sequence[Composition]) -> int | None:
    """How many more pages may be cited."""
    if max_sources is None:
        return None
    evidence = (item for answer in answers for citation in answer.citations for item in citation.evidence)
    return max(0, max_sources - len({item.source.url for item in evidence}))


def _joined(answers: Sequence[Composition], headings: Sequence[str] = ()) -> Composition:
    """Several answers as one, each under its heading if there are any."""
    text = ""
    citations: list[Citation] = []
    for answer, heading in zip(answers, headings or [""] * len(answers), strict=True):
        text += f"\n\n{heading}" if text else heading
        citations += (_shifted(citation, len(text)) for citation in answer.citations)
        text += answer.text
    return Composition(
        text,
        tuple(citations),
        tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        found=bool(citations),
        is_plain=True,
        is_doubtful=any(answer.is_doubtful for answer in answers),
    )


def _shifted(citation: Citation, by: int) -> Citation:
    span = citation.span
    return citation if span is None else replace(citation, span=Span(span.start + by, span.end + by))


def _heading(part: str) -> str:
    """A part of a question as a heading: `How do I open a file?`."""
    text = one_line(part).rstrip("?.,; ")
    return f"{text[:1].upper()}{text[1:]}?"


def sources_in(passages: Sequence[Passage]) -> dict[str, Source]:
    """The pages of the passages by URL, best first, each with its passages as excerpts."""
    sources: dict[str, Source] = {}
    for passage in passages:
        known = sources.setdefault(passage.url, Source(passage.url, passage.title, date=passage.published))
        if passage.text and passage.text not in known.excerpts:
            sources[passage.url] = replace(known, excerpts=(*known.excerpts, passage.text))
    return sources


class _AnswerBuilder:
    """Builds the answer text and counts the citation spans as it grows."""

    __slots__ = ("_has_links", "_length", "_parts", "_question", "_sources", "citations", "contradictions")

    def __init__(self, question: str, sources: Mapping[str, Source], *, has_links: bool) -> None:
        self._has_links = has_links
        self._question = question
        self._sources = sources
        self._parts: list[str] = []
        self._length = 0
        self.citations: list[Citation] = []
        self.contradictions: list[tuple[Statement, Statement]] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def doubt(self) -> None:
        """Writes that what follows may not be the answer."""
        self._append(phrase("doubt", self._question))

    def refer(self, passage: Passage) -> None:
        """Writes where a page is that cannot be quoted."""
        heading = titled_name(passage.title)
        self._separate("\n\n")
        start = self._length
        self._append(phrase("reference", self._question).format(heading=heading))
        self.citations.append(
            Citation(
                Span(start, self._length), (Evidence(replace(self._sources[passage.url], state="cited")),)
            )
        )

    def write(self, paragraphs: Sequence[Sequence[Entry]]) -> None:
        """Writes all paragraphs, and the contradicting statements of other pages after each paragraph."""
        reported: set[tuple[str, int]] = set()
        for paragraph in paragraphs:
            new = [entry for entry in paragraph if _key(entry) not in reported]
            subject = ""
            separator = "\n\n"
            announcement: Citation | None = None
            for entry in new:
                self._separate("\n\n" if entry.layout is not None else separator)
                if entry.layout is not None:
                    self._cite_layout(entry.url, entry.layout, announcement)
                    announcement, separator = None, "\n\n"
                elif entry.item is not None:
                    statement = entry.item.statement
                    self._append(_subject_prefix(statement, subject))
                    subject = statement.subject
                    self._cite(statement, entry.item.corroborating, announces=entry.announces)
                    announcement = self.citations.pop() if entry.announces else None
                    reported.add((statement.url, statement.offset))
                    separator = " "
            for entry in new:
                if entry.item is not None:
                    self._write_contradictions(entry.item, reported)

    def _separate(self, separator: str) -> None:
        """Begins the next sentence or the next paragraph. The number of an exhibit is written after its last
        line break, so a paragraph after it needs a blank line of its own."""
        if self._parts:
            self._append(separator)

    def _write_contradictions(self, item: SelectedStatement, reported: set[tuple[str, int]]) -> None:
        for other in item.contradicting:
            if (other.url, other.offset) in reported:
                self.contradictions.append((item.statement, other))
                continue
            reported.add((other.url, other.offset))
            self.contradictions.append((item.statement, other))
            self._separate("\n\n")
            self._append(self._contradiction(item.statement, other))
            self._append(_subject_prefix(other, ""))
            self._cite(other, ())

    def _contradiction(self, statement: Statement, other: Statement) -> str:
        newer, older = (_date(self._sources[item.url]) for item in (statement, other))
        if older and newer > older:
            return phrase("older", self._question).format(older=older, newer=newer)
        return phrase("contradiction", self._question)

    def _cite_layout(self, url: str, layout: Layout, announcement: Citation | None) -> None:
        """Writes an exhibit. The sentence that announces it is cited together with it."""
        start = self._length
        evidence: tuple[Evidence, ...] = ()
        if announcement is not None and announcement.span is not None:
            start, evidence = announcement.span.start, announcement.evidence
        self._append(layout.text)
        source = replace(self._sources[url], state="cited")
        evidence += tuple(Evidence(source, quote) for quote in layout.quotes)
        self.citations.append(Citation(Span(start, self._length), evidence))

    def _cite(
        self, statement: Statement, corroborating: Sequence[Statement], *, announces: bool = False
    ) -> None:
        start = self._length
        self._append(clean_line(statement.quote) if announces else statement.text)
        evidence = tuple(
            evidence for item in (statement, *corroborating) for evidence in self._evidence(item)
        )
        self.citations.append(Citation(Span(start, self._length), evidence))

    def _evidence(self, statement: Statement) -> Iterator[Evidence]:
        """The quoted page, then the documentation of what it is about as a further link, without a quote."""
        source = self._sources[statement.url]
        yield Evidence(replace(source, state="cited"), statement.quote)
        link = documentation_link(source.url, source.title) if self._has_links else ""
        if link:
            yield Evidence(Source(link, documentation_title(source.title), "cited"))

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def _key(entry: Entry) -> tuple[str, int]:
    return (entry.url, entry.item.statement.offset if entry.item is not None else -1)


def _subject_prefix(statement: Statement, subject: str) -> str:
    """The name of the subject, if neither the sentence nor the one before it mentions the name."""
    name = statement.subject
    if not name or name == subject or mentions(statement.text, name):
        return ""
    return f"{name}: "


def _notes(part: QuestionPart, selection: Selection, builder: _AnswerBuilder) -> Iterator[Warned]:
    if _reference(part) is not None:
        yield Warned(
            NOT_INDEXED, "The page is not in the index. `groundwire index add python` adds the documentation."
        )
    for one, other in builder.contradictions:
        yield Warned("contradictory_evidence", f"{_name_sources(one, other)} disagree; both are quoted.")
    if part.probability is not None:
        if part.probability < _thresholds(part).firm:
            yield Warned(THIN_EVIDENCE, "The evidence is thin: the pages may not answer the question.")
    elif selection.coverage < _THIN_COVERAGE:
        yield Warned(THIN_EVIDENCE, "The evidence is thin: no page covers the whole question.")
    elif selection.coverage < _FIRM_COVERAGE and _is_lone_claim(selection, builder):
        yield Warned(
            THIN_EVIDENCE,
            "The evidence is thin: only one page supports this, and it covers the question only in part.",
        )


def _is_lone_claim(selection: Selection, builder: _AnswerBuilder) -> bool:
    """Is there a single source, and is it not the documentation of the subject itself?"""
    pages = {item.source.url for citation in builder.citations for item in citation.evidence if item.quote}
    return len(pages) == 1 and not any(item.statement.subject for item in selection.paragraphs[0])


def _name_sources(one: Statement, other: Statement) -> str:
    """The hosts of two pages, or their URLs if both are on one host."""
    hosts = [domain_of(item.url) or item.url for item in (one, other)]
    shown = hosts if hosts[0] != hosts[1] else [one.url, other.url]
    return " and ".join(map(one_line, shown))
