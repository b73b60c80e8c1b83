"""The cross-encoder: reads a question and a passage together, and judges whether the passage answers it.

Two vectors say whether texts have the same subject. Whether a passage has the detail that a question asks for
can only be seen from both at once. The network is ms-marco-MiniLM-L-12-v2, which learnt from web searches to
order passages, changed by what it learnt from invented pages and questions (`training/README.md`), above all
whether there is an answer: for each matrix the product of two narrow ones, in bytes, and a few vectors as
they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from groundwire.engine.dense.arrays import Floats, Numbers, np
from groundwire.engine.dense.bert import Bert, is_factor
from groundwire.engine.dense.packages import READER, MeaningUnavailable
from groundwire.engine.dense.prepared import Facts, load_prepared, map_arrays, write_arrays
from groundwire.engine.dense.quantised import read_quantised
from groundwire.engine.dense.word_pieces import WordPieceTokenizer, read_tokenizer
from groundwire.engine.pages import Passage

ADAPTER = Path(__file__).parent / "data" / "cross_encoder.npz"
"""The file with what was learnt."""
LONGEST = (40, 140)
"""Pieces of the question and of the passage that are read, as in the training."""
_UP, _DOWN, _SCALES = "up", "down", "scales"
"""Names of the arrays of a changed matrix, after its own."""


class CrossEncoder:
    """Judges pairs of questions and passages."""

    def __init__(self, tokenizer: WordPieceTokenizer, weights: Mapping[str, Floats]) -> None:
        self._tokenizer = tokenizer
        self._weights = weights
        self._bert = Bert(weights)

    def log_odds(self, question: str, passages: Sequence[str]) -> list[float]:
        """For each passage, the logarithm of the odds that it answers the question."""
        pairs = [self._tokenizer.pair(question, passage, LONGEST) for passage in passages]
        found = np.empty(len(pairs), np.float32)
        for outputs in self._bert.outputs(pairs):
            pooled = np.tanh(self._linear("pooler.dense", outputs.values[:, 0]))
            found[outputs.rows] = self._linear("classifier", pooled)[:, 0]
        odds: list[float] = found.tolist()
        return odds

    def _linear(self, name: str, values: Floats) -> Floats:
        product: Floats = values @ self._weights[f"{name}.weight"].T
        product += self._weights[f"{name}.bias"]
        return product


_AROUND = 250
"""Characters that are read before and after the sentence that is closest to the question. On the tuning
questions about handbooks, the whole passage is judged worse (area under the curve .916 instead of .926)."""


def passage_input(passage: Passage) -> str:
    """What is read of a passage: the title of its page, the heading above it, and its text, as far as it is
    near the sentence that is closest to the question."""
    heading = passage.section.rpartition("\n")[2]
    text = passage.text
    if passage.closest is not None:
        text = text[max(0, passage.closest.start - _AROUND) : passage.closest.end + _AROUND]
    return f"{passage.title}. {heading}. {text.removeprefix(heading)}"


def adapted(weights: Mapping[str, Floats], adapter: Mapping[str, Numbers]) -> dict[str, Floats]:
    """The weights of a network with the changes of an adapter."""
    changed = dict(weights)
    for name, array in adapter.items():
        matrix, _, part = name.partition(":")
        if part == _UP:
            up, down, scales = (
                adapter[f"{matrix}:{kind}"].astype(np.float32) for kind in (_UP, _DOWN, _SCALES)
            )
            # Transposed, so that the sum is stored as it is multiplied.
            change: Floats = np.matmul(down.T, (up * scales).T, dtype=np.float32)
            changed[matrix] = (weights[matrix].T + change).T
        elif not part:
            changed[name] = array.astype(np.float32)
    return changed


def load_cross_encoder(cache: Path) -> CrossEncoder:
    """The cross-encoder on the installed weights; its prepared files, about 130 MB, are in a folder below
    `cache`. Raises `MeaningUnavailable` if they cannot be used."""
    vocabulary = READER.path(READER.vocabulary)
    if vocabulary is None:
        raise MeaningUnavailable(READER.problem())
    try:
        stored = ADAPTER.read_bytes()
        with np.load(BytesIO(stored), allow_pickle=False) as arrays:
            adapter = {name: arrays[name] for name in arrays.files}
        tokenizer = read_tokenizer(vocabulary, sum(LONGEST))
    except (OSError, ValueError, LookupError) as error:
        raise MeaningUnavailable(f"{ADAPTER.parent} cannot be read ({error})") from error
    name = f"{READER.name}/{sha256(stored).hexdigest()}"
    weights = load_prepared(cache, name, _read_prepared, lambda folder: _write_prepared(folder, adapter))
    return CrossEncoder(tokenizer, weights)


_ARRAYS = "arrays.npy"


def _read_prepared(folder: Path, facts: Facts) -> dict[str, Floats]:
    arrays = map_arrays(folder / _ARRAYS, facts["arrays"])
    return {name: array.T if is_factor(name) else array for name, array in arrays.items()}


def _write_prepared(folder: Path, adapter: Mapping[str, Numbers]) -> Facts:
    """Writes the changed weights, each matrix as it is multiplied."""
    weights = adapted(read_quantised(READER.checked(READER.weights)), adapter)
    arrays = {name: array.T if is_factor(name) else array for name, array in weights.items()}
    return {"arrays": write_arrays(folder / _ARRAYS, arrays)}
