"""Facts of a recorded answer: the common output of all oracles."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from groundwire.errors import UpstreamError
from groundwire.model import FinishReason, Usage

TextRange: TypeAlias = tuple[int, int] | None


class RecordedCitation(NamedTuple):
    """One source cited for one span of the text, in code points."""

    span: TextRange
    url: str
    title: str = ""
    quote: str = ""
    confidence: float | None = None
    without_span: bool = False
    """The wire gave no offsets; then the link to the URL is as good as no span."""


class RecordedSearch(NamedTuple):
    """One search: queries, a URL, or a URL and a pattern."""

    kind: str
    subjects: tuple[str, ...]


class RecordedError(NamedTuple):
    """An error of the provider."""

    kind: type[UpstreamError]
    message: str
    codes: frozenset[str]
    """The codes in the body; any of them is accepted as the upstream code."""
    retry_after: float | None = None


@dataclass
class RecordedAnswer:
    """Everything in the recording that the decoded answer must contain."""

    texts: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    citations: list[RecordedCitation] = field(default_factory=list)
    calls: list[RecordedSearch] = field(default_factory=list)
    queries: list[str] | None = None
    """All queries, where the wire does not group them by call."""
    found: set[str] = field(default_factory=set)
    dates: set[tuple[str, str]] = field(default_factory=set)
    suggestions: set[str] = field(default_factory=set)
    search_errors: list[str] = field(default_factory=list)
    reasoning: str = ""
    blobs: set[str] = field(default_factory=set)
    tool_calls: list[tuple[str, str]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: FinishReason | None = None
    refusal: RecordedError | None = None
    id: str = ""
    model: str = ""
    unverified: int = 0
    """Number of offsets that do not match the text."""

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.texts)


def displayed_url(url: str) -> str:
    """A URL as it is displayed: those of Gemini's weather cards have raw spaces."""
    return url.replace(" ", "%20")


def find_quote(text: str, start: int, end: int, quote: str) -> TextRange:
    """The span of a passage with offsets and a copy of its text: at the offsets, or where it is unique.

    Some recorders replaced typographic characters, so that offsets after one are wrong in the file.
    """
    if text[start:end] == quote:
        return start, end
    if text.count(quote) == 1:
        found = text.index(quote)
        return found, found + len(quote)
    return None


def find_link(text: str, start: int, end: int, url: str) -> TextRange:
    """The span of a link with offsets: at the offsets, or the nearest link.

    Offsets inside a link are taken for the link.
    """
    label, target = r"\[[^\]]*\]", re.escape(f"({url})")
    if re.search(label + target, text[start:end]):
        return start, end
    links = [match.span() for match in re.finditer(rf"\(?{label}{target}\)?", text)]
    if links:
        return min(links, key=lambda span: abs(span[0] - start))
    return (start, end) if end <= len(text) else None
