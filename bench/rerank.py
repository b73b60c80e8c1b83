"""Fits the weights that the embedded engine ranks passages with, and compares them in cross-validation.

Each tuning question of tests/engine/questions is searched in the indexes that `bench/answers.py` builds, by
words and by meaning; questions about Python also in the index with the handbook, so that pages of the user
do not win where they are not meant. Questions that repeat the first sentence of a docstring are made from
the docstrings; those of the tests are others. The weights maximise the likelihood that a right passage is the
first one. The table has the share of questions whose first passage is right: with weights chosen by hand,
with those in use, with weights fitted to four fifths of the questions for the others, and with weights fitted
to the other parts, which other people wrote.

    python bench/rerank.py --index FOLDER
"""

from __future__ import annotations

import argparse
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from answers import Indexes
from tests.engine.grading import is_right
from tests.engine.library_questions import COUNT, Fact, questions
from tests.engine.question_sets import HANDBOOK_2, TUNING, Part, Question, handbook_of, load_questions

from groundwire.engine.dense.location import open_stage
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge.addresses import library_page
from groundwire.engine.pages import Passage
from groundwire.engine.retrieve import rerank
from groundwire.engine.retrieve.gate import word_weights
from groundwire.engine.retrieve.question import split_question
from groundwire.engine.retrieve.rank import RERANKED, PassageSource, candidates, find_passages
from groundwire.engine.retrieve.rerank import PassageFeatures
from groundwire.model import SearchOptions

Array: TypeAlias = np.typing.NDArray[np.float64]
OWN = ("own_coverage", "own_meaning", "own_sentence", "own")
"""The weights of pages that the user added. They do not matter where there are none."""
BUILT_IN = ("about", "depth", "unread", "described", "named", "closeness")
"""Those that only built-in pages have."""
NO_WEIGHTS = PassageFeatures()
HAND_MADE = PassageFeatures(0.5, 1.0, 1.0, 0.5, 0.5)
FOLDS = 5
ROUNDS = 250
RATE = 0.08
SHRINKAGE = 5.0
"""Weight of the squares of the standardised weights. 1 and 10 give the same within a question or two."""


class Sample(NamedTuple):
    """The passages of a question that has a right one."""

    part: Part
    where: str
    """The index and the subject."""
    fold: int
    """Equal for all samples of a question."""
    features: list[PassageFeatures]
    is_right: list[bool]


Judge: TypeAlias = Callable[[Passage], bool]


