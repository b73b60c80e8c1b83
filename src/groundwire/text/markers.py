"""Numbers in the text: placing ours, reading and taking out those of others."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from groundwire.model import Citation, Source, Span
from groundwire.text.links import find_links

# Signs that leak from inside providers: `【3:2†source】` (Assistants, Copilot), `【4†L12-L15】` (gpt-oss) and
# U+E200 cite … U+E201 (ChatGPT's private form). None closes over a line.
DAGGER = "【\\d{1,8}(?::\\d{1,8})?†[^】\ue200\ue201\n]{0,40}】"
_PRIVATE = re.compile("\ue200[^\ue200\ue201\n]{0,200}\ue201")
_DAGGER = re.compile(DAGGER)
_FOREIGN = re.compile(f"{_PRIVATE.pattern}|{DAGGER}")

# How answers number the sources they list: `[1]` (Perplexity, Qwen), `[ref_1]` (GLM, Qwen), `[doc1]` (Azure),
# `[citation:1]` (DeepSeek), `^[1]^` (Baidu), `[^1^]` (Kimi), `【1】`, and `[1,2](@ref)` (Hunyuan).
NUMBERED = (
    r"\^?(?<!\[)\[\^?(?:ref_|doc|citation:)?(\d{1,3})\^?\](?![(\]])\^?"
    r"|\[(\d{1,3}(?:, ?\d{1,3}){0,9})\]\(@ref\)"
    r"|【(?:ref_)?(\d{1,3})】"
)
# Numbers in code are not citations; a number that is the label of a link is part of that link.
_NUMBERED = re.compile(rf"```.*?(?:```|\Z)|`[^`\n]*`|{NUMBERED}", re.DOTALL)
_UNFINISHED = re.compile("\ue200[^\ue200\ue201\n]{0,200}$|【[^】\ue200\ue201\n]{0,60}$")
_UNFINISHED_PRIVATE = re.compile("\ue200[^\ue200\ue201\n]{0,200}$")


class NumberMarker(NamedTuple):
    """A marker that names entries of a numbered list of sources, and where it is in the text."""

    span: Span
    numbers: tuple[int, ...]


def find_number_markers(text: str) -> Iterator[NumberMarker]:
    """Every marker outside code that may number a source, from left to right."""
    for match in _NUMBERED.finditer(text) if "[" in text or "【" in text else ():
        if match.lastindex:
            numbers = (int(number) for number in match[match.lastindex].split(","))
            yield NumberMarker(Span(*match.span()), tuple(dict.fromkeys(numbers)))


def find_dagger_markers(text: str) -> Iterator[Span]:
    """Where markers like `【3:2†source】` are, which mean nothing to a reader."""
    return (Span(*match.span()) for match in _DAGGER.finditer(text)) if "†" in text else iter(())


def is_dagger(fragment: str) -> bool:
    """Is it one marker like `【3:2†source】`, and nothing else?"""
    return _DAGGER.fullmatch(fragment) is not None


def strip_markers(text: str) -> str:
    """The text without foreign signs."""
    return _FOREIGN.sub("", text)


class MarkerStripper:
    """Takes foreign signs out of a text that comes in pieces, and knows where positions went.

    With `private_only` it leaves the signs that citations may be anchored to.
    """

    __slots__ = ("_pattern", "_raw", "_removed", "_rest", "_starts", "_unfinished")

    def __init__(self, *, private_only: bool = False) -> None:
        self._pattern = _PRIVATE if private_only else _FOREIGN
        self._unfinished = _UNFINISHED_PRIVATE if private_only else _UNFINISHED
        self._rest = ""
        self._raw = 0
        self._starts: list[int] = []
        self._removed: list[tuple[int, int]] = []

    def feed(self, text: str) -> str:
        """The part of the text so far that is certain to stay."""
        if not self._rest and "\ue200" not in text and (self._pattern is _PRIVATE or "【" not in text):
            self._raw += len(text)
            return text
        text = self._rest + text
        match = self._unfinished.search(text)
        cut = match.start() if match else len(text)
        self._rest = text[cut:]
        return self._strip(text[:cut])

    def close(self) -> str:
        """What was held back and turned out to be text."""
        rest, self._rest = self._rest, ""
        return self._strip(rest)

    @property
    def taken(self) -> int:
        """How long the text is that came so far."""
        return self._raw + len(self._rest)

    def place(self, offset: int) -> int:
        """Where a position of the text as it came is in the text as it went."""
        index = bisect_right(self._starts, offset)
        if not index:
            return offset
        end, gone = self._removed[index - 1]
        return max(offset, end) - gone

    def _strip(self, text: str) -> str:
        base = self._raw
        self._raw += len(text)
        for match in self._pattern.finditer(text):
            gone = self._removed[-1][1] if self._removed else 0
            self._starts.append(base + match.start())
            self._removed.append((base + match.end(), gone + match.end() - match.start()))
        return self._pattern.sub("", text)


def place_markers(
    text: str,
    citations: Iterable[Citation],
    number: Callable[[Source], int | None],
    breaks: Iterable[int] = (),
) -> str:
    """The text with `[1][2]` after each claim, and in the place of each marker.

    Numbers never land inside a link or an address. `breaks` are positions that get an empty line.
    """
    cuts, marks = edits(text, citations, number)
    paragraphs = set(breaks)
    pieces: list[str] = []
    position = 0
    placed: set[int] = set()
    for point in sorted({*cuts, *marks, *paragraphs}):
        if point > position:
            pieces.append(text[position:point])
            placed.clear()
        # Inside or right behind a marker that was taken out, only numbers it does not have are added.
        numbers = sorted(marks.get(point, set()) - placed)
        placed.update(numbers)
        signs = "".join(f"[{value}]" for value in numbers)
        if point in paragraphs:
            # A claim that ends at a break belongs before it, a marker that begins there behind it.
            signs = f"\n\n{signs}" if point in cuts else f"{signs}\n\n"
        pieces.append(signs)
        position = max(position, cuts.get(point, point))
    pieces.append(text[position:])
    return "".join(pieces)


def edits(
    text: str, citations: Iterable[Citation], number: Callable[[Source], int | None]
) -> tuple[dict[int, int], dict[int, set[int]]]:
    """What to take out (start to end), and which numbers to put in where."""
    cuts: dict[int, int] = {}
    claims: list[tuple[int, set[int]]] = []
    marks: dict[int, set[int]] = {}
    for citation in citations:
        numbers = {value for item in citation.evidence if (value := number(item.source)) is not None}
        if citation.span is None or not numbers:
            continue
        if citation.anchor == "marker":
            cuts[citation.span.start] = max(citation.span.end, cuts.get(citation.span.start, 0))
            marks.setdefault(citation.span.start, set()).update(numbers)
        else:
            claims.append((citation.span.end, numbers))
    outside = _outside_links(text) if claims else None
    for end, numbers in claims:
        marks.setdefault(outside(end) if outside else end, set()).update(numbers)
    return cuts, marks


def _outside_links(text: str) -> Callable[[int], int]:
    spans = [link.span for link in find_links(text)]
    starts = [span.start for span in spans]

    def outside(position: int) -> int:
        index = bisect_right(starts, position) - 1
        if index >= 0 and spans[index].start < position < spans[index].end:
            return spans[index].end
        return position

    return outside
