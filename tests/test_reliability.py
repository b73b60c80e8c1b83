"""The list of guarantees is complete, and every test it names exists and is as long as it says."""

from __future__ import annotations

import ast
import re
import runpy
from functools import cache
from pathlib import Path

import pytest

from tests.figures import Figures, read_measurements
from tests.incidents import INCIDENTS, Incident
from tests.reliability import GUARANTEES, RELIABILITY, SECURITY, TABLES, Guarantee

pytestmark = pytest.mark.server

PROJECT = Path(__file__).parents[1]
SCRIPT = PROJECT / "scripts" / "reliability.py"
ADVISORY = re.compile(r"cve_\d{4}_\d+|ghsa_\w{4}_\w{4}_\w{4}|pysec_\d{4}_\d+")


def is_mark(node: ast.Assign) -> bool:
    """Does this set the marks of all tests of a file?"""
    return ast.unparse(node.targets[0]) == "pytestmark"


@cache
def named_in(path: str) -> dict[str, bool]:
    """The tests in a file, and whether each is thorough."""
    tree = ast.parse((PROJECT / path).read_text("utf-8"), path)
    of_all = [node.value for node in tree.body if isinstance(node, ast.Assign) and is_mark(node)]
    return {
        node.name: any("thorough" in ast.unparse(mark) for mark in (*of_all, *node.decorator_list))
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def is_thorough(test: str) -> bool:
    path, _, name = test.partition("::")
    assert name in named_in(path), test
    return named_in(path)[name]


def test_no_requirement_is_missing_or_repeated() -> None:
    assert tuple(guarantee.id for guarantee in GUARANTEES) == (*RELIABILITY, *SECURITY)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda guarantee: str(guarantee.id))
def test_every_requirement_has_a_fast_test_or_says_why_not(guarantee: Guarantee) -> None:
    assert guarantee.requirement.endswith(".")
    assert guarantee.target
    assert guarantee.fast or guarantee.limits.startswith("not offered")
    assert [test for test in guarantee.fast if is_thorough(test)] == []
    assert [test for test in guarantee.thorough if not is_thorough(test)] == []


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda incident: str(incident.ids[0]))
def test_every_incident_has_a_test_or_says_why_not(incident: Incident) -> None:
    assert incident.what
    assert set(incident.guarantees) <= {*RELIABILITY, *SECURITY}
    assert incident.tests or incident.not_applicable
    for test in incident.tests:
        is_thorough(test)


def test_no_advisory_is_listed_twice() -> None:
    ids = [name for incident in INCIDENTS for name in incident.ids]
    assert len(ids) == len(set(ids)) > 80


def test_every_test_of_a_known_vulnerability_is_in_the_list() -> None:
    path = "tests/security/test_known_vulnerabilities.py"
    named = {test for incident in INCIDENTS for test in incident.tests}
    assert {f"{path}::{name}" for name in named_in(path)} <= named


def test_an_advisory_in_the_name_of_a_test_is_one_that_the_test_is_listed_for() -> None:
    for incident in INCIDENTS:
        for test in incident.tests:
            for advisory in ADVISORY.findall(test):
                spelled = {
                    name.lower().replace("-", "_")
                    for one in INCIDENTS
                    if test in one.tests
                    for name in one.ids
                }
                assert advisory in spelled, test


def test_figures_are_written_only_if_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "figures.jsonl"
    Figures("tests/a.py::test_b", "").add("R1", "streams", 1)
    assert read_measurements(path) == ([], [])
    figures = Figures("tests/a.py::test_b", str(path))
    figures.add("R1", "streams", 12_000.0)
    figures.add("R1", "wait", 0.01234, "s")
    figures.add("R1", "streams", 13_000.0)
    for part, number in (("a", 10), ("b", 20), ("a", 40)):
        figures.add("R2", "responses", number, part=part)
    figures.end("failed")
    figures.end("passed")
    found = read_measurements(path)
    assert [one.text for one in found.figures] == ["streams: 13,000", "wait: 0.0123 s", "responses: 60"]
    assert [(one.test, one.outcome) for one in found.outcomes] == [("tests/a.py::test_b", "passed")]


def test_every_figure_belongs_to_a_test_of_its_requirement() -> None:
    found = read_measurements(PROJECT / "bench" / "reliability.jsonl")
    tests = {item.id: {*item.fast, *item.thorough} for item in GUARANTEES}
    for figure in found.figures:
        if figure.requirement not in TABLES:
            assert figure.test.partition("[")[0] in tests[figure.requirement]


def test_the_page_about_reliability_is_up_to_date() -> None:
    assert runpy.run_path(str(SCRIPT))["main"](["--check"]) == 0
