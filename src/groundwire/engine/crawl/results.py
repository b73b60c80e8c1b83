"""What becomes of everything that is looked at: a page, or a reason for none."""

from __future__ import annotations

from typing import TypeAlias

from groundwire.engine.pages import Page
from groundwire.engine.read.document import ReadResult
from groundwire.model.value import value


@value
class CrawledPage:
    """A page."""

    page: Page


@value
class SkippedSource:
    """No page."""

    where: str
    why: str
    network: bool = False
    """Was it the network, or somebody there?"""


CrawlResult: TypeAlias = CrawledPage | SkippedSource


@value
class CrawlOptions:
    """What is wanted of what is named."""

    base_url: str = ""
    """The web address of the folder or file that is named; empty where it has none."""
    as_html: bool = False
    """Do Markdown and reStructuredText stand there as .html?"""
    follow: bool = False
    """Are links followed?"""
    pages: int = 200
    """How many addresses of a site or sitemap are visited at most."""
    depth: int | None = None
    """How many links away from where it began."""


def crawl_result(reading: ReadResult, where: str) -> CrawlResult:
    """A reading as an outcome."""
    return SkippedSource(where, reading.why) if reading.page is None else CrawledPage(reading.page)
