"""Built-in knowledge: Python's library and language, installed packages, and groundwire's own documentation.

Building it needs modules that a search does not, so they are imported by the functions that build.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge.addresses import CONTENTS_URL
from groundwire.model.value import value

RESERVED = frozenset(("python", "packages", "groundwire"))
"""Collections of the built-in knowledge: `refresh` removes pages from them that no longer exist."""

DOCUMENTATION = "python-docs"
"""The collection of Python's documentation, which `groundwire index add python` adds."""

EDITION = 8
"""Incremented with every change of the generated pages: pages of an older edition are then built again."""
CORE_EDITION = f"This is the core of edition {EDITION} of what groundwire knows from the start."
FULL_EDITION = f"This is edition {EDITION} of what groundwire knows from the start."
"""The last line of the table of contents: whether the core modules were added, or everything."""


@value
class BuildProgress:
    """Progress of a build, for a progress bar."""

    done: int
    total: int
    what: str
    """The module or package that was just read."""


ReportProgress: TypeAlias = Callable[[BuildProgress], None]


def ignore_progress(progress: BuildProgress) -> None:
    """Does not report progress."""


def add_core(index: Index, report: ReportProgress = ignore_progress) -> Stored:
    """Adds the modules that most questions are about, in one put: takes a second or two."""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.build_core(index, report)


def refresh(
    index: Index,
    report: ReportProgress = ignore_progress,
    *,
    documentation: Path | None = None,
    resumes: bool = False,
) -> Stored:
    """Adds everything, with a local copy of Python's documentation if one is given, and removes what no
    longer exists. It may be interrupted and started again; with `resumes`, files of the documentation that
    are stored already are not read again."""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.build_all(index, report, documentation, resumes=resumes)


def has_core(index: Index) -> bool:
    """Does the index have the core modules, in the current edition?"""
    return _contents_end_with(index, CORE_EDITION, FULL_EDITION)


def has_everything(index: Index) -> bool:
    """Was the whole knowledge added once? Cheaper than `is_complete`, which also checks what has changed
    since."""
    return _contents_end_with(index, FULL_EDITION)


def _contents_end_with(index: Index, *editions: str) -> bool:
    contents = index.page(CONTENTS_URL)
    return contents is not None and contents.text.endswith(editions)


def is_complete(index: Index) -> bool:
    """Is everything about this Python and the installed packages in the index?"""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.is_current(index)
