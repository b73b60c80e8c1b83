"""What an HTML page says about itself: title, date, language, address, wishes, links."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from urllib.parse import urldefrag, urljoin, urlsplit

from lxml import etree

from groundwire.engine.read.dates import normal_date
from groundwire.text.urls import domain_of, safe_url

_AGENT = "groundwire"
_PARTS = re.compile(r"[-_,;\s]")
_MOST_LINKS = 5000
_LONGEST_ADDRESS = 2000
_LONGEST_LD = 1_000_000
_DATES = (
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dc.date.issued",
    "dcterms.created",
    "citation_publication_date",
    "publish-date",
)


def title_of(root: etree._Element) -> str:
    """What it calls itself where others link to it, else its title, else its first heading."""
    named = _metas(root).get("og:title", "")
    return named or _words(root.find(".//title")) or _words(next(root.iter("h1"), None))


def published_of(root: etree._Element) -> str:
    """When it was published."""
    metas = _metas(root)
    for name in _DATES:
        if date := normal_date(metas.get(name, "")):
            return date
    for text in _linked_data(root):
        if date := normal_date(text):
            return date
    times = sorted(root.iter("time"), key=lambda time: time.get("pubdate") is None)
    return next(filter(None, (normal_date(time.get("datetime", "")) for time in times)), "")


def language_of(root: etree._Element, headers: Mapping[str, str]) -> str:
    """The language by its two letters, where it is said."""
    html = root if root.tag == "html" else root.find("html")
    said = "" if html is None else html.get("lang") or html.get("xml:lang") or ""
    metas = _metas(root)
    for text in (said, metas.get("content-language", ""), headers.get("content-language", "")):
        if code := two_letters(text):
            return code
    return ""


def two_letters(text: str) -> str:
    """`de` of `de-AT`; empty if it begins otherwise."""
    code = _PARTS.split(text.strip().lower(), maxsplit=1)[0]
    return code if len(code) == 2 and code.isascii() and code.isalpha() else ""


def base_of(root: etree._Element, url: str) -> str:
    """What relative addresses are relative to."""
    base = root.find(".//base[@href]")
    return url if base is None else _joined(url, base.get("href"))


def canonical_of(root: etree._Element, url: str, base: str) -> str:
    """The address it wants to be known by, if that is on the same host."""
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            address = safe_url(urldefrag(_joined(base, link.get("href"))).url)
            if address and len(address) <= _LONGEST_ADDRESS and domain_of(address) == domain_of(url):
                return address
    return ""


def links_of(root: etree._Element, base: str) -> tuple[str, ...]:
    """Web addresses it leads to, each once, without fragments."""
    found: dict[str, None] = {}
    for link in root.iter("a", "area"):
        href = link.get("href")
        if not href or "nofollow" in (link.get("rel") or "").lower().split():
            continue
        address = safe_url(urldefrag(_joined(base, href)).url)
        if address and len(address) <= _LONGEST_ADDRESS:
            found[address] = None
            if len(found) >= _MOST_LINKS:
                break
    return tuple(found)


def robots_of(root: etree._Element, headers: Mapping[str, str]) -> set[str]:
    """What it asks of robots: `noindex`, `nofollow`, `none`; in its head or in a header of the response."""
    asked = headers.get("x-robots-tag", "").lower()
    # `googlebot: noindex` is meant for somebody else, and so is everything behind it.
    agent, colon, wishes = asked.partition(":")
    if colon and agent.strip() in (_AGENT, "*"):
        asked = wishes
    elif colon:
        asked = agent.rpartition(",")[0]
    metas = _metas(root)
    asked = ",".join((asked, metas.get("robots", ""), metas.get(_AGENT, ""))).lower()
    return {word.strip() for word in asked.split(",") if word.strip()}


def _metas(root: etree._Element) -> dict[str, str]:
    """The first of every name."""
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        text = " ".join((meta.get("content") or "").split())
        if name and text:
            found.setdefault(name.strip().lower(), text)
    return found


def _linked_data(root: etree._Element) -> Iterator[str]:
    """`datePublished` in JSON-LD, wherever it stands."""
    for script in root.iter("script"):
        if (script.get("type") or "").strip().lower() != "application/ld+json":
            continue
        text = script.text or ""
        if len(text) > _LONGEST_LD:
            continue
        try:
            waiting: deque[object] = deque([json.loads(text)])
        except (ValueError, RecursionError):
            continue
        while waiting:
            item = waiting.popleft()
            if isinstance(item, dict):
                date = item.get("datePublished")
                if isinstance(date, str):
                    yield date
                waiting += item.values()
            elif isinstance(item, list):
                waiting += item


def _joined(base: str, href: str | None) -> str:
    try:
        joined = urljoin(base, (href or "").strip())
        urlsplit(joined)
    except ValueError:  # brackets that are no IPv6 address
        return ""
    return joined


def _words(element: etree._Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())
