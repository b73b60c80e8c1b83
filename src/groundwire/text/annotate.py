"""Citation markers in a text: inserts ours, reads and removes those that providers write.

Every face uses the same algorithm to insert markers (`[1]`, footnotes, links, chips), in two steps:

1. `place_markers` decides where each marker goes: after a claim, or instead of a marker that the provider
   wrote, never inside a link or an address. The page moves positions between the steps, because a chip must
   not change how Markdown is read.
2. `annotate` inserts the markers with a writer of the caller's, removes what they replace, and maps offsets
   of the original text to offsets of the annotated one.

`annotate_numbers` does both for markers that show the number of a source. A face that renders the annotated
text as Markdown first writes `Placeholders`, which cannot be confused with the text, and replaces them later.

Streams: `StreamAnnotator` annotates a text chunk by chunk. `add` queues a citation until the chunk that
contains its end is written, and returns False when that has been written already; `write` annotates the next
chunk. `MarkerStripper` and `NumberReader` read a text chunk by chunk: `feed` holds back the beginning of a
marker until the rest arrives, `close` returns what was held back, `map_offset` maps offsets of the input.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple, TypeAlias

from groundwire.model import Answer, Citation, Source, Span, Text
from groundwire.model.value import replace, value
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.links import find_links

# Internal markers that leak from providers: `【3:2†source】` (Assistants, Copilot), `【4†L12-L15】` (gpt-oss)
# and U+E200 cite … U+E201 (ChatGPT). None of them spans lines.
DAGGER = "【\\d{1,8}(?::\\d{1,8})?†[^】\ue200\ue201\n]{0,40}】"
_PRIVATE = lazy_pattern("\ue200[^\ue200\ue201\n]{0,200}\ue201")
_DAGGER = lazy_pattern(DAGGER)
_FOREIGN = lazy_pattern(f"{_PRIVATE.pattern}|{DAGGER}")
_UNFINISHED = lazy_pattern("\ue200[^\ue200\ue201\n]{0,200}$|【[^】\ue200\ue201\n]{0,60}$")
_UNFINISHED_PRIVATE = lazy_pattern("\ue200[^\ue200\ue201\n]{0,200}$")

# How answers number the sources they list: `[1]` (Perplexity, Qwen), `[ref_1]` (GLM, Qwen), `[doc1]` (Azure),
# `[citation:1]` (DeepSeek), `^[1]^` (Baidu), `[^1^]` (Kimi), `【1】`, `[1, 2]`, and `[1,2](@ref)` (Hunyuan).
NUMBERED = (
    r"\^?(?<!\[)\[\^?(?:ref_|doc|citation:)?(\d{1,3})\^?\](?![(\]])\^?"
    r"|\[(\d{1,3}(?:, ?\d{1,3}){0,9})\]\(@ref\)"
    r"|(?<!\[)\[(\d{1,3}(?:, ?\d{1,3}){1,9})\](?![(\]])"
    r"|【(?:ref_)?(\d{1,3})】"
)
# Numbers in code are not citations; a number that is the label of a link is part of that link.
_NUMBERED = rf"(?s:```.*?(?:```|\Z)|`[^`\n]*`|{NUMBERED})"

# How models cite the numbered sources of a prompt: `[1]`, `[1][3]`, `[2, 4]`, `[^1]`, `【5】`, `【5†label】`.
_LIST = r"\^?\d{1,4}(?:\s*[,;–-]\s*\^?\d{1,4}){0,19}"
_ONE = rf"\[{_LIST}\]|【{_LIST}(?:†[^】\n]{{0,40}})?】"
# An index, a call or a nested list is not a citation: `x = [1]`, `f([1])`, `[[1], [2]]`.
_CITED_NUMBERS = rf"(?<![ \t=(\[{{+*/<>])[ \t]*(?:{_ONE})(?:[ \t]?(?:{_ONE})){{0,39}}(?!\()"
_UNFINISHED_NUMBERS = (
    rf"(?<![ \t])[ \t]*(?:(?:{_ONE})[ \t]?){{0,40}}(?:\[[\d\s,;–^-]{{0,40}}|【[^】\n]{{0,50}})?$"
)
_NUMBER_OR_RANGE = lazy_pattern(r"(\d{1,4})(?:\s*[–-]\s*\^?(\d{1,4}))?")
_DAGGER_LABEL = lazy_pattern(r"†[^】\n]*")
_LONGEST_RANGE = 20
_FENCES = ("```", "~~~")

_LINE_PREFIX = lazy_pattern(r"[\s>#|*+-]*(?:\d+[.)])?\s*")
"""Markdown block syntax before the first word of a line."""
# Links that are not to the web, such as `[plot.png](sandbox:/mnt/data/plot.png)` for a file of OpenAI.
_OTHER_LINK = lazy_pattern(r"\[[^\[\]\n]{0,300}\]\((?!https?:)[^()\s]{1,500}\)")
_BRACKETS = ("⸨⸩", "⦗⦘", "⧼⧽", "⟮⟯")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that takes long to compile, when it is first needed: few programs read numbers in answers."""
    return re.compile(pattern)


