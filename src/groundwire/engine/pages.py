"""What an engine deals in: pages, passages of them, and what a search came back with.

The text of a page is kept as it was read. A passage is a range of it in code points, so that whatever is
quoted stands in the page word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from groundwire.model import SearchOptions, Warned
from groundwire.model.value import value


@value
class Page:
    """A document with an address. Dates are RFC 3339, full or the day alone; the language is ISO 639-1."""

    url: str
    title: str
    text: str
    published: str = ""
    language: str = ""
    collection: str = ""
    """Where it came from, and what it is removed and refreshed with: `python`, `packages`, `groundwire`, a
    folder, a site."""


@value
class Passage:
    """A range of a page's text that answers to a query. Scores compare within one search only."""

    url: str
    title: str
    text: str
    start: int
    """Where it stands in the page's text."""
    score: float = 0.0
    published: str = ""
    language: str = ""


@value
class EngineResult:
    """What a search came back with, best first; several passages may stand in one page."""

    passages: tuple[Passage, ...] = ()
    queries: tuple[str, ...] = ()
    """What was looked for, in the engine's own words."""
    warnings: tuple[Warned, ...] = ()
    advice: tuple[Warned, ...] = ()
    """What to tell whoever is not answered well by this."""


class Engine(Protocol):
    """Somebody who finds pages. Raises only `GroundwireError`; nothing found is an empty `CacheStatus`."""

    @property
    def name(self) -> str:
        """As users type it."""
        ...

    @property
    def honours(self) -> frozenset[str]:
        """The search options (names as in `SearchOptions`) it applies itself."""
        ...

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """The passages that answer best, at most `limit`."""
        ...


SHORTEST_PASSAGE = 600
LONGEST_PASSAGE = 1000

# What a piece may end with, best first: a blank line, a sentence, a line, a word.
_BORDERS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"(?<![A-ZÄÖÜ]\.)(?<=[.!?…])[\"'”’»)\]]*\s+(?=[^a-zäöüß\s])|(?<=[。！？])"),
    re.compile(r"\n\s*"),
    re.compile(r"\s+"),
)


def split_passages(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the pieces, in code points."""
    at, end = 0, len(text)
    while end - at > LONGEST_PASSAGE:
        to = _end_of_piece(text, at, min(at + LONGEST_PASSAGE, end - 1))
        yield at, to
        at = to
    if end > at or end == 0:
        yield at, end


def strip_passage(piece: str) -> tuple[int, str]:
    """A piece without the white space around it, and how much of it stood before."""
    words = piece.lstrip()
    return len(piece) - len(words), words.rstrip()


def _end_of_piece(text: str, at: int, latest: int) -> int:
    """Where the piece that starts at `at` ends: at the last border of the best kind that is not too early."""
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, at + SHORTEST_PASSAGE // 2, latest + 1)]
        late = [to for to in ends if at + SHORTEST_PASSAGE <= to <= latest]
        if late:
            return late[-1]
    return latest
