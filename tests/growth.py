"""How cost grows with size: the same work on little and on much, so that no machine is too slow."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

TIMES = 16
LINEAR = 64.0
"""Sixteen times the size: what is linear takes as much longer, a square 256 times."""
FLOOR = 0.002
"""Seconds below which a clock tells nothing."""


def growth(work: Callable[[int], object], size: int) -> float:
    """How many times as long it takes when the size is `TIMES` as large as `size`; the best of some tries."""
    return min(_spent(work, size * TIMES) for _ in range(2)) / max(
        FLOOR, min(_spent(work, size) for _ in range(3))
    )


def _spent(work: Callable[[int], object], size: int) -> float:
    began = process_time()
    work(size)
    return process_time() - began
