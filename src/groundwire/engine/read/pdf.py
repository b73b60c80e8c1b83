"""Reads PDF: the text of its pages.

A PDF has lines, not paragraphs: lines are joined again, words that are divided at the end of a line included.
Lines that are repeated at the top or at the bottom of the pages are left out.
"""

from __future__ import annotations

import io
import logging
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from groundwire.engine.read.document import LONGEST_TEXT, Document, DocumentContent
from groundwire.engine.read.html import HtmlBlock, joined
from groundwire.engine.read.normalise import clean, normal_date
from groundwire.engine.read.plain import plain_blocks

_MOST_PAGES = 2000
_TIMEOUT = 60.0
"""Seconds after which no further page is begun."""
_ENCRYPTED = "it is encrypted"
_BROKEN = "it is not a readable PDF"
_MARGIN_LINES = 3
"""Lines at the top and at the bottom of a page that may be a header or a footer."""
_LEAST_REPEATED = 3
"""Pages that must share a line before it is a header or a footer. Chosen: two may be a coincidence."""
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_DIVIDED = re.compile(r"([a-zäöüß])[-\u00ad]\n([a-zäöüß])")
_COLUMNS = re.compile(r"\t+| {2,}")
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
    text, outline = joined(_blocks("\n\n".join(_without_margins(list(_pages(reader, count))))))
    title, published = _about(reader)
    return DocumentContent(
        text,
        title=title,
        published=published,
        outline=outline,
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


def _without_margins(pages: Sequence[str]) -> Iterator[str]:
    """The pages without their headers and footers: first and last lines that most pages share, numbers
    aside."""
    lines = [[line.strip() for line in page.split("\n")] for page in pages]
    margins = Counter(key for page in lines for key in {*_margin_keys(page)})
    least = max(_LEAST_REPEATED, len(pages) / 2)
    for page in lines:
        kept = page
        while kept and margins[_margin_key(kept[0])] >= least:
            kept = kept[1:]
        while kept and margins[_margin_key(kept[-1])] >= least:
            kept = kept[:-1]
        yield "\n".join(kept or page)


def _margin_keys(page: Sequence[str]) -> Iterator[str]:
    return map(_margin_key, (*page[:_MARGIN_LINES], *page[-_MARGIN_LINES:]))


def _margin_key(line: str) -> str:
    return _NUMBER.sub("#", line)


def _blocks(text: str) -> Iterator[HtmlBlock]:
    """The blocks of the text, each paragraph on one line."""
    for block in plain_blocks(text):
        words = text[block.start : block.end]
        if block.kind not in ("code", "row"):
            words = " ".join(_DIVIDED.sub(r"\1\2", words).split())
        elif block.kind == "row":
            words = _COLUMNS.sub("\t", words)
        yield HtmlBlock(block.kind, words, level=block.level, number=block.number)


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
