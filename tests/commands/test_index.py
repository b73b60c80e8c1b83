"""`groundwire index`, from the arguments to the output, on a real index."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.commands.completion import bash, fish, zsh
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page
from tests.engine.crawl.website import Site, page, website
from tests.faces.fakes import Bench

pytestmark = pytest.mark.server


@pytest.fixture
def site() -> Iterator[Site]:
    with website() as found:
        yield found


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "install.md").write_text("# Install\n\nRun the installer, then restart the machine once.\n")
    (folder / "index.html").write_text("<title>Home</title><main><p>Welcome to the handbook of the team.</p>")
    (folder / "logo.png").write_bytes(b"\x89PNG\0")
    return folder


class Shell:
    """Runs commands on one data directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bench = Bench()

    def run(self, *words: str, terminal: bool = False) -> int:
        env = {"GROUNDWIRE_DATA_DIR": str(self.folder / "data")}
        self.bench = Bench(env=env, cwd=str(self.folder), terminal=terminal)
        return self.bench.run("index", *words)

    @property
    def out(self) -> str:
        return self.bench.stdout

    @property
    def err(self) -> str:
        return self.bench.stderr


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell whose output does not depend on the speed of the machine: progress is never printed."""
    monkeypatch.setattr("groundwire.faces.cli.live._NOTE_INTERVAL", float("inf"))
    return Shell(tmp_path)


BASE = ("--base-url", "https://docs.example/team/")


def test_a_folder_is_added_listed_shown_and_removed(shell: Shell, docs: Path) -> None:
    assert shell.run("add", "docs", *BASE) == 0
    assert shell.out == (
        f"2 added, 0 updated, 0 unchanged\n1 skipped:\n  1 not a document (.png): {docs}/logo.png\n"
    )
    assert shell.err == ""
    assert shell.run("list") == 0
    assert shell.out == "https://docs.example/team/  Home\nhttps://docs.example/team/install.md  Install\n"
    assert shell.run("list", "--prefix", "https://docs.example/team/i", "--collection", "docs") == 0
    assert shell.out == "https://docs.example/team/install.md  Install\n"
    assert shell.run("show", "https://docs.example/team/install.md") == 0
    assert shell.out == "Install\n\nRun the installer, then restart the machine once.\n"
    assert shell.run("remove", "https://docs.example/team/install.md") == 0
    assert shell.out == "removed 1 page\n"
    assert shell.run("remove", "--collection", "docs") == 0
    assert shell.run("list") == 3


def test_adding_again_stores_only_changes(shell: Shell, docs: Path) -> None:
    shell.run("add", "docs", *BASE)
    (docs / "install.md").write_text("# Install\n\nEverything about it is different now, and better.\n")
    assert shell.run("add", "docs", *BASE) == 0
    assert shell.out.startswith("0 added, 1 updated, 1 unchanged\n")


def test_everything_is_available_as_json(shell: Shell, docs: Path) -> None:
    assert shell.run("add", "docs", *BASE, "--collection", "team", "--language", "EN", "--json") == 0
    assert json.loads(shell.out) == {
        "version": 1,
        "added": 2,
        "updated": 0,
        "unchanged": 0,
        "duplicates": 0,
        "removed": 0,
        "skipped": [{"why": "not a document (.png)", "count": 1, "examples": [f"{docs}/logo.png"]}],
    }
    assert shell.run("list", "--json") == 0
    pages = json.loads(shell.out)["pages"]
    assert [(entry["title"], entry["collection"], entry["language"]) for entry in pages] == [
        ("Home", "team", "en"),
        ("Install", "team", "en"),
    ]
    assert shell.run("show", pages[1]["url"], "--json") == 0
    assert json.loads(shell.out)["text"].startswith("Install\n\nRun")
    assert shell.run("stats", "--json") == 0
    stats = json.loads(shell.out)
    assert (stats["pages"], stats["collections"]) == (2, {"team": 2})
    assert stats["bytes_on_disk"] > 0
    assert shell.run("remove", "--collection", "team", "--json") == 0
    assert json.loads(shell.out) == {"version": 1, "removed": 2}


def test_statistics_for_people(shell: Shell, docs: Path) -> None:
    shell.run("add", "docs", *BASE)
    assert shell.run("stats") == 0
    assert shell.out.splitlines()[0].split() == ["pages", "2"]
    assert shell.out.splitlines()[-1].split() == ["docs", "2"]


def test_pages_without_a_web_address_are_stored_with_a_word_of_warning(shell: Shell, docs: Path) -> None:
    assert shell.run("add", "docs/install.md") == 0
    assert "Set one with --base-url." in shell.err
    assert shell.run("list") == 0
    assert shell.out == f"file://{docs}/install.md  Install\n"


def test_a_site_is_added_within_bounds_when_links_are_to_be_followed(shell: Shell, site: Site) -> None:
    site.put("/", page("start", "/a", "/b"))
    site.put("/a", page("alpha", "/c"))
    site.put("/b", page("beta"))
    site.put("/c", page("gamma"))
    address = f"{site.address}/"
    assert shell.run("add", address, "--private") == 0
    assert shell.out.startswith("1 added")
    assert shell.run("add", address, "--private", "--max-depth", "1") == 0
    assert shell.out.startswith("2 added, 0 updated, 1 unchanged")
    assert shell.run("add", address, "--private", "--max-pages", "9") == 0
    assert shell.out.startswith("1 added, 0 updated, 3 unchanged")
    assert not list((shell.folder / "data").glob("crawls/*"))


def test_a_private_address_is_refused_unless_it_was_allowed(shell: Shell, site: Site) -> None:
    site.put("/", page("start"))
    assert shell.run("add", f"{site.address}/") == 3
    assert "this address is not fetched" in shell.out
    assert "add --private." in shell.err
    assert site.paths == []


def test_permission_for_one_private_host_does_not_apply_to_another(shell: Shell, site: Site) -> None:
    with website() as other:
        other.put("/", page("secret"))
        site.put("/", page("start", f"{other.address}/"))
        assert shell.run("add", f"{site.address}/", "--private", "--max-depth", "2") == 0
        assert other.paths == []


def test_no_network_has_its_exit_code(shell: Shell) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    assert shell.run("add", address, "--private") == 5
    assert "cannot reach 127.0.0.1" in shell.out
    assert shell.run("add", address, "--private", "--max-depth", "1") == 5


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("add",), "needs something to add"),
        (("show",), "needs an address"),
        (("remove",), "needs addresses, or a collection"),
        (("remove", "https://a.example/", "--collection", "x"), "needs addresses, or a collection"),
        (("list", "https://a.example/"), "an address cannot be used with `index list`"),
        (("stats", "--max-depth", "2"), "--max-depth cannot be used with `index stats`"),
        (("show", "x", "--as-html"), "--as-html cannot be used with `index show`"),
        (("add", "nothing.md"), "there is no file or folder 'nothing.md'"),
        (("add", "https://"), "is not a web address"),
    ],
)
def test_invalid_combinations_of_arguments_are_refused(
    shell: Shell, words: tuple[str, ...], reason: str
) -> None:
    assert shell.run(*words) == 2
    assert reason in shell.err


@pytest.mark.parametrize(
    "action", [("list",), ("stats",), ("show", "https://a.example/"), ("remove", "--collection", "x")]
)
def test_an_empty_index_prints_how_to_start(shell: Shell, action: tuple[str, ...]) -> None:
    assert shell.run(*action) == 3
    assert "groundwire index add FOLDER" in shell.err
    assert not (shell.folder / "data").exists()


def test_an_unusable_data_directory_is_a_configuration_error(shell: Shell, docs: Path) -> None:
    (shell.folder / "data").write_text("in the way")
    assert shell.run("add", "docs", "--json") == 4
    assert json.loads(shell.out)["error"]["code"] == "INVALID_CONFIG"
    assert shell.err.startswith("groundwire: ")


HOSTILE = "\x1b]8;;http://evil\x07\x1b[2J\u202egnp\x9b31m\r\nInjected"


def test_no_control_sequence_reaches_the_terminal(shell: Shell) -> None:
    with open_index(shell.folder / "data" / "index") as index:
        index.put([Page("https://a.example/x", HOSTILE, f"words {HOSTILE} words", collection=HOSTILE)])
    (shell.folder / "\x1b[31mred.png").write_bytes(b"\0")
    for words in (("list",), ("stats",), ("show", "https://a.example/x"), ("add", ".", *BASE)):
        shell.run(*words)
        for character in ("\x1b", "\x07", "\x9b", "\u202e", "\r"):
            assert character not in shell.out + shell.err
    shell.run("list")
    assert len(shell.out.splitlines()) == 1


def test_a_terminal_shows_progress(shell: Shell, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.faces.cli.live._DRAW_INTERVAL", 0.0)
    assert shell.run("add", "docs", *BASE, terminal=True) == 0
    assert "2 pages https://docs.example/team/install.md" in shell.err
    assert shell.err.endswith("\r\x1b[2K")


def test_the_built_in_index_is_updated_on_request(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from groundwire.engine import knowledge
    from groundwire.engine.index.base import Index, Stored
    from groundwire.engine.knowledge import builder

    def refresh(index: Index, report: knowledge.ReportProgress, **_: object) -> Stored:
        report(knowledge.BuildProgress(1, 2, "json"))
        return index.put(
            [Page("https://docs.python.org/3/library/json.html", "json", "JSON encoder and decoder.")]
        )

    monkeypatch.setattr(builder, "refresh", refresh)
    assert shell.run("refresh") == 0
    assert shell.out == "1 added, 0 updated, 0 unchanged\n"
    assert shell.run("refresh", "--json") == 0
    assert json.loads(shell.out)["unchanged"] == 1


@pytest.mark.parametrize("script", [bash, zsh, fish])
def test_shells_complete_the_actions(script: object) -> None:
    assert callable(script)
    assert all(
        action in script() for action in ("add", "list", "show", "remove", "stats", "refresh", "max-depth")
    )


def test_a_folder_that_is_added_again_loses_deleted_files_and_does_not_read_unchanged_ones(
    shell: Shell, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in docs.iterdir():
        os.utime(path, (1, 1))
    assert shell.run("add", "docs", *BASE) == 0
    (docs / "install.md").unlink()
    monkeypatch.setattr("groundwire.engine.crawl.files._read_file", None)  # nothing may be read
    assert shell.run("add", "docs", *BASE) == 0
    assert shell.out.startswith("0 added, 0 updated, 1 unchanged, 1 removed\n")
    assert shell.run("list") == 0
    assert shell.out == "https://docs.example/team/  Home\n"
