"""Copies of Python's documentation, as folders and archives, and the pages in them."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from groundwire.engine.knowledge.documentation import archive_urls, file_pages, open_copy
from groundwire.engine.knowledge.local_copy import local_copy
from groundwire.engine.outline import decode_outline
from groundwire.engine.pages import Page
from groundwire.errors import RequestError
from tests.engine.knowledge.small_documentation import OS_PAGE, write_documentation

SHORT = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = "https://docs.python.org/3.12/"


def pages_of(path: str, markup: str) -> dict[str, Page]:
    return {page.url.removeprefix(SITE): page for page in file_pages(markup.encode(), path, "3.12")}


def test_objects_and_sections_are_pages_without_each_others_text() -> None:
    pages = pages_of("library/os.html", OS_PAGE)
    assert list(pages) == [
        "library/os.html#module-os",
        "library/os.html#files-and-directories",
        "library/os.html#os.walk",
        "library/os.html#os.DirEntry",
        "library/os.html#os.DirEntry.name",
    ]
    walk = pages["library/os.html#os.walk"]
    assert walk.title == "os.walk — go through a directory tree — Python 3.12 documentation"
    assert walk.text == (
        "os.walk(top, topdown=True)\n\nGenerate the file names in a directory tree.\n\n"
        "for root, dirs, files in os.walk('.'):\n    print(root)"
    )
    assert [block.kind for block in decode_outline(walk.outline)] == ["signature", "paragraph", "code"]
    assert walk.collection == "python-docs"
    section = pages["library/os.html#files-and-directories"]
    assert section.title == "Files — os — Operating system — Python 3.12 documentation"
    assert section.text == "16.1.5. Files\n\nThese functions change files.\n\nAfter them, more."
    entry = pages["library/os.html#os.DirEntry"]
    assert entry.text == "class os.DirEntry\n\nWhat scandir yields."
    assert "name" not in entry.text.split()


def test_pages_without_a_main_part_have_nothing_to_read() -> None:
    assert file_pages(b"<p>Nothing of the documentation.", "x.html", "3.12") == []
    assert file_pages(b"", "x.html", "3.12") == []


def test_a_name_is_that_of_its_anchor_where_only_a_part_is_shown() -> None:
    markup = OS_PAGE.replace('descclassname">os.<', 'descclassname">loop.<').replace(
        'id="os.walk"', 'id="asyncio.loop.walk"'
    )
    page = pages_of("library/os.html", markup)["library/os.html#asyncio.loop.walk"]
    assert page.title.startswith("asyncio.loop.walk — ")


def test_a_folder_and_archives_are_read_alike(tmp_path: Path) -> None:
    folder = write_documentation(tmp_path / "python-3.12-docs-html")
    with zipfile.ZipFile(tmp_path / "docs.zip", "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, file.relative_to(tmp_path))
    with tarfile.open(tmp_path / "docs.tar.bz2", "w:bz2") as tar:
        tar.add(folder, folder.name)
    for path in (folder, tmp_path / "docs.zip", tmp_path / "docs.tar.bz2"):
        copy = open_copy(path)
        assert copy.version == "3.12"
        assert list(copy.paths(everything=False)) == ["library/os.html", "tutorial/errors.html"]
        assert "c-api/intro.html" in copy.paths(everything=True)
        assert copy.read("library/os.html").decode() == OS_PAGE


def test_something_else_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"no objects\.inv"):
        open_copy(tmp_path)
    (tmp_path / "file").write_text("words")
    with pytest.raises(RequestError, match="not a folder, a zip file or a tar file"):
        open_copy(tmp_path / "file")


def test_the_archive_of_a_release_is_where_python_org_keeps_it() -> None:
    assert archive_urls("2.9") == ["https://docs.python.org/2.9/archives/python-2.9-docs-html.zip"]
    assert archive_urls("3.12.4") == [
        "https://www.python.org/ftp/python/doc/3.12.4/python-3.12.4-docs-html.zip"
    ]


def test_the_copy_of_the_environment_is_found_and_one_of_another_version_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    folder = tmp_path / "share/doc/python3.12/html"
    folder.mkdir(parents=True)
    (folder / "objects.inv").write_bytes(b"# Project: Python\n# Version: 3.11\n")
    assert local_copy("3.12") != folder
    (folder / "objects.inv").write_bytes(b"# Project: Python\n# Version: 3.12\n")
    assert local_copy("3.12") == folder


@pytest.mark.skipif(local_copy(SHORT) is None, reason=f"NOT RUN: python{SHORT}-doc is not installed")
@pytest.mark.parametrize(
    ("path", "anchor", "words"),
    [
        ("library/os.html", "os.walk", "Generate the file names in a directory tree"),
        ("tutorial/errors.html", "handling-exceptions", "It is possible to write programs that handle"),
    ],
)
def test_the_pages_of_debians_copy_have_their_words_and_anchors(path: str, anchor: str, words: str) -> None:
    folder = local_copy(SHORT)
    assert folder is not None
    copy = open_copy(folder)
    root = etree.fromstring(copy.read(path), etree.HTMLParser(encoding="utf-8"))
    shown = "".join("".join(root.itertext()).split()).replace("¶", "")
    anchors = set(root.xpath("//@id"))
    pages = file_pages(copy.read(path), path, copy.version)
    assert len(pages) > 10
    assert words in next(page.text for page in pages if page.url.endswith(f"#{anchor}"))
    for page in pages:
        assert page.url.partition("#")[2] in anchors
        for paragraph in page.text.split("\n\n"):
            if " | " not in paragraph:
                assert "".join(paragraph.split()) in shown, page.url
