"""Questions about the standard library, answered from the built-in index."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.engine.compose.answer import Composition, QuestionPart, compose_parts
from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge import refresh
from groundwire.engine.knowledge.addresses import library_page
from groundwire.engine.retrieve.rank import find_passages
from groundwire.model import SearchOptions, Source
from tests.engine import fresh_questions
from tests.engine.fresh_questions import Fresh, fresh
from tests.engine.library_questions import COUNT, UNTUNED, USUAL, LibraryQuestion, questions, usual_questions
from tests.shared_folders import build_once

pytestmark = pytest.mark.server

WANTED = 0.9
"""Of questions that repeat docstrings. The weights are fitted to questions of people, who do not repeat
docstrings."""
WANTED_FIRST = {"tuned": 0.8, "untuned": 0.65}
WANTED_AT_ALL = 0.75
WANTED_FRESH = {"library": 0.85, "packages": 0.75, "later library": 0.55, "later packages": 0.5}
WANTED_SILENCE = {"": 0.9, "LATER_": 0.8}
FRESH = {
    "library": fresh(fresh_questions.LIBRARY, "/{}.html"),
    "packages": fresh(fresh_questions.PACKAGES),
    "later library": fresh(fresh_questions.LATER_LIBRARY, "/{}.html"),
    "later packages": fresh(fresh_questions.LATER_PACKAGES),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    def make(folder: Path) -> None:
        with open_index(folder) as opened:
            refresh(opened)

    own = tmp_path_factory.mktemp("knowledge") / "index"
    shutil.copytree(build_once(tmp_path_factory, "knowledge-of-all", make), own)
    with open_index(own) as opened:
        yield opened


def reference_page(source: Source) -> str:
    """The page that a reader looks for: that of the library reference, else the source itself."""
    page = library_page(source.url, source.title)
    return f"/{page}.html" if page else source.url.partition("#")[0]


def is_right(index: Index, question: LibraryQuestion, source: Source) -> bool:
    """Is it the page, or one that says the same of another name?"""
    if question.fact.page.endswith(reference_page(source)):
        return True
    page = index.page(source.url)
    return page is not None and question.fact.sentence in " ".join(page.text.split())


def answered(index: Index, query: str) -> Composition:
    """Compose an answer as the embedded engine does."""
    found = find_passages(index, query, SearchOptions(), 20)
    return compose_parts([QuestionPart(query, found.interpretation.text, found.passages, found.is_answer)])


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.thorough), 3])
def test_the_right_page_is_cited_first_and_every_quote_is_verbatim(
    index: Index, capsys: pytest.CaptureFixture[str], step: int
) -> None:
    every = questions()
    assert len(every) == COUNT
    assert sum(question.names_it for question in every) <= COUNT / 2
    cases = every[::step]
    misses: list[str] = []
    quotes = 0
    for question in cases:
        composition = answered(index, question.text)
        cited = [item for citation in composition.citations for item in citation.evidence if item.quote]
        for item in cited:
            page = index.page(item.source.url)
            assert page is not None
            assert item.quote in page.text
            quotes += 1
        first = cited[0].source if cited else Source("nothing")
        if not is_right(index, question, first):
            misses.append(f"{question.text}\n    wanted {question.fact.name}, cited {first.url}")
    right = 1 - len(misses) / len(cases)
    with capsys.disabled():
        show(
            f"{right:.1%} of {len(cases)} questions cite the right page first; {quotes} quotes, all verbatim",
            misses,
        )
    assert right >= WANTED


@pytest.mark.parametrize(("kind", "rows"), [("tuned", USUAL), ("untuned", UNTUNED)])
def test_user_questions_cite_the_page_that_answers_them(
    index: Index, capsys: pytest.CaptureFixture[str], kind: str, rows: str
) -> None:
    cases = usual_questions(rows)
    misses: list[str] = []
    first = 0
    for query, pages in cases:
        citations = answered(index, query).citations
        cited = [reference_page(item.source) for citation in citations for item in citation.evidence]
        first += bool(cited) and cited[0].endswith(pages)
        if not any(url.endswith(pages) for url in cited):
            misses.append(f"{query}\n    cited {', '.join(dict.fromkeys(cited))}")
    right = 1 - len(misses) / len(cases)
    with capsys.disabled():
        show(
            f"{right:.1%} of {len(cases)} {kind} questions cite a right page, {first / len(cases):.1%} first",
            misses,
        )
    assert right >= WANTED_AT_ALL
    assert first / len(cases) >= WANTED_FIRST[kind]


@pytest.mark.parametrize("kind", FRESH)
def test_beginner_questions_cite_the_expected_page_first(
    index: Index, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    cases = FRESH[kind]
    cited = [_first_cited(index, question) for question in cases]
    pairs = zip(cases, cited, strict=True)
    misses = [f"{item.query}\n    cited {url}" for item, url in pairs if not item.is_answered_by(url)]
    right = 1 - len(misses) / len(cases)
    with capsys.disabled():
        show(f"{right:.0%} of {len(cases)} fresh questions ({kind}) cite a page wanted first", misses)
    assert right >= WANTED_FRESH[kind]


def _first_cited(index: Index, question: Fresh) -> str:
    citations = answered(index, question.query).citations
    if not citations:
        return "nothing"
    source = citations[0].evidence[0].source
    page = reference_page(source)
    return page if page.endswith(".html") else source.url


@pytest.mark.parametrize("half", WANTED_SILENCE)
def test_unanswerable_questions_are_reported_as_not_found(
    index: Index, capsys: pytest.CaptureFixture[str], half: str
) -> None:
    cases = getattr(fresh_questions, f"{half}UNANSWERABLE").strip().splitlines()
    answers = {query: answered(index, query) for query in cases}
    invented = [f"{query}\n    {answer.text[:90]}" for query, answer in answers.items() if answer.found]
    silent = 1 - len(invented) / len(cases)
    with capsys.disabled():
        show(f"{silent:.0%} of {len(cases)} questions that no page answers are left unanswered", invented)
    assert silent >= WANTED_SILENCE[half]


def show(result: str, misses: list[str]) -> None:
    print("", result, *misses, sep="\n")  # noqa: T201
