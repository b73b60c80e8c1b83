"""PDF: the text of its pages, one after the other."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Iterator

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from groundwire.engine.read.document import LONGEST_TEXT, Document, DocumentContent
from groundwire.engine.read.normalise import clean, normal_date

_MOST_PAGES = 2000
_PATIENCE = 60.0
"""Seconds after which no further page is begun."""
_ENCRYPTED = "it is encrypted"
_BROKEN = "it is no PDF that can be read"
# Its parser meets whatever bytes there are with whatever Python raises for them.
_STUMBLES = (
    *(PyPdfError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(AssertionError, NotImplementedError, RecursionError, OSError),
)


def read_pdf(document: Document) -> DocumentContent:
    """What stands in it. Pages that cannot be read are left out; a password is not asked for."""
    # It reports each oddity of a file to whoever listens, which by default is the terminal.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    try:
        reader = PdfReader(io.BytesIO(document.data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            return DocumentContent("", refusal=_ENCRYPTED)
        count = min(len(reader.pages), _MOST_PAGES)
    except DependencyError:
        return DocumentContent("", refusal=_ENCRYPTED)
    except _STUMBLES:
        return DocumentContent("", refusal=_BROKEN)
    text = "\n\n".join(filter(None, _pages(reader, count)))
    title, published = _about(reader)
    return DocumentContent(
        text,
        title=title,
        published=published,
        refusal="" if text else "there is no text in it (scanned pages?)",
    )


def _pages(reader: PdfReader, count: int) -> Iterator[str]:
    ends = time.monotonic() + _PATIENCE
    length = 0
    for number in range(count):
        try:
            text = clean(reader.pages[number].extract_text()).strip()
        except _STUMBLES:
            continue
        yield text
        length += len(text)
        if length > LONGEST_TEXT or time.monotonic() > ends:
            return


def _about(reader: PdfReader) -> tuple[str, str]:
    """Title and date, where it gives them."""
    try:
        about = reader.metadata
        if about is None:
            return "", ""
        made = about.creation_date
        return clean(about.title or ""), normal_date(made.date().isoformat()) if made else ""
    except _STUMBLES:
        return "", ""
