"""Results of a crawl: a page, or a source that was skipped and the reason."""

from __future__ import annotations

from typing import TypeAlias

from groundwire.engine.pages import Page
from groundwire.engine.read.document import ReadResult
from groundwire.model.value import value


@value
class CrawledPage:
    """A page that was read."""

    page: Page


@value
class SkippedSource:
    """A URL or file without a page."""

    where: str
    why: str
    network: bool = False
    """Did the network or the server fail?"""


@value
class UnchangedFile:
    """A file that is as it was when its pages were stored."""

    pages: int


@value
class RemovedFile:
    """A file that no longer exists, with the URLs of its pages."""

    urls: tuple[str, ...]


CrawlResult: TypeAlias = CrawledPage | SkippedSource | UnchangedFile | RemovedFile


@value
class CrawlOptions:
    """Options of a crawl."""

    base_url: str = ""
    """The web URL of the named folder or file; empty if it has none."""
    as_html: bool = False
    """Are Markdown and reStructuredText published as .html there?"""
    follow: bool = False
    """Are links followed?"""
    pages: int = 200
    """The most URLs of a site or sitemap to visit."""
    depth: int | None = None
    """The most links to follow from the start page."""


def crawl_result(reading: ReadResult, where: str) -> CrawlResult:
    """Wraps the result of reading a document."""
    return SkippedSource(where, reading.why) if reading.page is None else CrawledPage(reading.page)
