"""Gathering in a test: all outcomes at once, at no pace."""

from __future__ import annotations

import asyncio
from pathlib import Path

from groundwire.engine.crawl.outcomes import Gathered, Outcome, Scope, Skipped
from groundwire.engine.crawl.pace import Pace
from groundwire.engine.crawl.sources import Gathering, What
from groundwire.errors import Unreachable
from groundwire.transport.fetch import Fetched, Fetcher

BOUND = 60.0


class Nowhere:
    """A fetcher without a network."""

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        raise Unreachable("there is no network")

    async def aclose(self) -> None:
        pass


def quick() -> Pace:
    """As fast as it goes."""
    return Pace(1_000_000.0)


def gather(
    *whats: What, fetcher: Fetcher | None = None, scope: Scope | None = None, kept: Path | None = None
) -> list[Outcome]:
    """All outcomes."""

    async def run() -> list[Outcome]:
        used = fetcher or Nowhere()
        gathering = Gathering(used, scope or Scope(), kept=kept, pace=quick())
        try:
            async with asyncio.timeout(BOUND):
                found = [outcome async for outcome in gathering.outcomes(whats)]
            gathering.checkpoint()
            return found
        finally:
            await used.aclose()

    return asyncio.run(run())


def urls(outcomes: list[Outcome]) -> list[str]:
    """The addresses of the pages."""
    return [outcome.page.url for outcome in outcomes if isinstance(outcome, Gathered)]


def reasons(outcomes: list[Outcome]) -> dict[str, str]:
    """Why others were skipped."""
    return {outcome.where: outcome.why for outcome in outcomes if isinstance(outcome, Skipped)}
