"""Pages, passages, search results, and the protocol of search engines.

The text of a page is kept as it was read. A passage is a range of it in code points, so quotes are verbatim.
`split_passages` cuts a text into passages: whole paragraphs and sentences, as many as make a readable length.
The passages follow each other without a gap; joined they are the text again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from groundwire.model import SearchOptions, Warned
from groundwire.model.value import value


@value
class Page:
    """A document with a URL. Dates are RFC 3339, with or without a time; the language is ISO 639-1."""

    url: str
    title: str
    text: str
    published: str = ""
    language: str = ""
    collection: str = ""
    """The group it is refreshed and removed with: `python`, `packages`, `groundwire`, a folder, a site."""


@value
class Passage:
    """A range of a page's text that matches a query. Scores are comparable within one search only."""

    url: str
    title: str
    text: str
    start: int
    """Offset in the page's text, in code points."""
    score: float = 0.0
    published: str = ""
    language: str = ""


@value
class EngineResult:
    """The result of a search: passages, best first. Several may be of one page."""

    passages: tuple[Passage, ...] = ()
    queries: tuple[str, ...] = ()
    """The queries that the engine sent or ran."""
    warnings: tuple[Warned, ...] = ()
    advice: tuple[Warned, ...] = ()
    """Warnings to add if the passages do not answer well."""


class Engine(Protocol):
    """A search engine. Raises only `GroundwireError`; if nothing is found, the result is empty."""

    @property
    def name(self) -> str:
        """The name in configuration and commands."""
        ...

    @property
    def honours(self) -> frozenset[str]:
        """The search options (names as in `SearchOptions`) that it applies itself."""
        ...

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the best passages, at most `limit`."""
        ...


SHORTEST_PASSAGE = 600
LONGEST_PASSAGE = 1000

# What a passage may end with, best first: a blank line, a sentence, a line, a word.
_BORDERS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"(?<![A-ZÄÖÜ]\.)(?<=[.!?…])[\"'”’»)\]]*\s+(?=[^a-zäöüß\s])|(?<=[。！？])"),
    re.compile(r"\n\s*"),
    re.compile(r"\s+"),
)


def split_passages(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the passages, in code points. Between borders of equal kind the later one is taken."""
    at, end = 0, len(text)
    while end - at > LONGEST_PASSAGE:
        to = _passage_end(text, at, min(at + LONGEST_PASSAGE, end - 1))
        yield at, to
        at = to
    if end > at or end == 0:
        yield at, end


def strip_passage(piece: str) -> tuple[int, str]:
    """A passage without the white space around it, and the length of what was removed before it."""
    words = piece.lstrip()
    return len(piece) - len(words), words.rstrip()


def _passage_end(text: str, at: int, latest: int) -> int:
    """End of the passage that starts at `at`: the last border of the best kind that is not too early."""
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, at + SHORTEST_PASSAGE // 2, latest + 1)]
        late = [to for to in ends if at + SHORTEST_PASSAGE <= to <= latest]
        if late:
            return late[-1]
    return latest
