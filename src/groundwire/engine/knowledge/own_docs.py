"""Pages of groundwire's own documentation, from the package or from the checkout it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from groundwire.engine.knowledge.addresses import LOCAL
from groundwire.engine.knowledge.packages import OWN, package_title, read_readme, readme_page
from groundwire.engine.pages import Page

COLLECTION = "groundwire"
_ADDRESS = f"{LOCAL}{OWN}"

_OTHER_SUBJECTS = ("answers.md", "comparison.md", "reliability.md", "tutorial.md")
"""Documents that are mostly about other things than groundwire: samples, tests, other software."""

_PACKAGE = Path(__file__).parents[2]


def own_pages() -> Iterator[Page]:
    """The project's README, then each document."""
    readme, documents = _files()
    for path in (readme, *documents):
        if not path.is_file():
            continue
        found = read_readme(path.read_text("utf-8"), "text/markdown")
        heading, _, body = found.text.partition("\n")
        if path == readme:
            yield readme_page(_ADDRESS, own_title(), found, COLLECTION)
        elif body.strip():
            yield readme_page(f"{_ADDRESS}/{path.name}", f"{heading} — {OWN}", found, COLLECTION)


def own_title() -> str:
    """The title of the first page, with the installed version."""
    try:
        return package_title(distribution(OWN))
    except PackageNotFoundError:
        return f"{OWN} — Python package"


def documents_folder() -> Path:
    """The folder of the documents: in the package, or next to `src` in a checkout."""
    folder = _PACKAGE / "docs"
    root = _PACKAGE.parents[1]
    return root / "docs" if not folder.is_dir() and (root / "pyproject.toml").is_file() else folder


def _files() -> tuple[Path, list[Path]]:
    """The project's README, and the documents.

    The wheel holds all of them in `docs`, where the project's README is `project.md` because `docs` has a
    README of its own.
    """
    folder = documents_folder()
    readme = folder / "project.md" if folder.parent == _PACKAGE else folder.parent / "README.md"
    skipped = (readme, *(folder / name for name in _OTHER_SUBJECTS))
    return readme, [path for path in sorted(folder.glob("*.md")) if path not in skipped]
