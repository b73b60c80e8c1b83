"""all-MiniLM-L6-v2: the vector of a text is the average of what the network gives for its pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundwire.engine.dense.arrays import Floats, np
from groundwire.engine.dense.bert import WIDTH, Bert
from groundwire.engine.dense.word_pieces import PieceIds

LONGEST_INPUT = 256
"""Pieces that the model was trained with."""


class MiniLm:
    """Encodes texts that are given as ids of pieces."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._bert = Bert(weights)

    def encode(self, texts: Sequence[Sequence[int]]) -> Floats:
        """The vectors of the texts, one in each row."""
        vectors = np.empty((len(texts), WIDTH), np.float32)
        for outputs in self._bert.outputs([PieceIds(text) for text in texts]):
            # The length of a sum and of a mean differ by a factor, which normalisation removes.
            sums = outputs.sums()
            vectors[outputs.rows] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return vectors
