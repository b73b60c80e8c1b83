"""Pages about installed distributions: what their metadata and the docstrings of their modules say.

Nothing of theirs is imported.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PackageMetadata, PackagePath, distributions
from pathlib import Path
from typing import TypeAlias

from groundwire.engine.knowledge.inventory import PART_OF
from groundwire.engine.pages import Page
from groundwire.model.value import value
from groundwire.text.urls import safe_address

_Change: TypeAlias = tuple[re.Pattern[str], str]

LONGEST = 40_000
"""Some descriptions hold the changes of twenty years."""

_MARKDOWN: tuple[_Change, ...] = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    # What a program once printed on a terminal is no statement of the page's.
    (re.compile(r"^[ \t]*(```|~~~)[^\n]*\n\$ .*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL), ""),
    (re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])[ \t]?"), ""),
    (re.compile(r"\[[ \t]*\](?:\([^)]*\)|\[[^\]]*\])[ \t]?"), ""),
    (re.compile(r"\[([^\]]+)\](?:\([^)\s]*(?:\s+\"[^\"]*\")?\)|\[[^\]]*\])"), r"\1"),
    (re.compile(r"^\[[^\]]+\]:\s*\S+.*$", re.MULTILINE), ""),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*#*$", re.MULTILINE), r"\1"),
    (re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"^(?:=+|-+|\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:\-|]*)?)$", re.MULTILINE), ""),
)
_REST: tuple[_Change, ...] = (
    (
        re.compile(
            r"^[ \t]*\.\. (?!code|note|warning|tip|important|versionadded|versionchanged)[^\n]*\n"
            r"(?:[ \t]+[^\n]*\n|(?:[ \t]*\n)+(?=[ \t]+:))*",
            re.MULTILINE,
        ),
        "",
    ),
    (re.compile(r"^[ \t]*\.\. code[\w-]*::.*$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\.\. [\w-]+::[ \t]*(.*)$", re.MULTILINE), r"\1"),
    (re.compile(r"^[ \t]+:\w+:.*$", re.MULTILINE), ""),
    (re.compile(r"^[=\-~^\"'`#*+.:_]{3,}[ \t]*$", re.MULTILINE), ""),
    (re.compile(r":[\w:+.-]+:`(?:[^`<]*<)?([^`>]+)>?`"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?"), r"\1"),
    (re.compile(r"\|[^|\n]+\|_?_?"), ""),
    (re.compile(r"^[ \t]*\|[ \t]*$", re.MULTILINE), ""),
    (re.compile(r"``([^`\n]+)``"), r"\1"),
    (re.compile(r"`([^`\n]+)`__?"), r"\1"),
    (re.compile(r"\b([A-Za-z][\w-]*[A-Za-z0-9])__?(?=[\s.,;:!?)]|$)"), r"\1"),
    (re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*"), r"\1"),
)
_BLANK = re.compile(r"\n\s*\n(?:\s*\n)+")


def plain_readme(text: str, media_type: str) -> str:
    """The words of a description; what has no media type is reStructuredText, as it was when it began."""
    reader = _READERS.get(media_type.partition(";")[0].strip().lower(), _plain_rest)
    return _BLANK.sub("\n\n", reader(text[:LONGEST].replace("\r\n", "\n"))).strip()


def _changed(text: str, changes: tuple[_Change, ...]) -> str:
    for pattern, instead in changes:
        text = pattern.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _plain_markdown(text: str) -> str:
    return _changed(text, _MARKDOWN)


def _plain_rest(text: str) -> str:
    return _changed(text, _REST)


_READERS: dict[str, Callable[[str], str]] = {
    "text/markdown": _plain_markdown,
    "text/x-rst": _plain_rest,
    "text/plain": str,
    "": _plain_rest,
}


_READ = 64_000
_BETWEEN = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.ENCODING)
_LITERAL = re.compile(r"([a-zA-Z]*)('''|\"\"\"|'|\")")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KNOWN = frozenset("\\'\"abfnrtvx01234567NuU\n")


def file_docstring(path: Path) -> str:
    """What a module says of itself; empty if it says nothing, or cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            source = file.read(_READ)
    except (OSError, UnicodeDecodeError):
        return ""
    return source_docstring(source)


def source_docstring(source: str) -> str:
    """The same for text that is read already."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.STRING:
                return _meant(token.string)
            if token.type not in _BETWEEN:
                return ""
    except (tokenize.TokenError, SyntaxError):
        return ""
    return ""


def _meant(literal: str) -> str:
    """What a literal stands for. Escapes that mean nothing stand for themselves, without a warning."""
    opening = _LITERAL.match(literal)
    prefix = opening[1].lower() if opening else ""
    if "b" in prefix or "f" in prefix:
        return ""
    if "r" not in prefix:
        literal = _ESCAPE.sub(lambda found: found[0] if found[1] in _KNOWN else "\\" + found[0], literal)
    try:
        return inspect.cleandoc(str(ast.literal_eval(literal)))
    except (SyntaxError, ValueError):
        return ""


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
class InstalledPackage:
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


def installed() -> list[InstalledPackage]:
    """What can be imported here, by name; of two with one name the one that Python would take. Without
    groundwire itself, whose documentation is told in full elsewhere."""
    found: dict[str, InstalledPackage] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name:
            key = _NAME.sub("-", name).lower()
            found.setdefault(key, InstalledPackage(key, distribution))
    found.pop(OWN, None)
    return [found[key] for key in sorted(found)]


def package_pages(package: InstalledPackage, taken: set[str]) -> Iterator[Page]:
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
        if address := safe_address(told.get(kind, "")):
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
        plain_readme(_field(metadata, "Description"), _field(metadata, "Description-Content-Type")),
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
