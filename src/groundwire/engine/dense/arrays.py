"""Imports numpy with one BLAS thread.

The matrices are small: with several threads a query costs more CPU and is not faster, and a gateway answers
several questions at once anyway. OpenBLAS reads the number of threads when it is loaded, so the environment
is changed for the import only.
"""

from __future__ import annotations

import os
import sys
from typing import TypeAlias

_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_ours = [name for name in _VARIABLES if "numpy" not in sys.modules and name not in os.environ]
os.environ.update(dict.fromkeys(_ours, "1"))
try:
    import numpy as np
finally:
    for _name in _ours:
        del os.environ[_name]

Floats: TypeAlias = "np.typing.NDArray[np.float32]"
Integers: TypeAlias = "np.typing.NDArray[np.int64]"

Numbers: TypeAlias = "np.typing.NDArray[np.number]"

__all__ = ["Floats", "Integers", "Numbers", "np"]
