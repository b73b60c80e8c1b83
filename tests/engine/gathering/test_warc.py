"""Web archives, written by the library's own writer."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from groundwire.engine.crawl.outcomes import Gathered
from tests.engine.gathering.gatherers import gather, reasons, urls
from tests.engine.reading.samples import ARTICLE, ARTICLE_TEXT, pdf


def write(path: Path, *, compressed: bool) -> None:
    with path.open("wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the writer leaves its temporary files open
        writer = WARCWriter(file, gzip=compressed)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "test"}))

        def record(
            url: str, body: bytes, kind: str = "text/html", status: str = "200 OK", **more: str
        ) -> None:
            headers = [
                ("Content-Type", kind),
                *((name.replace("_", "-"), text) for name, text in more.items()),
            ]
            http = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
            made = writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=http)
            writer.write_record(made)

        record("https://a.example/donau", ARTICLE.encode())
        record("https://a.example/gz", gzip.compress(b"<p>zipped words"), Content_Encoding="gzip")
        record("https://a.example/chunked", b"e\r\n<p>in chunks..\r\n0\r\n\r\n", Transfer_Encoding="chunked")
        record("https://a.example/latin", "<p>Köln".encode("latin-1"), 'text/html; charset="ISO-8859-1"')
        record("https://a.example/paper.pdf", pdf("words on paper"), "application/pdf")
        record("https://a.example/picture.png", b"\x89PNG", "image/png")
        record("https://a.example/gone", b"<p>not here", status="404 Not Found")
        record("https://a.example/empty", b"<p>")
        record("urn:x:y", b"<p>no web address")


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.WARC.gz"])
def test_pages_are_read_under_the_addresses_they_had(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, compressed=name.endswith("gz"))
    found = gather(tmp_path / name)
    assert urls(found)[1:] == [
        "https://a.example/gz",
        "https://a.example/chunked",
        "https://a.example/latin",
        "https://a.example/paper.pdf",
    ]
    assert reasons(found) == {"https://a.example/empty": "there is no text in it"}
    pages = [outcome.page for outcome in found if isinstance(outcome, Gathered)]
    assert pages[0].text == ARTICLE_TEXT
    assert [page.text for page in pages[1:]] == ["zipped words", "in chunks..", "Köln", "words on paper"]
    assert gather(tmp_path) == found


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz"])
def test_a_broken_archive_is_read_as_far_as_it_goes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, compressed=name.endswith("gz"))
    whole = path.read_bytes()
    counts = set()
    for cut in range(0, len(whole), max(1, len(whole) // 25)):
        path.write_bytes(whole[:cut])
        counts.add(len(urls(gather(path))))
    assert min(counts) == 0
    assert max(counts) >= 4
    path.write_bytes(b"this is no archive at all" * 100)
    assert urls(gather(path)) == []
    assert reasons(gather(path)) == {str(path): "it is no web archive, or an empty one"}


def test_a_missing_library_is_told_with_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "a.warc", compressed=False)
    program = (
        "import sys; sys.modules['warcio'] = None\n"
        "from pathlib import Path\n"
        "from groundwire.engine.crawl.warc import _outcomes\n"
        f"print([outcome.why for outcome in _outcomes(Path({str(tmp_path / 'a.warc')!r}))])"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "[\"reading it needs more: pip install 'groundwire[documents]'\"]"
