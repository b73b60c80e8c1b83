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
    """The project's README, then each document: the project's URL with the file name as the fragment."""
    base, title = _project()
    readme, documents = _files()
    for path in (readme, *documents):
        if not path.is_file():
            continue
        text = plain_readme(path.read_text("utf-8"), "text/markdown")
        heading, _, body = text.partition("\n")
        if path == readme:
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


def _files() -> tuple[Path, list[Path]]:
    """The project's README, and the documents.

    The wheel holds all of them in `docs`, where the project's README is `project.md` because `docs` has a
    README of its own. In a checkout, both are next to `src`.
    """
    folder = _PACKAGE / "docs"
    readme = folder / "project.md"
    root = _PACKAGE.parents[1]
    if not folder.is_dir() and (root / "pyproject.toml").is_file():
        folder, readme = root / "docs", root / "README.md"
    return readme, [path for path in sorted(folder.glob("*.md")) if path != readme]
