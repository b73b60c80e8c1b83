"""A crawl keeps its limits and the rules of the site, and is resumed after an interruption."""

from __future__ import annotations

import asyncio
import gzip
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from groundwire.engine.crawl.crawler import Crawler
from groundwire.engine.crawl.results import CrawledPage, CrawlOptions, SkippedSource
from groundwire.engine.crawl.web import HostThrottle, Sitemap, looks_like_sitemap, parse_sitemap
from tests.engine.crawl.crawlers import crawl, quick, reasons, urls
from tests.engine.crawl.website import CannedResponse, Site, page

CRAWL = CrawlOptions(follow=True)


def build(site: Site, count: int = 30) -> None:
    """A tree of pages: each links to two more, to the start page, and to another site."""
    for number in range(1, count + 1):
        below = [f"/p{child}" for child in (2 * number, 2 * number + 1) if child <= count]
        site.put(
            f"/p{number}",
            page(f"page {number}", *below, "/p1", "/p1#top", "https://other.example/", "/a.png"),
        )


def test_thirty_pages_are_found_breadth_first_each_once(site: Site) -> None:
    build(site)
    found = crawl(f"{site.address}/p1", fetcher=site.fetcher(), scope=CRAWL)
    assert urls(found) == [f"{site.address}/p{number}" for number in range(1, 31)]
    assert reasons(found) == {}
    assert Counter(site.paths) == Counter(["/robots.txt", *(f"/p{number}" for number in range(1, 31))])
    first = found[0]
    assert isinstance(first, CrawledPage)
    assert first.page.collection == f"127.0.0.1:{site.port}"
    assert first.page.title == "page 1"


@pytest.mark.parametrize(
    ("scope", "count"), [(CrawlOptions(follow=True, pages=7), 7), (CrawlOptions(follow=True, depth=2), 7)]
)
def test_limits_are_enforced(site: Site, scope: CrawlOptions, count: int) -> None:
    build(site)
    assert len(urls(crawl(f"{site.address}/p1", fetcher=site.fetcher(), scope=scope))) == count
    assert len(site.paths) == count + 1


def test_robots_txt_is_respected(site: Site) -> None:
    build(site, 7)
    site.put(
        "/robots.txt", "User-agent: groundwire\nDisallow: /p2\n\nUser-agent: *\nDisallow: /", "text/plain"
    )
    found = crawl(f"{site.address}/p1", fetcher=site.fetcher(), scope=CRAWL)
    assert urls(found) == [f"{site.address}/p{number}" for number in (1, 3, 6, 7)]
    assert reasons(found) == {f"{site.address}/p2": "robots.txt asks not to visit it"}
    assert "/p2" not in site.paths


@pytest.mark.parametrize(("status", "pages"), [(404, 3), (403, 3), (500, 0), (503, 0)])
def test_without_robots_txt_all_is_allowed_and_from_a_broken_server_nothing(
    site: Site, status: int, pages: int
) -> None:
    build(site, 3)
    site.answers["/robots.txt"] = CannedResponse(b"", status=status)
    found = crawl(f"{site.address}/p1", fetcher=site.fetcher(), scope=CRAWL)
    assert len(urls(found)) == pages
    if not pages:
        assert [outcome.network for outcome in found if isinstance(outcome, SkippedSource)] == [True]
        assert site.paths == ["/robots.txt"]


def test_a_page_named_on_purpose_is_read_whatever_robots_txt_forbids(site: Site) -> None:
    build(site, 3)
    site.put("/robots.txt", "User-agent: *\nDisallow: /", "text/plain")
    assert urls(crawl(f"{site.address}/p1", fetcher=site.fetcher())) == [f"{site.address}/p1"]
    assert site.paths == ["/p1"]


def test_failed_pages_are_reported_and_the_crawl_continues(site: Site) -> None:
    site.put("/", page("start", "/gone", "/image", "/quiet", "/away", "/empty", "/good"))
    site.answers["/image"] = CannedResponse(b"\x89PNG", "image/png")
    site.put("/quiet", page("quiet", head="<meta name=robots content=noindex>"))
    site.answers["/away"] = CannedResponse(b"", status=302, headers={"location": "http://127.0.0.1:9/"})
    site.put("/empty", "<p></p>")
    site.put("/good", page("good"))
    found = crawl(f"{site.address}/", fetcher=site.fetcher(), scope=CRAWL)
    assert urls(found) == [f"{site.address}/", f"{site.address}/good"]
    skipped = {where.removeprefix(site.address): why for where, why in reasons(found).items()}
    assert skipped["/gone"] == "the server answered 404"
    assert skipped["/quiet"] == "it asks not to be indexed"
    assert skipped["/empty"] == "there is no text in it"
    assert skipped["/away"] == "this address is not fetched: only public web pages are"
    assert "image/png" in skipped["/image"]


