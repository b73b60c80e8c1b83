"""PDF documents are read page by page, or refused with a reason."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader, PdfWriter

from groundwire.engine.read import Document, ReadResult, read
from groundwire.engine.read.pdf import _blocks, _without_margins
from tests.engine.read.samples import pdf


def reading_of(data: bytes, media_type: str = "application/pdf") -> ReadResult:
    return read(Document(data, media_type, "https://a.example/paper.pdf"))


def test_pages_are_read_one_after_the_other() -> None:
    page = reading_of(pdf("The first page, caf\xe9.", "The second page.", title="A paper")).page
    assert page is not None
    assert page.text == "The first page, café.\n\nThe second page."
    assert (page.title, page.published) == ("A paper", "2023-04-05")


def test_the_text_is_that_of_the_library() -> None:
    data = pdf(*(f"Page number {number} says something of its own." for number in range(30)))
    page = reading_of(data).page
    assert page is not None
    assert page.text.split("\n\n") == [leaf.extract_text() for leaf in PdfReader(io.BytesIO(data)).pages]
    assert page.title == "paper.pdf"


@pytest.mark.parametrize("media_type", ["application/octet-stream", "", "text/plain"])
def test_a_pdf_is_known_by_how_it_begins(media_type: str) -> None:
    assert reading_of(pdf("words"), media_type).page is not None


def encrypted(password: str) -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("secret words")))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")  # noqa: S106
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_an_encrypted_file_is_refused_unless_its_password_is_empty() -> None:
    assert reading_of(encrypted("sesame")).why == "it is encrypted"
    page = reading_of(encrypted("")).page
    assert page is not None
    assert page.text == "secret words"


def test_pages_without_text_are_refused_with_a_reason() -> None:
    assert reading_of(pdf("")).why == "there is no text in it (scanned pages?)"


@pytest.mark.parametrize("cut", range(0, 900, 75))
def test_a_truncated_file_is_read_up_to_its_end_or_refused(
    cut: int, capfd: pytest.CaptureFixture[str]
) -> None:
    reading = reading_of(b"%PDF-1.4\n" + pdf("words words words")[9:cut])
    assert reading.page is not None or reading.why in (
        "it is not a readable PDF",
        "there is no text in it (scanned pages?)",
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("offset", range(20, 560, 20))
def test_a_damaged_file_is_read_or_refused(offset: int, capfd: pytest.CaptureFixture[str]) -> None:
    data = bytearray(pdf("words words words"))
    data[offset : offset + 8] = b"<<[(99 0"
    reading = reading_of(bytes(data))
    assert (reading.page is None) == bool(reading.why)
    assert capfd.readouterr() == ("", "")


def test_headers_and_footers_are_left_out_and_lines_are_joined() -> None:
    bodies = ("Apples grow on trees", "Bread is baked", "Cheese is made of milk", "Dates are sweet")
    pages = [
        f"ACME handbook\n{body} and this line is wrapped in the mid-\ndle of a word.\n"
        f"{body} again.\nPage {number}"
        for number, body in enumerate(bodies, 1)
    ]
    text = " ".join(block.text for block in _blocks("\n\n".join(_without_margins(pages))))
    assert text == " ".join(
        f"{body} and this line is wrapped in the middle of a word. {body} again." for body in bodies
    )
