"""What a network has learnt survives its compression."""

from __future__ import annotations

import numpy as np
import pytest
from training.adapter import compress

from groundwire.engine.dense.arrays import Floats
from groundwire.engine.dense.cross_encoder import adapted

MATRIX, OFFSET, LOWER = "encoder.layer.3.output.dense.weight", "encoder.layer.3.output.dense.bias", "lower"


def weights(seed: int) -> dict[str, Floats]:
    chance = np.random.default_rng(seed)
    return {
        MATRIX: chance.standard_normal((40, 30), np.float32),
        OFFSET: chance.standard_normal(40, np.float32),
        LOWER: chance.standard_normal(5, np.float32),
    }


@pytest.mark.parametrize("seed", range(5))
def test_a_change_of_low_rank_is_kept(seed: int) -> None:
    base, chance = weights(seed), np.random.default_rng(seed + 100)
    change = chance.standard_normal((40, 3), np.float32) @ chance.standard_normal((3, 30), np.float32)
    trained = {**base, MATRIX: base[MATRIX] + change, OFFSET: base[OFFSET] + 1}
    adapter = compress(base, trained, rank=3)
    found = adapted(base, adapter)
    assert np.abs(found[MATRIX] - trained[MATRIX]).max() < 0.02 * np.abs(change).max()
    assert found[OFFSET] == pytest.approx(trained[OFFSET], abs=1e-2)
    assert found[LOWER] is base[LOWER]
    stored = sum(array.nbytes for name, array in adapter.items() if name.startswith(MATRIX))
    assert stored < change.nbytes / 10


def test_what_did_not_change_is_not_stored() -> None:
    base = weights(1)
    assert compress(base, base, rank=3) == {}
