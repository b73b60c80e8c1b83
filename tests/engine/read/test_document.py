"""Selection of the reader for a document, and errors about missing libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from groundwire.engine.read import Document, read
from groundwire.engine.read.document import kind_of, media_type_of

pytestmark = pytest.mark.server


@pytest.mark.parametrize(
    ("data", "media_type", "url", "kind"),
    [
        (b"<p>x", "text/html", "https://a.example/x.md", "html"),
        (b"# x", "text/plain", "https://a.example/x.md?raw=1", "markdown"),
        (b"x", "text/plain", "https://a.example/x.rst#top", "rest"),
        (b"x", "text/plain", "https://a.example/x.html", "plain"),
        (b"x", "text/plain", "https://a.example/", "plain"),
        (b"\n<!DOCTYPE HTML><p>x", "", "", "html"),
        (b"<html>", "application/octet-stream", "", "html"),
        (b"plain words", "", "", "plain"),
        (b"\x89PNG\r\n\x1a\n\0\0", "", "", ""),
        (b"\xff\xfe\xfd", "", "", ""),
        (b"x", "image/png", "", ""),
        (b"{}", "application/json", "", ""),
        (b"%PDF-1.7", "text/html", "", "pdf"),
    ],
)
def test_media_type_name_and_bytes_decide(data: bytes, media_type: str, url: str, kind: str) -> None:
    assert kind_of(data, media_type, url) == kind


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.HTML", "text/html"),
        ("a.b.md", "text/markdown"),
        ("README", "text/plain"),
        ("a.py", ""),
        ("a", ""),
        (".md", ""),
    ],
)
def test_files_are_known_by_name(name: str, media_type: str) -> None:
    assert media_type_of(name) == media_type


def test_unreadable_documents_are_reported_with_their_type() -> None:
    assert read(Document(b"\x89PNG", "image/png")).why == "not a document (image/png)"
    assert read(Document(b"\0\1", "")).why == "not a document (unknown type)"


@pytest.mark.parametrize(
    ("library", "media_type"),
    [("docutils", "text/x-rst"), ("markdown_it", "text/markdown"), ("pypdf", "application/pdf")],
)
def test_a_missing_library_is_reported_with_what_to_do(library: str, media_type: str) -> None:
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from groundwire.engine.read import Document, read\n"
        f"print(read(Document(b'words', {media_type!r})).why)"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "reading it needs more: pip install 'groundwire[documents]'\n"


def test_nothing_heavy_is_imported_before_there_is_something_to_read() -> None:
    program = (
        "import sys\n"
        "import groundwire.engine.read\n"
        "heavy = {'lxml', 'docutils', 'markdown_it', 'pypdf', 'warcio'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)  # noqa: S603


@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown", "text/html"])
def test_other_data_under_the_name_of_a_text_is_not_read(media_type: str) -> None:
    data = bytes(range(256)) * 12
    assert read(Document(data, media_type)).why == "it is called text, but holds other data"


def test_utf_16_text_and_text_with_a_stray_nul_are_read() -> None:
    for data, charset in (
        ("Steam is hot.".encode("utf-16"), ""),
        ("Steam is hot.".encode("utf-16-le"), "utf-16le"),
        (b"Steam is hot. " * 200 + b"\0", ""),
    ):
        page = read(Document(data, "text/plain", charset=charset)).page
        assert page is not None
        assert page.text.startswith("Steam is hot.")
