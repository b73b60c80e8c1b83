"""All built-in pages: their words are at their addresses, and their links lead to anchors that exist.

The checks read the installed sources, live docstrings, metadata files and Debian's documentation, and nothing
of the index.
"""

from __future__ import annotations

import inspect
import re
import runpy
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import PackagePath
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from lxml import etree

from groundwire.engine.knowledge.addresses import documentation_link, first_sections
from groundwire.engine.knowledge.documentation import open_copy
from groundwire.engine.knowledge.inventory import DOCUMENTED_MODULES
from groundwire.engine.knowledge.language_reference import topic_pages
from groundwire.engine.knowledge.library import StandardLibrary
from groundwire.engine.knowledge.packages import (
    installed,
    local_package_address,
    package_pages,
    source_docstring,
)
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.knowledge.python_docs import module_pages
from groundwire.engine.pages import Page

pytestmark = pytest.mark.server

SHORT = f"{sys.version_info.major}.{sys.version_info.minor}"
DEBIAN = Path(f"/usr/share/doc/python{SHORT}/html")
needs_documentation = pytest.mark.skipif(
    not (DEBIAN / "objects.inv").is_file(), reason=f"NOT RUN: python{SHORT}-doc is not installed"
)


WORD = r"[^\W_]+"


@pytest.fixture(scope="module")
def library_pages() -> list[Page]:
    library, taken = StandardLibrary(), set[str]()
    return [page for module in DOCUMENTED_MODULES for page in module_pages(library, module, taken)]


def squeezed(text: str) -> str:
    return "".join(text.split())


@cache
def squeezed_source(file: str) -> tuple[str, list[int]]:
    """A source without white space, and where its lines begin in it."""
    lines = (Path(sysconfig.get_path("stdlib")) / file).read_text("utf-8").splitlines()
    parts = [squeezed(line) for line in lines]
    return "".join(parts), [0, *accumulate(map(len, parts))]


def test_the_words_of_a_docstring_are_at_the_line_of_the_source(library_pages: list[Page]) -> None:
    count = 0
    for page in library_pages:
        if page.url.startswith("https://github.com/"):
            file, _, line = page.url.partition("/Lib/")[2].partition("#L")
            source, starts = squeezed_source(file)
            start = starts[int(line) - 1]
            first, *others = map(squeezed, page.text.split("\n\n"))
            assert first[:200] in source[start : start + 2000], page.url
            assert all(source.find(paragraph, start) >= 0 for paragraph in others), page.url
            count += 1
    assert count > 4000


def live(name: str) -> Iterator[str]:
    """The docstrings and signatures of a name, as the interpreter shows them."""
    parts = name.split(".")
    for split in range(len(parts), -1, -1):
        try:
            item: object = import_module(".".join(parts[:split]) or "builtins")
        except (ImportError, ValueError):
            continue
        for part in parts[split:]:
            item = getattr(item, part, None) or inspect.getattr_static(item, part, None)
        for owner in (item, *(getattr(item, "__mro__", ()))):
            yield inspect.cleandoc(getattr(owner, "__doc__", None) or "")
            yield inspect.cleandoc(getattr(getattr(owner, "__init__", None), "__doc__", None) or "")
        return


