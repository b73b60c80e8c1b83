"""What search by meaning costs: loading an encoder, encoding, and searching 100,000 vectors, in CPU time.

    python bench/dense.py

The search is compared with a bare product of the same matrix and the query. Ranking quality is measured by
`bench/answers.py --only ranking`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from groundwire.engine.dense.arrays import np
from groundwire.engine.dense.encoder import SentenceEncoder, find_encoders
from groundwire.engine.dense.packages import PACKAGES
from groundwire.engine.dense.vectors import VectorReader, writing

VECTORS = 100_000
CLUSTER = 50
DEPTH = 10
QUESTION = "How do I read a text file line by line?"
PASSAGE = f"{QUESTION} Open it, and iterate over the lines. " * 7
PASSAGES = 64
LOADING = """
import sys, time
from pathlib import Path
began = time.process_time()
from groundwire.engine.dense import packages
packages.PACKAGES = tuple(item for item in packages.PACKAGES if item.name == sys.argv[2])
from groundwire.engine.dense.encoder import find_encoders
find_encoders(Path(sys.argv[1]))[0].encode(["How do I read a file?"])
print(time.process_time() - began)
"""


def cpu_milliseconds(work: Callable[[], object], rounds: int = 10) -> float:
    """The least of several rounds: other programs can only add to it."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return 1000 * min(spent)


def encoding(encoder: SentenceEncoder, models: Path) -> None:
    command = [sys.executable, "-c", LOADING, str(models), encoder.name]
    loads = [float(subprocess.check_output(command)) for _ in range(3)]
    question = cpu_milliseconds(lambda: encoder.encode([QUESTION]))
    texts = [PASSAGE[: 100 + 8 * number] for number in range(PASSAGES)]
    passage = cpu_milliseconds(lambda: encoder.encode(texts), 3) / PASSAGES
    shown = f"{1000 * min(loads):.0f} ms | {question:.1f} ms | {passage:.1f} ms"
    print(f"| {encoder.name.partition('/')[0]} | {encoder.dimensions} | {shown} |")


def searching(encoder: SentenceEncoder) -> None:
    chance = np.random.default_rng(7)
    # Clusters, as passages have them: points that are all equally far apart have no best ones.
    size = encoder.dimensions
    centres = chance.standard_normal((VECTORS // CLUSTER, size)).astype(np.float32)
    noise = chance.standard_normal((VECTORS, size)).astype(np.float32)
    vectors = np.repeat(centres, CLUSTER, axis=0) + noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = vectors[:: VECTORS // 100] + 0.03 * chance.standard_normal((100, size)).astype(np.float32)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "vectors.bin"
        with writing(path, encoder) as writer:
            writer.append(range(VECTORS), vectors)
        size_on_disk = path.stat().st_size / VECTORS
        reader = VectorReader(path, encoder)
        load = cpu_milliseconds(VectorReader(path, encoder).now, 1)
        found = reader.now()
        if found is None:
            raise SystemExit("The vectors were not stored.")
        ours = cpu_milliseconds(lambda: found.search(queries[0], 80))
        bare = cpu_milliseconds(lambda: np.argpartition(-(vectors @ queries[0]), 80)[:80])
        same = 0
        for query in queries:
            exact = set(np.argsort(-(vectors @ query))[:DEPTH].tolist())
            same += len(exact & {key for key, _ in found.search(query, DEPTH)})
    shown = f"{size_on_disk:.0f} | {load:.0f} ms | {ours:.1f} ms | {ours / bare:.2f}"
    print(f"| {encoder.dimensions} | {shown} | {same / (DEPTH * len(queries)):.1%} |")


def main() -> None:
    models = Path(tempfile.gettempdir()) / "groundwire-bench-models"
    encoders = find_encoders(models)
    for package in PACKAGES:
        if package.problem():
            print(f"Not run: {package.problem()}", file=sys.stderr)
    print("| encoder | dimensions | load and first question | question | passage |\n|---|--:|--:|--:|--:|")
    for encoder in encoders:
        encoding(encoder, models)
    print(f"\n{VECTORS:,} vectors:\n")
    print("| dimensions | bytes each | load and check | search | ratio to numpy | same ten best |")
    print("|--:|--:|--:|--:|--:|--:|")
    for encoder in encoders:
        searching(encoder)


if __name__ == "__main__":
    main()
