"""The pages and questions that the cross-encoder is trained on, and the examples that are made of them.

A file of `pages/` has lines that begin with `@ ` (the title of a page), `# ` (the heading of a section), `+ `
(a question that the section above answers) or `- ` (a question that no section of the page answers; these are
at the end of the page). All other lines are the text of a section.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from groundwire.engine.retrieve.translate import gloss, is_german
from groundwire.engine.words import guess_language

FOLDER = Path(__file__).parent / "pages"
_ORGANISATION = "handbook_"
"""Files named so have the pages of one organisation."""
_LESS, _FOREIGN = 0.1, 0.5
"""How much less similar than the answer sections of another organisation are, and how similar they are at
most to a question about Python."""


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
    organisation: str = ""
    """Equal for pages of one organisation; empty for a page that is alone."""

    def passage(self, section: Section) -> str:
        """A section as the cross-encoder reads it."""
        text = f"{self.title}. {section.heading}. {section.text}"
        return gloss(text) if guess_language(section.text) == "de" else text


class Asked(NamedTuple):
    """A question, the page that it was written for, and the section that answers it, if there is one."""

    question: str
    page: int
    section: int | None


class Group(NamedTuple):
    """A question and some passages. The first one is the answer, if there is one."""

    question: str
    passages: tuple[str, ...]
    is_answered: bool


def read_pages(paths: Iterable[Path]) -> list[TrainingPage]:
    """The pages of some files."""
    return [
        page._replace(organisation=path.stem if path.name.startswith(_ORGANISATION) else "")
        for path in paths
        for page in parse_pages(path.read_text("utf-8"))
    ]


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


def asked_questions(pages: Sequence[TrainingPage]) -> list[Asked]:
    """The questions of all pages, as the cross-encoder reads them."""
    found: list[Asked] = []
    for number, page in enumerate(pages):
        for section, about in enumerate(page.sections):
            found += (Asked(question, number, section) for question in about.questions)
        found += (Asked(question, number, None) for question in page.unanswered)
    return [
        item._replace(question=gloss(item.question)) if is_german(item.question) else item for item in found
    ]


Similarities: TypeAlias = Callable[[str], Sequence[float]]
"""How similar a question is to each section of all pages, in the order of pages and sections."""


def make_groups(
    pages: Sequence[TrainingPage], questions: Iterable[Asked], similarities: Similarities, rng: Random
) -> Iterator[Group]:
    """Each question with sections that are similar to it but do not answer it, others in every epoch.

    These are of the same organisation, where the author knows that they do not. A section of another one may
    answer a question of everyday life too, so it is taken only if it is less similar than the answer."""
    sections, texts = _sections(pages)
    position = {key: at for at, key in enumerate(sections)}
    groups = [_together(page, number) for number, page in enumerate(pages)]
    for asked in questions:
        similar = similarities(asked.question)
        order = sorted(range(len(sections)), key=lambda at: -similar[at])
        answer = None if asked.section is None else position[asked.page, asked.section]
        own = [at for at in order if groups[sections[at][0]] == groups[asked.page] and at != answer]
        if answer is None:
            chosen = own[:1] + _sample(own[1:4], 1, rng)
        elif pages[asked.page].organisation:
            chosen = [answer, *_sample(own[:6], 3, rng)]
        else:
            strangers = [
                at for at in order if similar[at] < similar[answer] and at not in own and at != answer
            ]
            chosen = [answer, *_sample(own, 2, rng), *_sample(strangers[:8], 1, rng)]
        yield Group(asked.question, tuple(texts[at] for at in chosen), answer is not None)


def foreign_groups(
    pages: Sequence[TrainingPage], questions: Sequence[Asked], similarities: Similarities, rng: Random
) -> Iterator[Group]:
    """Each question with sections of an organisation that it is not about. An everyday question may be
    answered there too, so these sections are clearly less similar than the answer."""
    sections, texts = _sections(pages)
    position = {key: at for at, key in enumerate(sections)}
    organisations: dict[str, list[int]] = {}
    for at, (number, _) in enumerate(sections):
        organisations.setdefault(pages[number].organisation, []).append(at)
    organisations.pop("", None)
    for asked in questions:
        similar = similarities(asked.question)
        own = pages[asked.page].organisation if asked.section is not None else ""
        most = _FOREIGN if asked.section is None else similar[position[asked.page, asked.section]] - _LESS
        others = [name for name in organisations if name != own]
        if not others:
            continue
        order = sorted(organisations[rng.choice(others)], key=lambda at: -similar[at])
        chosen = [at for at in order if similar[at] < most][:2]
        if chosen:
            texts = [
                pages[sections[at][0]].passage(pages[sections[at][0]].sections[sections[at][1]])
                for at in chosen
            ]
            yield Group(asked.question, tuple(texts), is_answered=False)


def _sections(pages: Sequence[TrainingPage]) -> tuple[list[tuple[int, int]], list[str]]:
    """The sections of all pages, by the numbers of page and section, and their texts."""
    sections = [
        (number, section) for number, page in enumerate(pages) for section in range(len(page.sections))
    ]
    return sections, [pages[number].passage(pages[number].sections[section]) for number, section in sections]


def _together(page: TrainingPage, number: int) -> str:
    return page.organisation or str(number)


def _sample(items: Sequence[int], count: int, rng: Random) -> list[int]:
    return rng.sample(items, min(count, len(items)))
