"""Folders in memory for tests that store much: nothing of it outlives them, so no disk need be waited for.

A `conftest.py` imports the fixture for the tests beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

MEMORY = Path("/dev/shm")  # noqa: S108  a folder of its own is made in it
ROOM = 2**30


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is room."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        yield tmp_path
        return
    with TemporaryDirectory(prefix="groundwire-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
