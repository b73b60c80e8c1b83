"""The gate of the embedded engine: wrongly silent against wrongly answered, as a curve, and its weights.

Features are computed for every tuning question of tests/engine/questions on three indexes: what the engine
knows out of the box, with Python's documentation, and with the handbook, which may answer what a question
about "our company" asks. The weights are fitted by logistic regression, in which each index counts the same.
The curve has both errors with the weights in use, and with weights that were fitted to the questions of the
other parts, which other people wrote.

    python bench/gate.py --index FOLDER      # indexes as bench/answers.py builds and keeps them
    GROUNDWIRE_SEMANTIC=0 python bench/gate.py --index FOLDER
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from answers import Indexes
from tests.engine.question_sets import HANDBOOK_2, TUNING, Part, Subject, handbook_of, load_questions

from groundwire.engine.dense.location import open_stage
from groundwire.engine.index.location import open_index
from groundwire.engine.retrieve import gate
from groundwire.engine.retrieve.gate import GateFeatures, GateWeights
from groundwire.engine.retrieve.question import split_question
from groundwire.engine.retrieve.rank import find_passages
from groundwire.model import SearchOptions

Rows: TypeAlias = np.typing.NDArray[np.float64]
STEPS = 40
SHRINKAGE = 0.001
POINTS = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
ABOUT_THE_USER = ("company", "private")
"""Kinds of unanswerable questions that the handbook may answer."""


class Sample(NamedTuple):
    """The features of a question, and whether an answer is right."""

    knowledge: str
    """The index that was searched."""
    part: Part
    features: GateFeatures
    is_answerable: bool


def samples(folder: Path, subjects: tuple[Subject, ...]) -> list[Sample]:
    """All questions about some subjects, searched in one index."""
    found: list[Sample] = []
    questions = [
        (part, item)
        for part in TUNING
        for subject in subjects
        if subject != "handbook" or handbook_of(part).name == folder.name
        for item in load_questions(part, subject)
    ]
    with open_index(folder / "index") as index:
        stage = open_stage(index)
        for part, question in questions:
            if folder.name.startswith("handbook") and question.kind in ABOUT_THE_USER:
                continue
            query = split_question(" ".join(question.text.split()))[0]
            ranked = find_passages(index, query, SearchOptions(), 20, stage)
            found.append(Sample(folder.name, part, ranked.features, question.is_answerable))
    return found


def fit(rows: Sequence[Sample]) -> GateWeights:
    """Bias and weights. In each index, all unanswerable questions together weigh as much
    as all answerable ones."""
    counts = Counter((row.knowledge, row.is_answerable) for row in rows)
    share = np.array([1 / counts[row.knowledge, row.is_answerable] for row in rows])
    share /= share.sum()
    inputs = np.array([(1.0, *row.features) for row in rows])
    wanted = np.array([float(row.is_answerable) for row in rows])
    weights = fit_logistic(inputs, wanted, share, SHRINKAGE)
    bias, *rest = (round(weight, 2) for weight in weights.tolist())
    return GateWeights(GateFeatures(*rest), bias)


def fit_logistic(inputs: Rows, wanted: Rows, share: Rows, shrinkage: float) -> Rows:
    """The weights of a logistic regression by Newton's method; `share` is how much each row counts."""
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        guess = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ ((wanted - guess) * share) - shrinkage * weights
        bend = (inputs * (guess * (1 - guess) * share)[:, None]).T @ inputs + shrinkage * np.eye(len(weights))
        weights += np.linalg.solve(bend, slope)
    return weights


def print_curve(title: str, rows: Sequence[Sample], probabilities: Sequence[float]) -> None:
    """The shares of both errors for some thresholds, over all indexes and in each."""
    print(f"\n| {title}: threshold | index | wrongly silent | wrongly answered |")
    print("| --: | --- | --: | --: |")
    for point in POINTS:
        for where in ("all", *dict.fromkeys(row.knowledge for row in rows)):
            passed: dict[bool, list[bool]] = {True: [], False: []}
            for row, probability in zip(rows, probabilities, strict=True):
                if where in ("all", row.knowledge):
                    passed[row.is_answerable].append(probability >= point)
            silent = 1 - sum(passed[True]) / len(passed[True])
            answered = sum(passed[False]) / len(passed[False])
            chosen = " (chosen)" if point == gate.THRESHOLD else ""
            print(f"| {point}{chosen} | {where} | {silent:.1%} | {answered:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        indexes = Indexes(arguments.index or Path(temporary))
        rows = samples(indexes.plain(), ("python", "unanswerable"))
        others = (
            (indexes.documentation(), "python"),
            (indexes.handbook(), "handbook"),
            (indexes.handbook(HANDBOOK_2), "handbook"),
        )
        for folder, subject in others:
            if folder is None:
                print(f"Not run: the index for {subject} cannot be built here.", file=sys.stderr)
            else:
                rows += samples(folder, ("handbook" if subject == "handbook" else "python", "unanswerable"))
    used = gate.BY_MEANING if any(row.features.meaning for row in rows) else gate.BY_WORDS
    print(f"In use: {used}\nFitted to all: {fit(rows)}")
    print_curve("in use", rows, [gate.weighed(row.features, used) for row in rows])
    by_part = {part: fit([row for row in rows if row.part != part]) for part in TUNING}
    judged = [gate.weighed(row.features, by_part[row.part]) for row in rows]
    print_curve("fitted to other parts", rows, judged)


if __name__ == "__main__":
    main()
