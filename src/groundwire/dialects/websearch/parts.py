"""`llmContent`: the answer with `[n]` where sources are cited, and the list of them.

    Web search results for "{query}":

    {text with [1][2]}

    Sources:
    [1] Title (address)

Reading it back, a `[n]` of the answer's own words must not become a citation. The writer therefore reads
what it wrote as any reader would, and if that does not give back the answer, the extension says which
ranges of `llmContent` (in code points) were put in: `inserted`, with `unplaced`, the numbers that are cited
for the answer as a whole, and `phases`, where an empty line was put in between commentary and answer.

A reader without the extension takes each `[n]` that has a source for a citation, unless it begins a link,
and a listed source without any `[n]`, where others have one, for one of the answer as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple, get_args

from groundwire.dialects.fields import Fields
from groundwire.errors import WireError
from groundwire.model import Answer, Citation, JsonObject, Source, Span, Text
from groundwire.model.parts import Phase
from groundwire.model.value import value
from groundwire.text.annotate import NumberWriter, annotate_numbers
from groundwire.text.sources import Numbering

_MARKER = re.compile(r"\[(\d{1,6})\](?!\()")
_BREAK = "\n\n"


class Insertion(NamedTuple):
    """Something put into the words: the number of a source, or none for an empty line."""

    start: int
    end: int
    number: int | None


@value
class Reading:
    """The words by phase, which numbers stand where in them, and which speak for the whole."""

    texts: tuple[str, ...]
    marks: tuple[tuple[int, int], ...]
    """Position in the words, and number."""
    unplaced: tuple[int, ...]
    phases: tuple[Phase, ...] = ("",)


class Rendered(NamedTuple):
    """The text with its numbers, and what the extension must say about it."""

    text: str
    extension: JsonObject


def render(answer: Answer, numbering: Numbering, offset: int) -> Rendered:
    """The text of an answer for a place that begins `offset` characters into the result."""
    text, insertions, phases = _place(answer, numbering)
    cited = {
        number
        for citation in answer.citations
        for item in citation.evidence
        if (number := numbering.number(item.source)) is not None
    }
    unplaced = tuple(sorted(cited - {item.number for item in insertions}))
    truth = _take_out(text, insertions, unplaced, phases)
    if truth == read_plain(text, len(numbering.sources)):
        return Rendered(text, {})
    extension: JsonObject = {
        "inserted": [[offset + item.start, offset + item.end] for item in insertions],
        "unplaced": list(unplaced),
    }
    if len(phases) > 1:
        extension["phases"] = list(phases)
    return Rendered(text, extension)


def read(text: str, count: int, extension: Fields, offset: int) -> Reading:
    """What a text of a result says, with the help of the extension if that fits the text."""
    if extension.has("inserted"):
        try:
            reading = _read_told(text, count, extension, offset)
        except WireError:
            reading = None
        if reading is not None:
            return reading
    return read_plain(text, count)


def read_plain(text: str, count: int) -> Reading:
    """What a text says to a reader who sees nothing else; `count` sources are listed."""
    found = (Insertion(*match.span(), int(match[1])) for match in _MARKER.finditer(text))
    insertions = [item for item in found if item.number is not None and 1 <= item.number <= count]
    seen = {item.number for item in insertions}
    unplaced = tuple(number for number in range(1, count + 1) if number not in seen) if seen else ()
    return _take_out(text, insertions, unplaced, ("",))


def _read_told(text: str, count: int, extension: Fields, offset: int) -> Reading | None:
    insertions: list[Insertion] = []
    position = 0
    for pair in extension.items("inserted"):
        match pair:
            case [int(low), int(high)] if position <= low - offset < high - offset <= len(text):
                low, position = low - offset, high - offset
            case _:
                return None
        marker = re.fullmatch(r"\[(\d{1,6})\]", text[low:position])
        number = int(marker[1]) if marker else None
        if number is None and text[low:position] != _BREAK:
            return None
        insertions.append(Insertion(low, position, number))
    unplaced = tuple(item for item in extension.items("unplaced") if isinstance(item, int))
    numbers = [*unplaced, *(item.number for item in insertions if item.number is not None)]
    if not all(1 <= number <= count for number in numbers):
        return None
    known: dict[str, Phase] = {phase: phase for phase in get_args(Phase)}
    phases = tuple(known.get(name, "") for name in extension.texts("phases")) or ("",)
    breaks = sum(item.number is None for item in insertions)
    return _take_out(text, insertions, unplaced, phases) if len(phases) == breaks + 1 else None


def _take_out(
    text: str, insertions: Iterable[Insertion], unplaced: tuple[int, ...], phases: tuple[Phase, ...]
) -> Reading:
    texts = [""]
    marks: list[tuple[int, int]] = []
    pieces: list[str] = []
    position = length = 0
    for start, end, number in insertions:
        pieces.append(text[position:start])
        length += start - position
        position = end
        if number is not None:
            marks.append((length, number))
        else:
            texts[-1] = "".join(pieces)
            texts.append("")
            pieces = []
    texts[-1] = "".join([*pieces, text[position:]])
    return Reading(tuple(texts), tuple(marks), unplaced, phases)


def _place(answer: Answer, numbering: Numbering) -> tuple[str, list[Insertion], tuple[Phase, ...]]:
    """The text with its numbers, where they and the empty lines are, and the phases these divide.

    Numbers are placed under a disguise that the text does not have, so that they are found again.
    """
    digits = _unused_length(answer.text)
    disguise = re.compile(rf"\[1(\d{{{digits}}})\]")

    def disguised(source: Source) -> int | None:
        number = numbering.number(source)
        return None if number is None else 10**digits + number

    text = ""
    insertions: list[Insertion] = []
    stretches = list(_stretches(answer))
    start = 0
    for _, words in stretches:
        if text:
            insertions.append(Insertion(len(text), len(text) + len(_BREAK), None))
            text += _BREAK
        cited = _ending_in(answer, start, len(words))
        written = annotate_numbers(words, cited, NumberWriter(disguised), strip=True).text
        text = _unmask(text, written, disguise, insertions)
        start += len(words)
    return text, insertions, tuple(phase for phase, _ in stretches) if len(stretches) > 1 else ("",)


def _unmask(text: str, written: str, disguise: re.Pattern[str], insertions: list[Insertion]) -> str:
    """The text with what was written after it, numbers undisguised and noted."""
    pieces = [text]
    length = len(text)
    position = 0
    for match in disguise.finditer(written):
        marker = f"[{int(match[1])}]"
        length += match.start() - position
        insertions.append(Insertion(length, length + len(marker), int(match[1])))
        pieces += (written[position : match.start()], marker)
        length += len(marker)
        position = match.end()
    return "".join([*pieces, written[position:]])


def _stretches(answer: Answer) -> Iterator[tuple[Phase, str]]:
    """The words, cut where the phase changes."""
    texts = (part for part in answer.parts if isinstance(part, Text) and part.text)
    for phase, group in groupby(texts, lambda part: part.phase):
        yield phase, "".join(part.text for part in group)


def _ending_in(answer: Answer, start: int, length: int) -> Iterator[Citation]:
    """The citations whose claim ends in a stretch, counted from its beginning."""
    for citation in answer.citations:
        if citation.span is None or not 0 <= citation.span.start <= citation.span.end:
            continue
        low, high = citation.span.start - start, citation.span.end - start
        if 0 < high <= length or (high == 0 and start == 0):
            yield Citation(Span(max(low, 0), high), citation.evidence, citation.anchor)


def _unused_length(text: str) -> int:
    """How many digits a number may have to be found nowhere in the text."""
    digits = 6
    while re.search(rf"\[1\d{{{digits}}}\]", text):
        digits += 1
    return digits
