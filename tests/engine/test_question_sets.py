"""The question sets: complete, balanced, and about pages that exist."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.engine.cited_text import DOCUMENTATION, handbook_text, page_anchors, section_text
from tests.engine.grading import contains
from tests.engine.question_sets import (
    FOLDER,
    HANDBOOKS,
    PARTS,
    SUBJECTS,
    Part,
    Subject,
    handbook_of,
    load_questions,
    parts_about,
)

KINDS = {"how_to", "concept", "comparison", "error", "german", "misspelt", "multi_part"}
LEAST_PYTHON = 100
LEAST_OF_A_KIND = 8
LEAST_HANDBOOK = 40
LEAST_UNANSWERABLE = 30


def test_every_part_has_the_files_of_its_subjects_and_no_others() -> None:
    named = {f"{part}_{subject}.toml" for subject in SUBJECTS for part in parts_about(subject)}
    assert {path.name for path in FOLDER.iterdir()} == named


@pytest.mark.parametrize("part", parts_about("python"))
def test_questions_about_python_are_of_all_kinds(part: Part) -> None:
    questions = load_questions(part, "python")
    counts = Counter(question.kind for question in questions)
    assert len(questions) >= LEAST_PYTHON
    assert counts.keys() == KINDS
    assert min(counts.values()) >= LEAST_OF_A_KIND
    assert all(question.pages for question in questions)


@pytest.mark.parametrize("part", parts_about("unanswerable"))
def test_questions_that_no_page_answers_name_no_page(part: Part) -> None:
    questions = load_questions(part, "unanswerable")
    assert len(questions) >= LEAST_UNANSWERABLE
    assert not any(question.is_answerable for question in questions)


@pytest.mark.parametrize("part", parts_about("handbook"))
def test_the_handbook_has_what_its_answers_must_contain_in_the_named_section(part: Part) -> None:
    questions = [question for question in load_questions(part, "handbook") if question.is_answerable]
    assert len(questions) >= LEAST_HANDBOOK
    wrong = 0
    for question in questions:
        section = section_text(question.files[0], question.section)
        wrong += section is None or not contains(section, question.must_contain)
        wrong += not all((handbook_of(part) / name).is_file() for name in question.files)
    assert wrong == 0


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_question_is_in_two_parts(subject: Subject) -> None:
    counts = Counter(
        text
        for part in PARTS
        for text in {question.text.casefold() for question in load_questions(part, subject)}
    )
    assert [count for count in counts.values() if count > 1] == []


@pytest.mark.parametrize("part", PARTS)
def test_the_pages_and_anchors_of_questions_exist(part: Part) -> None:
    if not DOCUMENTATION.is_dir():
        pytest.skip("Debian's package python3.11-doc is not installed")
    missing = []
    for question in load_questions(part, "python"):
        for page in question.pages:
            path, _, anchor = page.partition("#")
            anchors = page_anchors(path)
            if anchors is None or (anchor and anchor not in anchors):
                missing.append(page)
    assert missing == []


@pytest.mark.parametrize("handbook", HANDBOOKS, ids=lambda folder: folder.name)
def test_a_handbook_is_in_two_languages_and_three_formats(handbook: Path) -> None:
    files = sorted(handbook.iterdir())
    assert len(files) >= 20
    assert {file.suffix for file in files} == {".md", ".html", ".txt"}
    assert sum("Uhr" in handbook_text(file) or "Frist" in handbook_text(file) for file in files) >= 3


def test_no_file_name_is_in_two_handbooks() -> None:
    names = [file.name for handbook in HANDBOOKS for file in handbook.iterdir()]
    assert len(names) == len(set(names))
