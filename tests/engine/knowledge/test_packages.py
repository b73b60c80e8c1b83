"""Pages about installed distributions, and docstrings read without imports."""

from __future__ import annotations

import ast
import warnings
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from groundwire.engine.knowledge import own_docs
from groundwire.engine.knowledge.own_docs import own_pages, own_title
from groundwire.engine.knowledge.packages import (
    LONGEST,
    InstalledPackage,
    file_docstring,
    installed,
    package_pages,
    read_readme,
    source_docstring,
)

METADATA = """\
Metadata-Version: 2.1
Name: Acme.Tools
Version: 2.5
Summary: Tools for coyotes
License-Expression: MIT
Requires-Python: >=3.9
Requires-Dist: rockets>=2
Requires-Dist: paint; extra == "tunnels"
{urls}
Description-Content-Type: text/markdown

# Acme

[![build](https://img.example/x.svg)](https://ci.example) Catches **birds** with [rockets](https://r.example).
"""


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    info = tmp_path / "acme_tools-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(urls="Home-page: https://acme.example/home"))
    package = tmp_path / "acme"
    (package / "tests").mkdir(parents=True)
    sources = {
        "__init__.py": '"""Everything a coyote needs, delivered to its door."""\nraise SystemExit\n',
        "rocket.py": '"""Rockets that fly straight at painted tunnels."""\n',
        "short.py": '"""Too short."""\n',
        "_inner.py": '"""Nobody outside needs to know about this one."""\n',
        "tests/test_rocket.py": '"""Tests of rockets, of no use to those who ask."""\n',
    }
    for name, source in sources.items():
        (package / name).write_text(source)
    (info / "RECORD").write_text("".join(f"acme/{name},,\n" for name in sources))
    return info


def test_a_distribution_is_described_by_its_metadata_and_its_modules_without_importing(acme: Path) -> None:
    pages = list(package_pages(InstalledPackage("acme-tools", PathDistribution(acme))))
    assert [(page.url, page.title) for page in pages] == [
        ("https://pypi.org/project/acme-tools/2.5/", "Acme.Tools 2.5 — Python package"),
        (
            "local:packages/acme-tools/2.5/metadata",
            "Acme.Tools — license and requirements — Acme.Tools 2.5 — Python package",
        ),
        ("local:packages/acme-tools/2.5/acme", "acme — part of Acme.Tools"),
        ("local:packages/acme-tools/2.5/acme.rocket", "acme.rocket — part of Acme.Tools"),
    ]
    assert pages[0].text == "Tools for coyotes\n\nAcme\n\nCatches birds with rockets."
    assert set(pages[1].text.splitlines()) <= set(METADATA.splitlines())
    assert "License-Expression: MIT" in pages[1].text
    assert pages[3].text == "Rockets that fly straight at painted tunnels."


def test_documents_that_are_installed_with_a_package_are_pages(acme: Path) -> None:
    guide = acme.parent / "acme" / "docs" / "guide.md"
    guide.parent.mkdir()
    guide.write_text("# Painting tunnels\n\nPaint a **tunnel** on a rock, and wait for the bird to come.\n")
    (acme.parent / "acme" / "LICENSE.md").write_text("# License\n\nDo whatever you want with all of this.\n")
    (acme / "RECORD").write_text("acme/docs/guide.md,,\nacme/LICENSE.md,,\nacme/docs/missing.md,,\n")
    pages = {page.url: page for page in package_pages(InstalledPackage("acme-tools", PathDistribution(acme)))}
    page = pages["local:packages/acme-tools/2.5/acme/docs/guide.md"]
    assert page.title == "Painting tunnels — part of Acme.Tools"
    assert "Paint a tunnel on a rock" in page.text
    assert not any("LICENSE" in url or "missing" in url for url in pages)


def test_what_was_not_installed_from_an_index_is_not_on_pypi(acme: Path) -> None:
    (acme / "direct_url.json").write_text('{"url": "file:///home/me/acme", "dir_info": {}}')
    pages = list(package_pages(InstalledPackage("acme-tools", PathDistribution(acme))))
    assert pages[0].url == "local:packages/acme-tools/2.5"


def test_each_installed_distribution_has_one_page_and_groundwire_its_own() -> None:
    keys = [package.key for package in installed()]
    assert keys == sorted(set(keys))
    assert "pytest" in keys
    assert "groundwire" not in keys


