"""Budgets that keep the code readable: sizes, names, broad handlers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.tree import SOURCE, TESTS, name_of, python_files, tree_of

FILES = python_files(SOURCE)
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
PURE = ("errors.py", "model", "text", "dialects")


def lines_of(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_source_file_is_longer_than_400_lines(path: Path) -> None:
    assert lines_of(path) <= 400


@pytest.mark.parametrize("path", python_files(TESTS), ids=name_of)
def test_no_test_file_is_longer_than_600_lines(path: Path) -> None:
    assert lines_of(path) <= 600


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_function_is_longer_than_50_lines(path: Path) -> None:
    long = [
        f"{node.name}: {(node.end_lineno or 0) - node.lineno + 1}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > 50
    ]
    assert long == []


@pytest.mark.parametrize("path", [*FILES, *python_files(TESTS)], ids=name_of)
def test_names_tell_the_job(path: Path) -> None:
    assert not FORBIDDEN_NAMES & {path.stem, *path.relative_to(SOURCE.parents[1]).parts[:-1]}


def _is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
        for kind in kinds
    )


@pytest.mark.parametrize("path", [path for path in FILES if "faces" not in path.parts], ids=name_of)
def test_no_error_is_caught_that_nobody_expected(path: Path) -> None:
    # Broad handlers stand at the outermost edge of a face, or nowhere.
    broad = [
        handler.lineno
        for handler in ast.walk(tree_of(path))
        if isinstance(handler, ast.ExceptHandler) and _is_broad(handler)
    ]
    assert broad == []


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.relative_to(SOURCE).parts[0] in PURE], ids=name_of
)
def test_every_file_of_the_core_says_what_it_is_for(path: Path) -> None:
    if path.read_text("utf-8").strip():
        assert ast.get_docstring(tree_of(path))


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.relative_to(SOURCE).parts[0] in PURE], ids=name_of
)
def test_json_text_is_read_and_written_in_one_place(path: Path) -> None:
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree_of(path))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert "json" not in imported or path.name == "jsontext.py"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_code_speaks_of_nothing_but_itself(path: Path) -> None:
    text = path.read_text("utf-8")
    for word in ("TODO", "FIXME", "XXX"):
        assert word not in text
