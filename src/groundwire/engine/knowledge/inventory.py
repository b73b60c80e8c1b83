"""Which modules of the standard library are documented.

The lists are data files. A module that this Python does not have is not found when it is looked for.
"""

from __future__ import annotations

from pathlib import Path

from groundwire.engine.data_files import data_words

_FOLDER = Path(__file__).parent

PART_OF = "part of "
"""Begins the second half of the titles of pages about the modules of a package."""

CORE_MODULES = tuple(data_words(_FOLDER, "core_modules"))
"""What most questions are about: indexed before anything else."""
DOCUMENTED_MODULES = CORE_MODULES + tuple(data_words(_FOLDER, "other_modules"))
NATIVE_MODULES = frozenset(data_words(_FOLDER, "native_modules"))
"""Modules written in C that may be imported to read their docstrings."""
