"""Where chips stand in the text of an answer: behind a claim, in the place of a marker.

A place is kept by a pair of rare brackets with a number in them. They are punctuation to Markdown, so that
emphasis closes before them as it does before a full stop.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from groundwire.model import Citation, Span
from groundwire.model.value import value
from groundwire.text.links import find_links

_BLANK = re.compile(r"\s|$")
_NO_WORDS = re.compile(r"[\s>#|*+-]*(?:\d+[.)])?\s*")
"""What may stand before the first word of a line, and be told apart from it by a blank."""
_PAIRS = ("⸨⸩", "⦗⦘", "⧼⧽", "⟮⟯")


class Place(NamedTuple):
    """Where the chips of a citation belong."""

    point: int
    citation: Citation


@value
class Marked:
    """A text with marks in it; mark `n` stands for the nth group of citations."""

    text: str
    groups: tuple[tuple[Citation, ...], ...]
    pattern: re.Pattern[str]
    """Finds the marks."""


def mark(
    text: str, places: Iterable[Place], cuts: Mapping[int, int], breaks: Iterable[int] = ()
) -> Marked | None:
    """Put the marks in, leave out what is cut (start to end), and make paragraphs at breaks.

    None where the text holds every kind of bracket itself.
    """
    pair = next((pair for pair in _PAIRS if pair[0] not in text and pair[1] not in text), "")
    if not pair:
        return None
    cited: dict[int, list[Citation]] = {}
    for place in places:
        cited.setdefault(place.point, []).append(place.citation)
    numbers = {point: number for number, point in enumerate(sorted(cited))}
    pieces: list[str] = []
    position = 0
    paragraphs = set(breaks)
    for point in sorted({*cuts, *cited, *paragraphs}):
        pieces.append(text[position:point])
        sign = f"{pair[0]}{numbers[point]}{pair[1]}" if point in numbers else ""
        if point in paragraphs:
            # A claim that ends at a break belongs before it, a marker that begins there behind it.
            sign = f"\n\n{sign}" if point in cuts else f"{sign}\n\n"
        pieces.append(sign)
        position = max(position, cuts.get(point, point))
    pieces.append(text[position:])
    groups = tuple(tuple(cited[point]) for point in sorted(cited))
    return Marked("".join(pieces), groups, re.compile(f"{re.escape(pair[0])}(\\d+){re.escape(pair[1])}"))


def places_in(text: str, citations: Iterable[Citation]) -> tuple[list[Place], dict[int, int]]:
    """Where chips belong, and which markers they take the place of."""
    cuts: dict[int, int] = {}
    places: list[Place] = []
    outside = _outside(tuple(link.span for link in find_links(text)))
    for citation in citations:
        span = citation.span
        if span is None:
            continue
        if citation.anchor == "marker":
            start = _behind_word(text, span.start)
            cuts[start] = max(span.end, cuts.get(start, 0))
            places.append(Place(start, citation))
        else:
            places.append(Place(outside(min(span.end, len(text))), citation))
    return places, cuts


def to_words_before(text: str, point: int) -> int:
    """Behind the last words before a place, also if they are in another paragraph."""
    return len(text[:point].rstrip()) or point


def to_word_end(text: str, point: int) -> int:
    """Behind the word that a place is in."""
    found = _BLANK.search(text, point)
    return found.start() if found else point


def to_line_end(text: str, point: int) -> int:
    """At the end of the line; in the last cell, if it is one of a table."""
    end = text.find("\n", point)
    start = text.rfind("\n", 0, point) + 1
    line = text[start : len(text) if end < 0 else end].rstrip()
    if line.startswith("|") and line.endswith("|"):
        line = line[:-1].rstrip()
    return start + len(line)


def _behind_word(text: str, point: int) -> int:
    """Where a chip stands in the place of a marker: at the word before it, if there is one in the line."""
    line = text[text.rfind("\n", 0, point) + 1 : point]
    blanks = len(line) - len(line.rstrip(" \t"))
    return point if _NO_WORDS.fullmatch(line) else point - blanks


def _outside(spans: Sequence[Span]) -> Callable[[int], int]:
    """A place that is not inside a link."""
    starts = [span.start for span in spans]

    def outside(position: int) -> int:
        index = bisect_right(starts, position) - 1
        inside = index >= 0 and spans[index].start < position < spans[index].end
        return spans[index].end if inside else position

    return outside
