"""Built-in knowledge: Python's library and language, installed packages, and groundwire's own documentation.

Building it needs modules that a search does not, so they are imported by the functions that build.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge.inventory import CONTENTS_URL, CORE_MODULES, module_url
from groundwire.model.value import value

RESERVED = frozenset(("python", "packages", "groundwire"))
"""Collections of the built-in knowledge: `refresh` removes pages from them that no longer exist."""


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


def refresh(index: Index, report: ReportProgress = ignore_progress) -> Stored:
    """Adds everything and removes what no longer exists. It may be interrupted and started again."""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.build_all(index, report)


def has_core(index: Index) -> bool:
    """Does the index have the core modules? The page that is added last is checked."""
    return index.page(module_url(CORE_MODULES[-1])) is not None


def has_everything(index: Index) -> bool:
    """Was the whole knowledge added once? The table of contents is added last. Cheaper than `is_complete`,
    which also checks what has changed since."""
    return index.page(CONTENTS_URL) is not None


def is_complete(index: Index) -> bool:
    """Is everything about this Python and the installed packages in the index?"""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.is_current(index)
