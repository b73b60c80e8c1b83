"""What the engine knows out of the box: Python's library and language, installed packages, groundwire itself.

Reading all that needs modules which a search does without, so they are imported by whoever builds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge.inventory import CONTENTS_URL, CORE_MODULES, module_url
from groundwire.model.value import value

RESERVED = frozenset(("python", "packages", "groundwire"))
"""Collections that are kept here: `refresh` removes from them whatever is not known any more."""


@value
class BuildProgress:
    """How far a build is, for a progress bar."""

    done: int
    total: int
    what: str
    """What was just read."""


ReportProgress: TypeAlias = Callable[[BuildProgress], None]


def ignore_progress(progress: BuildProgress) -> None:
    """Nobody is told."""


def add_core(index: Index, report: ReportProgress = ignore_progress) -> Stored:
    """Tell an index what most questions are about, in one go: a matter of a second or two."""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.build_core(index, report)


def refresh(index: Index, report: ReportProgress = ignore_progress) -> Stored:
    """Tell an index everything, and let it forget what is gone. It may be interrupted and begun again."""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.build_all(index, report)


def has_core(index: Index) -> bool:
    """Does it know the first things? The page that is told last of them stands for all."""
    return index.page(module_url(CORE_MODULES[-1])) is not None


def has_everything(index: Index) -> bool:
    """Has it been told everything once? The table of contents comes last. Cheaper than `is_complete`, which
    looks for what has changed since."""
    return index.page(CONTENTS_URL) is not None


def is_complete(index: Index) -> bool:
    """Does it know everything about this Python, and the packages that are installed now?"""
    from groundwire.engine.knowledge import build  # noqa: PLC0415

    return build.is_current(index)