def asked(folder: Path, subject: str) -> Iterator[tuple[Part, str, Judge]]:
    """The questions about a subject for one index, each with what makes a passage right."""
    if subject == "docstrings":
        for number, item in enumerate(questions(COUNT)):
            yield TUNING[number // len(TUNING) % len(TUNING)], item.text, partial(_documents, item.fact)
        return
    for part in TUNING:
        if subject == "handbook" and handbook_of(part).name != folder.name:
            continue
        for question in load_questions(part, "handbook" if subject == "handbook" else "python"):
            if question.is_answerable:
                yield part, question.text, partial(_answers, question)


def _documents(fact: Fact, passage: Passage) -> bool:
    """Is it of the object, or at least of its module, like the tests of these questions judge?"""
    return fact.page.endswith(f"/{library_page(passage.url, passage.title)}.html")


def _answers(question: Question, passage: Passage) -> bool:
    return is_right(question, passage.url, passage.title)


def samples(folder: Path, subject: str, *, by_meaning: bool) -> list[Sample]:
    """All questions about a subject, searched in one index."""
    found: list[Sample] = []
    options = SearchOptions()
    with open_index(folder / "index") as index:
        stage = open_stage(index) if by_meaning else None
        source = PassageSource(index, lru_cache(maxsize=None)(index.words_with_prefix), stage)
        for part, text, judge in asked(folder, subject):
            typed = split_question(" ".join(text.split()))[0]
            query = find_passages(index, typed, options, RERANKED, stage).interpretation.text
            weights = word_weights(query, source.words_with_prefix)
            best = candidates(source, query, weights, options, RERANKED)
            right = [judge(item.passage) for item in best]
            fold = zlib.crc32(text.encode()) % FOLDS
            where = f"{folder.name}: {subject}"
            found.append(Sample(part, where, fold, [item.features for item in best], right))
    return found


class Tensors(NamedTuple):
    """The samples as arrays: questions, passages, features."""

    features: Array
    is_right: Array
    is_passage: Array
    weights: Array
    """Of the questions: each index counts the same."""


def tensors(rows: Sequence[Sample]) -> Tensors:
    """The questions that have right and wrong passages."""
    rows = [row for row in rows if any(row.is_right)]
    shape = (len(rows), max(len(row.features) for row in rows))
    features = np.zeros((*shape, len(PassageFeatures._fields)))
    right, passages = np.zeros(shape), np.zeros(shape)
    for at, row in enumerate(rows):
        count = len(row.features)
        features[at, :count], right[at, :count], passages[at, :count] = row.features, row.is_right, 1.0
    counts = Counter(row.where for row in rows)
    return Tensors(features, right, passages, np.array([len(rows) / counts[row.where] for row in rows]))


def fit(
    rows: Sequence[Sample], start: PassageFeatures = NO_WEIGHTS, free: Sequence[str] = ()
) -> PassageFeatures:
    """The weights under which right passages are most probably the first ones (Adam, full batches). With
    `free`, only these weights are fitted; the others stay as they are in `start`."""
    data = tensors(rows)
    scale = data.features[data.is_passage > 0].std(0)
    scale[scale == 0] = 1.0
    scaled, share = data.features / scale, data.weights / data.weights.mean()
    is_free = np.array([not free or name in free for name in PassageFeatures._fields], float)
    weights, mean, square = np.array(start) * scale, np.zeros(len(scale)), np.zeros(len(scale))
    for step in range(1, ROUNDS + 1):
        scores = np.where(data.is_passage > 0, scaled @ weights, -np.inf)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        right = chances * data.is_right
        error = right / right.sum(1, keepdims=True) - chances / chances.sum(1, keepdims=True)
        gradient = np.einsum("qp,qpf->f", error * share[:, None], scaled) - SHRINKAGE * weights
        gradient *= is_free
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        pace = RATE * (1 - step / ROUNDS)
        weights += pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return PassageFeatures(*(weights / scale).tolist())


def _rounded(weights: PassageFeatures, names: Sequence[str]) -> dict[str, float]:
    return {name: round(weight, 2) for name, weight in weights._asdict().items() if name in names}


def first_is_right(row: Sample, weights: PassageFeatures) -> bool:
    """Is the passage with the highest score a right one?"""
    scores = [rerank.passage_score(features, weights) for features in row.features]
    return bool(scores) and row.is_right[scores.index(max(scores))]


def print_table(rows: Sequence[Sample], used: PassageFeatures) -> None:
    """The shares of right first passages, by index and subject."""
    by_fold = {fold: fit([row for row in rows if row.fold != fold]) for fold in range(FOLDS)}
    by_part = {part: fit([row for row in rows if row.part != part]) for part in TUNING}
    print("| index and subject | part | questions | by hand | in use | cross-validated | other parts |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for where in dict.fromkeys(row.where for row in rows):
        for part in TUNING:
            mine = [row for row in rows if (row.where, row.part) == (where, part)]
            if not mine:
                continue
            hits = (
                [first_is_right(row, HAND_MADE) for row in mine],
                [first_is_right(row, used) for row in mine],
                [first_is_right(row, by_fold[row.fold]) for row in mine],
                [first_is_right(row, by_part[row.part]) for row in mine],
            )
            shares = " | ".join(f"{sum(hit) / len(mine):.1%}" for hit in hits)
            print(f"| {where} | {part} | {len(mine)} | {shares} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path)
    parser.add_argument("--only", choices=("words", "meaning"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        indexes = Indexes(arguments.index or Path(temporary))
        searched: list[tuple[Path | None, str]] = [
            (indexes.plain(), "docstrings"),
            (indexes.plain(), "python"),
            (indexes.documentation(), "python"),
            (indexes.handbook(), "handbook"),
            (indexes.handbook(HANDBOOK_2), "handbook"),
            (indexes.handbook(), "python"),
        ]
        for by_meaning, used in ((True, rerank.BY_MEANING), (False, rerank.BY_WORDS)):
            if arguments.only not in (None, "meaning" if by_meaning else "words"):
                continue
            rows = [
                row
                for folder, subject in searched
                if folder is not None
                for row in samples(folder, subject, by_meaning=by_meaning)
            ]
            print(f"\n### {'By words and meaning' if by_meaning else 'By words'}\n")
            print_table(rows, used)
            fitted = _rounded(fit(rows), PassageFeatures._fields)
            print(f"\nFitted to all: {fitted}")
            built_in = _rounded(fit(rows, used, BUILT_IN), BUILT_IN)
            print("Fitted for built-in pages, the others as they are:", built_in)
            own = fit([row for row in rows if row.where.startswith("handbook")], used, OWN)
            print("Fitted for pages of the user, the others as they are:", _rounded(own, OWN))


if __name__ == "__main__":
    main()
