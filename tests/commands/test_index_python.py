"""`groundwire index add python`: the copy that is taken, and what it replaces."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from groundwire.commands import index, index_python
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page
from groundwire.errors import ConfigError, Unreachable
from groundwire.transport.fetch import Fetched, Fetcher
from tests.commands.test_index import Shell
from tests.engine.knowledge.small_documentation import write_documentation

pytestmark = pytest.mark.server

WALK = "https://docs.python.org/3.12/library/os.html#os.walk"


class Archives:
    """A fetcher that has some files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.requested: list[str] = []

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        self.requested.append(url)
        if not self.files:
            raise Unreachable("docs.python.org cannot be found")
        body = self.files.get(url, b"")
        return Fetched(url, 200 if body else 404, "application/zip", "", body)

    async def aclose(self) -> None:
        pass


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def archives(monkeypatch: pytest.MonkeyPatch) -> Archives:
    found = Archives({})

    def opened(sources: object, *, private: bool, seconds: float) -> Fetcher:
        return found

    monkeypatch.setattr(index, "open_fetcher", opened)
    monkeypatch.setattr(index_python, "local_copy", lambda version: None)
    return found


def zipped(folder: Path) -> bytes:
    write_documentation(folder / "python-3.12-docs-html")
    with zipfile.ZipFile(folder / "made.zip", "w") as archive:
        for file in (folder / "python-3.12-docs-html").rglob("*.*"):
            archive.write(file, file.relative_to(folder))
    return (folder / "made.zip").read_bytes()


def test_a_copy_that_is_named_is_stored_and_shown(shell: Shell) -> None:
    write_documentation(shell.folder / "html")
    assert shell.run("add", "python", "html") == 0
    assert shell.out == "6 added, 0 updated, 0 unchanged\n"
    assert shell.run("show", WALK) == 0
    assert shell.out.startswith("os.walk(top, topdown=True)\n\nGenerate the file names")
    assert shell.run("add", "python", "html") == 0
    assert shell.out == "0 added, 0 updated, 6 unchanged\n"
    assert shell.run("add", "python", "html", "--all") == 0
    assert shell.out == "1 added, 0 updated, 6 unchanged\n"


def test_documentation_replaces_docstrings_and_another_version(shell: Shell) -> None:
    with open_index(shell.folder / "data" / "index") as stored:
        stored.put(
            [
                Page("local:python/3.12.1/os.walk", "os.walk — Python 3.12.1", "Old.", collection="python"),
                Page("local:python/3.12.1/os.open", "os.open — Python 3.12.1", "Kept.", collection="python"),
            ]
        )
    write_documentation(shell.folder / "html", "3.11")
    assert shell.run("add", "python", "html") == 0
    shutil.rmtree(shell.folder / "html")
    write_documentation(shell.folder / "html", "3.12")
    assert shell.run("add", "python", "html") == 0
    shell.run("list")
    urls = [line.split()[0] for line in shell.out.splitlines()]
    assert WALK in urls
    assert "local:python/3.12.1/os.open" in urls
    assert "local:python/3.12.1/os.walk" not in urls
    assert not [url for url in urls if "/3.11/" in url]


def test_the_archive_is_downloaded_where_there_is_no_copy(shell: Shell, archives: Archives) -> None:
    url = "https://docs.python.org/3.12/archives/python-3.12-docs-html.zip"
    archives.files[url] = zipped(shell.folder)
    assert shell.run("add", "python", "--version", "3.12") == 0
    assert archives.requested == [url]
    assert shell.out == "6 added, 0 updated, 0 unchanged\n"
    assert not list((shell.folder / "data" / "downloads").iterdir())


def test_an_interrupted_run_does_not_download_again(
    shell: Shell, archives: Archives, monkeypatch: pytest.MonkeyPatch
) -> None:
    archives.files["https://docs.python.org/3.12/archives/python-3.12-docs-html.zip"] = zipped(shell.folder)

    def interrupted(data: bytes, path: str, version: str) -> list[Page]:
        raise ConfigError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(index_python, "file_pages", interrupted)
        assert shell.run("add", "python", "--version", "3.12") == 4
    assert shell.run("add", "python", "--version", "3.12") == 0
    assert len(archives.requested) == 1
    assert shell.out == "6 added, 0 updated, 0 unchanged\n"


def test_without_a_network_it_is_said_what_to_do(shell: Shell, archives: Archives) -> None:
    assert shell.run("add", "python", "--version", "3.12") == 5
    assert "python3-doc" in shell.err
    assert "https://docs.python.org/3.12/download.html" in shell.err
    assert "groundwire index add python PATH" in shell.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("python", "html", "--version", "3.9"), "is the documentation of Python 3.12, not 3.9"),
        (("python", "html", "more"), "takes one path at most"),
        (("python", "--base-url", "https://a.example/"), "--base-url cannot be used with `index add python`"),
        (("html", "--version", "3.12"), "--version needs `index add python`"),
        (("html", "--all"), "--all needs `index add python`"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(shell: Shell, words: tuple[str, ...], said: str) -> None:
    write_documentation(shell.folder / "html")
    assert shell.run("add", *words) == 2
    assert said in shell.err
