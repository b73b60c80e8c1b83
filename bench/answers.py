"""Answers of the embedded engine: right pages, silence, truth of quotes, and ranking, in one run.

The questions are those of tests/engine/questions, in parts that different people wrote. Those of the tuning
parts may be looked at: `--misses` prints what failed. `held_out` parts are only counted. The handbooks are
those of invented organisations, each an index of its own. Quotes and anchors are checked where the address
leads: Debian's documentation, the installed sources, the interpreter.

    python bench/answers.py                      # all tables
    python bench/answers.py --only handbook      # one table
    python bench/answers.py --part tuning        # one part only
    python bench/answers.py --index FOLDER       # keep the built index there, and use it the next time
    python bench/answers.py --json
    GROUNDWIRE_SEMANTIC=0 python bench/answers.py     # by words only, although there are vectors
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import judged

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.engine.cited_text import cited_text, plain, section_text  # noqa: E402
from tests.engine.grading import Grade, grade  # noqa: E402
from tests.engine.misspellings import misspelt  # noqa: E402
from tests.engine.question_sets import (  # noqa: E402
    HANDBOOK,
    HANDBOOKS,
    PARTS,
    TUNING,
    Part,
    Question,
    Subject,
    handbook_of,
    load_questions,
)

from groundwire.engine.compose.answer import Composition  # noqa: E402
from groundwire.engine.dense.build import complete_vectors  # noqa: E402
from groundwire.engine.engines.local import LocalEngine  # noqa: E402
from groundwire.engine.index.location import open_index  # noqa: E402
from groundwire.engine.knowledge import is_complete, refresh  # noqa: E402
from groundwire.model import Evidence, SearchOptions  # noqa: E402
from groundwire.providers.engine_provider import EngineProvider  # noqa: E402

Row: TypeAlias = dict[str, str | int | float]
TABLES = ("python", "documentation", "handbook", "misspelt", "unanswerable", "truth", "ranking")


class Graded(NamedTuple):
    """A question, its answer and the grade."""

    part: Part
    question: Question
    answer: Composition
    grade: Grade


class Indexes:
    """The indexes that questions are answered from, each built when it is first needed.

    An index is a data directory: `plain` has what the engine knows out of the box, `documentation` also the
    documentation of Python, `handbook` and `handbook_2` what is known out of the box and that handbook.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def plain(self) -> Path:
        """What the engine knows out of the box, all of it."""
        folder = self._root / "plain"
        with open_index(folder / "index") as index:
            if not is_complete(index):
                refresh(index)
            complete_vectors(index)
        return folder

    def documentation(self) -> Path | None:
        """With `groundwire index add python`; None if that is not possible on this machine."""
        return self._extended("documentation", "python")

    def handbook(self, source: Path = HANDBOOK) -> Path | None:
        """With one of the handbooks."""
        return self._extended(source.name, str(source))

    def _extended(self, name: str, source: str) -> Path | None:
        folder = self._root / name
        if folder.is_dir():
            return folder
        unfinished = self._root / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(self.plain(), unfinished)
        command = [sys.executable, "-m", "groundwire", "index", "add", source]
        environment = {**os.environ, "GROUNDWIRE_DATA_DIR": str(unfinished)}
        # An empty folder: a file called "python" of the current one must not be taken for the source.
        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run(command, env=environment, cwd=empty, capture_output=True, check=False)
        if done.returncode:
            print(done.stderr.decode(errors="replace").strip(), file=sys.stderr)
            return None
        return unfinished.rename(folder)


def answered(folder: Path, subject: Subject, parts: Sequence[Part] = PARTS) -> list[Graded]:
    """All questions about a subject, answered as the embedded engine does."""
    return asyncio.run(_answered(folder, subject, parts))


async def _answered(folder: Path, subject: Subject, parts: Sequence[Part]) -> list[Graded]:
    engine = LocalEngine(folder / "index")
    provider = EngineProvider(engine, searches_parts=True)
    graded = []
    for part in parts:
        for question in load_questions(part, subject):
            query = " ".join(question.text.split())
            found, answer, _ = await provider.extract(query, SearchOptions())
            graded.append(Graded(part, question, answer, grade(question, answer, found.passages)))
    await engine.close()
    return graded


async def _misspelt(folder: Path, subject: Subject, seeds: int) -> tuple[float, float, int, int]:
    """Right page first with the tuning questions as written and with random errors, and how many of either
    were not answered."""
    engine = LocalEngine(folder / "index")
    provider = EngineProvider(engine, searches_parts=True)
    right: dict[bool, list[bool]] = {False: [], True: []}
    silent = Counter[bool]()
    for question in load_questions("tuning", subject):
        text = " ".join(question.text.split())
        if question.kind == "misspelt" or not question.is_answerable:
            continue
        forms = [(False, text), *((True, misspelt(text, seed)) for seed in range(seeds))]
        for has_errors, query in forms:
            found, answer, _ = await provider.extract(query, SearchOptions())
            graded = grade(question, answer, found.passages)
            right[has_errors].append(graded.right_first)
            silent[has_errors] += not graded.answered
    await engine.close()
    return share(right[False]), share(right[True]), silent[False], silent[True]


