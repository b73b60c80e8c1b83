"""What reading begins and ends with: bytes from somewhere, and a page or the reason for none."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.engine.pages import Page
from groundwire.model.value import value

LONGEST_TEXT = 4_000_000
"""Code points of a page that are kept."""


@value
class Document:
    """Bytes, and what is known about them."""

    data: bytes
    media_type: str
    url: str = ""
    charset: str = ""
    title: str = ""
    """What it is called where it does not say so itself: a file's name."""
    headers: Mapping[str, str] = {}
    """Of the response it came in; lower-case names."""


@value
class DocumentContent:
    """What stands in a document."""

    text: str
    title: str = ""
    published: str = ""
    language: str = ""
    address: str = ""
    """Where it says it belongs, if that is the same host."""
    links: tuple[str, ...] = ()
    """Web addresses it leads to, without those it asks not to follow."""
    refusal: str = ""
    """Why it must not be kept."""


@value
class ReadResult:
    """A page, or why there is none; and where its links lead."""

    page: Page | None = None
    why: str = ""
    links: tuple[str, ...] = ()


HTML, MARKDOWN, REST, TEXT, PDF = "html", "markdown", "rest", "plain", "pdf"
"""Kinds of documents."""

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
}

ACCEPT = ", ".join(("text/html", *(name for name in MEDIA_TYPES if name != "text/html")))
"""What a server is asked for."""

_BARE_NAMES = frozenset(
    ("readme", "license", "licence", "copying", "notice", "changelog", "changes", "news", "authors", "todo")
)
_LOOKED_AT = 1024


def media_type_of(name: str) -> str:
    """By the name of a file; empty if nothing of its kind can be read."""
    name = name.lower()
    if name in _BARE_NAMES:
        return "text/plain"
    dot = name.rfind(".")
    return SUFFIXES.get(name[dot:], "") if dot > 0 else ""


def kind_of(data: bytes, media_type: str, url: str = "") -> str:
    """The kind of a document; empty if nobody here can read it.

    What a server calls plain text or nothing at all is often Markdown or a PDF: then name and bytes decide.
    """
    if data[:_LOOKED_AT].lstrip().startswith(b"%PDF-"):
        return PDF
    kind = MEDIA_TYPES.get(media_type, "")
    if kind == TEXT or media_type in ("", "application/octet-stream"):
        named = MEDIA_TYPES.get(media_type_of(_file_name(url)), "")
        return named if named in (MARKDOWN, REST) else kind or _by_looks(data)
    return kind


def _by_looks(data: bytes) -> str:
    head = data[:_LOOKED_AT].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return HTML
    return "" if b"\0" in data[:_LOOKED_AT] or not is_text(data) else TEXT


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
    """Is it called text and none: too many zero bytes, and not because each sign takes two bytes?"""
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff")) or charset.lower().startswith("utf-16")
    return not is_wide and data.count(0) * 1000 > len(data)


def _file_name(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].rpartition("/")[2]
