"""Span repair: finds the text that a provider meant to cite.

Providers count in different units, and sometimes wrongly. Where a provider repeats the cited text or cites a
link, an offset is used only if the text at it confirms it; else the citation is searched in the text, and it
gets no span unless the match is unique.
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
"""Length of the longest fragment that can be a link or a marker."""

_MOST_SEARCHED = 50_000_000
"""Characters that are searched for misplaced quotes: fifty quotes in an answer of a million characters, all
of them in any answer of ordinary size."""

_MARKER = re.compile(
    r"\(?\[(?:[^\[\]]|\[[^\[\]]*\]){0,400}\]\(\s*https?://[^\s]+\s*\)\)?"  # a Markdown link
    rf"|(?:\[\d{{1,4}}\])+|(?:{NUMBERED})+"  # [1][2], [ref_1]
    rf"|(?:{DAGGER})+"  # Copilot, Assistants, gpt-oss
)


def anchor_kind(fragment: str) -> Anchor:
    """Is the cited fragment a claim, or a marker that refers to the source?"""
    is_marker = len(fragment) <= _LONGEST_MARKER and _MARKER.fullmatch(fragment)
    return "marker" if is_marker else "claim"


def anchor_at(span: Span, read: Callable[[int, int], str]) -> Anchor:
    """The kind of anchor at a span, which is read only if it is short enough for a marker."""
    return anchor_kind(read(*span)) if span.end - span.start <= _LONGEST_MARKER else "claim"


def is_link(fragment: str, url: str) -> bool:
    """Is the fragment exactly one link to the URL?"""
    if len(fragment) > _LONGEST_MARKER or fragment[:1] not in ("[", "("):
        return False
    link = next(find_markdown_links(fragment), None)
    if link is None or link.span != (0, len(fragment)):
        return False
    return canonical_url(link.url) == canonical_url(url)


def is_link_at(text: str, start: int, end: int, url: str) -> bool:
    """Is a part of a text exactly one link to the URL? It is read only if it is short enough."""
    return end - start <= _LONGEST_MARKER and is_link(text[start:end], url)


def locate_link(text: str, start: int, end: int, url: str) -> Span | None:
    """The span of one citation; use one `LinkLocator` for all citations of a text."""
    return LinkLocator(text).locate(start, end, url)


class LinkLocator:
    """Locates the citations of a provider that cites with links (OpenAI).

    The links of the text are searched once, and only if the offsets of a citation are wrong.
    """

    __slots__ = ("_links", "_text", "_units", "_urls")

    def __init__(self, text: str) -> None:
        self._text = text
        self._units = Utf16Offsets(text)
        self._links: _Links | None = None
        self._urls: _Links | None = None

    def as_utf16(self, span: Span) -> Span:
        """The span in code points of a span in UTF-16 units."""
        return Span(self._units.to_point(span.start), self._units.to_point(span.end))

    def links_to(self, url: str) -> Iterable[Span]:
        """The spans of all Markdown links to a URL."""
        return self._markdown().get(canonical_url(url), ())

    def locate(self, start: int, end: int, url: str) -> Span | None:
        """The span of a citation, whose text is the link itself, or of a claim.

        Offsets are taken as code points, and as UTF-16 units if only that makes them meet the link. If
        neither does, the nearest link to the URL is used. If the text has no link to it, the offsets are
        used.
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
        """Possible meanings of the offsets, the likelier first."""
        if end <= len(self._text):
            yield Span(start, end)
        units = self.as_utf16(Span(start, end))
        if units.start < units.end and units != (start, end):
            yield units

    def _markdown(self) -> _Links:
        if self._links is None:
            self._links = _by_url(find_markdown_links(self._text))
        return self._links

    def _all(self) -> _Links:
        if self._urls is None:
            self._urls = _by_url(find_links(self._text))
        return self._urls


_Links: TypeAlias = dict[str, list[Span]]


def _by_url(links: Iterable[TextLink]) -> _Links:
    """Spans of the links to each URL, without regard to tracking parameters, from left to right."""
    found: _Links = {}
    for link in links:
        found.setdefault(canonical_url(link.url), []).append(link.span)
    return found


def _holds_one(span: Span, links: list[Span]) -> bool:
    """Does a span contain a link? Links do not overlap, so the first that begins is the first that ends."""
    index = bisect_left(links, (span.start, 0))
    return index < len(links) and links[index].end <= span.end


def _nearest(links: list[Span], start: int) -> Span:
    index = bisect_left(links, (start, 0))
    return min(links[max(index - 1, 0) : index + 1], key=lambda link: abs(link.start - start))


def locate_quote(text: str, start: int, end: int, quote: str) -> Span | None:
    """The span of one citation; use one `QuoteLocator` for all citations of a text."""
    return QuoteLocator(text).locate(start, end, quote)


class QuoteLocator:
    """Locates the citations of a provider that quotes the cited text (Gemini)."""

    __slots__ = ("_budget", "_found", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, Span | None] = {}
        self._budget = _MOST_SEARCHED

    def holds(self, span: Span, quote: str) -> bool:
        """Is the quote the text of the span?"""
        return span.end - span.start == len(quote) and self._text.startswith(quote, span.start)

    def locate(self, start: int, end: int, quote: str) -> Span | None:
        """The span at the offsets, or the only occurrence of the quote."""
        if not quote:
            return Span(start, end) if 0 <= start < end <= len(self._text) else None
        if start >= 0 and end <= len(self._text) and self.holds(Span(start, end), quote):
            return Span(start, end)
        if quote not in self._found:
            self._found[quote] = self._search(quote)
        return self._found[quote]

    def _search(self, quote: str) -> Span | None:
        if self._budget < 0:
            return None
        self._budget -= len(self._text)
        found = self._text.find(quote)
        if found < 0 or self._text.find(quote, found + 1) >= 0:
            return None
        return Span(found, found + len(quote))
