"""From bytes to pages: HTML, Markdown, reStructuredText, plain text and PDF.

Nothing here reaches for the network or another file, whatever a document asks for. The modules that know a
format are imported when a document of that format comes along.
"""

from __future__ import annotations

from groundwire.engine.pages import Page
from groundwire.engine.read.document import Document, Reading
from groundwire.transport.fetch import Fetched

__all__ = ["Document", "Reading", "document_of", "read", "read_bytes", "read_page"]


def read_page(fetched: Fetched) -> Page | None:
    """The page that was fetched; None if it is an error page, nothing to read, or not to be kept."""
    return read(document_of(fetched)).page if 200 <= fetched.status < 300 else None


def read_bytes(
    data: bytes, *, media_type: str, charset: str = "", url: str = "", title: str = ""
) -> Page | None:
    """The page that the bytes hold; None if they hold nothing to read."""
    return read(Document(data, media_type, url, charset, title)).page


def document_of(fetched: Fetched) -> Document:
    """What was fetched, ready to be read."""
    return Document(
        fetched.body, fetched.content_type, fetched.url, fetched.charset, headers=dict(fetched.headers)
    )


def read(document: Document) -> Reading:
    """The page, or why there is none."""
    from groundwire.engine.read.formats import PDF, is_other_data, kind_of  # noqa: PLC0415  seldom needed
    from groundwire.engine.read.pagemaking import make_page  # noqa: PLC0415

    kind = kind_of(document.data, document.media_type, document.url)
    if not kind:
        return Reading(why=f"not a document ({document.media_type or 'unknown type'})")
    if kind != PDF and is_other_data(document.data, document.charset):
        return Reading(why="it is called text, but holds other data")
    return make_page(document, kind)
