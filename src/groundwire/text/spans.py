"""Finding the place a provider meant.

Providers count in different units, and sometimes wrongly. An offset is believed only if the text at that
place bears it out; else the place is looked for, and if it is not unmistakable there is no place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from groundwire.model import Anchor, Span
from groundwire.text.annotate import DAGGER, NUMBERED
from groundwire.text.links import TextLink, find_links, find_markdown_links
from groundwire.text.offsets import Utf16Offsets
from groundwire.text.urls import canonical_url

_LONGEST_MARKER = 4096
"""Characters of the longest fragment that is looked at as a link or a marker."""

_MOST_SEARCHED = 50_000_000
"""Characters that are searched for quotes which are not where their offsets say: fifty of them in an answer
of a million characters, all of them in any answer of ordinary size."""

_MARKER = re.compile(
    r"\(?\[(?:[^\[\]]|\[[^\[\]]*\]){0,400}\]\(\s*https?://[^\s]+\s*\)\)?"  # a Markdown link
    rf"|(?:\[\d{{1,4}}\])+|(?:{NUMBERED})+"  # [1][2], [ref_1]
    rf"|(?:{DAGGER})+"  # Copilot, Assistants, gpt-oss
)


def anchor_kind(fragment: str) -> Anchor:
    """Is the cited fragment a claim, or a sign that stands for the source?"""
    is_marker = len(fragment) <= _LONGEST_MARKER and _MARKER.fullmatch(fragment)
    return "marker" if is_marker else "claim"


def anchor_at(span: Span, read: Callable[[int, int], str]) -> Anchor:
    """The same for a span of a text, which is read only if it is short enough for a marker."""
    return anchor_kind(read(*span)) if span.end - span.start <= _LONGEST_MARKER else "claim"


def is_link(fragment: str, url: str) -> bool:
    """Is the fragment one link to the address and nothing else?"""
    if len(fragment) > _LONGEST_MARKER or fragment[:1] not in ("[", "("):
        return False
    link = next(find_markdown_links(fragment), None)
    if link is None or link.span != (0, len(fragment)):
        return False
    return canonical_url(link.url) == canonical_url(url)


def is_link_at(text: str, start: int, end: int, url: str) -> bool:
    """The same for a stretch of a text, which is read only if it is short enough for a link."""
    return end - start <= _LONGEST_MARKER and is_link(text[start:end], url)


def locate_link(text: str, start: int, end: int, url: str) -> Span | None:
    """The place of one citation; see `LinkLocator`, which is made once for all citations of a text."""
    return LinkLocator(text).locate(start, end, url)


class LinkLocator:
    """Places the citations of a text whose provider cites by its links (OpenAI).

    The links of the text are looked for once, and only if some citation is not where its offsets say.
    """

    __slots__ = ("_addresses", "_links", "_text", "_units")

    def __init__(self, text: str) -> None:
        self._text = text
        self._units = Utf16Offsets(text)
        self._links: _Links | None = None
        self._addresses: _Links | None = None

    def as_utf16(self, span: Span) -> Span:
        """What a span means if it counts UTF-16 units."""
        return Span(self._units.to_point(span.start), self._units.to_point(span.end))

    def links_to(self, url: str) -> Iterable[Span]:
        """All Markdown links to an address."""
        return self._markdown().get(canonical_url(url), ())

    def locate(self, start: int, end: int, url: str) -> Span | None:
        """The span of a citation, whose text is the link itself, or of a claim.

        Offsets are taken as code points, and as UTF-16 units if only that makes them meet the link. If
        neither does, the nearest link to the address is the place. A text without any link to it is left
        to the offsets.
        """
        if end <= start or start < 0:
            return None  # OpenRouter's engines send 0/0 for "somewhere"
        readings = list(self._readings(start, end))
        for span in readings:
            if is_link_at(self._text, *span, url):
                return span
        key = canonical_url(url)
        links = self._markdown().get(key, [])
        for span in readings:
            if _holds_one(span, links):
                return span
        if links:
            return _nearest(links, start)
        named = (span for span in readings if _holds_one(span, self._all().get(key, [])))
        return next(named, Span(start, end) if end <= len(self._text) else None)

    def _readings(self, start: int, end: int) -> Iterator[Span]:
        """What the offsets may mean, the likelier first."""
        if end <= len(self._text):
            yield Span(start, end)
        units = self.as_utf16(Span(start, end))
        if units.start < units.end and units != (start, end):
            yield units

    def _markdown(self) -> _Links:
        if self._links is None:
            self._links = _by_address(find_markdown_links(self._text))
        return self._links

    def _all(self) -> _Links:
        if self._addresses is None:
            self._addresses = _by_address(find_links(self._text))
        return self._addresses


_Links: TypeAlias = dict[str, list[Span]]


def _by_address(links: Iterable[TextLink]) -> _Links:
    """Where each address is linked to, with or without its tracking parameters, from left to right."""
    found: _Links = {}
    for link in links:
        found.setdefault(canonical_url(link.url), []).append(link.span)
    return found


def _holds_one(span: Span, links: list[Span]) -> bool:
    """Links do not overlap, so the first that begins in the span is the first that ends."""
    index = bisect_left(links, (span.start, 0))
    return index < len(links) and links[index].end <= span.end


def _nearest(links: list[Span], start: int) -> Span:
    index = bisect_left(links, (start, 0))
    return min(links[max(index - 1, 0) : index + 1], key=lambda link: abs(link.start - start))


def locate_quote(text: str, start: int, end: int, quote: str) -> Span | None:
    """The place of one citation; see `QuoteLocator`, which is made once for all citations of a text."""
    return QuoteLocator(text).locate(start, end, quote)


class QuoteLocator:
    """Places the citations of a text whose provider repeats the cited words (Gemini)."""

    __slots__ = ("_found", "_room", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, Span | None] = {}
        self._room = _MOST_SEARCHED

    def holds(self, span: Span, quote: str) -> bool:
        """Are these the words at that place?"""
        return span.end - span.start == len(quote) and self._text.startswith(quote, span.start)

    def locate(self, start: int, end: int, quote: str) -> Span | None:
        """The span at the offsets, or where the quote stands just once."""
        if not quote:
            return Span(start, end) if 0 <= start < end <= len(self._text) else None
        if start >= 0 and end <= len(self._text) and self.holds(Span(start, end), quote):
            return Span(start, end)
        if quote not in self._found:
            self._found[quote] = self._search(quote)
        return self._found[quote]

    def _search(self, quote: str) -> Span | None:
        if self._room < 0:
            return None
        self._room -= len(self._text)
        found = self._text.find(quote)
        if found < 0 or self._text.find(quote, found + 1) >= 0:
            return None
        return Span(found, found + len(quote))
