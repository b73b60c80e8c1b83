"""The ranking prior: pages about commonly used modules rank first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge.addresses import local_address, source_address
from groundwire.engine.knowledge.prior import page_prior, search_with_prior
from groundwire.engine.pages import Page
from groundwire.model import SearchOptions

LIBRARY = "https://docs.python.org/3.12/library/"
SAID = "Return a list of whatever is in the basket of fruit."


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with open_index(tmp_path) as opened:
        yield opened


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


def test_the_more_commonly_used_of_equally_good_pages_is_first(index: Index) -> None:
    names = ("curses.basket", "os.basket", "poplib.basket")
    index.put(
        Page(local_address(name), name, f"{SAID} So says {number}.") for number, name in enumerate(names)
    )
    found = search_with_prior(index, "what is in the basket of fruit", SearchOptions(), 2)
    assert found[0].title == "os.basket"
    assert len(found) == 2
