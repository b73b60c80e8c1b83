"""Question sets in `questions/`, written as people type them, before their answers were seen.

A file is named for its part and its subject. The questions of the tuning parts may be looked at while the
engine is tuned; a different person wrote each part. A change is judged by the parts that it was not made for:
`bench/rerank.py` and `bench/gate.py` fit weights to all tuning parts but one, and print how they do on that
one. The questions of the `held_out` parts are never printed; they are counted after a change, never to choose
one. Their authors had neither read nor used the engine. A set whose counts led to a change must be renamed.

The questions of the subject `handbook` are about the documents of an invented organisation. `tuning_5`,
`tuning_6`, `tuning_7`, `tuning_9` and `tuning_10` were held out until their counts were used or their
questions read.
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
    "held_out",
    "held_out_2",
    "held_out_3",
    "held_out_4",
    "held_out_5",
    "held_out_6",
    "held_out_7",
    "held_out_8",
    "held_out_9",
    "held_out_10",
    "held_out_11",
]
Subject: TypeAlias = Literal["python", "handbook", "unanswerable"]

PARTS: tuple[Part, ...] = get_args(Part)
TUNING: tuple[Part, ...] = tuple(part for part in PARTS if part.startswith("tuning"))
"""The parts that may be looked at."""
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
FOLDER = Path(__file__).parent / "questions"
HANDBOOK = Path(__file__).parent / "handbook"
"""The documents of an invented company that makes sensors."""
HANDBOOK_2 = Path(__file__).parent / "handbook_2"
"""The documents of an invented university library."""
HANDBOOK_3 = Path(__file__).parent / "handbook_3"
"""The documents of a third invented organisation."""
HANDBOOK_4 = Path(__file__).parent / "handbook_4"
"""Those of a fourth one."""
HANDBOOK_5 = Path(__file__).parent / "handbook_5"
"""Those of a fifth one."""
HANDBOOK_6 = Path(__file__).parent / "handbook_6"
"""Those of a sixth one."""
HANDBOOK_7 = Path(__file__).parent / "handbook_7"
"""Those of a seventh one."""
HANDBOOK_8 = Path(__file__).parent / "handbook_8"
"""Those of an eighth one."""
HANDBOOK_9 = Path(__file__).parent / "handbook_9"
"""Those of a ninth one."""
HANDBOOK_10 = Path(__file__).parent / "handbook_10"
"""Those of a tenth one."""
HANDBOOK_11 = Path(__file__).parent / "handbook_11"
"""Those of an eleventh one."""
HANDBOOK_12 = Path(__file__).parent / "handbook_12"
"""Those of a twelfth one."""
HANDBOOK_13 = Path(__file__).parent / "handbook_13"
"""Those of a thirteenth one."""
HANDBOOK_14 = Path(__file__).parent / "handbook_14"
"""Those of a fourteenth one."""
HANDBOOK_15 = Path(__file__).parent / "handbook_15"
"""Those of a fifteenth one."""
HANDBOOK_16 = Path(__file__).parent / "handbook_16"
"""Those of a sixteenth one."""
HANDBOOK_17 = Path(__file__).parent / "handbook_17"
"""Those of a seventeenth one."""
_HANDBOOK_OF: dict[Part, Path] = {
    "tuning_5": HANDBOOK_2,
    "tuning_6": HANDBOOK_3,
    "tuning_7": HANDBOOK_4,
    "tuning_8": HANDBOOK_6,
    "held_out": HANDBOOK_5,
    "tuning_9": HANDBOOK_7,
    "tuning_10": HANDBOOK_8,
    "held_out_2": HANDBOOK_9,
    "held_out_3": HANDBOOK_10,
    "held_out_4": HANDBOOK_11,
    "held_out_5": HANDBOOK_12,
    "held_out_6": HANDBOOK_13,
    "held_out_8": HANDBOOK_14,
    "held_out_9": HANDBOOK_15,
    "held_out_10": HANDBOOK_16,
    "held_out_11": HANDBOOK_17,
}
"""The handbook that the questions of a part are about, if it is not the first."""
WITHOUT: frozenset[tuple[Part, Subject]] = frozenset(
    [
        *(("tuning_5", "python"), ("tuning_6", "python"), ("tuning_7", "python")),
        *(("tuning_5", "unanswerable"), ("tuning_6", "unanswerable"), ("tuning_7", "unanswerable")),
        ("tuning_8", "unanswerable"),
        *(("tuning_9", "python"), ("tuning_9", "unanswerable")),
        *(("tuning_10", "python"), ("tuning_10", "unanswerable")),
        *(("held_out_3", "python"), ("held_out_3", "unanswerable")),
        *(("held_out_4", "python"), ("held_out_4", "unanswerable")),
        *(("held_out_5", "python"), ("held_out_5", "unanswerable")),
        *(("held_out_6", "python"), ("held_out_6", "unanswerable")),
        ("held_out_7", "handbook"),
        *(("held_out_8", "python"), ("held_out_8", "unanswerable")),
        *(("held_out_9", "python"), ("held_out_9", "unanswerable")),
        *(("held_out_10", "python"), ("held_out_10", "unanswerable")),
        *(("held_out_11", "python"), ("held_out_11", "unanswerable")),
    ]
)
"""Parts without questions about a subject."""
HANDBOOKS = (
    *(HANDBOOK, HANDBOOK_2, HANDBOOK_3, HANDBOOK_4, HANDBOOK_5),
    *(HANDBOOK_6, HANDBOOK_7, HANDBOOK_8, HANDBOOK_9, HANDBOOK_10, HANDBOOK_11),
    *(HANDBOOK_12, HANDBOOK_13, HANDBOOK_14, HANDBOOK_15),
    *(HANDBOOK_16, HANDBOOK_17),
)
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
    return _HANDBOOK_OF.get(part, HANDBOOK)


def parts_about(subject: Subject) -> list[Part]:
    """The parts with questions about a subject."""
    return [part for part in PARTS if (part, subject) not in WITHOUT]


def load_questions(part: Part, subject: Subject) -> list[Question]:
    """The questions of one file, in its order; none if the part has none about the subject."""
    if (part, subject) in WITHOUT:
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
