"""The ranking prior: pages about commonly used modules rank first."""

from __future__ import annotations

import pytest

from groundwire.engine.knowledge.addresses import local_address, source_address
from groundwire.engine.knowledge.prior import page_prior

LIBRARY = "https://docs.python.org/3.12/library/"


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("os.walk", "ftplib.FTP.walk"),
        ("ftplib.FTP.dir", "curses.dir"),
        ("list.sort", "optparse.sort"),
        ("asyncio.gather", "asyncio.Protocol"),
    ],
)
def test_what_is_used_more_ranks_higher(better: str, worse: str) -> None:
    assert page_prior(local_address(better), better) > page_prior(local_address(worse), worse)
    source = source_address("os.py", 1)
    assert page_prior(source, better) > page_prior(source, worse)


def test_documentation_ranks_like_docstrings() -> None:
    assert page_prior(f"{LIBRARY}os.html#os.walk", "os.walk") == 1
    assert page_prior(f"{LIBRARY}curses.html#curses.echo", "curses.echo") < 1


def test_user_pages_rank_as_high_as_built_in_ones() -> None:
    assert page_prior("https://handbook.example.com/a.html", "How we work") == 1
    assert page_prior("local:packages/acme/2.5/acme.rocket", "acme.rocket — part of acme") < 1


def test_pages_of_a_package_count_fully_if_the_question_names_it() -> None:
    url, title = "local:packages/acme/2.5/acme.rocket", "acme.rocket — part of acme"
    assert (
        page_prior(url, title, frozenset(("launch", "rocket")))
        < page_prior(url, title, frozenset(("launch", "rocket", "acme")))
        == 1
    )