def misspelt_questions(folders: Iterable[tuple[str, Path | None, Subject]], seeds: int = 2) -> list[Row]:
    """What random typing errors cost. The errors are the same in every run."""
    rows: list[Row] = []
    for where, folder, subject in folders:
        if folder is not None:
            written, typed, silent, silent_typed = asyncio.run(_misspelt(folder, subject, seeds))
            rows.append(
                {
                    "index": where,
                    "right page first": written,
                    "with errors": typed,
                    "kept": typed / written,
                    "wrongly silent": silent,
                    "silent with errors": silent_typed,
                }
            )
    return rows


def by_kind(graded: Sequence[Graded]) -> list[Row]:
    """Shares by part and kind of question, and over all kinds."""
    rows: list[Row] = []
    for part in PARTS:
        mine = [item for item in graded if item.part == part and item.question.is_answerable]
        kinds = dict.fromkeys(item.question.kind for item in mine)
        rows += (_shares(part, kind, [item for item in mine if item.question.kind == kind]) for kind in kinds)
        if mine:
            rows.append(_shares(part, "all", mine))
    return rows


def _shares(part: Part, kind: str, graded: Sequence[Graded]) -> Row:
    grades = [item.grade for item in graded]
    row: Row = {
        "part": part,
        "kind": kind,
        "questions": len(grades),
        "right page first": share(item.right_first for item in grades),
        "right object first": share(item.exact_first for item in grades),
        "cited at all": share(item.right_cited for item in grades),
        "wrongly silent": sum(not item.answered for item in grades),
        "with doubt": sum(item.answer.is_doubtful for item in graded),
        "first passage": share(item.retrieved_first for item in grades),
        "in ten passages": share(item.retrieved for item in grades),
    }
    if any(item.question.must_contain for item in graded):
        row["must contain"] = share(item.contained for item in grades)
        row["right section first"] = share(map(_is_section_first, graded))
    return row


def _is_section_first(graded: Graded) -> bool:
    """Is the first quote in the section that has the answer? Words are compared: tables are quoted without
    the markup of the file."""
    if not graded.grade.right_first:
        return False
    question = graded.question
    section = section_text(question.files[0], question.section) or ""
    quote = graded.answer.citations[0].evidence[0].quote
    return _words(quote) in _words(f"{question.section} {section}")


def _words(text: str) -> str:
    words = " ".join(re.findall(r"[^\W_]+", plain(text)))
    return f" {words} "


def share(flags: Iterable[bool]) -> float:
    """The share of true flags."""
    listed = list(flags)
    return sum(listed) / len(listed) if listed else 0.0


def silence(where: str, graded: Sequence[Graded]) -> list[Row]:
    """Questions that no page answers, how many were answered, and in how many of these the engine was sure:
    the others begin by saying that the index may not have the answer."""
    rows: list[Row] = []
    for part in PARTS:
        mine = [item for item in graded if item.part == part and not item.question.is_answerable]
        wrong = [item for item in mine if item.grade.answered]
        sure = sum(not item.answer.is_doubtful for item in wrong)
        if mine:
            rows.append(
                {
                    "part": part,
                    "index": where,
                    "questions": len(mine),
                    "answered": len(wrong),
                    "without doubt": sure,
                }
            )
    return rows


def truth(where: str, graded: Sequence[Graded]) -> list[Row]:
    """Quotes and anchors of all citations of an index, by the site or the kind of address."""
    counts: dict[str, Counter[str]] = {}
    for item in graded:
        for evidence in (one for citation in item.answer.citations for one in citation.evidence):
            counts.setdefault(_site(evidence.source.url), Counter()).update(_checks(evidence))
    rows: list[Row] = []
    for site, found in sorted(counts.items()):
        row: Row = {"index": where, "questions": len(graded), "cited": site, "citations": found["citations"]}
        row |= {name: found[name] for name in _CHECKS}
        rows.append(row)
    return rows


def _checks(evidence: Evidence) -> Iterator[str]:
    yield "citations"
    found = cited_text(evidence.source.url)
    if found is None:
        yield "not checkable"
        return
    if not found.exists:
        yield "address missing"
    if evidence.quote:
        yield "quotes"
        if not found.has(evidence.quote):
            yield "not under the anchor"
        if not found.has_anywhere(evidence.quote):
            yield "not on the page"


def _site(url: str) -> str:
    """The kind of address, as far as the checks differ."""
    return next((prefix for prefix in _CHECKED if url.startswith(prefix)), "other")