NumberOf: TypeAlias = Callable[[Source], int | None]
"""Gives the number of a source; None for a source that is not listed."""

MarkerWriter: TypeAlias = Callable[[Sequence[Citation], bool], str]
"""Writes the markers of the citations at one position. The flag says that no text was kept since the markers
written before."""


class MarkerPosition(NamedTuple):
    """The position in a text at which a citation gets its marker."""

    offset: int
    citation: Citation


@value
class MarkerPlacement:
    """Where markers go, and which stretches of the text they replace."""

    positions: tuple[MarkerPosition, ...] = ()
    cuts: Mapping[int, int] = {}
    """Start to end of each stretch."""


def place_markers(
    text: str, citations: Iterable[Citation], *, attach_to_word: bool = False
) -> MarkerPlacement:
    """Find the position of each citation that has a span.

    With `attach_to_word`, blanks before a marker of the provider's are removed together with it, so that ours
    follows the word.
    """
    cuts: dict[int, int] = {}
    markers: list[MarkerPosition] = []
    claims: list[tuple[int, Citation]] = []
    for citation in citations:
        span = citation.span
        if span is None:
            continue
        if citation.anchor == "marker":
            start = _end_of_word_before(text, span.start) if attach_to_word else span.start
            cuts[start] = max(span.end, cuts.get(start, 0))
            markers.append(MarkerPosition(start, citation))
        else:
            claims.append((min(span.end, len(text)), citation))
    move = _move_out_of_links(text) if claims else None
    positions = (MarkerPosition(move(end), citation) for end, citation in claims) if move else ()
    return MarkerPlacement((*markers, *positions), cuts)


class AnnotatedText(NamedTuple):
    """A text with markers."""

    text: str
    offsets: OffsetMap
    """Maps offsets of the original text."""

    def move(self, citation: Citation) -> Citation:
        """The citation with its span in the annotated text: the words of the claim, or the marker itself."""
        if citation.span is None:
            return citation
        start, end = citation.span
        before, after = self.offsets.before, self.offsets.after
        if citation.anchor == "marker":
            return replace(citation, span=Span(before(start), after(start)))
        begin = min(after(start), before(end)) if start < end else before(end)
        return replace(citation, span=Span(begin, before(end)))


