"""Builds the built-in knowledge: first the core modules in one put, then everything.

Unchanged pages cost next to nothing, so an interrupted build continues where it stopped. Whether the
knowledge is complete is read from titles: the table of contents, which is added last, has Python's version,
and the page of each distribution has its version. The edition of the pages is at the end of the table of
contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TypeAlias

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge import BuildProgress, ReportProgress
from groundwire.engine.knowledge.inventory import CORE_MODULES, DOCUMENTED_MODULES
from groundwire.engine.knowledge.library import StandardLibrary
from groundwire.engine.knowledge.own_docs import COLLECTION as OWN
from groundwire.engine.knowledge.own_docs import own_pages, own_title
from groundwire.engine.knowledge.packages import COLLECTION as PACKAGES
from groundwire.engine.knowledge.packages import installed, package_pages
from groundwire.engine.knowledge.python_docs import COLLECTION as PYTHON
from groundwire.engine.knowledge.python_docs import contents_page, module_pages, topic_pages
from groundwire.engine.pages import Page
from groundwire.model.value import replace

BATCH = 1000
"""Pages in one put: each put is synced to disk, which takes time."""

EDITION = 4
"""Incremented with every change of the generated pages: pages of an older edition are then built again."""
_EDITION_TEXT = f"This is edition {EDITION} of what groundwire knows from the start."

_Step: TypeAlias = tuple[str, Callable[[], Iterator[Page]]]


def build_core(index: Index, report: ReportProgress) -> Stored:
    """Adds the modules that most questions are about, in one put."""
    steps = [*_own_steps(), *_python_steps(StandardLibrary(), CORE_MODULES)]
    return index.put(list(_pages(steps, report)))


def build_all(index: Index, report: ReportProgress) -> Stored:
    """Adds everything and removes what no longer exists."""
    modules = tuple(dict.fromkeys(DOCUMENTED_MODULES))
    library = StandardLibrary()
    steps: list[_Step] = [
        *_own_steps(),
        *_python_steps(library, modules),
        *_package_steps(),
        ("contents", partial(_contents, library, modules)),
    ]
    known: set[str] = set()
    stored = Stored()
    batch: list[Page] = []
    for page in _pages(steps, report):
        known.add(page.url)
        batch.append(page)
        if len(batch) >= BATCH:
            stored = _sum(stored, index.put(batch))
            batch = []
    stored = _sum(stored, index.put(batch))
    for collection in (PYTHON, PACKAGES, OWN):
        gone = [info.url for info in index.pages(collection) if info.url not in known]
        if gone:
            index.remove(urls=gone)
    return stored


def is_current(index: Index) -> bool:
    """Is everything of this Python and of the installed packages in the index, in the current edition?"""
    title, url = contents_page(()).title, contents_page(()).url
    contents = index.page(url)
    if contents is None or contents.title != title or not contents.text.endswith(_EDITION_TEXT):
        return False
    expected = {package.title for package in installed()} | {own_title()}
    titles = {info.title for info in chain(index.pages(PACKAGES), index.pages(OWN))}
    return expected <= titles


def _python_steps(library: StandardLibrary, modules: tuple[str, ...]) -> list[_Step]:
    """The language reference first: where it explains a method too, it does so at greater length."""
    return [("language", topic_pages), *((name, partial(module_pages, library, name)) for name in modules)]


def _own_steps() -> list[_Step]:
    return [("groundwire", own_pages)]


def _package_steps() -> list[_Step]:
    taken: set[str] = set()
    return [(package.key, partial(package_pages, package, taken)) for package in installed()]


def _contents(library: StandardLibrary, modules: tuple[str, ...]) -> Iterator[Page]:
    page = contents_page(tuple(name for name in modules if library.has(name)))
    yield replace(page, text=f"{page.text}\n\n{_EDITION_TEXT}")


def _pages(steps: list[_Step], report: ReportProgress) -> Iterator[Page]:
    """The pages of all steps, each URL once."""
    seen: set[str] = set()
    for number, (what, pages) in enumerate(steps, 1):
        for page in pages():
            if page.url not in seen:
                seen.add(page.url)
                yield page
        report(BuildProgress(number, len(steps), what))


def _sum(one: Stored, other: Stored) -> Stored:
    return Stored(
        one.added + other.added,
        one.updated + other.updated,
        one.unchanged + other.unchanged,
        one.duplicates + other.duplicates,
    )
