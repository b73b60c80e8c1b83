"""`groundwire index add python`: Python's documentation from a local copy, or from python.org."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import AsyncGenerator
from pathlib import Path

from groundwire.engine.crawl.results import CrawledPage, CrawlResult
from groundwire.engine.index.base import Index
from groundwire.engine.knowledge import DOCUMENTATION
from groundwire.engine.knowledge.build import remove_documented
from groundwire.engine.knowledge.documentation import (
    DocumentationCopy,
    archive_urls,
    file_pages,
    open_copy,
)
from groundwire.engine.knowledge.local_copy import local_copy
from groundwire.engine.pages import Page
from groundwire.errors import GroundwireError, RequestError, Unreachable
from groundwire.faces.cli.arguments import UsageError
from groundwire.transport.fetch import Fetcher

DOWNLOAD_SECONDS = 900.0
_LARGEST_ARCHIVE = 100_000_000
_ARCHIVE_TYPES = "application/zip, application/x-zip-compressed, application/octet-stream"


class PythonDocumentation:
    """One run of `index add python`: finds a copy, reads it, and removes what it replaces."""

    def __init__(self, arguments: Namespace, cwd: str, downloads: Path) -> None:
        if len(arguments.what) > 2:
            raise UsageError("`index add python` takes one path at most")
        self._path = Path(cwd, os.path.expanduser(arguments.what[1])) if len(arguments.what) > 1 else None
        running = f"{sys.version_info.major}.{sys.version_info.minor}"
        self._wanted: str = arguments.docs_version or ""
        self._version = self._wanted or running
        self._everything: bool = arguments.everything
        self._downloads = downloads
        self._archive: Path | None = None
        self._read: set[str] = set()

    async def outcomes(self, fetcher: Fetcher) -> AsyncGenerator[CrawlResult, None]:
        """Every page of the documentation."""
        copy = await self._open(fetcher)
        for path in copy.paths(everything=self._everything):
            for page in await asyncio.to_thread(_read, copy, path):
                self._read.add(page.url)
                yield CrawledPage(page)

    def finish(self, index: Index) -> None:
        """Removes pages of another version, docstrings that the documentation replaces, and the download."""
        gone = [info.url for info in index.pages(DOCUMENTATION) if info.url not in self._read]
        if gone:
            index.remove(urls=gone)
        remove_documented(index)
        if self._archive is not None:
            self._archive.unlink(missing_ok=True)

    async def _open(self, fetcher: Fetcher) -> DocumentationCopy:
        path = self._path or local_copy(self._version)
        if path is None:
            path = self._archive = await self._download(fetcher)
        copy = await asyncio.to_thread(open_copy, path)
        if self._wanted and copy.version != ".".join(self._wanted.split(".")[:2]):
            raise RequestError(f"{path} is the documentation of Python {copy.version}, not {self._wanted}.")
        return copy

    async def _download(self, fetcher: Fetcher) -> Path:
        """The archive, kept until all pages are stored: an interrupted run does not fetch it again."""
        path = self._downloads / f"python-{self._version}-docs-html.zip"
        if path.is_file():
            return path
        failure: GroundwireError | None = None
        for url in archive_urls(self._version):
            try:
                fetched = await fetcher.get(url, accept=_ARCHIVE_TYPES, limit=_LARGEST_ARCHIVE)
            except GroundwireError as error:
                failure = error
                continue
            if fetched.status == 200:
                self._downloads.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(".part")
                part.write_bytes(fetched.body)
                part.replace(path)
                return path
        why = failure.message if failure else "there is no archive of this version"
        raise Unreachable(
            f"The documentation of Python {self._version} could not be downloaded: {why}. "
            "Install Debian's python3-doc, or download the HTML archive from "
            f"https://docs.python.org/{self._version}/download.html and run "
            "`groundwire index add python PATH`."
        )


def _read(copy: DocumentationCopy, path: str) -> list[Page]:
    return file_pages(copy.read(path), path, copy.version)
