"""Pages of groundwire's own documentation, from the package or from the checkout it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from groundwire.engine.knowledge.packages import (
    OWN,
    package_title,
    plain_readme,
    project_address,
    pypi_address,
)
from groundwire.engine.pages import Page

COLLECTION = "groundwire"

_PACKAGE = Path(__file__).parents[2]


def own_pages() -> Iterator[Page]:
    """The documents, each with the URL of the project and its name as the fragment."""
    base, title = _project()
    for path in _documents():
        text = plain_readme(path.read_text("utf-8"), "text/markdown")
        heading, _, body = text.partition("\n")
        if path.stem == "README":
            yield Page(base, title, text, language="en", collection=COLLECTION)
        elif body.strip():
            url = f"{base.partition('#')[0]}#{path.stem}"
            yield Page(url, f"{heading} — {OWN}", text, language="en", collection=COLLECTION)


def own_title() -> str:
    """The title of the first page, with the installed version."""
    return _project()[1]


def _project() -> tuple[str, str]:
    try:
        found = distribution(OWN)
    except PackageNotFoundError:
        return pypi_address(OWN), f"{OWN} — Python package"
    return project_address(found.metadata), package_title(found)


def _documents() -> list[Path]:
    """README and documents: package data if it is installed, next to `src` in a checkout."""
    folder = _PACKAGE / "docs"
    if folder.is_dir():
        return sorted(folder.glob("*.md"))
    root = _PACKAGE.parents[1]
    if not (root / "pyproject.toml").is_file():
        return []
    return [path for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))) if path.is_file()]
