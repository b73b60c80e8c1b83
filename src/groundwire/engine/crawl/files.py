"""Crawls files, folders and web archives (WARC). Links are not followed out of the folder or in circles."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

from groundwire.engine.crawl.file_record import FileRecord, state_of
from groundwire.engine.crawl.package_archive import crawl_package_archive, is_package_archive
from groundwire.engine.crawl.results import (
    CrawledPage,
    CrawlOptions,
    CrawlResult,
    RemovedFile,
    SkippedSource,
    UnchangedFile,
    crawl_result,
)
from groundwire.engine.read import Document, document_of, missing_extra
from groundwire.engine.read.document import MEDIA_TYPES, media_type_of
from groundwire.engine.read.normalise import decode
from groundwire.engine.read.sandbox import read_isolated
from groundwire.text.urls import safe_url
from groundwire.transport.fetch import Fetched, media_of
from groundwire.transport.threads import run_in_thread

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_INDEXES = frozenset(("index.html", "index.htm", "index.xhtml"))
_SOURCES = (".md", ".markdown", ".rst")
_SOURCE_INDEXES = frozenset(("readme.md", "readme.rst", "index.md", "index.rst"))


def file_url(path: Path, root: Path, base_url: str, *, as_html: bool = False) -> str:
    """The URL of a file below a root. An index page has the URL of its folder.

    With `as_html`, Markdown and reStructuredText get the URL of the page they are rendered to.
    """
    if not base_url:
        return "file://" + quote(os.fsencode(path.absolute()))
    base = base_url if base_url.endswith("/") else base_url + "/"
    folder, name = os.path.split(path.relative_to(root))
    if name.lower() in _INDEXES or (as_html and name.lower() in _SOURCE_INDEXES):
        name = ""
    elif as_html and name.lower().endswith(_SOURCES):
        name = os.path.splitext(name)[0] + ".html"
    relative = "/".join(filter(None, folder.split(os.sep))) + ("/" if folder else "") + name
    # A colon in the first part would make it a scheme.
    return urljoin(base, "./" + quote(os.fsencode(relative)))


_LARGEST_RECORD = 20_000_000


def is_warc(name: str) -> bool:
    """By its name."""
    return name.lower().endswith((".warc", ".warc.gz"))


async def crawl_warc(path: Path) -> AsyncGenerator[CrawlResult, None]:
    """Every page of a web archive; images and the like are left out without a report."""
    outcomes = _outcomes(path)
    while True:
        outcome = await run_in_thread(lambda: next(outcomes, None))
        if outcome is None:
            return
        yield outcome


def _outcomes(path: Path) -> Iterator[CrawlResult]:
    for found in _records(path):
        yield (
            found
            if isinstance(found, SkippedSource)
            else crawl_result(read_isolated(document_of(found)), found.url)
        )


def _records(path: Path) -> Iterator[Fetched | SkippedSource]:
    """The recorded responses that may contain a page."""
    where = os.fsencode(path).decode("utf-8", "replace")
    try:
        from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415  comes with an extra
        from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415
        from warcio.statusandheaders import StatusAndHeadersParserException  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not (why := missing_extra(error)):
            raise
        yield SkippedSource(where, why)
        return
    # On broken input, the parser raises almost any exception.
    broken = (
        *(ArchiveLoadFailed, StatusAndHeadersParserException, zlib.error, ValueError, EOFError),
        *(AttributeError, TypeError, LookupError),
    )
    try:
        with path.open("rb") as file:
            any_record = False
            for record in ArchiveIterator(file):
                # The older ARC format has no magic number: warcio takes any line of five words for it.
                if record.format != "warc":
                    continue
                any_record = True
                if (fetched := _page_in(record)) is not None:
                    yield fetched
        if not any_record:
            yield SkippedSource(where, "not a web archive, or an empty one")
    except OSError as error:
        yield SkippedSource(where, f"cannot be read: {error.strerror or error}")
    except broken:
        yield SkippedSource(where, "it is broken from there on")


def _page_in(record: ArcWarcRecord) -> Fetched | None:
    """The response of a record; None if it is not a page."""
    url = safe_url(record.rec_headers.get_header("WARC-Target-URI") or "")
    if record.rec_type not in ("response", "resource") or not url:
        return None
    fetched = _fetched(record, url)
    usable = 200 <= fetched.status < 300 and fetched.content_type in MEDIA_TYPES
    return fetched if usable else None


def _fetched(record: ArcWarcRecord, url: str) -> Fetched:
    """The record as a fetched response."""
    http = record.http_headers
    if http is None:
        status, headers = 200, {"content-type": record.rec_headers.get_header("Content-Type") or ""}
    else:
        code = http.get_statuscode()
        status = int(code) if code.isdecimal() else 0
        headers = {name.lower(): text for name, text in http.headers}
    media_type, charset = media_of(headers.get("content-type", ""))
    body = record.content_stream().read(_LARGEST_RECORD) if media_type in MEDIA_TYPES else b""
    return Fetched(url, status, media_type, charset, body, tuple(headers.items()))


LARGEST_FILE = 20_000_000
_IGNORED = frozenset(("CVS", "node_modules", "__pycache__"))
"""Folders without documents. Hidden folders, such as `.git`, are never entered."""


async def crawl_path(
    path: Path, scope: CrawlOptions, record: FileRecord | None = None
) -> AsyncGenerator[CrawlResult, None]:
    """Crawls a file, or all files below a folder; with a record, only files that have changed."""
    if path.is_dir():
        for found in _walk(path):
            if isinstance(found, SkippedSource):
                yield found
            elif record is not None and (pages := record.unchanged(found)) is not None:
                yield UnchangedFile(pages)
            else:
                async for outcome in _gather_changed(found, path, scope, record):
                    yield outcome
        for urls in record.removed() if record is not None else ():
            yield RemovedFile(urls)
    else:
        async for outcome in _gather_file(path, path.parent, scope, named=True):
            yield outcome


async def _gather_changed(
    path: Path, root: Path, scope: CrawlOptions, record: FileRecord | None
) -> AsyncGenerator[CrawlResult, None]:
    """A file of a folder, which is recorded when it was read."""
    state, urls = state_of(path), []
    async for outcome in _gather_file(path, root, scope, named=False):
        if isinstance(outcome, CrawledPage):
            urls.append(outcome.page.url)
        yield outcome
    if record is not None:
        record.add(path, state, tuple(urls))


async def _gather_file(
    path: Path, root: Path, scope: CrawlOptions, *, named: bool
) -> AsyncGenerator[CrawlResult, None]:
    """A file that the user named is read whatever its name; others only if their suffix is known."""
    if is_warc(path.name) and path.is_file():
        async for outcome in crawl_warc(path):
            yield outcome
        return
    if named and is_package_archive(path.name) and path.is_file():
        async for outcome in crawl_package_archive(path, scope):
            yield outcome
        return
    media_type = media_type_of(path.name)
    if not media_type and not named:
        yield SkippedSource(shown(path), f"not a document ({path.suffix.lower() or 'no ending'})")
        return
    address = file_url(path, root, scope.base_url, as_html=scope.as_html)
    yield await run_in_thread(lambda: _read_file(path, media_type, address))


def _read_file(path: Path, media_type: str, address: str) -> CrawlResult:
    data = _bytes(path)
    if isinstance(data, SkippedSource):
        return data
    title = decode(os.fsencode(path.name), "utf-8")
    return crawl_result(read_isolated(Document(data, media_type, address, title=title)), shown(path))


def _bytes(path: Path) -> bytes | SkippedSource:
    try:
        # Opening a pipe must not block until a writer opens it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return SkippedSource(shown(path), "not a regular file")
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        return SkippedSource(shown(path), f"cannot be read: {error.strerror or 'input/output error'}")
    if len(data) > LARGEST_FILE:
        return SkippedSource(shown(path), f"larger than {LARGEST_FILE // 1_000_000} MB")
    return data


def _walk(root: Path) -> Iterator[Path | SkippedSource]:
    """Files below a folder, sorted by name; each folder once, however many links point to it."""
    top = os.path.realpath(root)
    waiting = [root]
    entered: set[tuple[int, int]] = set()
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield SkippedSource(shown(folder), f"cannot be read: {error.strerror}")
            continue
        if (status.st_dev, status.st_ino) in entered:
            continue
        entered.add((status.st_dev, status.st_ino))
        inner: list[Path] = []
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _IGNORED:
                continue
            path = Path(entry.path)
            if entry.is_symlink() and not _is_below(path, top):
                yield SkippedSource(shown(path), "a link out of the folder")
            elif entry.is_dir():
                inner.append(path)
            else:
                yield path
        waiting += reversed(inner)


def _is_below(path: Path, top: str) -> bool:
    target = os.path.realpath(path)
    return target == top or target.startswith(top.rstrip(os.sep) + os.sep)


def shown(path: Path) -> str:
    """The path as text, whatever its bytes."""
    return os.fsencode(path).decode("utf-8", "replace")
