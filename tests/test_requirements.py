"""The manifest is complete, and every test it names exists."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.requirements import COUNTS, REQUIREMENTS, Requirement

pytestmark = pytest.mark.server

PROJECT = Path(__file__).parents[1]
DOCUMENTS = PROJECT.parent / "shared" / "seeds"


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests in a file."""
    tree = ast.parse((PROJECT / path).read_text("utf-8"), path)
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def name_of(requirement: Requirement) -> str:
    return requirement.id


def test_no_id_is_missing_or_repeated() -> None:
    expected = [
        f"{document}-{number:02}" for document, count in COUNTS.items() for number in range(1, count + 1)
    ]
    assert [requirement.id for requirement in REQUIREMENTS] == expected


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=name_of)
def test_every_behaviour_has_a_test(requirement: Requirement) -> None:
    assert requirement.behaviour
    assert requirement.tests


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=name_of)
def test_every_test_that_is_named_exists(requirement: Requirement) -> None:
    for test in requirement.tests:
        path, _, name = test.partition("::")
        assert name.startswith("test_")
        assert name in names_in(path), test


@pytest.mark.parametrize("document", COUNTS)
def test_every_line_that_is_named_has_text(document: str) -> None:
    if not DOCUMENTS.is_dir():
        pytest.skip("the documents are not on this machine: not run")
    (path,) = DOCUMENTS.glob(f"{document}_*.txt")
    lines = path.read_text("utf-8", "replace").splitlines()
    for requirement in REQUIREMENTS:
        if requirement.id.startswith(document):
            assert lines[requirement.line - 1].strip(), requirement