def test_a_page_with_many_addresses_is_reported_once(site: Site) -> None:
    own = "<link rel=canonical href='/own'>"
    site.put("/", page("start", "/x?a=1", "/x?a=2", "/x?utm_source=mail", "/own"))
    for path in ("/x?a=1", "/x?a=2", "/x?utm_source=mail", "/own"):
        site.put(path, page("the same", head=own))
    found = crawl(f"{site.address}/", fetcher=site.fetcher(), scope=CRAWL)
    assert urls(found) == [f"{site.address}/", f"{site.address}/own"]


def test_a_site_with_endless_urls_ends(site: Site) -> None:
    def invent(path: str) -> None:
        site.put(path, page(path, *(f"{path}{letter}" for letter in "abc")))

    site.before = invent
    site.answers["/robots.txt"] = CannedResponse(b"", status=404)
    found = crawl(f"{site.address}/x", fetcher=site.fetcher(), scope=CrawlOptions(follow=True, pages=25))
    assert len(found) == 25


def test_an_interrupted_crawl_is_resumed(site: Site, tmp_path: Path) -> None:
    build(site)

    async def begin() -> list[str]:
        fetcher = site.fetcher()
        crawler = Crawler(fetcher, CRAWL, kept=tmp_path / "crawls", pace=quick())
        outcomes = crawler.outcomes([f"{site.address}/p1"])
        found = [await anext(outcomes) for _ in range(11)]
        crawler.checkpoint()
        found.append(await anext(outcomes))  # yielded, but not stored
        await outcomes.aclose()
        await fetcher.aclose()
        return urls(found)

    before = asyncio.run(begin())
    assert len(list((tmp_path / "crawls").iterdir())) == 1
    site.requests.clear()
    after = urls(crawl(f"{site.address}/p1", fetcher=site.fetcher(), scope=CRAWL, kept=tmp_path / "crawls"))
    assert before[:11] + after == [f"{site.address}/p{number}" for number in range(1, 31)]
    assert len(site.paths) == 1 + 19
    assert list((tmp_path / "crawls").iterdir()) == []


@pytest.mark.parametrize(
    "junk", ["", "{", "[]", '{"version": 1}', '{"version": 9, "queue": [], "seen": []}', "[" * 9999]
)
def test_an_unreadable_frontier_file_is_ignored(site: Site, tmp_path: Path, junk: str) -> None:
    build(site, 3)

    async def begin() -> None:
        fetcher = site.fetcher()
        crawler = Crawler(fetcher, CRAWL, kept=tmp_path, pace=quick())
        outcomes = crawler.outcomes([f"{site.address}/p1"])
        await anext(outcomes)
        crawler.checkpoint()
        await outcomes.aclose()
        await fetcher.aclose()

    asyncio.run(begin())
    next(tmp_path.iterdir()).write_text(junk)
    assert len(urls(crawl(f"{site.address}/p1", fetcher=site.fetcher(), scope=CRAWL, kept=tmp_path))) == 3


async def test_requests_to_a_host_are_spaced_out() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(round(seconds, 3))

    async def run() -> None:
        pace = HostThrottle(4.0, clock=lambda: 100.0, sleep=sleep)
        await pace.turn("a")
        await pace.turn("a")
        await pace.turn("b")
        pace.slow_down("a", 2.0)
        await pace.turn("a")
        await pace.turn("a")

    await run()
    assert waits == [0.25, 0.5, 2.5]


def test_the_crawl_delay_of_a_site_is_respected(site: Site) -> None:
    build(site, 3)
    site.put("/robots.txt", "User-agent: *\nCrawl-delay: 0.2", "text/plain")
    assert len(urls(crawl(f"{site.address}/p1", fetcher=site.fetcher(), scope=CRAWL))) == 3
    times = [seconds for seconds, path in site.requests if path != "/robots.txt"]
    assert all(later - earlier > 0.15 for earlier, later in pairwise(times))


XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*addresses: str) -> str:
    entries = "".join(
        f"<url><loc>\n {address} </loc><lastmod>2024-01-01</lastmod></url>" for address in addresses
    )
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset {XMLNS}>{entries}</urlset>'


def mapset(*addresses: str) -> str:
    entries = "".join(f"<sitemap><loc>{address}</loc></sitemap>" for address in addresses)
    return f"<sitemapindex {XMLNS}>{entries}</sitemapindex>"


def test_nested_and_compressed_sitemaps_are_read(site: Site) -> None:
    base = site.address
    site.put(
        "/sitemap.xml",
        mapset(f"{base}/one.xml", f"{base}/two.xml.gz", f"{base}/sitemap.xml", f"{base}/no.xml"),
    )
    site.put("/one.xml", urlset(f"{base}/a", f"{base}/b?x=1&amp;y=2", "https://other.example/"))
    site.answers["/two.xml.gz"] = CannedResponse(
        gzip.compress(urlset(f"{base}/c", f"{base}/a").encode()), "application/gzip"
    )
    for path in ("/a", "/b?x=1&y=2", "/c"):
        site.put(path, page(path))
    found = crawl(f"{base}/sitemap.xml", fetcher=site.fetcher())
    assert urls(found) == [f"{base}/a", f"{base}/b?x=1&y=2", f"{base}/c"]
    assert reasons(found) == {
        "https://other.example/": "it is on another site than its sitemap",
        f"{base}/no.xml": "the server answered 404",
    }


def test_bounds_and_robots_txt_apply(site: Site) -> None:
    site.put("/sitemap.xml", urlset(*(f"{site.address}/p{number}" for number in range(20))))
    site.put("/robots.txt", "User-agent: *\nDisallow: /p0$", "text/plain")
    for number in range(20):
        site.put(f"/p{number}", page(f"page {number}"))
    found = crawl(f"{site.address}/sitemap.xml", fetcher=site.fetcher(), scope=CrawlOptions(pages=5))
    assert len(urls(found)) == 4
    assert list(reasons(found).values()) == ["robots.txt asks not to visit it"]


def test_invalid_sitemaps_are_reported(site: Site) -> None:
    site.put("/sitemap.xml", "<html><p>Not here")
    found = crawl(f"{site.address}/sitemap.xml", fetcher=site.fetcher())
    assert reasons(found) == {f"{site.address}/sitemap.xml": "not a sitemap, or an empty one"}


BOMB = (
    "<!DOCTYPE z [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
    "<!ENTITY f SYSTEM 'file:///etc/passwd'>]>"
)


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        (urlset("https://a.example/1"), Sitemap(("https://a.example/1",))),
        (urlset("https://a.example/1").replace(XMLNS, ""), Sitemap(("https://a.example/1",))),
        (mapset("https://a.example/m"), Sitemap((), ("https://a.example/m",))),
        (
            "https://a.example/1\n\nnot an address\nhttps://a.example/2",
            Sitemap(("https://a.example/1", "https://a.example/2")),
        ),
        (urlset("javascript:x", "file:///etc/passwd", ""), Sitemap()),
        (urlset("https://a.example/1") + "<broken", Sitemap(("https://a.example/1",))),
        (
            BOMB + "<urlset><url><loc>https://a.example/&b;&f;</loc></url></urlset>",
            Sitemap(("https://a.example/",)),
        ),
        ("", Sitemap()),
        ("<", Sitemap()),
    ],
)
def test_sitemaps_are_parsed(text: str, listed: Sitemap) -> None:
    assert parse_sitemap(text.encode()) == listed
    assert parse_sitemap(gzip.compress(text.encode())) == listed


def test_a_decompression_bomb_is_unpacked_only_to_a_limit() -> None:
    assert (
        parse_sitemap(gzip.compress(b" " * 60_000_000 + urlset("https://a.example/").encode(), 1))
        == Sitemap()
    )
    assert parse_sitemap(b"\x1f\x8b broken") == Sitemap()


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("https://a.example/sitemap.xml", True),
        ("https://a.example/Sitemap_index.xml?x", True),
        ("https://a.example/x/sitemap-1.xml.gz", True),
        ("https://a.example/sitemap.html", False),
        ("https://a.example/sitemap/", False),
        ("https://a.example/feed.xml", False),
    ],
)
def test_a_sitemap_is_known_by_its_name(url: str, is_one: bool) -> None:
    assert looks_like_sitemap(url) is is_one
