"""The forward pass of a small BERT in numpy: layers of 384 numbers for each piece of a text.

Texts of similar length are computed together, padded to the longest of them. The matrices are those of a
safetensors file, mapped into memory: eight bytes with the length of a JSON header, the header with the place
of each array, and the arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from groundwire.engine.dense.arrays import Floats, Integers, np
from groundwire.engine.dense.word_pieces import PieceIds
from groundwire.model.value import value

WIDTH = 384
_HEADS = 12
_HEAD_WIDTH = WIDTH // _HEADS
_EPS = 1e-12
_PIECES_AT_ONCE = 1024
"""Pieces of one pass, padding included: the activations of about that many fit the processor's cache."""
_MULTIPLE = 16
"""A text alone is padded to a multiple of this many pieces: low matrices of other heights are slow."""
_FEW = 4
"""Texts that are computed with the matrices as they are in the file. Contiguous ones halve the time of a
short text, but to make them takes as long as several texts: a command computes few."""
_MASKED = -1e9
_GELU = (1.5957691, 0.0713548)
"""The tanh approximation of GELU, as a logistic function: 2 * sqrt(2 / pi), and 0.044715 times that."""


def read_safetensors(path: Path) -> dict[str, Floats]:
    """The arrays of 32-bit numbers in a safetensors file, mapped into memory."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, "r", 8 + size)
    return {
        name: data[slice(*about["data_offsets"])].view("<f4").reshape(about["shape"])
        for name, about in header.items()
        if isinstance(about, dict) and about.get("dtype") == "F32"
    }


@value
class Outputs:
    """What the last layer gives for texts that were computed together."""

    rows: Sequence[int]
    """The numbers of the texts."""
    values: Floats
    """For each text and piece, 384 numbers."""
    present: Floats
    """For each text and piece: 1, or 0 for padding."""

    def sums(self) -> Floats:
        """For each text, the sum over its pieces."""
        found: Floats = np.einsum("tpd,tp->td", self.values, self.present)
        return found


class Bert:
    """Computes texts that are given as ids of pieces."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._weights = {name: array.T if is_factor(name) else array for name, array in weights.items()}
        self._layers = layer_count(weights)
        self._computed = 0
        self._is_contiguous = False

    def outputs(self, texts: Sequence[PieceIds]) -> Iterator[Outputs]:
        """The outputs of all texts, those of similar length together."""
        self._computed += len(texts)
        if self._computed > _FEW and not self._is_contiguous:
            self._weights = {name: np.ascontiguousarray(array) for name, array in self._weights.items()}
            self._is_contiguous = True
        for rows in _batches([len(text.ids) for text in texts]):
            yield self._together(rows, [texts[row] for row in rows])

    def _together(self, rows: Sequence[int], texts: Sequence[PieceIds]) -> Outputs:
        lengths = np.array([len(text.ids) for text in texts])
        longest = int(lengths.max())
        if len(texts) == 1:
            longest = -(-longest // _MULTIPLE) * _MULTIPLE
        ids = np.zeros((len(texts), longest), np.int64)
        kinds = np.zeros((len(texts), longest), np.int64)
        for row, text in enumerate(texts):
            ids[row, : len(text.ids)] = text.ids
            if text.second is not None:
                kinds[row, text.second : len(text.ids)] = 1
        present = np.arange(longest) < lengths[:, None]
        values = self._embedded(ids, kinds)
        mask = None if present.all() else np.where(present, 0, _MASKED).astype(np.float32)[:, None, None, :]
        for layer in range(self._layers):
            values = self._layer(f"encoder.layer.{layer}.", values, len(texts), mask)
        return Outputs(rows, values.reshape(*ids.shape, WIDTH), present.astype(np.float32))

    def _embedded(self, ids: Integers, kinds: Integers) -> Floats:
        weights = self._weights
        position = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        values = weights["embeddings.word_embeddings.weight"][ids] + position
        values += weights["embeddings.token_type_embeddings.weight"][kinds]
        return self._normalised(values.reshape(-1, WIDTH), "embeddings.LayerNorm.")

    def _layer(self, name: str, values: Floats, texts: int, mask: Floats | None) -> Floats:
        attended = self._linear(self._attention(name, values, texts, mask), f"{name}attention.output.dense.")
        attended += values
        middle = self._normalised(attended, f"{name}attention.output.LayerNorm.")
        hidden = _gelu(self._linear(middle, f"{name}intermediate.dense."))
        out = self._linear(hidden, f"{name}output.dense.")
        out += middle
        return self._normalised(out, f"{name}output.LayerNorm.")

    def _attention(self, name: str, values: Floats, texts: int, mask: Floats | None) -> Floats:
        query, key, value = (
            self._linear(values, f"{name}attention.self.{part}.")
            .reshape(texts, -1, _HEADS, _HEAD_WIDTH)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores: Floats = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(_HEAD_WIDTH**-0.5)
        if mask is not None:
            scores += mask
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        heads: Floats = scores @ value
        return heads.transpose(0, 2, 1, 3).reshape(-1, WIDTH)

    def _linear(self, values: Floats, name: str) -> Floats:
        product: Floats = values @ self._weights[f"{name}weight"]
        product += self._weights[f"{name}bias"]
        return product

    def _normalised(self, values: Floats, name: str) -> Floats:
        """Layer normalisation: rows of mean 0 and variance 1, scaled and moved. Changes `values`."""
        values -= values.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", values, values) / WIDTH
        values *= (1 / np.sqrt(variance + np.float32(_EPS)))[:, None]
        values *= self._weights[f"{name}weight"]
        values += self._weights[f"{name}bias"]
        return values


def layer_count(names: Iterable[str]) -> int:
    """The number of layers of a network with arrays of these names."""
    return sum(
        name.startswith("encoder.layer.") and name.endswith(".intermediate.dense.bias") for name in names
    )


def is_factor(name: str) -> bool:
    """Is it a matrix that values are multiplied by? The file has it transposed."""
    return name.startswith(("encoder.", "pooler.")) and name.endswith(".weight") and "LayerNorm" not in name


def _gelu(values: Floats) -> Floats:
    """The activation function. Changes `values`."""
    linear, cubic = map(np.float32, _GELU)
    exponent = values * values
    exponent *= -cubic
    exponent -= linear
    exponent *= values
    np.minimum(exponent, np.float32(80), out=exponent)  # beyond it, exp overflows
    np.exp(exponent, out=exponent)
    exponent += 1
    values /= exponent
    return values


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The rows of texts that are computed together: those of similar length."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        if batch and (len(batch) + 1) * lengths[row] > _PIECES_AT_ONCE:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
