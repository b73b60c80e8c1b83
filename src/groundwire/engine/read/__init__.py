"""Turns bytes into pages: HTML, Markdown, reStructuredText, plain text, CSV, PDF, Word, PowerPoint and EPUB.

Reading never opens the network or another file, whatever a document refers to. Parsers are imported when the
first document of their format is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from urllib.parse import unquote

from groundwire.engine.outline import clip, encode_outline
from groundwire.engine.pages import Page
from groundwire.engine.read.document import (
    BINARY,
    CSV,
    DOCX,
    EPUB,
    HTML,
    LONGEST_TEXT,
    MARKDOWN,
    PDF,
    PPTX,
    REST,
    TEXT,
    Document,
    DocumentContent,
    ReadResult,
    is_other_data,
    kind_of,
)
from groundwire.engine.read.normalise import clean
from groundwire.transport.fetch import Fetched

__all__ = ["Document", "ReadResult", "document_of", "read", "read_bytes", "read_page"]

_READERS: Mapping[str, tuple[str, str]] = {
    HTML: ("html", "read_html"),
    MARKDOWN: ("text", "read_markdown"),
    REST: ("text", "read_rest"),
    TEXT: ("text", "read_plain"),
    CSV: ("text", "read_csv"),
    PDF: ("pdf", "read_pdf"),
    DOCX: ("archive", "read_docx"),
    PPTX: ("archive", "read_pptx"),
    EPUB: ("archive", "read_epub"),
}
"""Module and function that read a kind of document."""

_INSTALL_EXTRA = "reading it needs more: pip install 'groundwire[documents]'"
_EXTRAS = frozenset(("docutils", "markdown_it", "pypdf", "warcio"))
_LONGEST_TITLE = 300


def read_page(fetched: Fetched) -> Page | None:
    """Reads a fetched page; None if it is an error page, has no text, or asks not to be indexed."""
    return read(document_of(fetched)).page if 200 <= fetched.status < 300 else None


def read_bytes(
    data: bytes, *, media_type: str, charset: str = "", url: str = "", title: str = ""
) -> Page | None:
    """Reads a page from bytes; None if there is no text in them."""
    return read(Document(data, media_type, url, charset, title)).page


def document_of(fetched: Fetched) -> Document:
    """Wraps an HTTP response as a document to read."""
    return Document(
        fetched.body, fetched.content_type, fetched.url, fetched.charset, headers=dict(fetched.headers)
    )


def read(document: Document) -> ReadResult:
    """Reads a document: the page, or the reason why there is none."""
    kind = kind_of(document.data, document.media_type, document.url)
    if not kind:
        return ReadResult(why=f"not a document ({document.media_type or 'unknown type'})")
    if kind not in BINARY and is_other_data(document.data, document.charset):
        return ReadResult(why="it is called text, but holds other data")
    try:
        content = _read_content(document, kind)
    except ModuleNotFoundError as error:
        if why := missing_extra(error):
            return ReadResult(why=why)
        raise
    if content.refusal and not document.is_complete:
        return ReadResult(why=content.refusal, links=content.links)
    text = clean(content.text[:LONGEST_TEXT]).strip("\n").rstrip()
    if not text.strip():
        return ReadResult(why="there is no text in it", links=content.links)
    title = " ".join(clean(content.title or document.title).split())[:_LONGEST_TITLE]
    page = Page(
        url=content.address or document.url,
        title=title or _file_name(document.url),
        text=text,
        published=content.published,
        language=content.language,
        # Readers return clean text; offsets in a text that had to be cleaned again would be wrong.
        outline=encode_outline(clip(content.outline, 0, len(text))) if content.text.startswith(text) else "",
    )
    return ReadResult(page, links=content.links, aside=clean(content.aside), hidden=clean(content.hidden))


def missing_extra(error: ModuleNotFoundError) -> str:
    """How to install the missing parser; empty if the missing module is not one of the extra's."""
    return _INSTALL_EXTRA if (error.name or "").partition(".")[0] in _EXTRAS else ""


def _read_content(document: Document, kind: str) -> DocumentContent:
    module, function = _READERS[kind]
    content: DocumentContent = getattr(import_module(f"groundwire.engine.read.{module}"), function)(document)
    return content


def _file_name(url: str) -> str:
    return unquote(url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2])
