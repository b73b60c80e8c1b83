"""An embedded index that is built once for all tests: each build takes seconds.

A test module imports the fixture. Tests that are about building an index do not use it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shared_folders import build_once

QUESTION = "How do I walk a directory tree?"


def _build(folder: Path) -> None:
    env = {**os.environ, "HOME": str(folder), "GROUNDWIRE_DATA_DIR": str(folder)}
    command = [sys.executable, "-m", "groundwire", "search", "--provider", "local", QUESTION]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=120)  # noqa: S603


@pytest.fixture(scope="session")
def copy_index(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """A function that copies a complete index into a data directory."""
    built = build_once(tmp_path_factory, "built-index", _build)

    def copy(data_dir: Path) -> None:
        shutil.copytree(built / "index", data_dir / "index")

    return copy
