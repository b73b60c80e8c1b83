"""What the engine knows out of the box: Python's library and language, installed packages, groundwire itself.

Reading all that needs modules which a search does without, so they are imported by whoever builds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge.inventory import ASKED_FIRST, CONTENTS, module_address
from groundwire.model.value import value

RESERVED = frozenset(("python", "packages", "groundwire"))
"""Collections that are kept here: `refresh` removes from them whatever is not known any more."""


@value
class Progress:
    """How far a build is, for a progress bar."""

    done: int
    total: int
    what: str
    """What was just read."""


Report: TypeAlias = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Nobody is told."""


def first(index: Index, report: Report = silent) -> Stored:
    """Tell an index what most questions are about, in one go: a matter of a second or two."""
    from groundwire.engine.knowledge import building  # noqa: PLC0415

    return building.build_first(index, report)


def refresh(index: Index, report: Report = silent) -> Stored:
    """Tell an index everything, and let it forget what is gone. It may be interrupted and begun again."""
    from groundwire.engine.knowledge import building  # noqa: PLC0415

    return building.build_all(index, report)


def has_begun(index: Index) -> bool:
    """Does it know the first things? The page that is told last of them stands for all."""
    return index.page(module_address(ASKED_FIRST[-1])) is not None


def knows_all(index: Index) -> bool:
    """Has it been told everything once? The table of contents comes last. Cheaper than `is_complete`, which
    looks for what has changed since."""
    return index.page(CONTENTS) is not None


def is_complete(index: Index) -> bool:
    """Does it know everything about this Python, and the packages that are installed now?"""
    from groundwire.engine.knowledge import building  # noqa: PLC0415

    return building.is_current(index)
