"""Trains the cross-encoder: the upper layers of ms-marco-MiniLM-L-12-v2 learn whether a passage answers a
question.

For each question it gets several passages, of which at most one is the answer, and learns to choose that one
or none: the same judgement then ranks passages and says whether there is an answer at all.

Needs PyTorch (`pip install torch`), numpy, and the packages with the weights; see README.md. A state is a
file of PyTorch with the weights; training may continue from some, or from the adapter that groundwire has.

    python -m training.train --out state.pt --epochs 1
    python -m training.train --out state.pt --start state.pt other.pt --epochs 0.5 --rate 6e-5
    python -m training.train --out state.pt --start adapter
    python -m training.train --compress state.pt other.pt
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
import torch
from torch.nn import functional

from groundwire.engine.dense.bert import WIDTH, layer_count, read_safetensors
from groundwire.engine.dense.cross_encoder import ADAPTER, LONGEST, adapted
from groundwire.engine.dense.packages import ENGLISH, READER
from groundwire.engine.dense.quantised import read_quantised
from groundwire.engine.dense.word_pieces import PieceIds, WordPieceTokenizer, read_tokenizer
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.words import query_terms
from training.adapter import compress
from training.pages import (
    FOLDER,
    Asked,
    Group,
    TrainingPage,
    asked_questions,
    foreign_groups,
    make_groups,
    read_pages,
)

Weights: TypeAlias = dict[str, torch.Tensor]
Pairs: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Ids of pieces, whether they are of the passage, and whether they are no padding."""

HEADS = 12
FIRST = 3
"""The first layer that learns; those below it stay as they are."""
FOREIGN = 8
"""One in so many questions is not about any of its passages: half of these are about another organisation,
half about Python."""
BATCH = 6
"""Questions of a step."""
SORTED_BATCHES = 50
"""Batches whose questions are sorted by the length of their passages, so that little is padded."""
WARM_UP = 150
DROPOUT = 0.1
DECAY = 0.01
LARGEST_STEP = 1.0
SMOOTHING = 0.02
"""The probability that a label is wrong."""
CHECKED = 20
"""Every so many pages, one is left out to check the result."""
CHECKED_QUESTIONS = 300
ENCODED_AT_ONCE = 32
COVERED = 0.5
"""Weight of the share of the question's words that a section has, next to its similarity in meaning, when
sections are chosen that do not answer it: a search finds both kinds."""
PHRASES = 5000
"""Phrases about Python that questions are taken from."""
ADAPTED = "adapter"
REPORTED, SAVED = 50, 500
RANK = 32
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")


def base_weights() -> Weights:
    """The weights that training begins with."""
    return _tensors(read_quantised(READER.checked(READER.weights)))


def encoder_weights() -> Weights:
    """Those of the sentence encoder, which finds similar sections."""
    return _tensors(read_safetensors(ENGLISH.checked(ENGLISH.weights)))


def _tensors(arrays: Mapping[str, np.ndarray]) -> Weights:
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in arrays.items()}


def learns(name: str) -> bool:
    """Is it changed by training?"""
    found = _LAYER.match(name)
    return int(found[1]) >= FIRST if found is not None else name.startswith(("pooler.", "classifier."))


def outputs(weights: Weights, pairs: Pairs, *, drops: bool) -> torch.Tensor:
    """What the last layer gives for each piece."""
    ids, kinds, present = pairs
    values = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        + weights["embeddings.token_type_embeddings.weight"][kinds]
    )
    values = _normalised(weights, "embeddings.LayerNorm.", values)
    for layer in range(layer_count(weights)):
        rate = DROPOUT if drops and layer >= FIRST else 0.0
        values = _layer(weights, f"encoder.layer.{layer}.", values, present, rate)
    return values


