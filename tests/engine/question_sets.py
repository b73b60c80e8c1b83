"""Question sets in `questions/`, written as people type them, before their answers were seen.

A file is named for its part and its subject. The questions of the tuning parts may be looked at while the
engine is tuned; a different person wrote each part. A change is judged by the parts that it was not made for:
`bench/rerank.py` and `bench/gate.py` fit weights to all tuning parts but one, and print how they do on that
one. The questions of the `held_out` parts are never printed; they are counted after a change, never to choose
one. Their authors had neither read nor used the engine. A set whose counts led to a change must be renamed.

The questions of the subject `handbook` are about the documents of an invented organisation. `tuning_5` to
`tuning_7` and `tuning_9` to `tuning_17` were held out until their counts were used or their questions read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

Part: TypeAlias = Literal[
    "tuning",
    "tuning_2",
    "tuning_3",
    "tuning_4",
    "tuning_5",
    "tuning_6",
    "tuning_7",
    "tuning_8",
    "tuning_9",
    "tuning_10",
    "tuning_11",
    "tuning_12",
    "tuning_13",
    "tuning_14",
    "tuning_15",
    "tuning_16",
    "tuning_17",
    "held_out",
    "held_out_2",
    "held_out_3",
    "held_out_7",
    "held_out_12",
    "held_out_13",
]
Subject: TypeAlias = Literal["python", "handbook", "unanswerable"]

PARTS: tuple[Part, ...] = get_args(Part)
TUNING: tuple[Part, ...] = tuple(part for part in PARTS if part.startswith("tuning"))
"""The parts that may be looked at."""
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
FOLDER = Path(__file__).parent / "questions"


def _handbook(number: int) -> Path:
    return Path(__file__).parent / (f"handbook_{number}" if number > 1 else "handbook")


HANDBOOK = _handbook(1)
"""The documents of an invented company that makes sensors."""
HANDBOOK_2 = _handbook(2)
"""The documents of an invented university library."""


class Contents(NamedTuple):
    """What the questions of a part are about, and with which handbook they are asked."""

    handbook: Path
    subjects: tuple[Subject, ...]


_ABOUT_HANDBOOK: tuple[Subject, ...] = ("handbook",)
CONTENTS: Mapping[Part, Contents] = {
    **dict.fromkeys(("tuning", "tuning_2", "tuning_3", "tuning_4"), Contents(HANDBOOK, SUBJECTS)),
    "tuning_5": Contents(HANDBOOK_2, _ABOUT_HANDBOOK),
    "tuning_6": Contents(_handbook(3), _ABOUT_HANDBOOK),
    "tuning_7": Contents(_handbook(4), _ABOUT_HANDBOOK),
    "tuning_8": Contents(_handbook(6), ("handbook", "python")),
    "tuning_9": Contents(_handbook(7), _ABOUT_HANDBOOK),
    "tuning_10": Contents(_handbook(8), _ABOUT_HANDBOOK),
    "tuning_11": Contents(_handbook(11), _ABOUT_HANDBOOK),
    "tuning_12": Contents(_handbook(12), _ABOUT_HANDBOOK),
    "tuning_13": Contents(_handbook(13), _ABOUT_HANDBOOK),
    "tuning_14": Contents(_handbook(14), _ABOUT_HANDBOOK),
    "tuning_15": Contents(_handbook(15), _ABOUT_HANDBOOK),
    "tuning_16": Contents(_handbook(16), _ABOUT_HANDBOOK),
    "tuning_17": Contents(_handbook(17), _ABOUT_HANDBOOK),
    "held_out": Contents(_handbook(5), SUBJECTS),
    "held_out_2": Contents(_handbook(9), SUBJECTS),
    "held_out_3": Contents(_handbook(10), _ABOUT_HANDBOOK),
    "held_out_7": Contents(HANDBOOK, ("python", "unanswerable")),
    "held_out_12": Contents(_handbook(18), _ABOUT_HANDBOOK),
    "held_out_13": Contents(_handbook(19), _ABOUT_HANDBOOK),
}
HANDBOOKS: tuple[Path, ...] = tuple(dict.fromkeys(contents.handbook for contents in CONTENTS.values()))
"""All handbooks. A file name is in one of them only."""


class Question(NamedTuple):
    """A question and what a good answer cites. Without pages and files no answer is right."""

    text: str
    kind: str
    pages: tuple[str, ...] = ()
    """Paths below a version of docs.python.org, with or without an anchor."""
    names: tuple[str, ...] = ()
    """Names of objects whose documentation answers the question as well."""
    files: tuple[str, ...] = ()
    """Files of the handbook of the part."""
    section: str = ""
    """Heading of the section of the first file that has the answer."""
    must_contain: str = ""
    """Text of that section that a useful answer has: the number, the command, the line of code."""

    @property
    def is_answerable(self) -> bool:
        """Is there a page that answers it?"""
        return bool(self.pages or self.files)


def handbook_of(part: Part) -> Path:
    """The handbook that the questions of a part are about."""
    return CONTENTS[part].handbook


def parts_about(subject: Subject) -> list[Part]:
    """The parts with questions about a subject."""
    return [part for part, contents in CONTENTS.items() if subject in contents.subjects]


def load_questions(part: Part, subject: Subject) -> list[Question]:
    """The questions of one file, in its order; none if the part has none about the subject."""
    if subject not in CONTENTS[part].subjects:
        return []
    text = (FOLDER / f"{part}_{subject}.toml").read_text("utf-8")
    return [decode_question(row) for row in tomllib.loads(text)["question"]]


def decode_question(row: Mapping[str, object]) -> Question:
    """A question as it is written in a file."""
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
