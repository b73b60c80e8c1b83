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
    """How many times longer the work takes if the size is multiplied by `TIMES`.

    A ratio that is clearly linear is not measured again; otherwise it is the best of some tries.
    """
    small = max(FLOOR, min(_spent(work, size) for _ in range(2)))
    large = _spent(work, size * TIMES)
    if large / small < LINEAR / 2:
        return large / small
    small = max(FLOOR, min(small, _spent(work, size)))
    return min(large, _spent(work, size * TIMES)) / small


def _spent(work: Callable[[int], object], size: int) -> float:
    began = process_time()
    work(size)
    return process_time() - began
