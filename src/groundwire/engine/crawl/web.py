"""A site within bounds: breadth first, one host, each page once."""

from __future__ import annotations

import asyncio
import json
import os
import time
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from groundwire.engine.crawl import robots
from groundwire.engine.crawl.results import (
    CrawledPage,
    CrawlOptions,
    CrawlResult,
    SkippedSource,
    crawl_result,
)
from groundwire.engine.read import document_of
from groundwire.engine.read.document import SUFFIXES
from groundwire.engine.read.normalise import decode
from groundwire.engine.read.sandbox import read_isolated
from groundwire.errors import ConfigError, FetchRefused, GroundwireError
from groundwire.files.text_file import PRIVATE, make_private_folder
from groundwire.model.value import value
from groundwire.text.urls import canonical_url, safe_url
from groundwire.transport.fetch import Fetched, Fetcher
from groundwire.transport.threads import run_in_thread
from groundwire.transport.weburl import InvalidUrl, parse

if TYPE_CHECKING:
    from lxml import etree


class HostThrottle:
    """Rate limit for each host: waits between two requests to the same host."""

    def __init__(
        self,
        per_second: float = 4.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._interval = 1 / per_second
        self._clock = clock
        self._sleep = sleep
        self._delays: dict[str, float] = {}
        self._next: dict[str, float] = {}

    def slow_down(self, host: str, delay: float) -> None:
        """Sets the crawl delay that the host asks for, in seconds."""
        self._delays[host] = delay

    async def turn(self, host: str) -> None:
        """Waits until the next request to the host is due."""
        now = self._clock()
        begins = max(now, self._next.get(host, now))
        self._next[host] = begins + max(self._interval, self._delays.get(host, 0.0))
        if begins > now:
            await self._sleep(begins - now)


ACCEPT = "text/*, application/xhtml+xml, application/pdf"
LARGEST_PAGE = 10_000_000
_ELSEWHERE = "it leads to another site"


@value
class VisitedPage:
    """The result of visiting a URL, and the links on the page."""

    outcome: CrawlResult
    links: tuple[str, ...] = ()


class SiteClient:
    """Fetches and reads pages of sites, at their pace and within their robots.txt, which is fetched once."""

    def __init__(self, fetcher: Fetcher, pace: HostThrottle) -> None:
        self._fetcher = fetcher
        self._pace = pace
        self._robots: dict[str, robots.Robots | SkippedSource] = {}

    async def visit(self, url: str, *, within: str = "", obey_robots: bool = True) -> VisitedPage:
        """Fetches and reads a page. A redirect must not leave the host `within`. With `obey_robots=False`,
        robots.txt is not checked: the user named this very page."""
        if obey_robots:
            allowed = await self._allowed(url)
            if isinstance(allowed, SkippedSource):
                return VisitedPage(allowed)
        fetched = await self.fetch(url, accept=ACCEPT, limit=LARGEST_PAGE)
        if isinstance(fetched, SkippedSource):
            return VisitedPage(fetched)
        if within and host_of(fetched.url) != within:
            return VisitedPage(SkippedSource(url, _ELSEWHERE))
        reading = await run_in_thread(lambda: read_isolated(document_of(fetched)))
        return VisitedPage(crawl_result(reading, url), reading.links)

    async def fetch(self, url: str, *, accept: str, limit: int) -> Fetched | SkippedSource:
        """Fetches a URL; anything but success becomes a reason to skip it."""
        await self._pace.turn(host_of(url))
        try:
            fetched = await self._fetcher.get(url, accept=accept, limit=limit)
        except FetchRefused as error:
            return SkippedSource(url, error.message)
        except GroundwireError as error:
            return SkippedSource(url, error.message, network=True)
        if not 200 <= fetched.status < 300:
            return SkippedSource(url, f"the server answered {fetched.status}", network=True)
        return fetched

    async def _allowed(self, url: str) -> SkippedSource | None:
        origin = origin_of(url)
        if origin not in self._robots:
            self._robots[origin] = await self._fetch_robots(origin)
        rules = self._robots[origin]
        if isinstance(rules, SkippedSource):
            return SkippedSource(url, rules.why, rules.network)
        return None if rules.allows(url) else SkippedSource(url, "robots.txt asks not to visit it")

    async def _fetch_robots(self, origin: str) -> robots.Robots | SkippedSource:
        """RFC 9309: without a robots.txt everything is allowed; while the server fails, nothing is."""
        host = host_of(origin)
        await self._pace.turn(host)
        try:
            fetched = await self._fetcher.get(f"{origin}/robots.txt", accept="*/*", limit=2_000_000)
        except FetchRefused as error:
            return SkippedSource(origin, error.message)
        except GroundwireError as error:
            return SkippedSource(origin, error.message, network=True)
        if fetched.status >= 500:
            return SkippedSource(origin, f"the server answered {fetched.status} for robots.txt", network=True)
        if not 200 <= fetched.status < 300:
            return robots.ALL
        rules = robots.parse_robots(decode(fetched.body[: robots.LARGEST], "utf-8"))
        self._pace.slow_down(host, rules.delay)
        return rules


def host_of(url: str) -> str:
    """Host and non-default port, lower case; empty if it is not a web URL."""
    try:
        return parse(url).netloc
    except InvalidUrl:
        return ""


def origin_of(url: str) -> str:
    """Scheme, host and port."""
    return f"{parse(url).scheme}://{host_of(url)}"


_VERSION = 1
_STALE = 7 * 86400
_MOST_URLS = 50_000
"""URLs that are remembered; a site that generates more is not followed further."""


class Frontier:
    """Crawl frontier: the queue of URLs, breadth first, and all URLs seen.

    It is saved to a file until the crawl is finished, so that an interrupted crawl resumes."""

    def __init__(self, start: str, folder: Path | None = None) -> None:
        self._path = folder / f"{sha256(start.encode()).hexdigest()[:24]}.json" if folder else None
        self._queue: deque[tuple[str, int]] = deque()
        self._seen: dict[str, None] = {}
        self._taken: tuple[str, int] | None = None
        self.visited = 0
        """The number of URLs that were visited."""
        self.resumed = self._load(start)
        if not self.resumed:
            self.add(start, 0)

    def add(self, url: str, depth: int) -> None:
        """Adds a URL, once."""
        key = canonical_url(url)
        if key not in self._seen and len(self._seen) < _MOST_URLS:
            self._seen[key] = None
            self._queue.append((url, depth))

    def is_new(self, url: str) -> bool:
        """Was the URL not seen before? Marks it as seen."""
        key = canonical_url(url)
        new = key not in self._seen
        self._seen[key] = None
        return new

    def take(self) -> tuple[str, int] | None:
        """The next URL and its depth. It stays in the saved queue until `settle`."""
        self._taken = self._queue.popleft() if self._queue else None
        return self._taken

    def settle(self) -> None:
        """Marks the URL that was taken as visited."""
        self._taken = None
        self.visited += 1

    def save(self) -> None:
        """Writes the frontier to its file."""
        if self._path is None:
            return
        state = {
            "version": _VERSION,
            "visited": self.visited,
            "seen": list(self._seen),
            "queue": [*([self._taken] if self._taken else []), *self._queue],
        }
        new = self._path.with_suffix(".new")
        try:
            make_private_folder(self._path.parent)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(state, file)
            os.replace(new, self._path)
        except OSError as error:
            raise ConfigError(f"{self._path.parent} cannot be written: {error.strerror}") from None

    def forget(self) -> None:
        """Deletes the file: the crawl is finished."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _load(self, start: str) -> bool:
        """Loads a saved frontier; False if there is none, or it is stale or unreadable."""
        if self._path is None:
            return False
        try:
            if time.time() - self._path.stat().st_mtime > _STALE:
                return False
            state = json.loads(self._path.read_text("utf-8"))
            queue = [(str(url), int(depth)) for url, depth in state["queue"]]
            seen, visited = [str(key) for key in state["seen"]], int(state["visited"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return False
        if state.get("version") != _VERSION or canonical_url(start) not in seen or not queue:
            return False
        self._queue.extend(queue)
        self._seen.update(dict.fromkeys(seen))
        self.visited = visited
        return True


_PAGES = frozenset((*SUFFIXES, "", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".shtml", ".do"))
_LONGEST_SUFFIX = 5


async def crawl_site(
    start: str, scope: CrawlOptions, visitor: SiteClient, frontier: Frontier
) -> AsyncGenerator[CrawlResult, None]:
    """Crawls a site breadth first. What was yielded before the frontier is saved is not visited again."""
    host = host_of(start)
    while frontier.visited < scope.pages and (taken := frontier.take()) is not None:
        url, depth = taken
        visit = await visitor.visit(url, within=host)
        if scope.depth is None or depth < scope.depth:
            for link in visit.links:
                if host_of(link) == host and _may_be_page(link):
                    frontier.add(link, depth + 1)
        frontier.settle()
        if not isinstance(visit.outcome, CrawledPage) or _is_first(visit.outcome, url, frontier):
            yield visit.outcome


def _is_first(gathered: CrawledPage, url: str, frontier: Frontier) -> bool:
    """A page with another canonical URL is yielded once, however many URLs it has."""
    own = gathered.page.url
    return canonical_url(own) == canonical_url(url) or frontier.is_new(own)


def _may_be_page(url: str) -> bool:
    """Images, archives and programs are not fetched; names with an unknown suffix such as `v3.11` are."""
    name = url.partition("?")[0].rpartition("/")[2].lower()
    dot = name.rfind(".")
    suffix = name[dot:] if dot > 0 else ""
    known = len(suffix) <= _LONGEST_SUFFIX and suffix[1:].isalnum() and not suffix[1:].isdecimal()
    return not known or suffix in _PAGES


_LARGEST_SITEMAP = 50_000_000
"""Bytes of one file, decompressed; the limit of the sitemap protocol."""
_MOST_MAPS = 50
_MOST_ADDRESSES = 50_000
_GZIP = b"\x1f\x8b"


@value
class Sitemap:
    """The URLs of pages and of further sitemaps."""

    pages: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()


def looks_like_sitemap(url: str) -> bool:
    """Decides by the name: `sitemap.xml`, `sitemap-1.xml.gz`, `sitemap_index.xml`, `sitemap.txt`."""
    name = url.partition("?")[0].rpartition("/")[2].lower()
    return "sitemap" in name and name.endswith((".xml", ".xml.gz", ".txt", ".txt.gz"))


async def crawl_sitemap(
    url: str, scope: CrawlOptions, visitor: SiteClient
) -> AsyncGenerator[CrawlResult, None]:
    """Crawls the pages of a sitemap and of the sitemaps it lists, as far as they are on its host."""
    host = host_of(url)
    waiting = deque([url])
    maps = {url}
    pages: set[str] = set()
    while waiting and len(pages) < scope.pages:
        where = waiting.popleft()
        fetched = await visitor.fetch(where, accept="*/*", limit=_LARGEST_SITEMAP)
        if isinstance(fetched, SkippedSource):
            yield fetched
            continue
        listed = parse_sitemap(fetched.body)
        if not listed.pages and not listed.maps:
            yield SkippedSource(where, "not a sitemap, or an empty one")
        for inner in listed.maps:
            if inner not in maps and len(maps) < _MOST_MAPS and host_of(inner) == host:
                maps.add(inner)
                waiting.append(inner)
        for address in listed.pages:
            key = canonical_url(address)
            if key in pages or len(pages) >= scope.pages:
                continue
            pages.add(key)
            if host_of(address) == host:
                yield (await visitor.visit(address, within=host)).outcome
            else:
                yield SkippedSource(address, "it is on another site than its sitemap")


def parse_sitemap(data: bytes) -> Sitemap:
    """Parses XML or plain lines, compressed or not; empty if it is not a sitemap."""
    from lxml import etree  # noqa: PLC0415  slow, and few crawls have a sitemap

    data = _unpacked(data)
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        lines = (safe_url(line) for line in decode(data).splitlines()[:_MOST_ADDRESSES])
        return Sitemap(tuple(filter(None, lines)))
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.ParseError:
        return Sitemap()
    if root is None:
        return Sitemap()
    return Sitemap(_addresses(root, "url"), _addresses(root, "sitemap"))


def _addresses(root: etree._Element, kind: str) -> tuple[str, ...]:
    """The `loc` of every entry of a kind, whatever its namespace."""
    found: list[str] = []
    for entry in root.iterchildren(f"{{*}}{kind}"):
        loc = entry.find("{*}loc")
        address = safe_url(loc.text or "") if loc is not None else ""
        if address:
            found.append(address)
        if len(found) >= _MOST_ADDRESSES:
            break
    return tuple(found)


def _unpacked(data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _LARGEST_SITEMAP)
    except zlib.error:
        return b""
