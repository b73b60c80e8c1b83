"""Word, PowerPoint and EPUB: the text in order with its structure, within limits."""

from __future__ import annotations

import io
import zipfile

import pytest

from groundwire.engine.outline import decode_outline
from groundwire.engine.pages import Page
from groundwire.engine.read import Document, ReadResult, read

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
EPUB = "application/epub+zip"

CORE = """<cp:coreProperties xmlns:cp="x" xmlns:dc="http://purl.org/dc/elements/1.1/"
xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Leave policy</dc:title><dc:language>de-AT</dc:language>
<dcterms:modified>2026-02-01T10:00:00Z</dcterms:modified></cp:coreProperties>"""
STYLES = (
    f'<w:styles xmlns:w="{W}"><w:style w:styleId="berschrift2">'
    '<w:name w:val="heading 2"/></w:style></w:styles>'
)
WORD = f"""<w:document xmlns:w="{W}"><w:body>
<w:p><w:pPr><w:pStyle w:val="berschrift2"/></w:pPr><w:r><w:t>Vacation</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Thirty </w:t></w:r><w:r><w:t>days</w:t><w:br/><w:t>a year.</w:t></w:r>
<w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>Ask</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr><w:r><w:t>Wait</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Kind</w:t></w:r></w:p></w:tc>
<w:tc><w:p><w:r><w:t>Days</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>Move</w:t></w:r></w:p></w:tc>
<w:tc><w:p><w:r><w:t>1</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
</w:body></w:document>"""


def slide(title: str, *lines: str) -> str:
    def shape(kind: str, words: str) -> str:
        paragraphs = f"<a:p><a:r><a:t>{words}</a:t></a:r></a:p>"
        about = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        return f"<p:sp>{about}<p:txBody>{paragraphs}</p:txBody></p:sp>"

    shapes = shape("title", title) + "".join(shape("body", line) for line in lines)
    return f'<p:sld xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'


def archive(**parts: str | bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return out.getvalue()


def reading(data: bytes, media_type: str) -> ReadResult:
    return read(Document(data, media_type, "https://a.example/file"))


def page_of(data: bytes, media_type: str) -> Page:
    page = reading(data, media_type).page
    assert page is not None
    return page


def kinds(page: Page) -> list[tuple[str, int]]:
    return [(block.kind, block.level) for block in decode_outline(page.outline)]


def test_a_word_document_is_read_with_its_structure() -> None:
    parts = {"word/document.xml": WORD, "word/styles.xml": STYLES, "docProps/core.xml": CORE}
    page = page_of(archive(**parts), DOCX)
    assert page.text == "Vacation\n\nThirty days\na year.\n\nAsk\nWait\n\nKind\tDays\nMove\t1"
    assert (page.title, page.language, page.published) == ("Leave policy", "de", "2026-02-01T10:00:00Z")
    assert kinds(page) == [("heading", 2), ("paragraph", 0), ("item", 1), ("item", 2), ("row", 1), ("row", 0)]


def test_the_slides_of_a_presentation_are_read_in_order() -> None:
    parts = {f"ppt/slides/slide{number}.xml": slide(f"Slide {number}", "one", "two") for number in (10, 2, 1)}
    page = page_of(archive(**parts), PPTX)
    assert page.text.split("\n\n") == ["Slide 1", "one\ntwo", "Slide 2", "one\ntwo", "Slide 10", "one\ntwo"]
    assert page.title == "Slide 1"


def book(chapter: str) -> dict[str, str | bytes]:
    return {
        "META-INF/container.xml": '<container><rootfile full-path="OPS/a.opf"/></container>',
        "OPS/a.opf": '<package><item id="b" href="two.xhtml"/><item id="a" href="one%20.xhtml"/>'
        '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="missing"/></spine></package>',
        "OPS/one .xhtml": "<html><body><h1 id='x'>First chapter</h1><p>It begins.</p></body></html>",
        "OPS/two.xhtml": chapter,
    }


def test_the_chapters_of_a_book_are_read_in_their_order() -> None:
    page = page_of(archive(**book("<html><body><h1>Second</h1><p>It ends.</p></body></html>")), EPUB)
    assert page.text == "First chapter\n\nIt begins.\n\nSecond\n\nIt ends."
    assert all(not block.anchor for block in decode_outline(page.outline))


def test_a_book_that_unpacks_to_too_much_is_refused() -> None:
    assert "too large" in reading(archive(**book("x" * 21_000_000)), EPUB).why


@pytest.mark.parametrize("media_type", [DOCX, PPTX, EPUB])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 broken",
        archive(),
        archive(**{"word/document.xml": "<not xml"}),
        b"PK\x05\x06" + b"\0" * 18,
    ],
)
def test_what_is_not_such_a_document_is_refused(data: bytes, media_type: str) -> None:
    result = reading(data, media_type)
    assert result.page is None
    assert result.why


def test_entities_are_not_expanded() -> None:
    body = "<w:body><w:p><w:r><w:t>&a;calm</w:t></w:r></w:p></w:body>"
    bomb = f'<!DOCTYPE d [<!ENTITY a "boom">]><w:document xmlns:w="{W}">{body}</w:document>'
    data = archive(**{"word/document.xml": bomb})
    page = reading(data, DOCX).page
    assert page is None or "boom" not in page.text


def test_a_file_is_known_by_its_name_if_it_is_an_archive() -> None:
    data = archive(**{"word/document.xml": WORD})
    assert read(Document(data, "application/octet-stream", "https://a.example/file.docx")).page is not None
    assert read(Document(data, "application/octet-stream", "https://a.example/file")).page is None


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_of_values_is_read_row_by_row(delimiter: str) -> None:
    text = f'Name{delimiter}Phone\r\n"Ada\nLovelace"{delimiter}12\r\nBob{delimiter}\r\n'
    page = page_of(text.encode(), "text/csv")
    assert page.text == "Name\tPhone\nAda Lovelace\t12\nBob"
    assert kinds(page) == [("row", 1), ("row", 0), ("row", 0)]