def ranking() -> list[Row]:
    """nDCG and first hits on the judged collections, next to plain BM25."""
    with tempfile.TemporaryDirectory() as root:
        return [
            {
                "collection": result.collection,
                "queries": result.queries,
                "engine": result.engine,
                "nDCG@10": round(result.ndcg, 3),
                "first": result.first,
            }
            for result in judged.measure(Path(root))
        ]


class Measurements:
    """The tables of one run. Answers are composed once for each index and subject."""

    def __init__(self, indexes: Indexes, parts: Sequence[Part] = PARTS) -> None:
        self._answers: dict[tuple[str, Subject], list[Graded]] = {}
        self._parts = parts
        builders: dict[str, Callable[[], Path | None]] = {
            "plain": indexes.plain,
            "documentation": indexes.documentation,
            **{folder.name: partial(indexes.handbook, folder) for folder in HANDBOOKS},
        }
        self._folder = cache(lambda where: builders[where]())

    def answers(self, where: str, subject: Subject) -> list[Graded]:
        """The graded answers; none if the index cannot be built here or belongs to another part."""
        if (where, subject) not in self._answers:
            parts = [
                part for part in self._parts if where not in _HANDBOOKS or handbook_of(part).name == where
            ]
            folder = self._folder(where) if parts else None
            self._answers[where, subject] = [] if folder is None else answered(folder, subject, parts)
        return self._answers[where, subject]

    def table(self, name: str) -> list[Row]:
        """One of `TABLES`."""
        if name == "ranking":
            return ranking()
        if name == "misspelt":
            subjects: dict[str, Subject] = {
                "plain": "python",
                "documentation": "python",
                "handbook": "handbook",
            }
            return misspelt_questions((where, self._folder(where), of) for where, of in subjects.items())
        if name in ("unanswerable", "truth"):
            return self._over_all(name)
        if name == "handbook":
            return by_kind([item for where in _HANDBOOKS for item in self.answers(where, "handbook")])
        return by_kind(self.answers("plain" if name == "python" else name, "python"))

    def _over_all(self, name: str) -> list[Row]:
        rows: list[Row] = []
        for where, subjects in _SUBJECTS.items():
            graded = [item for subject in subjects for item in self.answers(where, subject)]
            if graded:
                rows += silence(where, graded) if name == "unanswerable" else truth(where, graded)
        return rows

    def misses(self) -> Iterator[str]:
        """The tuning questions whose first citation is wrong, with what was cited; never others."""
        for (where, _), graded in self._answers.items():
            for item in graded:
                question, answer = item.question, item.answer
                if (
                    item.part not in TUNING
                    or item.grade.right_first
                    or not (question.is_answerable or item.grade.answered)
                ):
                    continue
                first = answer.citations[0].evidence[0].source if answer.citations else None
                cited = f"{first.title} {first.url}" if first else "nothing"
                stage = "retrieved" if item.grade.retrieved else "not retrieved"
                yield f"{where} {question.kind} ({stage}): {question.text!r} cited {cited}"


_SUBJECTS: dict[str, tuple[Subject, ...]] = {
    "plain": ("python", "unanswerable"),
    "documentation": ("python", "unanswerable"),
    **{folder.name: ("handbook",) for folder in HANDBOOKS},
}
_HANDBOOKS = tuple(folder.name for folder in HANDBOOKS)
_CHECKED = (
    "https://docs.python.org/",
    "https://github.com/python/cpython/",
    "local:python/",
    "local:packages/",
    "local:groundwire/",
    "file:",
)
_CHECKS = ("not checkable", "address missing", "quotes", "not under the anchor", "not on the page")
_COUNTS = {"questions", "queries", "nDCG@10"}


def markdown(rows: Sequence[Row]) -> str:
    """A table; shares in percent."""
    if not rows:
        return "Not run: what it needs is not on this machine."
    heads = list(rows[0])
    marks = ["--:" if not isinstance(rows[0][head], str) else "---" for head in heads]
    lines = [heads, marks, *([_cell(head, row[head]) for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(head: str, value: str | float) -> str:
    return f"{value:.0%}" if isinstance(value, float) and head not in _COUNTS else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=TABLES, action="append", help="a table; may be repeated")
    parser.add_argument("--part", choices=PARTS, action="append", help="a part; may be repeated")
    parser.add_argument("--index", type=Path, help="folder to keep the built indexes in")
    parser.add_argument("--misses", action="store_true", help="also print the tuning questions that failed")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measurements = Measurements(Indexes(arguments.index or Path(temporary)), arguments.part or PARTS)
        tables = {}
        for name in arguments.only or TABLES:
            tables[name] = measurements.table(name)
            if not arguments.json:
                print(f"### {name}\n\n{markdown(tables[name])}\n", flush=True)
        if arguments.json:
            print(json.dumps(tables, indent=2))
        if arguments.misses:
            print(*measurements.misses(), sep="\n", file=sys.stderr if arguments.json else sys.stdout)


if __name__ == "__main__":
    main()