def annotate(
    text: str,
    placement: MarkerPlacement,
    write: MarkerWriter,
    breaks: Iterable[int] = (),
    *,
    strip: bool = False,
) -> AnnotatedText:
    """Insert markers, remove what they replace, and insert an empty line at each offset of `breaks`.

    With `strip`, markers of providers that no citation is anchored to are removed as well.
    """
    cited: dict[int, list[Citation]] = {}
    for offset, citation in placement.positions:
        cited.setdefault(offset, []).append(citation)
    anchors = placement.cuts
    cuts = _with_foreign_markers(text, anchors) if strip else anchors
    paragraphs = set(breaks)
    offsets = OffsetMap()
    pieces: list[str] = []
    position = length = 0
    is_adjacent = False
    for point in sorted({*cuts, *cited, *paragraphs}):
        kept = text[position:point] if point > position else ""
        is_adjacent = is_adjacent and not kept
        inserted = write(cited[point], is_adjacent) if point in cited else ""
        is_adjacent = is_adjacent or bool(inserted)
        if point in paragraphs:
            # The marker of a claim that ends at a break belongs before it, one that replaces text after it.
            inserted = f"\n\n{inserted}" if point in anchors else f"{inserted}\n\n"
        pieces += (kept, inserted)
        end = max(cuts.get(point, point), position, point)
        length += len(kept)
        offsets.add(point, end, length, length + len(inserted))
        length += len(inserted)
        position = end
    pieces.append(text[position:])
    return AnnotatedText("".join(pieces), offsets)


