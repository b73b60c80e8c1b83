"""The source tree, for the architecture tests."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "groundwire"
TESTS = PROJECT / "tests"


def python_files(folder: Path) -> list[Path]:
    """Every Python file below a folder, in order."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    """How a test reports a file."""
    return path.relative_to(PROJECT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax of a file."""
    return ast.parse(path.read_text("utf-8"), str(path))
