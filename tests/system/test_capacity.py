"""`scripts/capacity.py`: figures are read from the results by name, and the arithmetic is right."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

RESULTS = """
CPU ms per request (direct: CPU of the client)

| workload | concurrency | nginx | groundwire | other |
|---|--:|--:|--:|--:|
| unary Chat | 1 | 9 | 9 | 9 |
| unary Chat | 32 | 0.5 | 1 | 20 |
| paced Chat | 32 | 2 | 31 | 200 |

Memory in MB

|  | nginx | groundwire |  |
|---|--:|--:|--:|
| after the last | 12 | 1,024 | PASS |

| resident KB per stream | 64 | 60 |
"""


@pytest.fixture(scope="module")
def capacity() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "capacity.py"
    spec = importlib.util.spec_from_file_location("capacity", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["capacity"] = module
    spec.loader.exec_module(module)
    return module


def test_figures_are_read_from_the_column_of_the_gateway(capacity: ModuleType) -> None:
    measured = capacity.read_measured(RESULTS, "unary Chat", "paced Chat")
    assert measured == (1, 31, 64, 1024)
    assert measured.event == pytest.approx(0.2)
    assert measured.answer(500) == pytest.approx(101)


def test_a_figure_that_is_missing_is_an_error(capacity: ModuleType) -> None:
    with pytest.raises(capacity.MissingFigure, match="unary Other"):
        capacity.read_measured(RESULTS, "unary Other", "paced Chat")


def test_machines_are_enough_for_cpu_and_memory_and_one_may_fail(capacity: ModuleType) -> None:
    measured = capacity.read_measured(RESULTS, "unary Chat", "paced Chat")
    load = capacity.Load(questions=3600, events=500, seconds=10, cores=4, memory_gb=16, share=0.5)
    # 100 answers a second of 101 ms are 10.1 s of CPU in a second: 20.2 cores at half of their time.
    needed = capacity.need(100, load, measured)
    assert (needed.rate, needed.streams) == (100, 1000)
    assert needed.cores == pytest.approx(20.2)
    # 1,000 streams of 64 KB and 21 workers of 1 GB fill half of the memory.
    assert needed.memory_gb == pytest.approx((1000 * 64 / 1024 / 1024 + 21) / 0.5)
    assert needed.machines == 6 + 1
    tight = capacity.need(100, load._replace(memory_gb=4), measured)
    assert tight.machines == 11 + 1