def test_docstrings_are_those_that_the_parser_finds() -> None:
    package: Distribution = next(item.distribution for item in installed() if item.key == "pytest")
    paths = [Path(str(package.locate_file(file))) for file in package.files or () if file.suffix == ".py"]
    paths += sorted(Path(ast.__file__).parent.glob("*.py"))[::3]
    compared = 0
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = ast.get_docstring(ast.parse(path.read_bytes())) or ""
        if path.read_text("utf-8", "replace").isascii():
            assert file_docstring(path).strip() == expected.strip(), path
            compared += bool(expected)
    assert compared > 60


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""A \\d that means nothing."""', "A \\d that means nothing."),
        ("'\\x41\\n\\\\d'", "A\n\\d"),
        ("r'\\d'", "\\d"),
        ("# first\n\n'second'", "second"),
        ("f'{x}'", ""),
        ("b'bytes'", ""),
        ("x = 'no'", ""),
        ("'\\x'", ""),
        ("'''never closed", ""),
        ("", ""),
    ],
)
def test_docstrings_of_unusual_sources_are_read_without_a_warning(source: str, expected: str) -> None:
    assert source_docstring(source) == expected


def test_a_file_that_cannot_be_read_has_no_docstring(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"'\xff'")
    assert file_docstring(tmp_path / "latin.py") == ""
    assert file_docstring(tmp_path / "missing.py") == ""


REST = """\
.. image:: https://badge.example/x.svg
   :target: https://ci.example

Title
=====

See the `docs <https://d.example>`_ of :class:`acme.Thing` and ``code`` on asyncio_.

.. code-block:: python

    run()

.. note:: Mind the gap.

.. _asyncio: https://a.example
"""


def test_markup_is_removed_and_words_are_kept() -> None:
    assert " ".join(read_readme(REST, "text/x-rst").text.split()) == (
        "Title See the docs of acme.Thing and code on asyncio. run() Mind the gap."
    )
    assert (
        read_readme("# Head\n\n```py\nrun()\n```\n<p>*a* | b</p>", "text/markdown; charset=UTF-8").text
        == "Head\n\nrun()\n\n*a* | b"
    )
    assert read_readme("as *it* is", "text/plain").text == "as *it* is"
    assert len(read_readme("x" * (2 * LONGEST), "text/plain").text) == LONGEST


def test_documents_that_came_with_the_package_are_taken_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "project.md").write_text("# groundwire\n\nIt searches.\n")
    (tmp_path / "docs" / "README.md").write_text("# Documentation\n\nIt is read.\n")
    (tmp_path / "docs" / "cli.md").write_text("# The command line\n\nIt is typed.\n")
    monkeypatch.setattr(own_docs, "_PACKAGE", tmp_path)
    assert [page.text for page in own_pages()] == [
        "groundwire\n\nIt searches.",
        "Documentation\n\nIt is read.",
        "The command line\n\nIt is typed.",
    ]
    monkeypatch.setattr(own_docs, "_PACKAGE", tmp_path / "site" / "packages" / "groundwire")
    assert list(own_pages()) == []


def test_own_documents_have_local_addresses() -> None:
    pages = {page.url: page for page in own_pages()}
    assert all(page.collection == "groundwire" and page.text for page in pages.values())
    assert own_title() in {page.title for page in pages.values()}
    assert "The command line — groundwire" in {page.title for page in pages.values()}
    assert "local:groundwire/cli.md" in pages
    assert all(url.startswith("local:groundwire") for url in pages)


def test_program_output_is_not_a_statement_of_the_page() -> None:
    page = "Before.\n\n```\n$ run it\nThe moon is cheese.\n```\n\nAfter.\n\n```\ncode()\n```\n"
    text = read_readme(page, "text/markdown").text
    assert "moon" not in text
    assert all(words in text for words in ("Before.", "After.", "code()"))


def test_code_in_markdown_stays_as_it_is() -> None:
    text = "A [link](https://a.example) and **bold**.\n\n```js\nconst a = b[file]() ** 2;\n```\n\nMore.\n"
    readme = read_readme(text, "text/markdown")
    code = [readme.text[block.start : block.end] for block in readme.outline if block.kind == "code"]
    assert code == ["const a = b[file]() ** 2;"]
    assert readme.text == "A link and bold.\n\nconst a = b[file]() ** 2;\n\nMore."
