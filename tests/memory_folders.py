"""Temporary folders in memory, for tests that store much data.

A `conftest.py` imports the fixture for the tests in its folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

MEMORY = Path("/dev/shm")  # noqa: S108  a private folder is created in it
ROOM = 2**30


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory if there is enough of it."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        yield tmp_path
        return
    with TemporaryDirectory(prefix="groundwire-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
