"""A second handbook, of another kind of organisation than the first: neither may gain at the other's cost."""

from __future__ import annotations

import tomllib
from pathlib import Path

from groundwire.engine.compose.answer import QuestionPart, compose_parts
from groundwire.engine.crawl.files import crawl_path
from groundwire.engine.crawl.results import CrawledPage, CrawlOptions
from groundwire.engine.index.location import open_index
from groundwire.engine.retrieve.rank import find_passages
from groundwire.model import SearchOptions
from tests.engine.grading import grade
from tests.engine.question_sets import decode_question

FOLDER = Path(__file__).parent / "utility_handbook"
WANTED_FIRST, MOST_SILENT = 0.7, 0.25
"""By words alone, which is the weakest form of the engine."""


async def test_questions_about_another_handbook_are_answered_from_the_right_page(tmp_path: Path) -> None:
    crawled = [item async for item in crawl_path(FOLDER, CrawlOptions(base_url="https://utility.example/"))]
    rows = tomllib.loads((FOLDER / "questions.toml").read_text("utf-8"))["question"]
    questions = [decode_question(row) for row in rows]
    wrong, silent = [], []
    with open_index(tmp_path) as index:
        index.put(item.page for item in crawled if isinstance(item, CrawledPage))
        for question in questions:
            found = find_passages(index, question.text, SearchOptions(), 20)
            query = found.interpretation.text
            part = QuestionPart(question.text, query, found.passages, found.is_answer, found.probability)
            graded = grade(question, compose_parts([part]), found.passages)
            wrong += [] if graded.right_first else [question.text]
            silent += [] if graded.answered else [question.text]
    assert len(wrong) <= (1 - WANTED_FIRST) * len(questions), wrong
    assert len(silent) <= MOST_SILENT * len(questions), silent
