"""Pages about installed distributions: what their metadata and the docstrings of their modules say.

Nothing of theirs is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageMetadata, PackagePath, distributions
from pathlib import Path

from groundwire.engine.knowledge.docstrings import file_docstring
from groundwire.engine.knowledge.inventory import PART_OF
from groundwire.engine.knowledge.readme import plain
from groundwire.engine.pages import Page
from groundwire.model.value import value
from groundwire.text.urls import safe_url

COLLECTION = "packages"
OWN = "groundwire"

_SHORTEST = 40
"""Docstrings below this length name things and explain nothing."""

_KINDS = ("documentation", "docs", "homepage", "home", "repository", "source", "sourcecode", "code", "github")
_LEFT_OUT = frozenset(
    ("test", "tests", "testing", "vendor", "vendored", "conftest", "setup", "examples", "docs")
)
_NAME = re.compile(r"[-_.]+")


@value
class Installed:
    """A distribution, with the name it is compared by."""

    key: str
    distribution: Distribution

    @property
    def title(self) -> str:
        """Name and version: what tells whether a page is of today."""
        return package_title(self.distribution)


def package_title(distribution: Distribution) -> str:
    """The title of the page about a distribution."""
    return f"{distribution.name} {distribution.version} — Python package"


def installed() -> list[Installed]:
    """What can be imported here, by name; of two with one name the one that Python would take. Without
    groundwire itself, whose documentation is told in full elsewhere."""
    found: dict[str, Installed] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name:
            key = _NAME.sub("-", name).lower()
            found.setdefault(key, Installed(key, distribution))
    found.pop(OWN, None)
    return [found[key] for key in sorted(found)]


def package_pages(package: Installed, taken: set[str]) -> Iterator[Page]:
    """The page of a distribution and those of its documented modules. `taken` are the addresses that others
    have: packages of one project share its address, and the second then goes by its page on PyPI."""
    metadata = package.distribution.metadata
    url = project_address(metadata)
    if url in taken:
        url = pypi_address(package.key)
    taken.add(url)
    yield Page(url, package.title, _package_text(metadata), language="en", collection=COLLECTION)
    base = url.partition("#")[0]
    for module, path in _modules(package.distribution):
        doc = file_docstring(path)
        if len(doc) >= _SHORTEST:
            title = f"{module} — {PART_OF}{metadata['Name']}"
            yield Page(f"{base}#{module}", title, f"module {module}\n\n{doc}", collection=COLLECTION)


def project_address(metadata: PackageMetadata) -> str:
    """Where a project lives: its documentation, else its home, its repository, its page on PyPI."""
    told = {"homepage": _field(metadata, "Home-page")}
    for line in metadata.get_all("Project-URL") or ():
        label, _, address = line.partition(",")
        told[re.sub(r"[^a-z]", "", label.lower())] = address.strip()
    for kind in _KINDS:
        if address := safe_url(told.get(kind, "")):
            return address
    return pypi_address(_NAME.sub("-", metadata["Name"]).lower())


def pypi_address(key: str) -> str:
    """The page every published distribution has."""
    return f"https://pypi.org/project/{key}/"


def _package_text(metadata: PackageMetadata) -> str:
    facts = [
        f"{metadata['Name']} {metadata['Version']} is installed.",
        _fact("License", _field(metadata, "License-Expression") or _short(_field(metadata, "License"))),
        _fact("Requires Python", _field(metadata, "Requires-Python")),
        _fact("Requires", ", ".join(_required(metadata))),
    ]
    parts = (
        _field(metadata, "Summary"),
        " ".join(filter(None, facts)),
        plain(_field(metadata, "Description"), _field(metadata, "Description-Content-Type")),
    )
    return "\n\n".join(filter(None, parts))


def _field(metadata: PackageMetadata, name: str) -> str:
    return next(iter(metadata.get_all(name) or ()), "")


def _fact(label: str, said: str) -> str:
    return f"{label}: {said}." if said else ""


def _short(said: str) -> str:
    """A license by its name; some packages put its whole text there."""
    return said if "\n" not in said and len(said) <= 60 else ""


def _required(metadata: PackageMetadata) -> list[str]:
    """What it always needs, by name."""
    lines = [line for line in metadata.get_all("Requires-Dist") or () if "extra ==" not in line]
    return list(dict.fromkeys(re.split(r"[\s;<>=!~\[(]", line)[0] for line in lines))


def _modules(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Public modules with their files."""
    for file in distribution.files or ():
        module = _module_name(file)
        if module:
            yield module, Path(str(distribution.locate_file(file)))


def _module_name(file: PackagePath) -> str:
    if file.suffix != ".py":
        return ""
    parts = [*file.parts[:-1], *([] if file.stem == "__init__" else [file.stem])]
    if any(not part.isidentifier() or part.startswith("_") or part in _LEFT_OUT for part in parts):
        return ""
    return ".".join(parts)
