"""Links written in a text: Markdown's and bare ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from groundwire.model import Span

# The target may hold one level of round brackets, as Wikipedia's addresses do.
_TARGET = r"https?://(?:[^\s()<>]|\([^\s()<>]*\))+"
_LABEL = r"\[((?:[^\[\]]|\[[^\[\]]*\]){0,400})\]"
_LINK = re.compile(rf"{_LABEL}\(\s*({_TARGET})(?:\s+\"[^\"\n]*\")?\s*\)")
_LINK_OR_ADDRESS = re.compile(rf"{_LINK.pattern}|<?({_TARGET})>?")
_TRAILING = ".,;:!?'\"*_"


class TextLink(NamedTuple):
    """A link, where it stands (with the round brackets around it, if any), its label and address."""

    span: Span
    label: str
    url: str


def find_links(text: str) -> Iterator[TextLink]:
    """Markdown links and bare addresses, from left to right."""
    for match in _LINK_OR_ADDRESS.finditer(text):
        label, url, bare = match.groups()
        if bare is None:
            yield TextLink(_enclosed(text, match.start(), match.end()), label, url)
        else:
            url = bare.rstrip(_TRAILING)
            start = match.start(3)
            yield TextLink(Span(start, start + len(url)), "", url)


def find_markdown_links(text: str) -> Iterator[TextLink]:
    """Markdown links alone."""
    for match in _LINK.finditer(text):
        yield TextLink(_enclosed(text, match.start(), match.end()), match[1], match[2])


def _enclosed(text: str, start: int, end: int) -> Span:
    if text[start - 1 : start] == "(" and text[end : end + 1] == ")":
        return Span(start - 1, end + 1)
    return Span(start, end)
