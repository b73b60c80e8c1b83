"""Reads documents that are zip archives of XML: Word (docx), PowerPoint (pptx) and EPUB.

Only the parts with text are unpacked, each up to a limit, so that a small file cannot become a large one.
Entities are not expanded, and nothing outside the archive is opened.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import TypeAlias
from urllib.parse import unquote

from lxml import etree

from groundwire.engine.read.document import LONGEST_TEXT, Document, DocumentContent
from groundwire.engine.read.html import HtmlBlock, joined, parse, readable_blocks, two_letters
from groundwire.engine.read.normalise import decode, normal_date
from groundwire.model.value import replace

_LONGEST_PART = 20_000_000
"""Bytes of one unpacked part."""
_LONGEST_WHOLE = 60_000_000
"""Bytes of all unpacked parts together."""
_MOST_PARTS = 2000
_BROKEN = "it is not a readable document"
_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)
"""What `zipfile` raises for broken, encrypted or unusual archives."""

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_DCTERMS = "{http://purl.org/dc/terms/}"
_HEADING_STYLE = re.compile(r"heading (\d)$")
_SLIDE = re.compile(r"ppt/slides/slide(\d{1,4})\.xml")


class _TooLarge(ValueError):
    """The parts of an archive are larger than allowed when they are unpacked."""


class _Archive:
    """A zip archive whose parts are unpacked within limits."""

    def __init__(self, data: bytes) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(data))
        self._left = _LONGEST_WHOLE
        self.names = self._zip.namelist()[: 10 * _MOST_PARTS]

    def part(self, name: str) -> bytes:
        """The bytes of a part; empty if there is none."""
        try:
            with self._zip.open(name) as file:
                data = file.read(_LONGEST_PART + 1)
        except KeyError:
            return b""
        self._left -= len(data)
        if len(data) > _LONGEST_PART or self._left < 0:
            raise _TooLarge
        return data

    def xml(self, name: str) -> etree._Element | None:
        """The root element of a part; None if it is missing or not XML."""
        data = self.part(name)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)
        try:
            return etree.fromstring(data, parser) if data else None
        except etree.XMLSyntaxError:
            return None


_BlockReader: TypeAlias = Callable[[_Archive], Iterator[HtmlBlock]]


def read_docx(document: Document) -> DocumentContent:
    """Reads a Word document: paragraphs, headings by their style, lists and tables."""
    return _read(document, _docx_blocks)


def read_pptx(document: Document) -> DocumentContent:
    """Reads a PowerPoint presentation: slides in order, their titles as headings."""
    return _read(document, _pptx_blocks)


def read_epub(document: Document) -> DocumentContent:
    """Reads an EPUB: its chapters in reading order. Anchors inside the book lead nowhere and are dropped."""
    return _read(document, _epub_blocks)


def _read(document: Document, blocks_of: _BlockReader) -> DocumentContent:
    try:
        archive = _Archive(document.data)
        about = _about(archive)
        text, outline = joined(_limited(blocks_of(archive)))
    except _TooLarge:
        return DocumentContent("", refusal="it is too large when it is unpacked")
    except _ERRORS:
        return DocumentContent("", refusal=_BROKEN)
    heading = next((text[block.start : block.end] for block in outline if block.kind == "heading"), "")
    return replace(about, text=text, outline=outline, title=about.title or heading)


def _limited(blocks: Iterator[HtmlBlock]) -> Iterator[HtmlBlock]:
    length = 0
    for block in blocks:
        yield block
        length += len(block.text)
        if length > LONGEST_TEXT:
            return


def _about(archive: _Archive) -> DocumentContent:
    """Title, date and language from the metadata."""
    names = ("docProps/core.xml", *(name for name in archive.names if name.endswith(".opf")))
    root = next((root for name in names[:2] if (root := archive.xml(name)) is not None), None)
    if root is None:
        return DocumentContent("")
    dates = (_first(root, tag) for tag in (f"{_DCTERMS}modified", f"{_DC}date", f"{_DCTERMS}created"))
    return DocumentContent(
        "",
        title=_first(root, f"{_DC}title"),
        published=next(filter(None, map(normal_date, dates)), ""),
        language=two_letters(_first(root, f"{_DC}language")),
    )


def _first(root: etree._Element, tag: str) -> str:
    return next((" ".join((item.text or "").split()) for item in root.iter(tag)), "")


def _docx_blocks(archive: _Archive) -> Iterator[HtmlBlock]:
    root = archive.xml("word/document.xml")
    body = root.find(f"{_W}body") if root is not None else None
    levels = _heading_levels(archive)
    for element in body if body is not None else ():
        if element.tag == f"{_W}p":
            yield from _docx_paragraph(element, levels)
        elif element.tag == f"{_W}tbl":
            for number, row in enumerate(element.iter(f"{_W}tr")):
                cells = (" ".join(_docx_text(cell).split()) for cell in row.iterchildren(f"{_W}tc"))
                yield HtmlBlock("row", "\t".join(cells), level=int(number == 0))


def _heading_levels(archive: _Archive) -> dict[str, int]:
    """The levels of heading styles by their ids: ids are translated, the names of built-in styles are not."""
    levels: dict[str, int] = {"Title": 1}
    root = archive.xml("word/styles.xml")
    for style in root.iter(f"{_W}style") if root is not None else ():
        name = style.find(f"{_W}name")
        match = _HEADING_STYLE.match((name.get(f"{_W}val") or "").lower()) if name is not None else None
        if match:
            levels[style.get(f"{_W}styleId") or ""] = min(6, int(match[1]))
    return levels


def _docx_paragraph(paragraph: etree._Element, levels: dict[str, int]) -> Iterator[HtmlBlock]:
    text = _docx_text(paragraph).strip()
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    level = levels.get((style.get(f"{_W}val") or "") if style is not None else "", 0)
    if not text:
        return
    if level:
        yield HtmlBlock("heading", " ".join(text.split()), level=level)
    elif (depth := paragraph.find(f"{_W}pPr/{_W}numPr/{_W}ilvl")) is not None:
        digits = depth.get(f"{_W}val") or "0"
        yield HtmlBlock("item", text, level=1 + (int(digits) if digits.isdecimal() else 0))
    else:
        yield HtmlBlock("paragraph", text)


def _docx_text(element: etree._Element) -> str:
    """The text of all runs; deleted text is in other elements."""
    breaks = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}p": " "}
    return "".join(breaks.get(item.tag) or item.text or "" for item in element.iter(f"{_W}t", *breaks))


def _pptx_blocks(archive: _Archive) -> Iterator[HtmlBlock]:
    numbered = [(int(match[1]), name) for name in archive.names if (match := _SLIDE.fullmatch(name))]
    for _, name in sorted(numbered)[:_MOST_PARTS]:
        root = archive.xml(name)
        for shape in root.iter(f"{_P}sp", f"{_A}tbl") if root is not None else ():
            yield from _pptx_table(shape) if shape.tag == f"{_A}tbl" else _pptx_shape(shape)


def _pptx_shape(shape: etree._Element) -> Iterator[HtmlBlock]:
    placeholder = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    kind = placeholder.get("type", "body") if placeholder is not None else ""
    for paragraph in shape.iter(f"{_A}p"):
        text = _pptx_text(paragraph)
        if not text:
            continue
        if kind in ("title", "ctrTitle"):
            yield HtmlBlock("heading", text, level=2)
        elif kind == "body":
            about = paragraph.find(f"{_A}pPr")
            digits = about.get("lvl", "0") if about is not None else "0"
            yield HtmlBlock("item", text, level=1 + (int(digits) if digits.isdecimal() else 0))
        else:
            yield HtmlBlock("paragraph", text)


def _pptx_table(table: etree._Element) -> Iterator[HtmlBlock]:
    for number, row in enumerate(table.iterchildren(f"{_A}tr")):
        cells = (_pptx_text(cell) for cell in row.iterchildren(f"{_A}tc"))
        yield HtmlBlock("row", "\t".join(cells), level=int(number == 0))


def _pptx_text(element: etree._Element) -> str:
    runs = element.iter(f"{_A}t", f"{_A}br", f"{_A}p")
    return " ".join("".join((item.text or "") if item.tag == f"{_A}t" else " " for item in runs).split())


def _epub_blocks(archive: _Archive) -> Iterator[HtmlBlock]:
    for name in _chapters(archive)[:_MOST_PARTS]:
        root = parse(decode(archive.part(name), markup=True))
        for block in readable_blocks(root) if root is not None else ():
            yield replace(block, anchor="")


def _chapters(archive: _Archive) -> list[str]:
    """The names of the chapters in reading order, by the package document that the container names."""
    container = archive.xml("META-INF/container.xml")
    entry = next((item for item in container.iter("{*}rootfile")), None) if container is not None else None
    package = (entry.get("full-path") or "") if entry is not None else ""
    root = archive.xml(package) if package else None
    if root is None:
        return []
    folder = posixpath.dirname(package)
    files = {item.get("id"): item.get("href") or "" for item in root.iter("{*}item")}
    order = [files.get(item.get("idref"), "") for item in root.iter("{*}itemref")]
    return [posixpath.normpath(posixpath.join(folder, unquote(href))) for href in order if href]
