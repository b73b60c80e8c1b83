"""The pages and questions that the cross-encoder is trained on, and the examples that are made of them.

A file of `pages/` has lines that begin with `@ ` (the title of a page), `# ` (the heading of a section), `+ `
(a question that the section above answers) or `- ` (a question that no section of the page answers; these are
at the end of the page). All other lines are the text of a section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

FOLDER = Path(__file__).parent / "pages"
SIBLINGS = 0.35
"""The share of answered questions that are also paired with the closest other section of the page."""
OTHERS = 0.5
"""The share of unanswered questions that are also paired with a section that is not the closest."""
STRANGERS = 0.15
"""The share of answered questions that are also paired with the closest section of other pages."""
_STRANGE_PAGES = 60
"""Other pages among which the closest section is looked for."""
_WORD = re.compile(r"\w+")


class Section(NamedTuple):
    """A section, and the questions that it answers."""

    heading: str
    text: str
    questions: tuple[str, ...]


class TrainingPage(NamedTuple):
    """A page, and the questions that it does not answer."""

    title: str
    sections: tuple[Section, ...]
    unanswered: tuple[str, ...]

    def passage(self, section: Section) -> str:
        """A section as the cross-encoder reads it."""
        return f"{self.title}. {section.heading}. {section.text}"


class Example(NamedTuple):
    """A question, a passage, and whether the passage answers the question."""

    question: str
    passage: str
    is_answer: bool


def read_pages(paths: Iterable[Path]) -> list[TrainingPage]:
    """The pages of some files."""
    return [page for path in paths for page in parse_pages(path.read_text("utf-8"))]


def parse_pages(text: str) -> Iterator[TrainingPage]:
    """The pages of a file."""
    for page in re.split(r"^@ ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = page.partition("\n")
        body, unanswered = _split_unanswered(rest)
        # Within a block of code, a line with `# ` is a comment.
        parts = re.split(r"^# ", body, flags=re.MULTILINE)[1:]
        yield TrainingPage(title.strip(), tuple(map(_section, _joined(parts))), unanswered)


def _split_unanswered(text: str) -> tuple[str, tuple[str, ...]]:
    """The sections, and the questions after the last question that has an answer."""
    lines = text.rstrip().splitlines()
    last = max((at for at, line in enumerate(lines) if line.startswith("+ ")), default=-1)
    unanswered = tuple(line[2:].strip() for line in lines[last + 1 :] if line.startswith("- "))
    return "\n".join(lines[: last + 1]), unanswered


def _joined(parts: Sequence[str]) -> Iterator[str]:
    """Parts that end without a question are continued by the next one: they were cut at a comment."""
    waiting = ""
    for part in parts:
        waiting += f"# {part}" if waiting else part
        if re.search(r"^\+ ", waiting, re.MULTILINE):
            yield waiting
            waiting = ""


def _section(text: str) -> Section:
    heading, *lines = text.splitlines()
    questions = tuple(line[2:].strip() for line in lines if line.startswith("+ "))
    body = "\n".join(line for line in lines if not line.startswith("+ "))
    return Section(heading.strip(), body.strip(), questions)


def examples(pages: Sequence[TrainingPage], rng: Random) -> list[Example]:
    """The examples of an epoch, about as many with an answer as without."""
    return [example for page in pages for example in _examples_of(page, pages, rng)]


def _examples_of(page: TrainingPage, pages: Sequence[TrainingPage], rng: Random) -> Iterator[Example]:
    for section in page.sections:
        others = [page.passage(other) for other in page.sections if other is not section]
        for question in section.questions:
            yield Example(question, page.passage(section), is_answer=True)
            if others and rng.random() < SIBLINGS:
                yield Example(question, _closest(question, others), is_answer=False)
            if rng.random() < STRANGERS:
                strangers = [
                    other for other in rng.sample(pages, min(_STRANGE_PAGES, len(pages))) if other != page
                ]
                passages = [other.passage(section) for other in strangers for section in other.sections]
                yield Example(question, _closest(question, passages), is_answer=False)
    passages = [page.passage(section) for section in page.sections]
    for question in page.unanswered:
        closest = _closest(question, passages)
        yield Example(question, closest, is_answer=False)
        if len(passages) > 1 and rng.random() < OTHERS:
            yield Example(
                question, rng.choice([other for other in passages if other != closest]), is_answer=False
            )


def _closest(question: str, passages: Sequence[str]) -> str:
    """The passage that shares most words with a question."""
    words = set(_WORD.findall(question.lower()))
    return max(passages, key=lambda passage: len(words.intersection(_WORD.findall(passage.lower()))))
