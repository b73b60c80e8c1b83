"""Pages about installed distributions: their metadata, the docstrings of their modules, and documents.

Packages are not imported. Descriptions in Markdown are read as any document, with their structure; those in
reStructuredText are reduced to plain text, because its parser comes with an extra: directives, underlines and
link targets are removed. Docstrings are read from the first tokens of a file.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageMetadata, PackagePath, distributions
from pathlib import Path
from typing import NamedTuple, TypeAlias

from groundwire.engine.knowledge.addresses import LOCAL, PROJECTS
from groundwire.engine.knowledge.inventory import PART_OF
from groundwire.engine.knowledge.package_documents import is_package_document
from groundwire.engine.outline import Block, decode_outline, encode_outline
from groundwire.engine.pages import Page
from groundwire.engine.read import read_bytes
from groundwire.model.value import value

_Change: TypeAlias = tuple[re.Pattern[str], str]

LONGEST = 40_000
"""Characters; some descriptions contain the whole changelog."""

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
    (re.compile(r"\|[^|\n]+\|_?_?"), " "),
    (re.compile(r"^[ \t]*\|[ \t]*$", re.MULTILINE), ""),
    (re.compile(r"``([^`\n]+)``"), r"\1"),
    (re.compile(r"`([^`\n]+)`__?"), r"\1"),
    (re.compile(r"\b([A-Za-z][\w-]*[A-Za-z0-9])__?(?=[\s.,;:!?)]|$)"), r"\1"),
    (re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*"), r"\1"),
)
_SESSION = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n\$ .*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
"""A terminal session: its output states nothing."""
_BLANK = re.compile(r"\n\s*\n(?:\s*\n)+")
_MARKDOWN = "text/markdown"


class Readme(NamedTuple):
    """A description without markup, and its structure as far as it is known."""

    text: str
    outline: tuple[Block, ...] = ()


def read_readme(text: str, media_type: str) -> Readme:
    """Reads a description; without a media type it is reStructuredText, the default of PyPI."""
    text = text.replace("\r\n", "\n")
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition("\n")[0] or text[:LONGEST]
    media_type = media_type.partition(";")[0].strip().lower()
    if media_type == _MARKDOWN:
        page = read_bytes(_SESSION.sub("", text).encode(), media_type=_MARKDOWN, charset="utf-8")
        # Its own anchors are not those of the page that shows it.
        blocks = (block._replace(anchor="") for block in decode_outline(page.outline if page else ""))
        return Readme(page.text if page else "", tuple(blocks))
    return Readme(_BLANK.sub("\n\n", text if media_type == "text/plain" else _plain_rest(text)).strip())


def _plain_rest(text: str) -> str:
    for pattern, instead in _REST:
        text = pattern.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


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

_MEDIA_TYPES = {".md": "text/markdown", ".rst": "text/x-rst"}
_MOST_DOCUMENTS = 200
_LONGEST_HEADING = 100
_BETWEEN_PARTS = "\n\n"
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


def package_pages(package: InstalledPackage) -> Iterator[Page]:
    """The description of a distribution, its metadata, its documented modules and its documents."""
    metadata = package.distribution.metadata
    local = local_package_address(package)
    description = _description(metadata)
    if description.text:
        url = local if _is_unpublished(package.distribution) else pypi_address(package)
        yield readme_page(url, package.title, description, COLLECTION)
    title = (
        package.title
        if not description.text
        else f"{metadata['Name']} — license and requirements — {package.title}"
    )
    yield Page(f"{local}/metadata", title, _metadata_lines(metadata), language="en", collection=COLLECTION)
    for module, path in _modules(package.distribution):
        doc = file_docstring(path)
        if len(doc) >= _SHORTEST:
            title = f"{module} — {PART_OF}{metadata['Name']}"
            yield Page(f"{local}/{module}", title, doc, collection=COLLECTION)
    for file in _documents(package.distribution):
        yield from _document_pages(package, file)


def _documents(distribution: Distribution) -> list[PackagePath]:
    """The documents that are installed with a distribution."""
    found = (file for file in distribution.files or () if ".." not in file.parts)
    return [file for file in found if file.suffix in _MEDIA_TYPES and is_package_document(file)][
        :_MOST_DOCUMENTS
    ]


def _document_pages(package: InstalledPackage, file: PackagePath) -> Iterator[Page]:
    try:
        text = Path(str(package.distribution.locate_file(file))).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    readme = read_readme(text, _MEDIA_TYPES[file.suffix])
    if len(readme.text) >= _SHORTEST:
        name = package.distribution.metadata["Name"]
        title = f"{readme.text.partition(chr(10))[0][:_LONGEST_HEADING]} — {PART_OF}{name}"
        yield readme_page(f"{local_package_address(package)}/{file.as_posix()}", title, readme, COLLECTION)


def readme_page(url: str, title: str, readme: Readme, collection: str) -> Page:
    """A page with a description."""
    outline = encode_outline(readme.outline)
    return Page(url, title, readme.text, language="en", collection=collection, outline=outline)


def pypi_address(package: InstalledPackage) -> str:
    """The page of a published version, which shows its description."""
    return f"{PROJECTS}{package.key}/{package.distribution.version}/"


def local_package_address(package: InstalledPackage) -> str:
    """The address of what is installed."""
    return f"{LOCAL}packages/{package.key}/{package.distribution.version}"


def _is_unpublished(distribution: Distribution) -> bool:
    """Was it installed from a folder, a file or a repository, and not from an index of packages?"""
    return distribution.read_text("direct_url.json") is not None


def _description(metadata: PackageMetadata) -> Readme:
    """The summary, and what is written about it."""
    readme = read_readme(_field(metadata, "Description"), _field(metadata, "Description-Content-Type"))
    summary = _field(metadata, "Summary")
    if readme.text == "UNKNOWN":
        readme = Readme("")
    if summary in ("", "UNKNOWN"):
        return readme
    if not readme.text:
        return Readme(summary)
    before = len(summary) + len(_BETWEEN_PARTS)
    moved = (block._replace(start=block.start + before, end=block.end + before) for block in readme.outline)
    outline = (Block("paragraph", 0, len(summary)), *moved) if readme.outline else ()
    return Readme(f"{summary}{_BETWEEN_PARTS}{readme.text}", outline)


def _metadata_lines(metadata: PackageMetadata) -> str:
    """Lines of the metadata file as they are."""
    fields = ((name, text) for name in _FACTS for text in metadata.get_all(name) or ())
    return "\n".join(f"{name}: {text}" for name, text in fields if len(text) <= _LONGEST_FACT)


_FACTS = ("Name", "Version", "License-Expression", "License", "Requires-Python", "Requires-Dist")
_LONGEST_FACT = 100
"""Characters; the field `License` of some packages has the whole license."""


def _field(metadata: PackageMetadata, name: str) -> str:
    return next(iter(metadata.get_all(name) or ()), "")


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
