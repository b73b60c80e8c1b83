"""Matching object names with queries."""

from __future__ import annotations

import pytest

from groundwire.engine.compose.names import NameMatcher
from tests.growth import LINEAR, growth


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("copy a directory tree", "shutil.copytree", "shutil.copymode"),
        ("list a directory", "os.listdir", "os.linesep"),
        ("read a CSV file", "csv.reader", "csv.writer"),
        ("delete a tree", "shutil.rmtree", "shutil.move"),
        ("current date and time", "datetime", "http.server.BaseHTTPRequestHandler.date_time_string"),
        ("What does the with statement do?", 'The "with" statement', 'The "global" statement'),
    ],
)
def test_a_name_that_matches_the_query_scores_higher(query: str, better: str, worse: str) -> None:
    caller = NameMatcher(query)
    assert caller.fit(better).share > caller.fit(worse).share


def test_a_match_contains_its_query_terms() -> None:
    assert {"copi", "tree"} <= NameMatcher("copy the whole tree").fit("shutil.copytree").terms
    assert not NameMatcher("bake bread").fit("shutil.copytree").terms


def test_an_endless_name_takes_linear_time() -> None:
    caller = NameMatcher("ab " * 200)
    assert growth(lambda size: caller.fit("ab" * size), 20_000) < LINEAR
