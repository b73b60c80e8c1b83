"""Verification of citations, offline: our labelled pages, and WiCE dev if it is on this machine.

Labelled pages: precision and recall of every verdict on the tuning half and on the test half, split by page.

WiCE (claims of Wikipedia with the web page each cites): how well the ranking score of `verify/score.py` tells
supported claims from the rest, and claims with any support from those with none, as the area under the ROC
curve. The few weights were fitted on these very claims, and so were the three features chosen: the figure is
cross-validated (ten folds), but it is not held out.

    python bench/verify.py
    python bench/verify.py --fit       # the weights for verify/score.py
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.verify.labelled_pages import HALVES, measure, measure_quantities

from groundwire.model.value import field_names
from groundwire.verify import score
from groundwire.verify.claims import check_claim
from groundwire.verify.overlap import ClaimSentence
from groundwire.verify.pages import PageText, PreparedPage
from groundwire.verify.score import SupportFeatures, support_features

WICE = Path(__file__).parents[2] / "shared" / "data" / "wice" / "claim-dev.jsonl"
TARGETS = {"supported": 0.80, "any support": 0.82}
FOLDS, REPEATS = 10, 3
ROUNDS, RATE, SHRINKAGE = 400, 0.5, 0.003
_GOAL = {"supported": 1.0, "partially_supported": 0.15, "not_supported": 0.0}
"""What the weights are fitted to: one score for both questions. With 0.25 it answers the second one slightly
better (0.83) and the first one slightly worse (0.80)."""


class JudgedClaim(NamedTuple):
    """A claim of WiCE."""

    label: str
    features: tuple[float, ...]
    words: float
    """The share of its words that are in the page, for comparison."""
    verdict: str


def judged_claims() -> list[JudgedClaim]:
    """All claims, with their features."""
    return [_judged(json.loads(line)) for line in WICE.read_text("utf-8").splitlines()]


def _judged(row: dict[str, object]) -> JudgedClaim:
    claim, evidence = str(row["claim"]), cast("list[str]", row["evidence"])
    page = PreparedPage(PageText("\n\n".join(evidence)))
    features = support_features(claim, page)
    words = [token.key in page.keys for token in ClaimSentence(claim).words]
    return JudgedClaim(
        str(row["label"]),
        tuple(getattr(features, name) for name in field_names(SupportFeatures)),
        sum(words) / max(1, len(words)),
        check_claim(claim, page).verdict,
    )


def fit(samples: Sequence[JudgedClaim]) -> tuple[list[float], float]:
    """Logistic regression with shrinkage, by gradient descent; returns weights and bias."""
    count = len(samples[0].features)
    means = [sum(sample.features[i] for sample in samples) / len(samples) for i in range(count)]
    scales = [
        math.sqrt(sum((sample.features[i] - means[i]) ** 2 for sample in samples) / len(samples)) or 1.0
        for i in range(count)
    ]
    rows = [
        ([(sample.features[i] - means[i]) / scales[i] for i in range(count)], _GOAL[sample.label])
        for sample in samples
    ]
    weights, bias = [0.0] * count, 0.0
    for _ in range(ROUNDS):
        gradient, offset = [0.0] * count, 0.0
        for row, goal in rows:
            error = 1 / (1 + math.exp(-(bias + sum(map(float.__mul__, weights, row))))) - goal
            offset += error
            for i in range(count):
                gradient[i] += error * row[i]
        bias -= RATE * offset / len(rows)
        weights = [
            weight - RATE * (slope / len(rows) + SHRINKAGE * weight)
            for weight, slope in zip(weights, gradient, strict=True)
        ]
    raw = [weight / scale for weight, scale in zip(weights, scales, strict=True)]
    return raw, bias - sum(weight * mean for weight, mean in zip(raw, means, strict=True))


def cross_validated(samples: Sequence[JudgedClaim], seed: int) -> list[float]:
    """The score of every claim, by weights that were fitted without it."""
    order = list(range(len(samples)))
    random.Random(seed).shuffle(order)
    scores = [0.0] * len(samples)
    for fold in range(FOLDS):
        left_out = order[fold::FOLDS]
        others = set(left_out)
        weights, bias = fit([sample for at, sample in enumerate(samples) if at not in others])
        for at in left_out:
            scores[at] = bias + sum(map(float.__mul__, weights, samples[at].features))
    return scores


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The area under the ROC curve: how often a positive claim has the higher score; half for equal ones."""
    above = [value for value, is_positive in zip(scores, positive, strict=True) if is_positive]
    below = [value for value, is_positive in zip(scores, positive, strict=True) if not is_positive]
    wins = sum((one > other) + 0.5 * (one == other) for one in above for other in below)
    return wins / (len(above) * len(below))


def report_wice(*, fitting: bool) -> None:
    """Print how well the score tells supported claims from others."""
    if not WICE.is_file():
        print("\nWiCE dev: not run, ../shared/data/wice is missing")
        return
    samples = judged_claims()
    if fitting:
        weights, bias = fit(samples)
        pairs = zip(field_names(SupportFeatures), weights, strict=True)
        print("\nWEIGHTS:", ", ".join(f"{name}={weight:.3f}" for name, weight in pairs), f"BIAS: {bias:.3f}")
    goals = {
        "supported": [sample.label == "supported" for sample in samples],
        "any support": [sample.label != "not_supported" for sample in samples],
    }
    runs = [cross_validated(samples, seed) for seed in range(REPEATS)]
    known = [getattr(score.WEIGHTS, name) for name in field_names(SupportFeatures)]
    shipped = [score.BIAS + sum(map(float.__mul__, known, sample.features)) for sample in samples]
    words = [sample.words for sample in samples]
    print(f"\n## WiCE dev, {len(samples)} claims: area under the ROC curve\n")
    print("| question | word coverage | score, cross-validated | score, shipped weights | target |")
    print("|---|--:|--:|--:|--:|")
    for name, positive in goals.items():
        validated = sum(auroc(run, positive) for run in runs) / len(runs)
        row = [auroc(words, positive), validated, auroc(shipped, positive), TARGETS[name]]
        print(f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in row) + " |")
    print("\nVerdicts by label:\n")
    counts = Counter((sample.verdict, sample.label) for sample in samples)
    print("| verdict | " + " | ".join(_GOAL) + " |\n|---" * 1 + "|--:" * len(_GOAL) + "|")
    for verdict in sorted({verdict for verdict, _ in counts}):
        print(f"| {verdict} | " + " | ".join(str(counts[verdict, label]) for label in _GOAL) + " |")


def report_labelled() -> None:
    """Print precision and recall of every verdict on our own pages."""
    for half in HALVES:
        results = measure(half)
        print(f"\n## Labelled pages, {half} half: {sum(item.written for item in results)} claims\n")
        print("| verdict | claims | precision | recall |\n|---|--:|--:|--:|")
        for item in results:
            print(f"| {item.label} | {item.written} | {item.precision:.2f} | {item.recall:.2f} |")
    print("\n## Numbers in many forms: the page says another number\n")
    print("| part | claims | precision | recall |\n|---|--:|--:|--:|")
    for part in ("tuning", "check"):
        item = measure_quantities(part)
        print(f"| {part} | {item.written} | {item.precision:.2f} | {item.recall:.2f} |")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fit", action="store_true", help="print weights for verify/score.py")
    arguments = parser.parse_args()
    report_labelled()
    report_wice(fitting=arguments.fit)


if __name__ == "__main__":
    main()
