"""What most questions are about stands before what few have heard of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge.prior import page_prior, search_with_prior
from groundwire.engine.pages import Page
from groundwire.model import SearchOptions

LIBRARY = "https://docs.python.org/3/library/"
SAID = "Return a list of whatever is in the basket of fruit."


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with open_index(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (("os.html#os.walk", "os.walk"), ("ftplib.html#ftplib.FTP.walk", "ftplib.FTP.walk")),
        (("ftplib.html#ftplib.FTP.dir", "ftplib.FTP.dir"), ("curses.html#curses.dir", "curses.dir")),
        (("stdtypes.html#list.sort", "list.sort"), ("optparse.html#optparse.sort", "optparse.sort")),
    ],
)
def test_what_is_used_more_ranks_higher(better: tuple[str, str], worse: tuple[str, str]) -> None:
    assert page_prior(LIBRARY + better[0], better[1]) > page_prior(LIBRARY + worse[0], worse[1])


def test_pages_of_ones_own_stand_as_high_as_any() -> None:
    assert page_prior("https://handbook.example.com/a.html", "How we work") == 1
    assert page_prior("https://acme.example/#acme.rocket", "acme.rocket — part of acme") < 1


def test_of_pages_that_fit_as_well_the_usual_one_comes_first(index: Index) -> None:
    names = ("curses.basket", "os.basket", "poplib.basket")
    index.put(
        Page(f"{LIBRARY}{name.partition('.')[0]}.html#{name}", name, f"{SAID} So says {number}.")
        for number, name in enumerate(names)
    )
    found = search_with_prior(index, "what is in the basket of fruit", SearchOptions(), 2)
    assert found[0].title == "os.basket"
    assert len(found) == 2
