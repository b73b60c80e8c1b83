"""What an answer says, as its wire tells it: the common form of all oracles."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from groundwire.errors import UpstreamError
from groundwire.model import FinishReason, Usage

TextRange: TypeAlias = tuple[int, int] | None


class RecordedCitation(NamedTuple):
    """One source behind one place of the text, in code points."""

    place: TextRange
    url: str
    title: str = ""
    quote: str = ""
    confidence: float | None = None
    placeless: bool = False
    """The wire gave no place at all; then a link to the address will do as well as none."""


class RecordedSearch(NamedTuple):
    """One act of searching: queries, an address, or an address and a pattern."""

    kind: str
    subjects: tuple[str, ...]


class RecordedError(NamedTuple):
    """An error of the provider's."""

    kind: type[UpstreamError]
    message: str
    words: frozenset[str]
    """Its own names for the problem; any of them will do as the code."""
    retry_after: float | None = None


@dataclass
class RecordedAnswer:
    """Everything the wire says that an answer must say too."""

    texts: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    mentions: list[RecordedCitation] = field(default_factory=list)
    calls: list[RecordedSearch] = field(default_factory=list)
    queries: list[str] | None = None
    """All queries, where the wire does not say which belong to one call."""
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
    """Places that were told and are not borne out by the text."""

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.texts)


def displayed_url(url: str) -> str:
    """An address as it may be shown: Gemini's weather cards have raw spaces."""
    return url.replace(" ", "%20")


def find_quote(text: str, start: int, end: int, quote: str) -> TextRange:
    """Where a passage stands of which the wire gives offsets and a copy: there, or where it is unique.

    Some recorders replaced typographic characters, so that offsets behind one are off in the file.
    """
    if text[start:end] == quote:
        return start, end
    if text.count(quote) == 1:
        found = text.index(quote)
        return found, found + len(quote)
    return None


def find_link(text: str, start: int, end: int, url: str) -> TextRange:
    """Where a link stands of which the wire gives offsets: there, or at the link nearest to them.

    Offsets that cut a link in two were not meant.
    """
    label, target = r"\[[^\]]*\]", re.escape(f"({url})")
    if re.search(label + target, text[start:end]):
        return start, end
    links = [match.span() for match in re.finditer(rf"\(?{label}{target}\)?", text)]
    if links:
        return min(links, key=lambda span: abs(span[0] - start))
    return (start, end) if end <= len(text) else None
