"""The sentence encoder's forward pass: Universal Sentence Encoder, multilingual, version 3, in numpy.

Word pieces are looked up in a table; three convolutions over 2, 3 and 5 neighbouring pieces are added to
each; the pieces of a text are summed; a small residual network turns the sum into a vector of length 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundwire.engine.dense.arrays import Floats, Integers, np

DIMENSIONS = 512
_WIDTH = 256
"""Channels of each convolution."""
_WINDOWS = ((2, 0), (3, 1), (5, 2))
"""Each convolution: how many pieces it sees, and how many of them are before the piece in question."""
_BEFORE, _AFTER = 2, 2
TABLE_PARTS = 17
"""The table was quantised in parts: a piece belongs to the part of its id modulo this number."""
_PIECES_AT_ONCE = 384
"""Pieces of one pass: the activations of about that many fit the processor's cache."""

CONVOLUTION_ARRAYS = ("proj", "proj_b", "ln_g", "ln_b", "w1_", "b1_", "w2_", "b2_")
OTHER_ARRAYS = ("scale", "lo", "ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3")
ARRAYS = (*OTHER_ARRAYS, *(f"{name}{size}" for name in CONVOLUTION_ARRAYS for size, _ in _WINDOWS))
"""The names of the weights, apart from the table and `eps`."""


class MultilingualModel:
    """Encodes texts that are given as ids of pieces. The table has a row of bytes for each id."""

    def __init__(self, table: np.typing.NDArray[np.uint8], weights: Mapping[str, Floats], eps: float) -> None:
        self._table = table
        self._weights = weights
        self._eps = eps
        self._projections = np.concatenate([weights[f"proj{size}"] for size, _ in _WINDOWS], axis=1)
        self._joined = {
            name: np.concatenate([weights[f"{name}{size}"] for size, _ in _WINDOWS])
            for name in ("proj_b", "ln_g", "ln_b")
        }

    def encode(self, texts: Sequence[Sequence[int]]) -> Floats:
        """The vectors of the texts, one in each row."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        first = 0
        while first < len(texts):
            end, pieces = first + 1, len(texts[first])
            while end < len(texts) and pieces + len(texts[end]) <= _PIECES_AT_ONCE:
                pieces += len(texts[end])
                end += 1
            vectors[first:end] = self._encode_together(texts[first:end])
            first = end
        return vectors

    def _encode_together(self, texts: Sequence[Sequence[int]]) -> Floats:
        lengths = np.array([len(text) for text in texts])
        features = self._features(np.concatenate([np.array(text) for text in texts]), lengths)
        weights = self._weights
        sums = np.add.reduceat(features, np.cumsum(lengths) - lengths, axis=0)
        counts = lengths[:, None].astype(np.float32)
        # The projection is linear, so it is applied to the sums, with its bias as often as there are pieces.
        projected = sums @ weights["cnn_W"] + counts * weights["cnn_b"]
        pooled: Floats = np.divide(projected, np.sqrt(counts), dtype=np.float32)
        hidden = _relu(_relu(pooled @ weights["d0"]) @ weights["d1"] + pooled @ weights["p1"])
        vectors = np.tanh(_relu(hidden @ weights["d2"]) @ weights["d3"] + hidden @ weights["p3"])
        lengths_of_vectors = np.sqrt(np.maximum((vectors * vectors).sum(axis=1, keepdims=True), self._eps))
        normalised: Floats = vectors / lengths_of_vectors
        return normalised

    def _features(self, ids: Integers, lengths: Integers) -> Floats:
        """The embedding of each piece, followed by its three convolutions, normalised."""
        weights, part = self._weights, ids % TABLE_PARTS
        embedded = self._table[ids] * weights["scale"][part, None] + weights["lo"][part, None]
        around = _neighbours(lengths)
        columns = [embedded]
        projected = embedded @ self._projections + self._joined["proj_b"]
        projected = self._normalised(projected, self._joined["ln_g"], self._joined["ln_b"])
        for number, (size, before) in enumerate(_WINDOWS):
            seen = around[:, _BEFORE - before : _BEFORE - before + size]
            values = projected[:, number * _WIDTH : (number + 1) * _WIDTH]
            for layer in ("1", "2"):
                bias = weights[f"b{layer}_{size}"]
                values = values + _relu(_windows(values, seen) @ weights[f"w{layer}_{size}"] + bias)
            columns.append(values)
        return self._normalised(np.concatenate(columns, axis=1), weights["ln_g"], weights["ln_b"])

    def _normalised(self, values: Floats, gain: Floats, bias: Floats) -> Floats:
        """Layer normalisation: rows of mean 0 and variance 1, scaled and moved."""
        centred = values - values.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred) / values.shape[1]
        centred *= (1 / np.sqrt(variance + self._eps))[:, None]
        scaled: Floats = centred * gain + bias
        return scaled


def _relu(values: Floats) -> Floats:
    return np.maximum(values, 0)


def _neighbours(lengths: Integers) -> Integers:
    """For each piece the rows of the pieces around it; -1 where the text does not reach."""
    ends = np.repeat(np.cumsum(lengths), lengths)[:, None]
    starts = ends - np.repeat(lengths, lengths)[:, None]
    rows = np.arange(len(ends))[:, None] + np.arange(-_BEFORE, _AFTER + 1)
    return np.where((rows >= starts) & (rows < ends), rows, -1)


def _windows(values: Floats, rows: Integers) -> Floats:
    """The values of several rows next to each other; row -1 is zero."""
    padded = np.concatenate([values, np.zeros((1, values.shape[1]), np.float32)])
    return padded[rows].reshape(len(rows), -1)
