"""Finding the place a provider meant.

Providers count in different units, and sometimes wrongly. An offset is believed only if the text at that
place bears it out; else the place is looked for, and if it is not unmistakable there is no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.model import Anchor, Span
from groundwire.text.addresses import canonical_address
from groundwire.text.links import find_links, find_markdown_links
from groundwire.text.markers import DAGGER, NUMBERED
from groundwire.text.offsets import to_points

_MARKER = re.compile(
    r"\(?\[(?:[^\[\]]|\[[^\[\]]*\]){0,400}\]\(\s*https?://[^\s]+\s*\)\)?"  # a Markdown link
    rf"|(?:\[\d{{1,4}}\])+|(?:{NUMBERED})+"  # [1][2], [ref_1]
    rf"|(?:{DAGGER})+"  # Copilot, Assistants, gpt-oss
)


def anchor_kind(fragment: str) -> Anchor:
    """Is the cited fragment a claim, or a sign that stands for the source?"""
    return "marker" if _MARKER.fullmatch(fragment) else "claim"


def is_link(fragment: str, url: str) -> bool:
    """Is the fragment one link to the address and nothing else?"""
    link = next(find_markdown_links(fragment), None)
    if link is None or link.span != (0, len(fragment)):
        return False
    return canonical_address(link.url) == canonical_address(url)


def place_link(text: str, start: int, end: int, url: str) -> Span | None:
    """The span of an OpenAI citation, whose text is the link itself, or of a claim.

    Offsets are taken as code points, and as UTF-16 units if only that makes them meet the link. If neither
    does, the nearest link to the address is the place. A text without any link to it is left to the offsets.
    """
    if end <= start or start < 0:
        return None  # OpenRouter's engines send 0/0 for "somewhere"
    for span in _readings(text, start, end):
        if is_link(text[span.start : span.end], url):
            return span
    key = canonical_address(url)
    readings = list(_readings(text, start, end))
    links = [link.span for link in find_markdown_links(text) if canonical_address(link.url) == key]
    for span in readings:
        if any(span.start <= link.start and link.end <= span.end for link in links):
            return span
    if links:
        return min(links, key=lambda link: abs(link.start - start))
    named = (span for span in readings if _mentions(text[span.start : span.end], key))
    return next(named, Span(start, end) if end <= len(text) else None)


def place_quote(text: str, start: int, end: int, quote: str) -> Span | None:
    """The span whose text the provider repeated: at the offsets, or where it stands just once."""
    if not quote:
        return Span(start, end) if 0 <= start < end <= len(text) else None
    if start >= 0 and end <= len(text) and text[start:end] == quote:
        return Span(start, end)
    found = text.find(quote)
    if found < 0 or text.find(quote, found + 1) >= 0:
        return None
    return Span(found, found + len(quote))


def _readings(text: str, start: int, end: int) -> Iterator[Span]:
    """What the offsets may mean, the likelier first."""
    if end <= len(text):
        yield Span(start, end)
    units = Span(*to_points(text, (start, end), "utf16"))
    if units.start < units.end and units != (start, end):
        yield units


def _mentions(fragment: str, key: str) -> bool:
    """Does the fragment hold the address, with or without its tracking parameters?"""
    return any(canonical_address(link.url) == key for link in find_links(fragment))
