"""If an indexing process is killed, acknowledged pages are stored, and the next process continues."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page

pytestmark = pytest.mark.server

WRITER = """
import sys
from pathlib import Path
import groundwire.engine.index.embedded
from groundwire.engine.index.location import open_index
from tests.engine.index.test_crash import work

print("up", flush=True)
index = open_index(Path(sys.argv[1]))
number = int(sys.argv[2])
while True:
    work(index, number)
    print(number, flush=True)
    number += 1
"""


def page(name: str, number: int) -> Page:
    text = f"Unit{number} is what {name} says. " + "It says some more of it as well.\n\n" * (number % 90)
    return Page(f"https://example.org/{name}", f"Page {name}", text + f"Version {number}.")


def steps(number: int) -> tuple[list[Page], list[str]]:
    """The pages that a step adds or changes, and those that it removes."""
    put = [page(f"changing/{number % 20}", number), page(f"new/{number}", number)]
    return put, [page(f"new/{number - 3}", 0).url] if number % 4 == 3 else []


def work(index: Index, number: int) -> None:
    put, removed = steps(number)
    index.put(put)
    if removed:
        index.remove(urls=removed)


def expected(number: int) -> dict[str, Page]:
    """The pages that are stored after the steps up to this one."""
    pages: dict[str, Page] = {}
    for step in range(number + 1):
        put, removed = steps(step)
        pages |= {item.url: item for item in put}
        for url in removed:
            pages.pop(url, None)
    return pages


def run_and_kill(folder: Path, first: int, seconds: float) -> int:
    """The last step that was acknowledged before the kill."""
    command = [sys.executable, "-c", WRITER, str(folder), str(first)]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(seconds)
        process.kill()
        acknowledged = process.stdout.read().split()
    return int(acknowledged[-1]) if acknowledged else first - 1


def check(folder: Path, last: int) -> None:
    """Check that everything acknowledged is stored and found; the next step may be partly done."""
    put, removed = steps(last + 1)
    unsure = {*(item.url for item in put), *removed}
    with open_index(folder) as index:
        pages = expected(last)
        stored = {info.url for info in index.pages()}
        assert stored - unsure == set(pages) - unsure
        for url in set(pages) - unsure:
            assert index.page(url) == pages[url]
        for url in sorted(set(pages) - unsure)[-25:]:
            words = pages[url].text.partition(" ")[0]
            assert url in {found.url for found in index.search(words)}
        for found in index.search("version page", limit=50):
            kept = index.page(found.url)
            assert kept is not None
            assert kept.text[found.start : found.start + len(found.text)] == found.text
    with sqlite3.connect(folder / "pages.sqlite3") as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.thorough)])
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path, kills: int) -> None:
    rng = random.Random(kills)
    last = -1
    for _ in range(kills):
        last = run_and_kill(tmp_path / "index", last + 1, rng.uniform(0, 0.5))
        check(tmp_path / "index", last)
    assert last > 0
    sys.stdout.write(f"{kills} kills, {last + 1} steps acknowledged, 0 lost\n")
