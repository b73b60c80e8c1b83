"""Reads PDF: the text of its pages."""

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
_TIMEOUT = 60.0
"""Seconds after which no further page is begun."""
_ENCRYPTED = "it is encrypted"
_BROKEN = "it is not a readable PDF"
# On broken input, the parser raises almost any exception.
_PARSER_ERRORS = (
    *(PyPdfError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(AssertionError, NotImplementedError, RecursionError, OSError),
)


def read_pdf(document: Document) -> DocumentContent:
    """Reads a PDF. Pages that cannot be read are left out; password-protected files are refused."""
    # pypdf logs every oddity of a file, by default to the terminal.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    try:
        reader = PdfReader(io.BytesIO(document.data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            return DocumentContent("", refusal=_ENCRYPTED)
        count = min(len(reader.pages), _MOST_PAGES)
    except DependencyError:
        return DocumentContent("", refusal=_ENCRYPTED)
    except _PARSER_ERRORS:
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
    ends = time.monotonic() + _TIMEOUT
    length = 0
    for number in range(count):
        try:
            text = clean(reader.pages[number].extract_text()).strip()
        except _PARSER_ERRORS:
            continue
        yield text
        length += len(text)
        if length > LONGEST_TEXT or time.monotonic() > ends:
            return


def _about(reader: PdfReader) -> tuple[str, str]:
    """Title and date, if the PDF has them."""
    try:
        about = reader.metadata
        if about is None:
            return "", ""
        made = about.creation_date
        return clean(about.title or ""), normal_date(made.date().isoformat()) if made else ""
    except _PARSER_ERRORS:
        return "", ""
