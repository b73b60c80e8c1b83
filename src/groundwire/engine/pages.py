"""Pages, passages, search results, and the protocol of search engines.

The text of a page is kept as it was read. A passage is a range of it in code points, so quotes are verbatim.
`split_passages` cuts a text into passages: whole paragraphs and sentences, as many as make a readable length.
With an outline, every section begins a passage, and code blocks, lists and tables that fit into one are not
cut. The passages follow each other without a gap; joined they are the text again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

from groundwire.engine.outline import (
    HEADINGS,
    Block,
    Section,
    decode_outline,
    encode_outline,
    outline_parts,
)
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
    outline: str = ""
    """The structure of the text, encoded by `groundwire.engine.outline`; empty if it is not known."""


class ClosestSentence(NamedTuple):
    """The sentence of a passage that is closest to the question in meaning."""

    start: int
    end: int
    """Offsets in the text of the passage, end exclusive."""
    similarity: float
    """At most 1."""


@value
class Passage:
    """A range of a page's text that matches a query. Scores are comparable within one search only."""

    url: str
    title: str
    text: str
    """Empty if only the address of the page is known."""
    start: int
    """Offset in the page's text, in code points."""
    score: float = 0.0
    published: str = ""
    language: str = ""
    section: str = ""
    """The headings above it, outermost first, one in a line."""
    outline: str = ""
    """The structure of its text, encoded, with offsets in this text."""
    about: float = 0.0
    """How well the subject of its page is known to match the question, whatever the words of the text:
    between 0 and 1; 0 if nothing is known."""
    similarity: float = 0.0
    """How close its meaning is to that of the question, at most 1; 0 if that is not known."""
    closest: ClosestSentence | None = None
    """None if its sentences were not compared."""


@value
class EngineResult:
    """The result of a search: passages, best first. Several may be of one page."""

    passages: tuple[Passage, ...] = ()
    queries: tuple[str, ...] = ()
    """The queries that the engine sent or ran."""
    warnings: tuple[Warned, ...] = ()
    advice: tuple[Warned, ...] = ()
    """Warnings to add if the passages do not answer well."""
    is_answer: bool | None = None
    """Do the passages answer the question? None if the engine does not judge that."""
    probability: float | None = None
    """That they do, if the engine judges that."""
    understood: str = ""
    """The question as the engine interpreted it: an error extracted, words corrected, translated."""
    service: str = ""
    """The service that answered, if the engine has several."""


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


