"""Trains the cross-encoder: the upper layers of all-MiniLM-L6-v2 learn whether a passage answers a question.

Needs PyTorch (`pip install torch`), numpy, and the package with the weights; see README.md. A state is a file
of PyTorch with the weights; training may continue from one.

    python -m training.train --out state.pt --epochs 2
    python -m training.train --out state.pt --start state.pt --epochs 1 --rate 8e-5
    python -m training.train --compress state.pt
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
import torch
from torch.nn import functional

from groundwire.engine.dense.bert import WIDTH, read_safetensors
from groundwire.engine.dense.cross_encoder import ADAPTER, LONGEST
from groundwire.engine.dense.packages import ENGLISH
from groundwire.engine.dense.word_pieces import PieceIds, WordPieceTokenizer, read_tokenizer
from training.adapter import compress
from training.pages import FOLDER, Example, TrainingPage, examples, read_pages

Weights: TypeAlias = dict[str, torch.Tensor]
Batch: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]

LAYERS, HEADS = 6, 12
FIRST = 2
"""The first layer that learns; those below it stay as they are."""
BATCH = 16
SORTED_BATCHES = 50
"""Batches whose examples are sorted by length, so that little is padded."""
WARM_UP = 60
DROPOUT = 0.1
DECAY = 0.01
LARGEST_STEP = 1.0
SMOOTHING = 0.02
"""Labels are that far from 0 and 1: some are wrong."""
CHECKED = 20
"""Every so many pages, one is left out to check the result."""
REPORTED, SAVED = 40, 400
RANK = 32


def base_weights() -> Weights:
    """The weights of the package."""
    found = read_safetensors(ENGLISH.checked(ENGLISH.weights))
    return {name: torch.from_numpy(np.array(array)) for name, array in found.items()}


def new_weights(base: Weights) -> Weights:
    """Those of the package, and a layer of zeros that gives the log odds."""
    return {**{name: array.clone() for name, array in base.items()}, "head": torch.zeros(2 * WIDTH + 1)}


def learns(name: str) -> bool:
    """Is it changed by training?"""
    return name == "head" or any(name.startswith(f"encoder.layer.{layer}.") for layer in range(FIRST, LAYERS))


def log_odds(weights: Weights, batch: Batch, *, drops: bool) -> torch.Tensor:
    """The log odds of a batch."""
    ids, kinds, present, _ = batch
    values = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        + weights["embeddings.token_type_embeddings.weight"][kinds]
    )
    values = _normalised(weights, "embeddings.LayerNorm.", values)
    for layer in range(LAYERS):
        rate = DROPOUT if drops and layer >= FIRST else 0.0
        values = _layer(weights, f"encoder.layer.{layer}.", values, present, rate)
    share = present[..., None].float()
    pooled = torch.cat([values[:, 0], (values * share).sum(1) / share.sum(1)], dim=1)
    head = weights["head"]
    dropped = functional.dropout(pooled, DROPOUT, training=drops)
    return dropped @ head[: 2 * WIDTH] + head[2 * WIDTH]


def _layer(
    weights: Weights, name: str, values: torch.Tensor, present: torch.Tensor, rate: float
) -> torch.Tensor:
    texts, pieces, _ = values.shape
    query, key, value = (
        _linear(weights, f"{name}attention.self.{part}.", values)
        .view(texts, pieces, HEADS, WIDTH // HEADS)
        .transpose(1, 2)
        for part in ("query", "key", "value")
    )
    heads = functional.scaled_dot_product_attention(query, key, value, attn_mask=present[:, None, None, :])
    joined = heads.transpose(1, 2).reshape(texts, pieces, WIDTH)
    attended = functional.dropout(_linear(weights, f"{name}attention.output.dense.", joined), rate)
    middle = _normalised(weights, f"{name}attention.output.LayerNorm.", values + attended)
    hidden = functional.gelu(_linear(weights, f"{name}intermediate.dense.", middle))
    out = functional.dropout(_linear(weights, f"{name}output.dense.", hidden), rate)
    return _normalised(weights, f"{name}output.LayerNorm.", middle + out)


def _linear(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    return functional.linear(values, weights[f"{name}weight"], weights[f"{name}bias"])


def _normalised(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    scale, offset = weights[f"{name}weight"], weights[f"{name}bias"]
    return functional.layer_norm(values, (WIDTH,), scale, offset, 1e-12)


def batches(tokenizer: WordPieceTokenizer, items: Sequence[Example], rng: Random) -> Iterator[Batch]:
    """The examples in a random order, those of similar length together."""
    shuffled = list(items)
    rng.shuffle(shuffled)
    pairs = [(tokenizer.pair(item.question, item.passage, LONGEST), item.is_answer) for item in shuffled]
    size = BATCH * SORTED_BATCHES
    together: list[list[tuple[PieceIds, bool]]] = []
    for start in range(0, len(pairs), size):
        some = sorted(pairs[start : start + size], key=lambda pair: len(pair[0].ids))
        together += [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
    rng.shuffle(together)
    return map(_batch, together)


def _batch(pairs: Sequence[tuple[PieceIds, bool]]) -> Batch:
    longest = max(len(pair.ids) for pair, _ in pairs)
    ids, kinds = (
        torch.zeros(len(pairs), longest, dtype=torch.long),
        torch.zeros(len(pairs), longest, dtype=torch.long),
    )
    present = torch.zeros(len(pairs), longest, dtype=torch.bool)
    for row, (pair, _) in enumerate(pairs):
        length = len(pair.ids)
        ids[row, :length] = torch.tensor(list(pair.ids))
        kinds[row, pair.second : length] = 1
        present[row, :length] = True
    return ids, kinds, present, torch.tensor([float(label) for _, label in pairs])


def area(weights: Weights, checked: Iterator[Batch]) -> float:
    """The area under the ROC curve."""
    odds: list[float] = []
    labels: list[float] = []
    with torch.no_grad():
        for batch in checked:
            odds += log_odds(weights, batch, drops=False).tolist()
            labels += batch[3].tolist()
    right = [one for one, label in zip(odds, labels, strict=True) if label]
    wrong = [one for one, label in zip(odds, labels, strict=True) if not label]
    return sum(one > other for one in right for other in wrong) / (len(right) * len(wrong))


def split(pages: Sequence[TrainingPage], rng: Random) -> tuple[list[TrainingPage], list[TrainingPage]]:
    """The pages to learn from, and those to check the result with."""
    shuffled = list(pages)
    rng.shuffle(shuffled)
    return [page for at, page in enumerate(shuffled) if at % CHECKED], shuffled[::CHECKED]


def train(weights: Weights, out: Path, epochs: float, rate: float, seed: int) -> None:
    """Trains the weights, and saves them from time to time."""
    rng = Random(seed)
    torch.manual_seed(seed)
    tokenizer = read_tokenizer(ENGLISH.checked(ENGLISH.vocabulary), sum(LONGEST))
    pages, held = split(read_pages(sorted(FOLDER.glob("*.txt"))), Random(1))
    learnt = [weights[name].requires_grad_() for name in weights if learns(name)]
    optimizer = torch.optim.AdamW(learnt, lr=rate, weight_decay=DECAY)
    steps = int(epochs * len(examples(pages, Random(seed))) / BATCH)
    losses: list[float] = []
    start = time.monotonic()
    while len(losses) < steps:
        for batch in batches(tokenizer, examples(pages, rng), rng):
            step = len(losses)
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, step / WARM_UP) * max(0.02, 1 - step / steps)
            labels = batch[3] * (1 - 2 * SMOOTHING) + SMOOTHING
            loss = functional.binary_cross_entropy_with_logits(log_odds(weights, batch, drops=True), labels)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learnt, LARGEST_STEP)
            optimizer.step()
            losses.append(loss.item())
            done = len(losses)
            if not done % REPORTED:
                mean = sum(losses[-REPORTED:]) / REPORTED
                print(f"{done} of {steps}: loss {mean:.3f}, {time.monotonic() - start:.0f} s", flush=True)
            if not done % SAVED or done == steps:
                torch.save({name: array.detach() for name, array in weights.items()}, out)
                checked = batches(tokenizer, examples(held, Random(2)), Random(2))
                print(f"area under the curve: {area(weights, checked):.3f}", flush=True)
            if done == steps:
                return


def write_adapter(base: Weights, state: Weights, rank: int) -> None:
    """Writes the file that groundwire is delivered with."""
    arrays: Mapping[str, np.ndarray] = {
        name: array.numpy() for name, array in state.items() if name != "head"
    }
    known = {name: array.numpy() for name, array in base.items()}
    ADAPTER.parent.mkdir(exist_ok=True)
    np.savez(ADAPTER, **compress(known, arrays, state["head"].numpy(), rank))  # type: ignore[arg-type]  # the names of arrays are not options
    print(f"{ADAPTER}: {ADAPTER.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="where to save the state")
    parser.add_argument("--start", type=Path, help="a state to continue from")
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compress", type=Path, metavar="STATE", help="write the adapter of a state")
    parser.add_argument("--rank", type=int, default=RANK)
    arguments = parser.parse_args()
    base = base_weights()
    if arguments.compress:
        write_adapter(base, torch.load(arguments.compress), arguments.rank)
        return
    weights = torch.load(arguments.start) if arguments.start else new_weights(base)
    train(weights, arguments.out, arguments.epochs, arguments.rate, arguments.seed)


if __name__ == "__main__":
    main()
