"""Compresses what a network has learnt: each changed matrix becomes the product of two narrow ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from groundwire.engine.dense.arrays import Floats, Numbers
from groundwire.engine.dense.bert import is_factor

_LARGEST = 127


def compress(base: Mapping[str, Floats], trained: Mapping[str, Floats], rank: int) -> dict[str, Numbers]:
    """The arrays of an adapter, as `cross_encoder.adapted` reads them."""
    stored: dict[str, Numbers] = {}
    for name, array in trained.items():
        change = array - base[name]
        if not change.any():
            continue
        if not is_factor(name):
            stored[name] = array.astype(np.float16)
            continue
        left, sizes, right = np.linalg.svd(change, full_matrices=False)
        up, down = left[:, :rank] * np.sqrt(sizes[:rank]), right[:rank] * np.sqrt(sizes[:rank])[:, None]
        up_bytes, up_scales = _bytes(up, 0)
        down_bytes, down_scales = _bytes(down, 1)
        stored[f"{name}:up"], stored[f"{name}:down"] = up_bytes, down_bytes
        stored[f"{name}:scales"] = (up_scales.ravel() * down_scales.ravel()).astype(np.float32)
    return stored


def _bytes(factor: Floats, axis: int) -> tuple[np.typing.NDArray[np.int8], Floats]:
    """A factor in bytes, with a scale for each column or row."""
    scales = np.abs(factor).max(axis=axis, keepdims=True) / _LARGEST
    return np.rint(factor / scales).astype(np.int8), scales
