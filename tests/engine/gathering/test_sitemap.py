"""Sitemaps: nested, compressed, broken, hostile."""

from __future__ import annotations

import gzip

import pytest

from groundwire.engine.crawl.outcomes import Scope
from groundwire.engine.crawl.sitemap import Sitemap, looks_like_sitemap, parse_sitemap
from tests.engine.gathering.gatherers import gather, reasons, urls
from tests.engine.gathering.website import Answer, Site, page

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
    site.answers["/two.xml.gz"] = Answer(
        gzip.compress(urlset(f"{base}/c", f"{base}/a").encode()), "application/gzip"
    )
    for path in ("/a", "/b?x=1&y=2", "/c"):
        site.put(path, page(path))
    found = gather(f"{base}/sitemap.xml", fetcher=site.fetcher())
    assert urls(found) == [f"{base}/a", f"{base}/b?x=1&y=2", f"{base}/c"]
    assert reasons(found) == {
        "https://other.example/": "it is on another site than its sitemap",
        f"{base}/no.xml": "the server answered 404",
    }


def test_bounds_and_robots_txt_hold_here_too(site: Site) -> None:
    site.put("/sitemap.xml", urlset(*(f"{site.address}/p{number}" for number in range(20))))
    site.put("/robots.txt", "User-agent: *\nDisallow: /p0$", "text/plain")
    for number in range(20):
        site.put(f"/p{number}", page(f"page {number}"))
    found = gather(f"{site.address}/sitemap.xml", fetcher=site.fetcher(), scope=Scope(pages=5))
    assert len(urls(found)) == 4
    assert list(reasons(found).values()) == ["robots.txt asks not to visit it"]


def test_what_is_no_sitemap_is_told(site: Site) -> None:
    site.put("/sitemap.xml", "<html><p>Not here")
    found = gather(f"{site.address}/sitemap.xml", fetcher=site.fetcher())
    assert reasons(found) == {f"{site.address}/sitemap.xml": "it is no sitemap, or an empty one"}


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
def test_what_a_sitemap_lists(text: str, listed: Sitemap) -> None:
    assert parse_sitemap(text.encode()) == listed
    assert parse_sitemap(gzip.compress(text.encode())) == listed


def test_a_bomb_is_unpacked_only_so_far() -> None:
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
