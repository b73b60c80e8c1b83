"""Files and folders: all readable documents, each once, and none outside of the folder."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from groundwire.engine.crawl.crawler import collection_of, parse_source
from groundwire.engine.crawl.files import LARGEST_FILE, file_url
from groundwire.engine.crawl.results import CrawledPage, CrawlOptions
from groundwire.errors import RequestError
from tests.engine.crawl.crawlers import crawl, reasons, urls
from tests.engine.read.samples import ARTICLE, ARTICLE_TEXT, pdf

pytestmark = pytest.mark.server

ARTICLE_WITHOUT_CANONICAL = ARTICLE.replace('<link rel="canonical" href="/fluesse/donau">', "")
BASE = CrawlOptions(base_url="https://docs.example/team")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "handbook"
    (root / "guide").mkdir(parents=True)
    (root / "index.html").write_text(ARTICLE_WITHOUT_CANONICAL)
    (root / "guide" / "index.html").write_text(ARTICLE_WITHOUT_CANONICAL.replace("Donau", "Wolga"))
    (root / "guide" / "a b.md").write_text("# Ä\n\nwords")
    (root / "guide" / "notes.rst").write_text("Notes\n=====\n\nwords")
    (root / "paper.pdf").write_bytes(pdf("words"))
    (root / "README").write_text("Read me\n\nwords")
    (root / "logo.png").write_bytes(b"\x89PNG\0")
    (root / ".git").mkdir()
    (root / ".git" / "x.md").write_text("hidden")
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x.md").write_text("foreign")
    (root / ".hidden.md").write_text("hidden")
    return root


def test_a_folder_is_read_whole_with_its_addresses_on_the_web(folder: Path) -> None:
    found = crawl(folder, scope=BASE)
    assert urls(found) == [
        "https://docs.example/team/README",
        "https://docs.example/team/",
        "https://docs.example/team/paper.pdf",
        "https://docs.example/team/guide/a%20b.md",
        "https://docs.example/team/guide/",
        "https://docs.example/team/guide/notes.rst",
    ]
    assert reasons(found) == {str(folder / "logo.png"): "not a document (.png)"}
    assert {outcome.page.collection for outcome in found if isinstance(outcome, CrawledPage)} == {"handbook"}


def test_files_have_file_urls_without_a_base_url(folder: Path) -> None:
    assert f"file://{folder}/guide/a%20b.md" in urls(crawl(folder))


@pytest.mark.parametrize(
    ("path", "as_html", "address"),
    [
        ("a.md", False, "https://d.example/x/a.md"),
        ("a.md", True, "https://d.example/x/a.html"),
        ("b/a.rst", True, "https://d.example/x/b/a.html"),
        ("b/README.md", True, "https://d.example/x/b/"),
        ("b/README.md", False, "https://d.example/x/b/README.md"),
        ("b/index.rst", True, "https://d.example/x/b/"),
        ("INDEX.HTM", False, "https://d.example/x/"),
        ("a.html", True, "https://d.example/x/a.html"),
        ("javascript:x.md", False, "https://d.example/x/javascript%3Ax.md"),
        ("//a#b?c%d.txt", False, "https://d.example/x/a%23b%3Fc%25d.txt"),
        ("ü.txt", False, "https://d.example/x/%C3%BC.txt"),
    ],
)
def test_addresses_of_files(path: str, as_html: bool, address: str) -> None:
    root = Path("/root")
    where = root / path.lstrip("/")
    assert file_url(where, root, "https://d.example/x", as_html=as_html) == address
    assert file_url(where, root, "https://d.example/x/", as_html=as_html) == address


def test_links_lead_neither_in_circles_nor_outside(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("private words")
    (folder / "guide" / "loop").symlink_to(folder)
    (folder / "guide" / "again").symlink_to(folder / "guide")
    (folder / "out.md").symlink_to(outside)
    (folder / "dangling.md").symlink_to(folder / "nothing")
    found = crawl(folder, scope=BASE)
    assert len(urls(found)) == len(set(urls(found))) == 6
    assert reasons(found)[str(folder / "out.md")] == "a link out of the folder"
    assert reasons(found)[str(folder / "dangling.md")].startswith("cannot be read")


def test_special_files_do_not_block(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "pipe.warc")
    skipped = reasons(crawl(folder))
    assert skipped[str(folder / "pipe.md")] == "not a regular file"
    assert skipped[str(folder / "pipe.warc")] == "not a document (.warc)"
    assert reasons(crawl(folder / "pipe.warc")) == {str(folder / "pipe.warc"): "not a regular file"}


def test_files_that_are_too_large_are_reported(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    assert reasons(crawl(tmp_path)) == {str(tmp_path / "big.txt"): "larger than 20 MB"}


def test_a_file_that_is_named_is_looked_into_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "words.log").write_text("some words")
    (tmp_path / "page").write_text(ARTICLE_WITHOUT_CANONICAL)
    (tmp_path / "blob").write_bytes(b"\0\1\2")
    found = crawl(tmp_path / "words.log", tmp_path / "page", tmp_path / "blob", scope=BASE)
    assert urls(found) == ["https://docs.example/team/words.log", "https://docs.example/team/page"]
    assert reasons(found) == {str(tmp_path / "blob"): "not a document (unknown type)"}


def test_file_names_of_any_bytes_are_accepted(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff\x1b[31m.txt", "wb") as file:
        file.write(b"words in a strange file")
    (outcome,) = crawl(tmp_path, scope=BASE)
    assert isinstance(outcome, CrawledPage)
    assert outcome.page.url == "https://docs.example/team/%FF%1B%5B31m.txt"
    outcome.page.title.encode("utf-8")
    assert "\x1b" not in outcome.page.title


def test_sources_are_parsed_as_files_or_urls(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    assert parse_source("a.md", str(tmp_path)) == tmp_path / "a.md"
    assert parse_source("HTTPS://a.example/x#y") == "HTTPS://a.example/x"
    for text in ("nothing.md", "ftp://a.example/", "https://", "http://user:pass@a.example/"):
        with pytest.raises(RequestError):
            parse_source(text, str(tmp_path))
    assert collection_of(tmp_path / "a.md") == tmp_path.name
    assert collection_of("https://Docs.example:8443/x") == "docs.example:8443"


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
    found = crawl(tmp_path / name)
    assert urls(found)[1:] == [
        "https://a.example/gz",
        "https://a.example/chunked",
        "https://a.example/latin",
        "https://a.example/paper.pdf",
    ]
    assert reasons(found) == {"https://a.example/empty": "there is no text in it"}
    pages = [outcome.page for outcome in found if isinstance(outcome, CrawledPage)]
    assert pages[0].text == ARTICLE_TEXT
    assert [page.text for page in pages[1:]] == ["zipped words", "in chunks..", "Köln", "words on paper"]
    assert crawl(tmp_path) == found


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz"])
def test_a_broken_archive_is_read_up_to_the_damage(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, compressed=name.endswith("gz"))
    whole = path.read_bytes()
    counts = set()
    for cut in range(0, len(whole), max(1, len(whole) // 25)):
        path.write_bytes(whole[:cut])
        counts.add(len(urls(crawl(path))))
    assert min(counts) == 0
    assert max(counts) >= 4
    path.write_bytes(b"this is no archive at all" * 100)
    assert urls(crawl(path)) == []
    assert reasons(crawl(path)) == {str(path): "not a web archive, or an empty one"}


def test_a_missing_library_is_reported_with_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "a.warc", compressed=False)
    program = (
        "import sys; sys.modules['warcio'] = None\n"
        "from pathlib import Path\n"
        "from groundwire.engine.crawl.files import _outcomes\n"
        f"print([outcome.why for outcome in _outcomes(Path({str(tmp_path / 'a.warc')!r}))])"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "[\"reading it needs more: pip install 'groundwire[documents]'\"]"