def _means(values: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    share = present[..., None].float()
    return (values * share).sum(1) / share.sum(1)


def log_odds(weights: Weights, pairs: Pairs, *, drops: bool) -> torch.Tensor:
    """The log odds of pairs of a question and a passage."""
    # Matrices are multiplied in 16 bits: four times as fast where the processor has instructions for it.
    with torch.autocast("cpu", torch.bfloat16):
        values = outputs(weights, pairs, drops=drops).float()
    pooled = _linear(weights, "pooler.dense.", values[:, 0]).tanh()
    dropped = functional.dropout(pooled, DROPOUT, training=drops)
    return _linear(weights, "classifier.", dropped)[:, 0]


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
    # The products by themselves: PyTorch's own attention is four times as slow in 16 bits.
    agreement = (query @ key.transpose(2, 3)) * (WIDTH // HEADS) ** -0.5
    shares = agreement.masked_fill(~present[:, None, None, :], -torch.inf).softmax(3)
    joined = (shares.to(value.dtype) @ value).transpose(1, 2).reshape(texts, pieces, WIDTH)
    attended = _linear(weights, f"{name}attention.output.dense.", joined)
    middle = _normalised(weights, f"{name}attention.output.LayerNorm.", values + attended)
    hidden = functional.gelu(_linear(weights, f"{name}intermediate.dense.", middle))
    out = functional.dropout(_linear(weights, f"{name}output.dense.", hidden), rate)
    return _normalised(weights, f"{name}output.LayerNorm.", middle + out)


def _linear(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    return functional.linear(values, weights[f"{name}weight"], weights[f"{name}bias"])


def _normalised(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    scale, offset = weights[f"{name}weight"], weights[f"{name}bias"]
    return functional.layer_norm(values, (WIDTH,), scale, offset, 1e-12)


def batches(tokenizer: WordPieceTokenizer, groups: Sequence[Group], rng: Random) -> list[list[Group]]:
    """The questions in a random order, those with passages of similar length together."""
    sized = [(max(len(tokenizer.ids(text)) for text in group.passages), group) for group in groups]
    rng.shuffle(sized)
    size = BATCH * SORTED_BATCHES
    together: list[list[Group]] = []
    for start in range(0, len(sized), size):
        some = [group for _, group in sorted(sized[start : start + size], key=lambda item: item[0])]
        together += [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
    rng.shuffle(together)
    return together


def padded(texts: Sequence[PieceIds]) -> Pairs:
    """Texts as arrays."""
    longest = max(len(text.ids) for text in texts)
    ids, kinds = (
        torch.zeros(len(texts), longest, dtype=torch.long),
        torch.zeros(len(texts), longest, dtype=torch.long),
    )
    present = torch.zeros(len(texts), longest, dtype=torch.bool)
    for row, text in enumerate(texts):
        length = len(text.ids)
        ids[row, :length] = torch.tensor(list(text.ids))
        kinds[row, text.second if text.second is not None else length : length] = 1
        present[row, :length] = True
    return ids, kinds, present


def scores(
    weights: Weights, tokenizer: WordPieceTokenizer, groups: Sequence[Group], *, drops: bool
) -> list[torch.Tensor]:
    """The log odds of the passages of each question."""
    pairs = [tokenizer.pair(group.question, text, LONGEST) for group in groups for text in group.passages]
    found = log_odds(weights, padded(pairs), drops=drops)
    return list(found.split([len(group.passages) for group in groups]))


def loss_of(odds: Sequence[torch.Tensor], groups: Sequence[Group]) -> torch.Tensor:
    """How improbable the right choices are: one of the passages, or none, whose log odds are 0."""
    losses = []
    for found, group in zip(odds, groups, strict=True):
        chances = functional.log_softmax(torch.cat([found, found.new_zeros(1)]), dim=0)
        right = chances[0 if group.is_answered else -1]
        losses.append(-(1 - SMOOTHING) * right - SMOOTHING * chances.mean())
    return torch.stack(losses).mean()


def check(weights: Weights, tokenizer: WordPieceTokenizer, groups: Sequence[Group]) -> str:
    """How often the answer is the first passage, and the area under the ROC curve of the best passage."""
    firsts: list[bool] = []
    best: dict[bool, list[float]] = {True: [], False: []}
    with torch.no_grad():
        for start in range(0, len(groups), BATCH):
            some = groups[start : start + BATCH]
            for odds, group in zip(scores(weights, tokenizer, some, drops=False), some, strict=True):
                best[group.is_answered].append(odds.max().item())
                if group.is_answered:
                    firsts.append(odds.argmax().item() == 0)
    area = sum(one > other for one in best[True] for other in best[False])
    pairs = len(best[True]) * len(best[False])
    return f"answer first {sum(firsts) / len(firsts):.1%}, area under the curve {area / pairs:.3f}"


def vectors(weights: Weights, tokenizer: WordPieceTokenizer, texts: Sequence[str]) -> torch.Tensor:
    """The vectors of texts by the sentence encoder."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    found = torch.empty(len(texts), WIDTH)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for start in range(0, len(order), ENCODED_AT_ONCE):
            rows = order[start : start + ENCODED_AT_ONCE]
            pairs = padded([PieceIds(tokenizer.ids(texts[row])) for row in rows])
            means = _means(outputs(weights, pairs, drops=False).float(), pairs[2])
            found[rows] = functional.normalize(means, dim=1)
    return found


def split(pages: Sequence[TrainingPage], rng: Random) -> tuple[list[TrainingPage], list[TrainingPage]]:
    """The pages to learn from, and those to check the result with, which are alone."""
    shuffled = [page for page in pages if not page.organisation]
    rng.shuffle(shuffled)
    learnt = [page for at, page in enumerate(shuffled) if at % CHECKED]
    return [*learnt, *(page for page in pages if page.organisation)], shuffled[::CHECKED]


class WordsOfTexts:
    """The words of texts, of which rare ones weigh more."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._texts_with: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            for term in query_terms(text):
                self._texts_with.setdefault(term, []).append(number)

    def covered(self, question: str) -> list[float]:
        """The share of the words of a question that each text has."""
        found, total = [0.0] * self._count, 0.0
        for term in query_terms(question):
            texts = self._texts_with.get(term, [])
            weight = math.log((self._count + 1) / (len(texts) + 1))
            total += weight
            for number in texts:
                found[number] += weight
        return [share / total if total else 0.0 for share in found]


class Material:
    """Questions with passages to choose from, made of some pages."""

    def __init__(
        self, pages: Sequence[TrainingPage], encoder: Weights, tokenizer: WordPieceTokenizer
    ) -> None:
        self.pages = pages
        self.questions = asked_questions(pages)
        texts = [page.passage(section) for page in pages for section in page.sections]
        self._sections = vectors(encoder, tokenizer, texts)
        self._words = WordsOfTexts(texts)
        known = dict.fromkeys(purpose.phrase for purpose in purpose_index().purposes)
        phrases = Random(1).sample(list(known), PHRASES)
        self._phrases = [Asked(phrase, 0, None) for phrase in phrases]
        asked = [item.question for item in (*self.questions, *self._phrases)]
        self._asked = dict(zip(asked, vectors(encoder, tokenizer, asked), strict=True))

    def groups(self, count: int, rng: Random) -> list[Group]:
        """So many questions in a random order, half of them about an organisation with many pages, as far as
        there are so many: their passages are as hard to tell apart as those of a real search."""
        many = [item for item in self.questions if self.pages[item.page].organisation]
        others = [item for item in self.questions if not self.pages[item.page].organisation]
        foreign = count // FOREIGN
        chosen = rng.sample(many, min(count // 2, len(many)))
        chosen += rng.sample(others, min(count - len(chosen) - foreign, len(others)))
        about = [item for item in self.questions if item.section is not None]
        elsewhere = rng.sample(about, min(foreign // 2, len(about)))
        elsewhere += rng.sample(self._phrases, min(foreign - len(elsewhere), len(self._phrases)))
        return [
            *make_groups(self.pages, chosen, self._search_scores, rng),
            *foreign_groups(self.pages, elsewhere, self._similarities, rng),
        ]

    def _similarities(self, question: str) -> list[float]:
        found: list[float] = (self._sections @ self._asked[question]).tolist()
        return found

    def _search_scores(self, question: str) -> list[float]:
        """How well a search would find each section."""
        covered = self._words.covered(question)
        return [
            one + COVERED * share for one, share in zip(self._similarities(question), covered, strict=True)
        ]


def train(weights: Weights, out: Path, epochs: float, rate: float, seed: int) -> None:
    """Trains the weights, and saves them from time to time."""
    rng = Random(seed)
    torch.manual_seed(seed)
    tokenizer = read_tokenizer(READER.checked(READER.vocabulary), sum(LONGEST))
    encoder = encoder_weights()
    pages, held = split(read_pages(sorted(FOLDER.glob("*.txt"))), Random(1))
    material = Material(pages, encoder, tokenizer)
    checked = Material(held, encoder, tokenizer).groups(CHECKED_QUESTIONS, Random(2))
    learnt = [weights[name].requires_grad_() for name in weights if learns(name)]
    optimizer = torch.optim.AdamW(learnt, lr=rate, weight_decay=DECAY)
    steps = int(epochs * len(material.questions) / BATCH)
    print(
        f"{len(material.questions)} questions, {steps} steps; {check(weights, tokenizer, checked)}",
        flush=True,
    )
    losses: list[float] = []
    start = time.monotonic()
    while len(losses) < steps:
        left = (steps - len(losses)) * BATCH
        for batch in batches(tokenizer, material.groups(left, rng), rng):
            step = len(losses)
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, step / WARM_UP) * max(0.02, 1 - step / steps)
            loss = loss_of(scores(weights, tokenizer, batch, drops=True), batch)
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
                print(check(weights, tokenizer, checked), flush=True)
            if done == steps:
                return


def start_weights(base: Weights, start: Sequence[str]) -> Weights:
    """Those of the package, the mean of states, or those of the adapter that groundwire has."""
    if not start:
        return {name: array.clone() for name, array in base.items()}
    if start != [ADAPTED]:
        return mean(list(map(torch.load, start)))
    with np.load(ADAPTER, allow_pickle=False) as stored:
        adapter = {name: stored[name] for name in stored.files}
    found = adapted({name: array.numpy() for name, array in base.items()}, adapter)
    return {name: torch.from_numpy(np.array(array)) for name, array in found.items()}


def mean(states: Sequence[Weights]) -> Weights:
    """The mean of states that were trained from the same one."""
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


def write_adapter(base: Weights, state: Weights, rank: int) -> None:
    """Writes the file that groundwire is delivered with."""
    arrays, known = ({name: array.numpy() for name, array in weights.items()} for weights in (state, base))
    ADAPTER.parent.mkdir(exist_ok=True)
    np.savez(ADAPTER, **compress(known, arrays, rank))  # type: ignore[arg-type]  # the names of arrays are not options
    print(f"{ADAPTER}: {ADAPTER.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="where to save the state")
    parser.add_argument(
        "--start",
        nargs="+",
        default=[],
        metavar="STATE",
        help="states whose mean to continue from, or `adapter`",
    )
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--compress", type=Path, nargs="+", metavar="STATE", help="write the adapter of the mean of states"
    )
    parser.add_argument("--rank", type=int, default=RANK)
    arguments = parser.parse_args()
    base = base_weights()
    if arguments.compress:
        write_adapter(base, mean(list(map(torch.load, arguments.compress))), arguments.rank)
        return
    weights = start_weights(base, arguments.start)
    train(weights, arguments.out, arguments.epochs, arguments.rate, arguments.seed)


if __name__ == "__main__":
    main()
