"""Files and folders: everything that can be read, nothing twice, nothing outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from groundwire.engine.crawl.addresses import address_of
from groundwire.engine.crawl.files import LARGEST_FILE
from groundwire.engine.crawl.outcomes import Gathered, Scope
from groundwire.engine.crawl.sources import collection_of, recognise
from groundwire.errors import RequestError
from tests.engine.gathering.gatherers import gather, reasons, urls
from tests.engine.reading import samples

ARTICLE = samples.ARTICLE.replace('<link rel="canonical" href="/fluesse/donau">', "")
BASE = Scope(base_url="https://docs.example/team")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "handbook"
    (root / "guide").mkdir(parents=True)
    (root / "index.html").write_text(ARTICLE)
    (root / "guide" / "index.html").write_text(ARTICLE.replace("Donau", "Wolga"))
    (root / "guide" / "a b.md").write_text("# Ä\n\nwords")
    (root / "guide" / "notes.rst").write_text("Notes\n=====\n\nwords")
    (root / "paper.pdf").write_bytes(samples.pdf("words"))
    (root / "README").write_text("Read me\n\nwords")
    (root / "logo.png").write_bytes(b"\x89PNG\0")
    (root / ".git").mkdir()
    (root / ".git" / "x.md").write_text("hidden")
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x.md").write_text("foreign")
    (root / ".hidden.md").write_text("hidden")
    return root


def test_a_folder_is_read_whole_with_its_addresses_on_the_web(folder: Path) -> None:
    found = gather(folder, scope=BASE)
    assert urls(found) == [
        "https://docs.example/team/README",
        "https://docs.example/team/",
        "https://docs.example/team/paper.pdf",
        "https://docs.example/team/guide/a%20b.md",
        "https://docs.example/team/guide/",
        "https://docs.example/team/guide/notes.rst",
    ]
    assert reasons(found) == {str(folder / "logo.png"): "not a document (.png)"}
    assert {outcome.page.collection for outcome in found if isinstance(outcome, Gathered)} == {"handbook"}


def test_without_a_base_address_files_stand_for_themselves(folder: Path) -> None:
    assert f"file://{folder}/guide/a%20b.md" in urls(gather(folder))


@pytest.mark.parametrize(
    ("path", "as_html", "address"),
    [
        ("a.md", False, "https://d.example/x/a.md"),
        ("a.md", True, "https://d.example/x/a.html"),
        ("b/a.rst", True, "https://d.example/x/b/a.html"),
        ("b/README.md", True, "https://d.example/x/b/"),
        ("b/README.md", False, "https://d.example/x/b/README.md"),
        ("b/index.rst", True, "https://d.example/x/b/"),
        ("INDEX.HTM", False, "https://d.example/x/"),
        ("a.html", True, "https://d.example/x/a.html"),
        ("javascript:x.md", False, "https://d.example/x/javascript%3Ax.md"),
        ("//a#b?c%d.txt", False, "https://d.example/x/a%23b%3Fc%25d.txt"),
        ("ü.txt", False, "https://d.example/x/%C3%BC.txt"),
    ],
)
def test_addresses_of_files(path: str, as_html: bool, address: str) -> None:
    root = Path("/root")
    where = root / path.lstrip("/")
    assert address_of(where, root, "https://d.example/x", as_html=as_html) == address
    assert address_of(where, root, "https://d.example/x/", as_html=as_html) == address


def test_links_lead_neither_in_circles_nor_outside(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("private words")
    (folder / "guide" / "loop").symlink_to(folder)
    (folder / "guide" / "again").symlink_to(folder / "guide")
    (folder / "out.md").symlink_to(outside)
    (folder / "dangling.md").symlink_to(folder / "nothing")
    found = gather(folder, scope=BASE)
    assert len(urls(found)) == len(set(urls(found))) == 6
    assert reasons(found)[str(folder / "out.md")] == "a link that leads out of the folder"
    assert reasons(found)[str(folder / "dangling.md")].startswith("cannot be read")


def test_what_is_no_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "pipe.warc")
    told = reasons(gather(folder))
    assert told[str(folder / "pipe.md")] == "not a regular file"
    assert told[str(folder / "pipe.warc")] == "not a document (.warc)"
    assert reasons(gather(folder / "pipe.warc")) == {str(folder / "pipe.warc"): "not a regular file"}


def test_what_is_too_large_is_told(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    assert reasons(gather(tmp_path)) == {str(tmp_path / "big.txt"): "larger than 20 MB"}


def test_a_file_that_is_named_is_looked_into_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "words.log").write_text("some words")
    (tmp_path / "page").write_text(ARTICLE)
    (tmp_path / "blob").write_bytes(b"\0\1\2")
    found = gather(tmp_path / "words.log", tmp_path / "page", tmp_path / "blob", scope=BASE)
    assert urls(found) == ["https://docs.example/team/words.log", "https://docs.example/team/page"]
    assert reasons(found) == {str(tmp_path / "blob"): "not a document (unknown type)"}


def test_names_of_any_bytes_do_no_harm(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff\x1b[31m.txt", "wb") as file:
        file.write(b"words in a strange file")
    (outcome,) = gather(tmp_path, scope=BASE)
    assert isinstance(outcome, Gathered)
    assert outcome.page.url == "https://docs.example/team/%FF%1B%5B31m.txt"
    outcome.page.title.encode("utf-8")
    assert "\x1b" not in outcome.page.title


def test_what_is_named_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    assert recognise("a.md", str(tmp_path)) == tmp_path / "a.md"
    assert recognise("HTTPS://a.example/x#y") == "HTTPS://a.example/x"
    for text in ("nothing.md", "ftp://a.example/", "https://", "http://user:pass@a.example/"):
        with pytest.raises(RequestError):
            recognise(text, str(tmp_path))
    assert collection_of(tmp_path / "a.md") == tmp_path.name
    assert collection_of("https://Docs.example:8443/x") == "docs.example:8443"