@runtime_checkable
class LinkEngine(Protocol):
    """An engine that can list pages without opening them."""

    async def links(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the pages, best first, each with the passage that the service quotes."""
        ...


LINK_EXTRAS = "engine"
"""Extras of a source that an engine listed: `score`, at most 1, and `service`."""

SHORTEST_PASSAGE = 600
LONGEST_PASSAGE = 1000

_NO_SECTION = Section()

# What a passage may end with, best first: a blank line, a sentence, a line, a word.
_BORDERS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(
        r"(?<![A-ZÄÖÜ]\.)(?<![\s(]\d\.)(?<![\s(]\d\d\.)(?<=[.!?…])[\"'”’»)\]]*\s+(?=[^a-zäöüß\s])|(?<=[。！？])"
    ),
    re.compile(r"\n\s*"),
    re.compile(r"\s+"),
)


def split_passages(text: str, outline: str = "") -> Iterator[tuple[int, int]]:
    """The ranges of the passages, in code points. Between borders of equal kind the later one is taken."""
    if outline:
        yield from _split_sections(text, decode_outline(outline))
        return
    at, end = 0, len(text)
    while end - at > LONGEST_PASSAGE:
        to = _passage_end(text, at, min(at + LONGEST_PASSAGE, end - 1))
        yield at, to
        at = to
    if end > at or end == 0:
        yield at, end


def page_passages(page: Page) -> Iterator[Passage]:
    """The passages of a page with their sections, without scores; those without words are left out."""
    ranges = list(split_passages(page.text, page.outline))
    pieces = [(start, page.text[start:end]) for start, end in ranges]
    for (start, piece), (section, outline) in zip(pieces, describe_passages(page, pieces), strict=True):
        before, text = strip_passage(piece)
        if text:
            yield Passage(
                section_url(page.url, section),
                page.title,
                text,
                start + before,
                published=page.published,
                language=page.language,
                section="\n".join(section.headings),
                outline=outline,
            )


def describe_passages(page: Page, pieces: Sequence[tuple[int, str]]) -> list[tuple[Section, str]]:
    """The section and the encoded outline of each passage of a page, stripped of the white space around it.

    A piece is a start and a text; all pieces together are the text of the page, which may be empty itself."""
    if not page.outline:
        return [(_NO_SECTION, "")] * len(pieces)
    text = page.text or "".join(piece for _, piece in pieces)
    ranges: list[tuple[int, int]] = []
    for start, piece in pieces:
        before, words = strip_passage(piece)
        ranges.append((start + before, start + before + len(words)))
    parts = outline_parts(text, decode_outline(page.outline), ranges)
    return [(section, encode_outline(blocks)) for section, blocks in parts]


def section_url(url: str, section: Section) -> str:
    """The URL of a section: the URL of its page with the anchor, unless the page has a fragment itself."""
    return f"{url}#{section.anchor}" if section.anchor and "#" not in url else url


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


def _split_sections(text: str, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """The passages of a text with an outline: at least one for each section."""
    units = _units(text, blocks)
    borders = [0, *(unit.start for unit in units if unit.is_section and unit.start > 0), len(text)]
    starts = [unit.start for unit in units]
    for at, end in pairwise(borders):
        yield from _split_section(text, at, end, starts)
    if not text:
        yield 0, 0


def _split_section(text: str, at: int, end: int, starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The passages of a section. A unit is cut only if it is longer than a passage."""
    while end - at > LONGEST_PASSAGE:
        latest = at + LONGEST_PASSAGE
        last = bisect_right(starts, latest) - 1
        unit = starts[last] if last >= 0 else 0
        following = starts[last + 1] if last + 1 < len(starts) else end
        if unit > at and (unit >= at + SHORTEST_PASSAGE or following - unit <= LONGEST_PASSAGE):
            to = unit
        else:
            to = _passage_end(text, at, min(latest, end - 1))
        yield at, to
        at = to
    if end > at:
        yield at, end


class _PassageUnit(NamedTuple):
    """Where something begins that is kept together."""

    start: int
    is_section: bool = False
    is_announced: bool = False
    """Does the paragraph before it announce it with a colon?"""


def _units(text: str, blocks: Sequence[Block]) -> list[_PassageUnit]:
    """The rows of a table are one unit, and so are the items of a list with what is in them. A heading
    directly after another one continues its section. Code, a list or a table belongs to the paragraph that
    announces it, if both fit into one passage."""
    units: list[_PassageUnit] = []
    before: Block | None = None
    for block in blocks:
        if block.kind in HEADINGS:
            if before is None or before.kind not in HEADINGS:
                units.append(_PassageUnit(block.start, is_section=True))
        elif before is None or not _belongs_to(block, before):
            is_announced = before is not None and block.kind != "paragraph" and text[before.end - 1] == ":"
            units.append(_PassageUnit(block.start, is_announced=is_announced))
        before = block
    ends = [unit.start for unit in units[1:]] + [len(text)]
    starts = [0, *(unit.start for unit in units)]
    return [
        unit
        for unit, end, start in zip(units, ends, starts, strict=False)
        if not (unit.is_announced and end - start <= LONGEST_PASSAGE)
    ]


def _belongs_to(block: Block, before: Block) -> bool:
    """Is it the next row of a table, the next part of a list, or the first block after a heading?"""
    if before.kind in HEADINGS:
        return True
    if block.kind == "row":
        return before.kind == "row" and not (block.level and not before.level)
    in_list = block.kind == "item" or block.level > 0
    return in_list and (before.kind == "item" or before.level > 0) and before.kind != "row"
