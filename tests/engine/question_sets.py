"""Question sets in `questions/`, written as people type them, before their answers were seen.

A file is named for its part and its subject. Questions of the parts `tuning` and `tuning_2` may be looked at
while the engine is tuned; two people wrote them. Questions of the other parts are never printed; only counts
over many of them are. Counts of `unread` guided some choices, so that part is not a held-out set. `held_out`
was written by somebody who had neither read nor used the engine. It is evaluated after a change, never to
decide about one: a set whose counts led to a change must be renamed. One change was rejected with its counts
in view (bench/RESULTS.md).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

Part: TypeAlias = Literal["tuning", "tuning_2", "unread", "held_out"]
Subject: TypeAlias = Literal["python", "handbook", "unanswerable"]

PARTS: tuple[Part, ...] = get_args(Part)
TUNING: tuple[Part, ...] = ("tuning", "tuning_2")
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
FOLDER = Path(__file__).parent / "questions"
HANDBOOK = Path(__file__).parent / "handbook"
"""The documents of an invented company that the questions of `handbook` are about."""


class Question(NamedTuple):
    """A question and what a good answer cites. Without pages and files no answer is right."""

    text: str
    kind: str
    pages: tuple[str, ...] = ()
    """Paths below a version of docs.python.org, with or without an anchor."""
    names: tuple[str, ...] = ()
    """Names of objects whose documentation answers the question as well."""
    files: tuple[str, ...] = ()
    """Files of the handbook."""
    section: str = ""
    """Heading of the section of the first file that has the answer."""
    must_contain: str = ""
    """Text of that section that a useful answer has: the number, the command, the line of code."""

    @property
    def is_answerable(self) -> bool:
        """Is there a page that answers it?"""
        return bool(self.pages or self.files)


def load_questions(part: Part, subject: Subject) -> list[Question]:
    """The questions of one file, in its order."""
    text = (FOLDER / f"{part}_{subject}.toml").read_text("utf-8")
    return [_question(row) for row in tomllib.loads(text)["question"]]


def _question(row: Mapping[str, object]) -> Question:
    unknown = row.keys() - {"question", *Question._fields[1:]}
    if unknown:
        raise ValueError(f"unknown keys of a question: {', '.join(sorted(unknown))}")
    return Question(
        text=str(row["question"]),
        kind=str(row["kind"]),
        pages=_strings(row.get("pages")),
        names=_strings(row.get("names")),
        files=_strings(row.get("files")),
        section=str(row.get("section", "")),
        must_contain=str(row.get("must_contain", "")),
    )


def _strings(items: object) -> tuple[str, ...]:
    return tuple(map(str, items)) if isinstance(items, list) else ()
