"""Growth of cost with size, measured as a ratio, which does not depend on the speed of the machine."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

TIMES = 16
LINEAR = 64.0
"""Limit for sixteen times the size: linear work takes 16 times as long, quadratic work 256 times."""
FLOOR = 0.002
"""Seconds below which a measurement means nothing."""


def growth(work: Callable[[int], object], size: int) -> float:
    """How many times longer the work takes if the size is multiplied by `TIMES`; the best of some tries."""
    return min(_spent(work, size * TIMES) for _ in range(2)) / max(
        FLOOR, min(_spent(work, size) for _ in range(3))
    )


def _spent(work: Callable[[int], object], size: int) -> float:
    began = process_time()
    work(size)
    return process_time() - began
