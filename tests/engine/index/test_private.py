"""The files of an index are readable only by their owner, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.engine.crawl.web import Frontier
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page

pytestmark = pytest.mark.server


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    paths = [folder, *folder.rglob("*")]
    return [str(path) for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077]


@pytest.mark.usefixtures("_open_umask")
def test_no_folder_and_no_file_of_an_index_is_open_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "index"
    index = open_index(folder)
    index.put([Page("https://a.example/", "Title", "Some words.")])
    index.put([Page("https://b.example/", "Title", "Some other words.")])
    index.close()
    open_index(folder).close()
    assert open_to_others(tmp_path / "data") == []


@pytest.mark.usefixtures("_open_umask")
def test_an_index_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    open_index(folder).close()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    index = open_index(folder)
    index.put([Page("https://a.example/", "Title", "Some words.")])
    index.close()
    assert open_to_others(folder) == []


@pytest.mark.usefixtures("_open_umask")
def test_the_frontier_file_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "visits"
    Frontier("https://a.example/", folder).save()
    assert list(folder.iterdir())
    assert open_to_others(tmp_path / "data") == []
