"""Pages about installed distributions, from their metadata and the docstrings of their modules.

Packages are not imported. Descriptions are reduced to plain text without a markup library: badges, tags,
directives, underlines and link targets are removed. Docstrings are read from the first tokens of a file.
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
from groundwire.text.urls import safe_url

_Change: TypeAlias = tuple[re.Pattern[str], str]

LONGEST = 40_000
"""Characters; some descriptions contain the whole changelog."""

_MARKDOWN: tuple[_Change, ...] = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    # Terminal sessions are not statements of the page.
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
    """The plain text of a description; without a media type it is reStructuredText, the default of PyPI."""
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
_VALID_ESCAPES = frozenset("\\'\"abfnrtvx01234567NuU\n")


def file_docstring(path: Path) -> str:
    """The docstring of a module; empty if it has none, or cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            source = file.read(_READ)
    except (OSError, UnicodeDecodeError):
        return ""
    return source_docstring(source)


def source_docstring(source: str) -> str:
    """Same as `file_docstring`, for source text."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.STRING:
                return _literal_value(token.string)
            if token.type not in _BETWEEN:
                return ""
    except (tokenize.TokenError, SyntaxError):
        return ""
    return ""


def _literal_value(literal: str) -> str:
    """The value of a string literal. Invalid escapes are kept, without a warning."""
    opening = _LITERAL.match(literal)
    prefix = opening[1].lower() if opening else ""
    if "b" in prefix or "f" in prefix:
        return ""
    if "r" not in prefix:
        literal = _ESCAPE.sub(
            lambda found: found[0] if found[1] in _VALID_ESCAPES else "\\" + found[0], literal
        )
    try:
        return inspect.cleandoc(str(ast.literal_eval(literal)))
    except (SyntaxError, ValueError):
        return ""


COLLECTION = "packages"
OWN = "groundwire"

_SHORTEST = 40
"""Characters; shorter docstrings name things and explain nothing."""

_KINDS = ("documentation", "docs", "homepage", "home", "repository", "source", "sourcecode", "code", "github")
_LEFT_OUT = frozenset(
    ("test", "tests", "testing", "vendor", "vendored", "conftest", "setup", "examples", "docs")
)
_NAME = re.compile(r"[-_.]+")


@value
class InstalledPackage:
    """A distribution with its normalised name."""

    key: str
    distribution: Distribution

    @property
    def title(self) -> str:
        """Name and version: shows whether a page is current."""
        return package_title(self.distribution)


def package_title(distribution: Distribution) -> str:
    """The title of the page about a distribution."""
    return f"{distribution.name} {distribution.version} — Python package"


def installed() -> list[InstalledPackage]:
    """The installed distributions by name; of two with one name the one that Python would import. Without
    groundwire itself, whose documentation has its own pages."""
    found: dict[str, InstalledPackage] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name:
            key = _NAME.sub("-", name).lower()
            found.setdefault(key, InstalledPackage(key, distribution))
    found.pop(OWN, None)
    return [found[key] for key in sorted(found)]


def package_pages(package: InstalledPackage, taken: set[str]) -> Iterator[Page]:
    """The page of a distribution and those of its documented modules. `taken` are the URLs of other packages:
    packages of one project share its URL, and the second one then gets its page on PyPI."""
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
    """The URL of a project: its documentation, else its homepage, its repository, its page on PyPI."""
    urls = {"homepage": _field(metadata, "Home-page")}
    for line in metadata.get_all("Project-URL") or ():
        label, _, address = line.partition(",")
        urls[re.sub(r"[^a-z]", "", label.lower())] = address.strip()
    for kind in _KINDS:
        if address := safe_url(urls.get(kind, "")):
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


def _fact(label: str, text: str) -> str:
    return f"{label}: {text}." if text else ""


def _short(text: str) -> str:
    """A license name; empty if the field has the whole license text."""
    return text if "\n" not in text and len(text) <= 60 else ""


def _required(metadata: PackageMetadata) -> list[str]:
    """Required distributions by name, without extras."""
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
