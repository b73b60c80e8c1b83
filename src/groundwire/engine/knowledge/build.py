"""Builds the built-in knowledge: first the core modules in one put, then everything.

Unchanged pages cost next to nothing, so an interrupted build continues where it stopped. Whether the
knowledge is complete is read from titles: the table of contents, which is added last, has Python's version,
and the page of each distribution has its version. The edition of the pages is at the end of the table of
contents. A docstring has no page if the index has a page of the documentation about the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge import (
    CORE_EDITION,
    DOCUMENTATION,
    FULL_EDITION,
    BuildProgress,
    ReportProgress,
    has_core,
    has_everything,
)
from groundwire.engine.knowledge.addresses import CONTENTS_URL, titled_name
from groundwire.engine.knowledge.inventory import CORE_MODULES, DOCUMENTED_MODULES
from groundwire.engine.knowledge.language_reference import topic_pages
from groundwire.engine.knowledge.library import StandardLibrary
from groundwire.engine.knowledge.own_docs import COLLECTION as OWN
from groundwire.engine.knowledge.own_docs import own_pages, own_title
from groundwire.engine.knowledge.packages import COLLECTION as PACKAGES
from groundwire.engine.knowledge.packages import installed, package_pages
from groundwire.engine.knowledge.python_docs import COLLECTION as PYTHON
from groundwire.engine.knowledge.python_docs import contents_page, module_pages
from groundwire.engine.pages import Page

BATCH = 1000
"""Pages in one put: each put is synced to disk, which takes time."""


_Step: TypeAlias = tuple[str, Callable[[], Iterator[Page]]]
_ReportStep: TypeAlias = Callable[[int, str], None]


def build_core(index: Index, report: ReportProgress) -> Stored:
    """Adds the modules that most questions are about, in one put, and removes pages of an older edition."""
    is_old = not has_core(index)
    library = StandardLibrary()
    steps = [
        *_own_steps(),
        *_python_steps(library, CORE_MODULES),
        _contents_step(library, CORE_MODULES, CORE_EDITION),
    ]
    pages = list(_pages(steps, _documented_names(index), partial(_report, report, 0, len(steps))))
    stored = index.put(pages)
    if is_old:
        _remove_others(index, {page.url for page in pages})
    return stored


def build_all(
    index: Index, report: ReportProgress, documentation: Path | None = None, *, resumes: bool = False
) -> Stored:
    """Adds everything and removes what no longer exists: the documentation first, because docstrings of what
    it documents are left out."""
    modules = tuple(dict.fromkeys(DOCUMENTED_MODULES))
    library = StandardLibrary()
    steps: list[_Step] = [
        *_own_steps(),
        *_python_steps(library, modules),
        *_package_steps(),
        _contents_step(library, modules, FULL_EDITION),
    ]
    stored = Stored()
    files = 0
    if documentation is not None:
        from groundwire.engine.knowledge.documentation import DocumentationBuild  # noqa: PLC0415  needs lxml

        added = DocumentationBuild(index, documentation, resumes=resumes)
        files = added.files
        stored = added.run(partial(_report, report, 0, files + len(steps)), BATCH)
    known: set[str] = set()
    batch: list[Page] = []
    for page in _pages(steps, _documented_names(index), partial(_report, report, files, files + len(steps))):
        known.add(page.url)
        batch.append(page)
        if len(batch) >= BATCH:
            stored += index.put(batch)
            batch = []
    stored += index.put(batch)
    _remove_others(index, known)
    return stored


def _report(report: ReportProgress, before: int, total: int, done: int, what: str) -> None:
    report(BuildProgress(before + done, total, what))


def remove_documented(index: Index) -> None:
    """Removes the docstrings of names that the index has the documentation of."""
    names = _documented_names(index)
    gone = [info.url for info in index.pages(PYTHON) if titled_name(info.title) in names]
    if gone:
        index.remove(urls=gone)


def is_current(index: Index) -> bool:
    """Is everything of this Python and of the installed packages in the index, in the current edition?"""
    contents = index.page(CONTENTS_URL)
    if contents is None or contents.title != contents_page((), "").title or not has_everything(index):
        return False
    expected = {package.title for package in installed()} | {own_title()}
    titles = {info.title for info in chain(index.pages(PACKAGES), index.pages(OWN))}
    return expected <= titles


def _remove_others(index: Index, known: set[str]) -> None:
    for collection in (PYTHON, PACKAGES, OWN):
        gone = [info.url for info in index.pages(collection) if info.url not in known]
        if gone:
            index.remove(urls=gone)


def _documented_names(index: Index) -> set[str]:
    return {titled_name(info.title) for info in index.pages(DOCUMENTATION)}


def _python_steps(library: StandardLibrary, modules: tuple[str, ...]) -> list[_Step]:
    """The language reference first: where it explains a method too, it does so at greater length."""
    taken: set[str] = set()
    return [
        ("language", topic_pages),
        *((name, partial(module_pages, library, name, taken)) for name in modules),
    ]


def _own_steps() -> list[_Step]:
    return [("groundwire", own_pages)]


def _package_steps() -> list[_Step]:
    return [(package.key, partial(package_pages, package)) for package in installed()]


def _contents_step(library: StandardLibrary, modules: tuple[str, ...], edition: str) -> _Step:
    def pages() -> Iterator[Page]:
        yield contents_page(tuple(name for name in modules if library.has(name)), edition)

    return "contents", pages


def _pages(steps: list[_Step], documented: set[str], report: _ReportStep) -> Iterator[Page]:
    """The pages of all steps; of Python's, those about names that are not documented yet, each name once."""
    seen = set(documented)
    for number, (what, pages) in enumerate(steps, 1):
        for page in pages():
            name = titled_name(page.title)
            if page.collection != PYTHON or name not in seen:
                seen.add(name)
                yield page
        report(number, what)