class OffsetMap:
    """Maps offsets of a text to offsets of the same text with replacements."""

    __slots__ = ("_replacements", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._replacements: list[tuple[int, int, int]] = []

    def add(self, start: int, end: int, new_start: int, new_end: int) -> None:
        """Record a replacement; replacements are added from left to right."""
        self._starts.append(start)
        self._replacements.append((end, new_start, new_end))

    def before(self, offset: int) -> int:
        """The new offset, before what was inserted at it."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and self._starts[index] == offset:
            return self._replacements[index][1]
        return self._after(index, offset)

    def after(self, offset: int) -> int:
        """The new offset, after what was inserted at it."""
        return self._after(bisect_right(self._starts, offset) - 1, offset)

    def _after(self, index: int, offset: int) -> int:
        if index < 0:
            return offset
        end, _, new_end = self._replacements[index]
        return new_end + max(offset - end, 0)


def bracketed(number: int) -> str:
    """The marker `[n]`."""
    return f"[{number}]"


class NumberWriter:
    """Writes one marker for each source number; adjacent positions do not repeat a number unless `repeat`."""

    __slots__ = ("_format", "_number", "_repeat", "_written")

    def __init__(
        self, number: NumberOf, format_: Callable[[int], str] = bracketed, *, repeat: bool = False
    ) -> None:
        self._number = number
        self._format = format_
        self._repeat = repeat
        self._written: set[int] = set()

    def numbers(self, citation: Citation) -> set[int]:
        """The numbers of the sources of a citation."""
        found = (self._number(item.source) for item in citation.evidence)
        return {number for number in found if number is not None}

    def __call__(self, citations: Sequence[Citation], is_adjacent: bool) -> str:  # noqa: FBT001
        if not is_adjacent or self._repeat:
            self._written.clear()
        numbers = set[int]().union(*map(self.numbers, citations)) - self._written
        self._written |= numbers
        return "".join(map(self._format, sorted(numbers)))


def annotate_numbers(
    text: str,
    citations: Iterable[Citation],
    writer: NumberWriter,
    breaks: Iterable[int] = (),
    *,
    strip: bool = False,
) -> AnnotatedText:
    """Annotate a text with source numbers; citations without a numbered source leave the text as it is."""
    numbered = [citation for citation in citations if citation.span is not None and writer.numbers(citation)]
    return annotate(text, place_markers(text, numbered), writer, breaks, strip=strip)


class Placeholders:
    """Markers for a text that will be rendered: brackets the text does not contain, with a number between.

    Markdown reads the brackets as punctuation, so that emphasis closes before them as before a full stop.
    """

    __slots__ = ("_close", "_open", "pattern")

    def __init__(self, text: str) -> None:
        pairs = ((pair[0] * size, pair[1]) for size in count(1) for pair in _BRACKETS)
        self._open, self._close = next(pair for pair in pairs if pair[0] not in text)
        self.pattern = re.compile(f"{re.escape(self._open)}(\\d+){re.escape(self._close)}")
        """Finds the placeholders; its group is the number."""

    def __call__(self, number: int) -> str:
        """The placeholder with a number."""
        return f"{self._open}{number}{self._close}"


class AnnotatedChunk(NamedTuple):
    """A chunk of a stream with its markers, and the citations whose spans end in it."""

    text: str
    citations: tuple[Citation, ...]
    """With spans in the whole annotated text."""


class StreamAnnotator:
    """Annotates a text that is written chunk by chunk with the numbers of its sources.

    With `join`, a claim that ends with a chunk can still get its marker at the beginning of the next one.
    """

    __slots__ = (
        *("_closed", "_join", "_pending", "_sequence", "_strip", "_written"),
        *("length", "read"),
    )

    def __init__(self, *, join: bool = False, strip: bool = False) -> None:
        self._join = join
        self._strip = strip
        self._closed = False
        self._sequence = count()
        self._pending: list[tuple[int, int, Citation]] = []
        """A heap, by the end of the span, then by arrival."""
        self._written: list[tuple[int, int, OffsetMap]] = []
        """Of each chunk its offset in the text, its offset in the annotated text, and the map between."""
        self.read = 0
        """Length of the text so far."""
        self.length = 0
        """Length of the annotated text so far."""

    def add(self, citation: Citation) -> bool:
        """Queue a citation; False if it has no span, or its position is already written."""
        span = citation.span
        if span is None or span.end < self.read:
            return False
        is_marker = citation.anchor == "marker" and span.start < span.end
        if span.end == self.read and (self._closed or is_marker):
            return False
        heappush(self._pending, (span.end, next(self._sequence), citation))
        return True

    def pending(self) -> list[Citation]:
        """The citations whose end is not written yet."""
        return [citation for _, _, citation in sorted(self._pending, key=lambda item: item[:2])]

    def end_paragraph(self) -> None:
        """Begin a new paragraph: markers of claims before it cannot follow it."""
        self._closed = True

    def write(self, text: str, writer: NumberWriter) -> AnnotatedChunk:
        """Annotate the next chunk."""
        start, end = self.read, self.read + len(text)
        ready: list[Citation] = []
        while self._pending and self._pending[0][0] <= end:
            ready.append(heappop(self._pending)[2])
        chunk = annotate_numbers(
            text, [_shift(citation, -start) for citation in ready], writer, strip=self._strip
        )
        self._written.append((start, self.length, chunk.offsets))
        citations = tuple(self._move(citation, chunk) for citation in ready)
        self.read = end
        self.length += len(chunk.text)
        if text:
            self._closed = not self._join
        return AnnotatedChunk(chunk.text, citations)

    def _move(self, citation: Citation, chunk: AnnotatedText) -> Citation:
        moved = _shift(chunk.move(_shift(citation, -self.read)), self.length)
        if citation.span is None or moved.span is None or citation.span.start >= self.read:
            return moved
        # The claim began in an earlier chunk.
        begin = citation.span.start
        index = bisect_right(self._written, begin, key=lambda chunk: chunk[0]) - 1
        start, new_start, offsets = self._written[index]
        return replace(moved, span=Span(new_start + offsets.after(begin - start), moved.span.end))


def map_citation(citation: Citation, map_offset: Callable[[int], int]) -> Citation:
    """The citation with both offsets of its span mapped."""
    if citation.span is None:
        return citation
    return replace(citation, span=Span(map_offset(citation.span.start), map_offset(citation.span.end)))


def _shift(citation: Citation, by: int) -> Citation:
    if citation.span is None or not by:
        return citation
    start, end = citation.span
    return replace(citation, span=Span(max(start + by, 0), end + by))


def paragraph_breaks(answer: Answer, after: tuple[type, ...] = ()) -> list[int]:
    """Offsets at which the text goes on in another phase, or after a part of one of the given types.

    The text of such parts does not say that a new paragraph begins.
    """
    breaks: list[int] = []
    position = 0
    previous: Text | None = None
    interrupted = False
    for part in answer.parts:
        if not isinstance(part, Text):
            interrupted = interrupted or isinstance(part, after)
        elif part.text:
            if previous is not None and (interrupted or previous.phase != part.phase):
                breaks.append(position)
            position += len(part.text)
            previous = part
            interrupted = False
    return breaks


def _end_of_word_before(text: str, offset: int) -> int:
    """The end of the word before an offset, if there is one in the same line; else the offset."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    blanks = len(line) - len(line.rstrip(" \t"))
    return offset if _LINE_PREFIX.fullmatch(line) else offset - blanks


def _move_out_of_links(text: str) -> Callable[[int], int]:
    spans = [link.span for link in find_links(text)]
    if "](" in text:
        spans = sorted({*spans, *(Span(*match.span()) for match in _OTHER_LINK.finditer(text))})
    starts = [span.start for span in spans]

    def move(offset: int) -> int:
        index = bisect_right(starts, offset) - 1
        if index >= 0 and spans[index].start < offset < spans[index].end:
            return spans[index].end
        return offset

    return move


def _with_foreign_markers(text: str, cuts: Mapping[int, int]) -> Mapping[int, int]:
    if "\ue200" not in text and "†" not in text:
        return cuts
    every = dict(cuts)
    for match in _FOREIGN.finditer(text):
        every[match.start()] = max(match.end(), every.get(match.start(), 0))
    return every


class NumberMarker(NamedTuple):
    """A marker that names entries of a numbered list of sources, and its span."""

    span: Span
    numbers: tuple[int, ...]


def find_number_markers(text: str) -> Iterator[NumberMarker]:
    """Every marker outside code that may number a source, from left to right."""
    for match in _compiled(_NUMBERED).finditer(text) if "[" in text or "【" in text else ():
        if match.lastindex:
            numbers = (int(number) for number in match[match.lastindex].split(","))
            yield NumberMarker(Span(*match.span()), tuple(dict.fromkeys(numbers)))


def find_dagger_markers(text: str) -> Iterator[Span]:
    """Spans of markers like `【3:2†source】`, which mean nothing to a reader."""
    return (Span(*match.span()) for match in _DAGGER.finditer(text)) if "†" in text else iter(())


def is_dagger(fragment: str) -> bool:
    """Is the fragment exactly one marker like `【3:2†source】`?"""
    return _DAGGER.fullmatch(fragment) is not None


def strip_markers(text: str) -> str:
    """The text without internal markers of providers."""
    return _FOREIGN.sub("", text)


def unfinished_marker(text: str) -> int:
    """The offset at which the text ends in the beginning of an internal marker; its length if it does not."""
    match = _UNFINISHED.search(text)
    return match.start() if match else len(text)


class MarkerStripper:
    """Removes internal markers of providers from a text that arrives in chunks, and maps offsets.

    With `private_only` it keeps the markers that citations may be anchored to.
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
        """Take the next chunk; returns the text that is known not to belong to a marker."""
        if not self._rest and "\ue200" not in text and (self._pattern is _PRIVATE or "【" not in text):
            self._raw += len(text)
            return text
        text = self._rest + text
        match = self._unfinished.search(text)
        cut = match.start() if match else len(text)
        self._rest = text[cut:]
        return self._strip(text[:cut])

    def close(self) -> str:
        """The text that was held back."""
        rest, self._rest = self._rest, ""
        return self._strip(rest)

    @property
    def length_fed(self) -> int:
        """Length of the text fed so far."""
        return self._raw + len(self._rest)

    def map_offset(self, offset: int) -> int:
        """The offset in the stripped text of an offset in the text fed."""
        index = bisect_right(self._starts, offset)
        if not index:
            return offset
        end, removed = self._removed[index - 1]
        return max(offset, end) - removed

    def _strip(self, text: str) -> str:
        base = self._raw
        self._raw += len(text)
        for match in self._pattern.finditer(text):
            removed = self._removed[-1][1] if self._removed else 0
            self._starts.append(base + match.start())
            self._removed.append((base + match.end(), removed + match.end() - match.start()))
        return self._pattern.sub("", text)


class CitedNumbers(NamedTuple):
    """Citations that a model wrote at this position."""

    known: tuple[int, ...]


class NumberReader:
    """Reads the numbers with which a model cites, from a text that arrives in chunks.

    A number is a citation only outside code, not as the label of a link, not at the beginning of a line, and
    only if the model was given a source with it. Citations are removed from the text.
    """

    __slots__ = (
        *("_ends", "_is_fenced", "_is_known", "_last", "_line", "_raw", "_removed", "_rest", "_ticks"),
        "unknown",
    )

    def __init__(self, is_known: Callable[[int], bool]) -> None:
        self._is_known = is_known
        self._rest = ""
        self._last = ""
        self._line = ""
        self._ticks = 0
        self._is_fenced = False
        self._raw = 0
        self._ends: list[int] = []
        self._removed: list[int] = []
        self.unknown = 0
        """How many numbers name no source that the model was given; they stay in the text."""

    def feed(self, text: str) -> list[str | CitedNumbers]:
        """Take the next chunk; returns text and citations that no later chunk can change."""
        if not self._rest and not _may_cite(text):
            return [self._keep(text)] if text else []
        text = self._rest + text
        match = _compiled(_UNFINISHED_NUMBERS).search(text)
        cut = match.start() if match else len(text)
        self._rest = text[cut:]
        return list(self._read(text[:cut]))

    def close(self) -> list[str | CitedNumbers]:
        """The text and citations that were held back."""
        rest, self._rest = self._rest, ""
        return list(self._read(rest))

    def map_offset(self, offset: int) -> int:
        """The offset in the text without citations of an offset in the text fed."""
        index = bisect_right(self._ends, offset)
        return offset - self._removed[index - 1] if index else offset

    def _read(self, text: str) -> Iterator[str | CitedNumbers]:
        position = len(self._last)
        text = self._last + text  # the character before a number decides whether it is a citation
        for match in _compiled(_CITED_NUMBERS).finditer(text, position):
            if match.start() > position:
                yield self._keep(text[position : match.start()])
                position = match.start()
            if self._is_code or not self._line.strip(" \t>*-+#"):
                continue
            known, unknown = self._sort(match[0])
            if not known:
                continue
            yield CitedNumbers(known)
            self._raw += len(match[0])
            self._ends.append(self._raw)
            self._removed.append((self._removed[-1] if self._removed else 0) + len(match[0]))
            self._last = "]"
            if unknown:
                kept = "".join(f"[{number}]" for number in unknown)
                self._removed[-1] -= len(kept)
                yield kept
            position = match.end()
        if position < len(text):
            yield self._keep(text[position:])

    @property
    def _is_code(self) -> bool:
        return self._is_fenced or self._ticks % 2 == 1

    def _sort(self, marker: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        numbers = tuple(dict.fromkeys(_numbers_in(_DAGGER_LABEL.sub("", marker))))
        known = tuple(number for number in numbers if self._is_known(number))
        unknown = tuple(number for number in numbers if number not in known)
        self.unknown += sum(number < 100 for number in unknown)  # larger ones are years and the like
        return known, unknown

    def _keep(self, text: str) -> str:
        """Track code spans and fences in text that stays."""
        self._raw += len(text)
        self._last = text[-1:] or self._last
        head, *lines = text.split("\n")
        self._extend_line(head)
        for line in lines:
            self._is_fenced ^= self._line.lstrip().startswith(_FENCES)
            self._line, self._ticks = "", 0
            self._extend_line(line)
        return text

    def _extend_line(self, text: str) -> None:
        if len(self._line.lstrip()) < 8:
            self._line = (self._line + text)[:200]
        self._ticks += text.count("`")


def _may_cite(text: str) -> bool:
    return "[" in text or "【" in text or text.endswith((" ", "\t"))


def _numbers_in(marker: str) -> Iterator[int]:
    for first, last in _NUMBER_OR_RANGE.findall(marker):
        start, end = int(first), int(last or first)
        yield from range(start, end + 1) if 0 <= end - start <= _LONGEST_RANGE else (start,)
