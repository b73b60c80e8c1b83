"""Visiting addresses: at the host's pace, within what it allows, every failure an outcome."""

from __future__ import annotations

from groundwire.engine.crawl import robots
from groundwire.engine.crawl.outcomes import Outcome, Skipped, outcome_of
from groundwire.engine.crawl.pace import Pace
from groundwire.engine.read import document_of
from groundwire.engine.read.apart import read_apart
from groundwire.engine.read.decoding import decode
from groundwire.errors import FetchRefused, GroundwireError
from groundwire.model.value import value
from groundwire.transport.fetch import Fetched, Fetcher
from groundwire.transport.threads import run_in_thread
from groundwire.transport.weburl import InvalidUrl, parse

ACCEPT = "text/*, application/xhtml+xml, application/pdf"
LARGEST_PAGE = 10_000_000
_ELSEWHERE = "it leads to another site"


@value
class Visit:
    """What an address held, and where it leads."""

    outcome: Outcome
    links: tuple[str, ...] = ()


class Visitor:
    """Visits pages; asks each site once what it allows."""

    def __init__(self, fetcher: Fetcher, pace: Pace) -> None:
        self._fetcher = fetcher
        self._pace = pace
        self._robots: dict[str, robots.Robots | Skipped] = {}

    async def visit(self, url: str, *, within: str = "", asking: bool = True) -> Visit:
        """Read a page. `within` is the host it must not lead away from; unless `asking`, robots.txt is not
        asked: somebody wants this very page."""
        if asking:
            allowed = await self._allowed(url)
            if isinstance(allowed, Skipped):
                return Visit(allowed)
        fetched = await self.fetch(url, accept=ACCEPT, limit=LARGEST_PAGE)
        if isinstance(fetched, Skipped):
            return Visit(fetched)
        if within and host_of(fetched.url) != within:
            return Visit(Skipped(url, _ELSEWHERE))
        reading = await run_in_thread(lambda: read_apart(document_of(fetched)))
        return Visit(outcome_of(reading, url), reading.links)

    async def fetch(self, url: str, *, accept: str, limit: int) -> Fetched | Skipped:
        """What stands at an address; anything but success is a reason."""
        await self._pace.turn(host_of(url))
        try:
            fetched = await self._fetcher.get(url, accept=accept, limit=limit)
        except FetchRefused as error:
            return Skipped(url, error.message)
        except GroundwireError as error:
            return Skipped(url, error.message, network=True)
        if not 200 <= fetched.status < 300:
            return Skipped(url, f"the server answered {fetched.status}", network=True)
        return fetched

    async def _allowed(self, url: str) -> Skipped | None:
        origin = origin_of(url)
        if origin not in self._robots:
            self._robots[origin] = await self._ask(origin)
        rules = self._robots[origin]
        if isinstance(rules, Skipped):
            return Skipped(url, rules.why, rules.network)
        return None if rules.allows(url) else Skipped(url, "robots.txt asks not to visit it")

    async def _ask(self, origin: str) -> robots.Robots | Skipped:
        """RFC 9309: no such file allows everything; a server in trouble allows nothing."""
        host = host_of(origin)
        await self._pace.turn(host)
        try:
            fetched = await self._fetcher.get(f"{origin}/robots.txt", accept="*/*", limit=2_000_000)
        except FetchRefused as error:
            return Skipped(origin, error.message)
        except GroundwireError as error:
            return Skipped(origin, error.message, network=True)
        if fetched.status >= 500:
            return Skipped(origin, f"the server answered {fetched.status} for robots.txt", network=True)
        if not 200 <= fetched.status < 300:
            return robots.ALL
        rules = robots.parse_robots(decode(fetched.body[: robots.LARGEST], "utf-8"))
        self._pace.slow_down(host, rules.delay)
        return rules


def host_of(url: str) -> str:
    """Host and unusual port, lower case; empty if it is no web address."""
    try:
        return parse(url).netloc
    except InvalidUrl:
        return ""


def origin_of(url: str) -> str:
    """Scheme, host and port."""
    return f"{parse(url).scheme}://{host_of(url)}"
