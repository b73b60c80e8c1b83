"""The cross-encoder on the tuning questions about handbooks: is there an answer, and where?

For each handbook, the weights are fitted to the questions about the others. The cross-encoder itself has seen
none of them: it was trained on other pages and questions (`training/`).

    python bench/cross_encoder.py --index FOLDER      # indexes as bench/answers.py builds and keeps them
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from answers import Indexes
from gate import Rows, fit_logistic
from tests.engine.grading import is_right
from tests.engine.question_sets import TUNING, Question, handbook_of, load_questions

from groundwire.engine.dense.cross_encoder import load_cross_encoder
from groundwire.engine.dense.location import models_folder
from groundwire.engine.dense.stage import DenseStage
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Passage
from groundwire.engine.retrieve.gate import JUDGED
from groundwire.engine.retrieve.question import split_question
from groundwire.engine.retrieve.rank import ODDS, RankedPassages, find_passages, passage_odds
from groundwire.model import SearchOptions
from groundwire.model.value import replace

SHRINKAGE = 0.002
SILENT = (0.03, 0.05, 0.08, 0.1)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


class Sample(NamedTuple):
    """A question, what the gate says of it, and what the cross-encoder says of the best passages."""

    handbook: str
    question: Question
    probability: float
    passages: tuple[Passage, ...]
    odds: dict[int, float]
    """By the place of the passage."""

    @property
    def inputs(self) -> tuple[float, float, float]:
        """What the weights of `judged_probability` are multiplied by."""
        before = math.log(self.probability / (1 - self.probability)) if 0 < self.probability < 1 else -5.0
        return 1.0, before, self._judged(self.first(ODDS)) if self.odds else 0.0

    def first(self, weight: float) -> int:
        """The place of the passage that is first, if what the cross-encoder says has a weight."""
        scores = [item.score + weight * self._judged(at) for at, item in enumerate(self.passages)]
        return scores.index(max(scores))

    def is_first_right(self, weight: float) -> bool:
        """Is that of a right page?"""
        if not self.passages:
            return False
        first = self.passages[self.first(weight)]
        return is_right(self.question, first.url, first.title)

    def _judged(self, place: int) -> float:
        return self.odds.get(place, min(self.odds.values(), default=0.0))


def samples(folder: Path) -> list[Sample]:
    """The tuning questions about one handbook."""
    found: list[Sample] = []
    with open_index(folder / "index") as index:
        store = index.passage_store()
        if store is None:
            return []
        models = models_folder(store.folder)
        without = DenseStage(store, models)
        stage = DenseStage(store, models, load_cross_encoder=partial(load_cross_encoder, models))
        for part in (part for part in TUNING if handbook_of(part).name == folder.name):
            for question in load_questions(part, "handbook"):
                query = split_question(" ".join(question.text.split()))[0]
                ranked = _unsharpened(find_passages(index, query, SearchOptions(), 20, without))
                odds = passage_odds(query, ranked, stage)
                found.append(Sample(folder.name, question, ranked.probability, ranked.passages, odds))
    return found


def _unsharpened(found: RankedPassages) -> RankedPassages:
    """With the scores before they are squared."""
    return found._replace(
        passages=tuple(replace(item, score=math.sqrt(item.score)) for item in found.passages)
    )


def fit(rows: Sequence[Sample]) -> Rows:
    """Bias and weights. All unanswerable questions weigh as much as all others."""
    inputs = np.array([row.inputs for row in rows])
    wanted = np.array([float(row.question.is_answerable) for row in rows])
    share = np.where(wanted > 0, 0.5 / wanted.sum(), 0.5 / (1 - wanted).sum())
    return fit_logistic(inputs, wanted, share, SHRINKAGE)


def area(rows: Sequence[Sample], scores: Sequence[float]) -> float:
    """The area under the ROC curve: the probability that an answerable question scores above another one."""
    answerable = [score for row, score in zip(rows, scores, strict=True) if row.question.is_answerable]
    others = [score for row, score in zip(rows, scores, strict=True) if not row.question.is_answerable]
    return float(np.mean([[(one > other) + 0.5 * (one == other) for other in others] for one in answerable]))


def wrongly_answered(rows: Sequence[Sample], scores: Sequence[float], silent: float) -> float:
    """The share of unanswerable questions above the threshold that leaves a share of the others silent."""
    answerable = [score for row, score in zip(rows, scores, strict=True) if row.question.is_answerable]
    threshold = np.quantile(answerable, silent)
    others = [score for row, score in zip(rows, scores, strict=True) if not row.question.is_answerable]
    return float(np.mean([score >= threshold for score in others]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        indexes = Indexes(arguments.index or Path(temporary))
        books = dict.fromkeys(map(handbook_of, TUNING))
        folders = [folder for book in books if (folder := indexes.handbook(book)) is not None]
        rows = [row for folder in folders for row in samples(folder)]
    fitted = {
        name: fit([row for row in rows if row.handbook != name]) for name in {row.handbook for row in rows}
    }
    gates = [row.probability for row in rows]
    both = [float(np.dot(fitted[row.handbook], row.inputs)) for row in rows]
    print(f"{len(rows)} questions, {sum(not row.question.is_answerable for row in rows)} without an answer")
    print(f"In use: {JUDGED}\nFitted to all: {[round(weight, 2) for weight in fit(rows).tolist()]}")
    print("\n| | area under the curve |" + "".join(f" {share:.0%} silent |" for share in SILENT))
    print("|---|--:|" + "--:|" * len(SILENT))
    for name, scores in (("gate", gates), ("with the cross-encoder", both)):
        shares = (f" {wrongly_answered(rows, scores, share):.0%} |" for share in SILENT)
        print(f"| {name} | {area(rows, scores):.3f} |" + "".join(shares))
    print("\nEach share is that of unanswerable questions that are answered.")
    print(f"\nWeight in use: {ODDS}\n\n| handbook |" + "".join(f" weight {one} |" for one in WEIGHTS))
    print("|---|" + "--:|" * len(WEIGHTS))
    for name in (*sorted(fitted), ""):
        mine = [row for row in rows if row.question.is_answerable and name in ("", row.handbook)]
        counts = (f" {sum(row.is_first_right(weight) for row in mine)} |" for weight in WEIGHTS)
        print(f"| {name or 'all'} ({len(mine)}) |" + "".join(counts))
    print("\nEach count is that of questions whose first passage is of the right page.")


if __name__ == "__main__":
    main()
