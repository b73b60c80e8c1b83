"""Documents to read, their kinds (by media type, file name or content), and the results of reading."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.engine.outline import Block
from groundwire.engine.pages import Page
from groundwire.model.value import value

LONGEST_TEXT = 4_000_000
"""Code points of a page that are kept."""


@value
class Document:
    """Bytes with their metadata."""

    data: bytes
    media_type: str
    url: str = ""
    charset: str = ""
    title: str = ""
    """The title if the document has none: a file name."""
    headers: Mapping[str, str] = {}
    """Headers of the HTTP response, names in lower case."""
    is_complete: bool = False
    """Is everything read, also what is left out of an index: boxes, footers, hidden text, and pages that ask
    not to be indexed?"""


@value
class DocumentContent:
    """Text and metadata of a document."""

    text: str
    title: str = ""
    published: str = ""
    language: str = ""
    address: str = ""
    """The canonical URL it declares, if that is on the same host."""
    links: tuple[str, ...] = ()
    """URLs of its links, without those marked `nofollow`."""
    refusal: str = ""
    """Why it must not be indexed; empty if it may be."""
    outline: tuple[Block, ...] = ()
    """The blocks of the text."""
    aside: str = ""
    """If everything is read: visible text outside the main part, one block in a line."""
    hidden: str = ""
    """If everything is read: the text of hidden elements, one element in a line."""


@value
class ReadResult:
    """A page, or the reason why there is none; and the links of the document."""

    page: Page | None = None
    why: str = ""
    links: tuple[str, ...] = ()
    aside: str = ""
    """As in `DocumentContent`."""
    hidden: str = ""


HTML, MARKDOWN, REST, TEXT, PDF = "html", "markdown", "rest", "plain", "pdf"
CSV, DOCX, PPTX, EPUB = "csv", "docx", "pptx", "epub"
"""Kinds of documents."""

BINARY = frozenset((PDF, DOCX, PPTX, EPUB))
"""Kinds that are not text."""

_OFFICE = "application/vnd.openxmlformats-officedocument."

MEDIA_TYPES: Mapping[str, str] = {
    "text/html": HTML,
    "application/xhtml+xml": HTML,
    "text/markdown": MARKDOWN,
    "text/x-markdown": MARKDOWN,
    "text/x-rst": REST,
    "text/prs.fallenstein.rst": REST,
    "text/plain": TEXT,
    "application/pdf": PDF,
    "application/x-pdf": PDF,
    "text/csv": CSV,
    "text/tab-separated-values": CSV,
    f"{_OFFICE}wordprocessingml.document": DOCX,
    f"{_OFFICE}presentationml.presentation": PPTX,
    "application/epub+zip": EPUB,
}

SUFFIXES: Mapping[str, str] = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".rst": "text/x-rst",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".pdf": "application/pdf",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".docx": f"{_OFFICE}wordprocessingml.document",
    ".pptx": f"{_OFFICE}presentationml.presentation",
    ".epub": "application/epub+zip",
}

ACCEPT = ", ".join(("text/html", *(name for name in MEDIA_TYPES if name != "text/html")))
"""The `Accept` header of page requests."""

_BARE_NAMES = frozenset(
    ("readme", "license", "licence", "copying", "notice", "changelog", "changes", "news", "authors", "todo")
)
_SNIFFED_BYTES = 1024
_ZIP = b"PK\x03\x04"


def media_type_of(name: str) -> str:
    """The media type for a file name; empty if such files cannot be read."""
    name = name.lower()
    if name in _BARE_NAMES:
        return "text/plain"
    dot = name.rfind(".")
    return SUFFIXES.get(name[dot:], "") if dot > 0 else ""


def kind_of(data: bytes, media_type: str, url: str = "") -> str:
    """The kind of a document; empty if it cannot be read.

    What servers declare as plain text, or not at all, is often Markdown or PDF: then name and bytes decide.
    """
    if data[:_SNIFFED_BYTES].lstrip().startswith(b"%PDF-"):
        return PDF
    kind = MEDIA_TYPES.get(media_type, "")
    if kind == TEXT or media_type in ("", "application/octet-stream"):
        named = MEDIA_TYPES.get(media_type_of(_file_name(url)), "")
        if named in (MARKDOWN, REST, CSV) or (named in BINARY and data.startswith(_ZIP)):
            return named
        return kind or _sniff_kind(data)
    return kind


def _sniff_kind(data: bytes) -> str:
    head = data[:_SNIFFED_BYTES].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return HTML
    return "" if b"\0" in data[:_SNIFFED_BYTES] or not is_text(data) else TEXT


def is_text(data: bytes) -> bool:
    """Is it UTF-8 without zero bytes?"""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_other_data(data: bytes, charset: str = "") -> bool:
    """Is it binary data declared as text: too many zero bytes, and not UTF-16?"""
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff")) or charset.lower().startswith("utf-16")
    return not is_wide and data.count(0) * 1000 > len(data)


def _file_name(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].rpartition("/")[2]
