"""Addresses of the built-in knowledge, and the documentation page that belongs to a docstring.

A docstring of a module written in Python is at a line of the released source. What exists only on this
machine has an address that begins with `local:`; `groundwire index show` prints what is stored there.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from groundwire.engine.data_files import data_lines, data_table

_FOLDER = Path(__file__).parent

PYTHON_VERSION = sys.version.partition(" ")[0]
DOCS_SITE = "https://docs.python.org/"
DOCS_URL = f"{DOCS_SITE}{sys.version_info.major}.{sys.version_info.minor}/"
LOCAL = "local:"
CONTENTS_URL = f"{LOCAL}python/contents"
"""The table of contents of the built-in knowledge. Without a version, so that it is found after an update."""

_SOURCES = "https://github.com/python/cpython/blob/"
PROJECTS = "https://pypi.org/project/"
_LOCAL_PYTHON = f"{LOCAL}python/"
_SHORTENED = re.compile(r" (s|t|re|ve|ll|d|m)\b")
_FIRST_PERSON = re.compile(r"\bi\b")
_RELEASE = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
"""Versions with a tag in the repository; `3.13.0+` is a build between two releases."""


def source_address(file: str, line: int, version: str = PYTHON_VERSION) -> str:
    """The address of a line of the standard library; empty if this Python is not a release of CPython."""
    if not file or sys.implementation.name != "cpython" or not _RELEASE.fullmatch(version):
        return ""
    return f"{_SOURCES}v{version}/Lib/{file}#L{line}"


def local_address(name: str) -> str:
    """The address of the docstring of a name in the running Python."""
    return f"{_LOCAL_PYTHON}{PYTHON_VERSION}/{name}"


def is_built_in(url: str) -> bool:
    """Is it an address of the built-in knowledge or of Python's documentation?"""
    return url.startswith((LOCAL, _SOURCES, DOCS_SITE, PROJECTS))


def is_news(url: str) -> bool:
    """Is it a page of Python's documentation about what a version changed?"""
    return url.startswith(DOCS_SITE) and "/whatsnew/" in url


def titled_name(title: str) -> str:
    """The name that a page documents: its title begins with it."""
    return title.partition(" — ")[0]


def documentation_link(url: str, title: str) -> str:
    """The page of docs.python.org about the object whose docstring is at `url`; empty if there is none."""
    if not url.startswith((_SOURCES, _LOCAL_PYTHON)):
        return ""
    name = titled_name(title)
    for anchor in (name, f"module-{name}"):
        if page := _anchor_pages().get(anchor):
            # Sphinx drops leading underscores from the anchors it makes of names.
            return f"{DOCS_URL}{page}.html#{anchor.lstrip('_')}"
    return ""


def documentation_title(title: str) -> str:
    """The title of the page that `documentation_link` leads to."""
    return f"{titled_name(title)} — Python {sys.version_info.major}.{sys.version_info.minor} documentation"


def documentation_heading(target: str) -> str:
    """The heading of a page or section of the documentation, as far as its address shows it:
    `reference/compound_stmts.html#the-with-statement`."""
    page, _, anchor = target.partition("#")
    if not anchor:
        folder, _, name = page.removesuffix(".html").rpartition("/")
        return f"{name} ({folder})" if folder else name
    if "." in anchor or page.startswith("glossary"):
        return anchor.removeprefix("term-")
    words = _SHORTENED.sub(r"’\1", anchor.replace("-", " "))
    words = _FIRST_PERSON.sub("I", words)
    return f"{words[:1].upper()}{words[1:]}"


@cache
def first_sections() -> dict[str, str]:
    """The section or object with which a page or section begins that has no text of its own."""
    lines = (line.split() for line in data_lines(_FOLDER, "first_sections"))
    return {target: f"{target.partition('#')[0]}#{anchor}" for target, anchor in lines}


@cache
def empty_headings() -> dict[str, list[str]]:
    """The pages and sections without text of their own, by the section or object they begin with."""
    headings: dict[str, list[str]] = {}
    for target, section in first_sections().items():
        headings.setdefault(section, []).append(target)
    return headings


def library_page(url: str, title: str) -> str:
    """The page of the library reference about the subject of a page: `os`, `asyncio-task`; else empty."""
    link = url if url.startswith(DOCS_SITE) else ""
    name = titled_name(title)
    while name and not link:
        link = documentation_link(url, name)
        name = name.rpartition(".")[0]
    return link.removeprefix(DOCS_SITE).partition("library/")[2].partition(".html")[0]


@cache
def documented_names() -> dict[str, str]:
    """The names with an anchor, by themselves without case: people write `taskgroup`."""
    return {name.casefold(): name for name in _anchor_pages()}


@cache
def _anchor_pages() -> dict[str, str]:
    """The page of each anchor. A line of the data file has a page, the owner of the names, and the names."""
    pages: dict[str, str] = {}
    for key, names in data_table(_FOLDER, "anchors").items():
        page, _, owner = key.partition(" ")
        pages |= {f"{owner}.{name}" if owner else name: page for name in names.split()}
    return pages