def test_a_local_page_of_python_is_the_docstring_of_its_name(library_pages: list[Page]) -> None:
    unknown: list[str] = []
    count = 0
    for page in library_pages:
        if page.url.startswith("local:python/"):
            docs = squeezed("".join(live(page.url.split("/", 2)[2])))
            # The first paragraph may be the statement or the parameters.
            paragraphs = [squeezed(paragraph) for paragraph in page.text.split("\n\n")[1:]]
            said = [text for text in paragraphs if not text.startswith(("def__init__(", "def__new__("))]
            unknown += [] if all(text in docs for text in said) else [page.url]
            count += 1
    assert count > 1000
    assert unknown == []


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.thorough)])
def test_the_words_of_packages_are_in_their_metadata_and_files(every: int) -> None:
    for package in sorted(installed(), key=lambda package: package.distribution.metadata["Name"])[::every]:
        metadata = package.distribution.metadata
        fields = " ".join(f"{name} {text}" for name in metadata for text in metadata.get_all(name) or ())
        # Chinese has no spaces: marks between its characters cut words that are one on the page.
        unmarked = re.sub(r"[*_`~]|\]\([^()]*\)|[][]", "", fields)
        texts = (fields, re.sub("<[^<>]*>", "", fields), unmarked, re.sub(r"[\x00-\x08]", "", fields))
        described = {word for text in texts for word in re.findall(WORD, text)}
        for page in package_pages(package):
            module = page.url.rpartition("/")[2]
            file = page.url.removeprefix(f"{local_package_address(package)}/")
            if file in map(PackagePath.as_posix, package.distribution.files or ()):
                written = Path(str(package.distribution.locate_file(file))).read_text("utf-8")
                words = re.findall(WORD, written)
                # A space next to a mark of code is not shown.
                known = {*words, *map("".join, pairwise(words))}
                assert set(re.findall(WORD, page.text)) <= known, page.url
            elif page.title.endswith(f"part of {metadata['Name']}"):
                files = [file for file in package.distribution.files or () if file.suffix == ".py"]
                names = (module.replace(".", "/") + ".py", module.replace(".", "/") + "/__init__.py")
                found = [Path(str(file.locate())) for file in files if file.as_posix() in names]
                docs = [source_docstring(path.read_text("utf-8")) for path in found]
                assert page.text in docs, page.url
            else:
                assert set(re.findall(WORD, page.text)) <= described, page.url


@cache
def anchors(page: str) -> frozenset[str]:
    root = etree.parse(DEBIAN / page, etree.HTMLParser(encoding="utf-8")).getroot()
    return frozenset(root.xpath("//@id"))


@cache
def page_words(page: str) -> str:
    root = etree.parse(DEBIAN / page, etree.HTMLParser(encoding="utf-8")).getroot()
    return squeezed("".join(root.itertext()).replace("¶", ""))


@needs_documentation
def test_every_further_link_leads_to_an_anchor_that_exists(library_pages: list[Page]) -> None:
    links = [link for page in library_pages if (link := documentation_link(page.url, page.title))]
    assert len(links) > 4000
    missing = []
    for link in links:
        page, _, anchor = link.removeprefix(f"https://docs.python.org/{SHORT}/").partition("#")
        if anchor not in anchors(page):
            missing.append(link)
    assert missing == []


@needs_documentation
def test_topics_are_cited_at_anchors_that_exist_in_the_words_of_the_page() -> None:
    paragraphs = known = 0
    for page in topic_pages():
        path, _, anchor = page.url.removeprefix(f"https://docs.python.org/{SHORT}/").partition("#")
        assert anchor in anchors(path), page.url
        for line in re.split(r"\n[ ]*\n", page.text):
            text = re.sub(r"^\s*(?:\*|\d+\.) +", "", line)
            paragraphs += 1
            known += squeezed(text) in page_words(path)
    # Debian's documentation is of another patch release: some paragraphs were rewritten between them.
    assert known / paragraphs > 0.97


@needs_documentation
def test_the_data_file_of_anchors_is_what_the_script_makes_of_the_inventory() -> None:
    root = Path(__file__).parents[3]
    script = runpy.run_path(str(root / "scripts/anchors.py"))
    version, lines = script["read_inventory"]((DEBIAN / "objects.inv").read_bytes())
    stored = script["ANCHORS"].read_text("utf-8")
    if f"Python {version}'s" not in stored:
        pytest.skip(f"NOT RUN: the data file is not of Python {version}")
    assert stored.endswith(script["table"](lines))


@needs_documentation
def test_sections_without_text_begin_where_the_script_finds_their_text() -> None:
    root = Path(__file__).parents[3]
    script = runpy.run_path(str(root / "scripts/first_sections.py"))
    copy = open_copy(DEBIAN)
    if f"Python {copy.version}." not in script["SECTIONS"].read_text("utf-8"):
        pytest.skip(f"NOT RUN: the data file is not of Python {copy.version}")
    targets = {item.target for item in purpose_index().purposes if item.target.startswith("library/a")}
    found = {
        target: f"{target.partition('#')[0]}#{anchor}"
        for target, anchor in script["first_sections"](copy, sorted(targets))
    }
    assert found == {target: first for target, first in first_sections().items() if target in targets}
    assert found["library/asyncio-task.html#timeouts"] == "library/asyncio-task.html#asyncio.timeout"
