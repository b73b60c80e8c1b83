"""The gate of the embedded engine: wrongly silent against wrongly answered, as a curve, and its weights.

Features are computed for every question of tests/engine/questions on three indexes: what the engine knows out
of the box, with Python's documentation, and with the handbook. The weights are fitted on the tuning questions
by logistic regression, in which each index counts the same; the unread questions are only counted. Held-out
questions are left out, because this curve is for choosing.

    python bench/gate.py --index FOLDER      # indexes as bench/answers.py builds and keeps them
    python bench/gate.py --index FOLDER --fit
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from answers import Indexes
from tests.engine.question_sets import Part, Subject, load_questions

from groundwire.engine.dense.location import open_stage
from groundwire.engine.index.location import open_index
from groundwire.engine.retrieve import gate
from groundwire.engine.retrieve.gate import GateFeatures, gate_features, word_weights
from groundwire.engine.retrieve.question import split_question
from groundwire.engine.retrieve.rank import find_passages
from groundwire.model import SearchOptions

PARTS: tuple[Part, ...] = ("tuning", "unread")
ROUNDS = 20_000
RATE = 0.5
SHRINKAGE = 0.001
UNANSWERABLE_WEIGHT = 0.7
"""Weight of all unanswerable questions together, relative to all answerable ones."""
POINTS = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)


class Sample(NamedTuple):
    """The features of a question, and whether an answer is right."""

    part: Part
    knowledge: str
    """The index that was searched."""
    features: GateFeatures
    is_answerable: bool


def samples(folder: Path, subjects: tuple[Subject, ...]) -> list[Sample]:
    """All questions about some subjects, searched in one index."""
    found: list[Sample] = []
    with open_index(folder / "index") as index:
        stage = open_stage(index)
        for part in PARTS:
            for question in (item for subject in subjects for item in load_questions(part, subject)):
                query = split_question(" ".join(question.text.split()))[0]
                ranked = find_passages(index, query, SearchOptions(), 20, stage)
                weights = word_weights(ranked.interpretation.text, index.words_with_prefix)
                features = gate_features(ranked.interpretation, ranked.passages, weights)
                found.append(Sample(part, folder.name, features, question.is_answerable))
    return found


def fit(rows: list[Sample]) -> tuple[float, list[float]]:
    """Bias and weights by gradient descent."""
    counts = Counter((row.knowledge, row.is_answerable) for row in rows)
    weights = [0.0] * (len(GateFeatures._fields) + 1)
    total = len({row.knowledge for row in rows}) * (1 + UNANSWERABLE_WEIGHT)
    for _ in range(ROUNDS):
        gradient = [-SHRINKAGE * weight for weight in weights]
        for row in rows:
            inputs = (1.0, *row.features)
            guess = 1 / (1 + math.exp(-sum(map(float.__mul__, weights, map(float, inputs)))))
            share = (1.0 if row.is_answerable else UNANSWERABLE_WEIGHT) / counts[
                row.knowledge, row.is_answerable
            ]
            error = (row.is_answerable - guess) * share / total
            for position, value in enumerate(inputs):
                gradient[position] += error * value
        weights = [weight + RATE * step for weight, step in zip(weights, gradient, strict=True)]
    return weights[0], weights[1:]


def print_curve(rows: list[Sample]) -> None:
    """The shares of both errors for some thresholds."""
    print("| part | threshold | wrongly silent | wrongly answered |")
    print("| --- | --: | --: | --: |")
    for part in PARTS:
        mine = [row for row in rows if row.part == part]
        for point in POINTS:
            shares = [
                [
                    gate.probability(row.features) >= point
                    for row in mine
                    if row.is_answerable == is_answerable
                ]
                for is_answerable in (True, False)
            ]
            silent, answered = 1 - sum(shares[0]) / len(shares[0]), sum(shares[1]) / len(shares[1])
            chosen = " (chosen)" if point == gate.THRESHOLD else ""
            print(f"| {part} | {point}{chosen} | {silent:.1%} | {answered:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path)
    parser.add_argument("--fit", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        indexes = Indexes(arguments.index or Path(temporary))
        rows = samples(indexes.plain(), ("python", "unanswerable"))
        for folder, subject in ((indexes.documentation(), "python"), (indexes.handbook(), "handbook")):
            if folder is None:
                print(f"Not run: the index for {subject} cannot be built here.", file=sys.stderr)
            else:
                rows += samples(folder, ("handbook" if subject == "handbook" else "python", "unanswerable"))
    if arguments.fit:
        bias, weights = fit([row for row in rows if row.part == "tuning"])
        print(
            "bias",
            round(bias, 2),
            dict(zip(GateFeatures._fields, [round(w, 2) for w in weights], strict=True)),
        )
    used = gate.BY_MEANING if any(row.features.meaning for row in rows) else gate.BY_WORDS
    print(f"Weights in use: {used.bias} {used.weights}\n")
    print_curve(rows)


if __name__ == "__main__":
    main()
