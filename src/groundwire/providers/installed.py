"""Providers of installed packages: the entry points of the group `groundwire.providers`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "groundwire.providers"


def installed_providers() -> Mapping[str, EntryPoint]:
    """The entry points by name.

    Finding them reads a file of every installed package, which takes tens of milliseconds. They are searched
    again only when a folder of `sys.path` has changed.
    """
    return _search(tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=1)
def _search(_folders: tuple[tuple[str, int], ...]) -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and rarely needed

    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, point)
    return found


def _changed(folder: str) -> int:
    """The time at which a file was last added to a folder or removed from it; 0 if there is none."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0
