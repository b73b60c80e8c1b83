"""Runs a crawl in a test, without delays, and collects all outcomes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from groundwire.engine.crawl.crawler import Crawler, CrawlSource
from groundwire.engine.crawl.results import CrawledPage, CrawlOptions, CrawlResult, SkippedSource
from groundwire.engine.crawl.web import HostThrottle
from groundwire.errors import Unreachable
from groundwire.transport.fetch import Fetched, Fetcher

BOUND = 60.0


class Nowhere:
    """A fetcher without a network."""

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        raise Unreachable("there is no network")

    async def aclose(self) -> None:
        pass


def quick() -> HostThrottle:
    """A throttle without delays."""
    return HostThrottle(1_000_000.0)


def crawl(
    *whats: CrawlSource,
    fetcher: Fetcher | None = None,
    scope: CrawlOptions | None = None,
    kept: Path | None = None,
) -> list[CrawlResult]:
    """Crawl and return all outcomes."""

    async def run() -> list[CrawlResult]:
        used = fetcher or Nowhere()
        crawler = Crawler(used, scope or CrawlOptions(), kept=kept, pace=quick())
        try:
            async with asyncio.timeout(BOUND):
                found = [outcome async for outcome in crawler.outcomes(whats)]
            crawler.checkpoint()
            return found
        finally:
            await used.aclose()

    return asyncio.run(run())


def urls(outcomes: list[CrawlResult]) -> list[str]:
    """The URLs of the pages."""
    return [outcome.page.url for outcome in outcomes if isinstance(outcome, CrawledPage)]


def reasons(outcomes: list[CrawlResult]) -> dict[str, str]:
    """The reasons why other URLs were skipped."""
    return {outcome.where: outcome.why for outcome in outcomes if isinstance(outcome, SkippedSource)}
