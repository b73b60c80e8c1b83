"""Sitemaps: lists of addresses, as XML or plain lines, compressed or not, and lists of such lists."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from groundwire.engine.crawl.outcomes import Outcome, Scope, Skipped
from groundwire.engine.crawl.visits import Visitor, host_of
from groundwire.engine.read.decoding import decode
from groundwire.model.value import value
from groundwire.text.urls import canonical_url, safe_url

if TYPE_CHECKING:
    from lxml import etree

_LARGEST = 50_000_000
"""Bytes of one file, unpacked; the protocol's own bound is the same."""
_MOST_MAPS = 50
_MOST_ADDRESSES = 50_000
_GZIP = b"\x1f\x8b"


@value
class Sitemap:
    """What a sitemap lists."""

    pages: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()


def looks_like_sitemap(url: str) -> bool:
    """By its name: `sitemap.xml`, `sitemap-1.xml.gz`, `sitemap_index.xml`, `sitemap.txt`."""
    name = url.partition("?")[0].rpartition("/")[2].lower()
    return "sitemap" in name and name.endswith((".xml", ".xml.gz", ".txt", ".txt.gz"))


async def gather_sitemap(url: str, scope: Scope, visitor: Visitor) -> AsyncGenerator[Outcome, None]:
    """The pages of a sitemap and of those it lists, as far as they are on its own host."""
    host = host_of(url)
    waiting = deque([url])
    maps = {url}
    pages: set[str] = set()
    while waiting and len(pages) < scope.pages:
        where = waiting.popleft()
        fetched = await visitor.fetch(where, accept="*/*", limit=_LARGEST)
        if isinstance(fetched, Skipped):
            yield fetched
            continue
        listed = parse_sitemap(fetched.body)
        if not listed.pages and not listed.maps:
            yield Skipped(where, "it is no sitemap, or an empty one")
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
                yield Skipped(address, "it is on another site than its sitemap")


def parse_sitemap(data: bytes) -> Sitemap:
    """What it lists; nothing if it is no sitemap."""
    from lxml import etree  # noqa: PLC0415  most of what is gathered has no sitemap

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
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _LARGEST)
    except zlib.error:
        return b""
