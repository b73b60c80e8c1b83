"""Which files of a Python package are documentation, by their paths."""

from __future__ import annotations

import re
from pathlib import PurePath

_MARKUP = (".md", ".markdown", ".rst")
_IN_DOCS = (*_MARKUP, ".txt", ".html", ".htm")
_METADATA = (".dist-info", ".egg-info")
_DOCS = frozenset(("doc", "docs", "documentation"))
_LEFT_OUT = frozenset(
    (
        *("test", "tests", "testing", "vendor", "_vendor", "vendored", "third_party", "node_modules"),
        *("licenses", "_static", "_templates", "_build", "changelog.d", "newsfragments", "typeshed"),
    )
)
_OTHER = re.compile(
    r"licen[cs]e|copying|notice|authors|contribut|code_of_conduct|security|maintainers|governance"
    r"|change|history|news|release|thirdparty|requirements|constraints|robots",
    re.IGNORECASE,
)
"""Beginnings of the names of files that say nothing about the use of a package."""


def is_package_document(path: PurePath) -> bool:
    """Does a file document the use of the package? `path` is relative to the package or its archive."""
    folders = path.parts[:-1]
    if any(part in _LEFT_OUT or part.startswith(".") or part.endswith(_METADATA) for part in folders):
        return False
    suffixes = _IN_DOCS if not _DOCS.isdisjoint(folders) else _MARKUP
    return path.suffix.lower() in suffixes and _OTHER.match(path.stem) is None
