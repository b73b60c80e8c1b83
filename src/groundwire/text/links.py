"""Finds Markdown links and bare URLs in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from groundwire.model import Span

# A URL may contain one level of parentheses, as those of Wikipedia do.
_TARGET = r"https?://(?:[^\s()<>]|\([^\s()<>]*\))+"
_LABEL = r"\[((?:[^\[\]]|\[[^\[\]]*\]){0,400})\]"
_LINK = re.compile(rf"{_LABEL}\(\s*({_TARGET})(?:\s+\"[^\"\n]*\")?\s*\)")
_LINK_OR_URL = re.compile(rf"{_LINK.pattern}|<?({_TARGET})>?")
_TRAILING = ".,;:!?'\"*_"


class TextLink(NamedTuple):
    """A link: its span (with parentheses around it, if any), label and URL."""

    span: Span
    label: str
    url: str


def find_links(text: str) -> Iterator[TextLink]:
    """Markdown links and bare URLs, from left to right."""
    for match in _LINK_OR_URL.finditer(text):
        label, url, bare = match.groups()
        if bare is None:
            yield TextLink(_enclosed(text, match.start(), match.end()), label, url)
        else:
            url = bare.rstrip(_TRAILING)
            start = match.start(3)
            yield TextLink(Span(start, start + len(url)), "", url)


def find_markdown_links(text: str) -> Iterator[TextLink]:
    """Markdown links, from left to right."""
    for match in _LINK.finditer(text):
        yield TextLink(_enclosed(text, match.start(), match.end()), match[1], match[2])


def _enclosed(text: str, start: int, end: int) -> Span:
    if text[start - 1 : start] == "(" and text[end : end + 1] == ")":
        return Span(start - 1, end + 1)
    return Span(start, end)
