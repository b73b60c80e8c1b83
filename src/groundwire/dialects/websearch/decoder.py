"""Response decoder: a result to events.

The query is in `returnDisplay` between fixed words, so that it can be recovered even where it contains
quotation markers and line breaks. Sources are those that the answer cites, or, if it cites nothing, those
that were found.

A reader without the extension takes each `[n]` that has a source for a citation, unless it begins a link,
and a listed source without any `[n]`, where others have one, for a citation of the answer as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.dialects.sse import Frame
from groundwire.dialects.websearch.errors import decode_error_result
from groundwire.dialects.websearch.search import NAME
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Extras,
    Failed,
    Finished,
    JsonObject,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    Warned,
)
from groundwire.model.parts import Phase
from groundwire.model.value import replace, value
from groundwire.text.urls import domain_of, safe_url

_MARKER = re.compile(r"\[(\d{1,6})\](?!\()")
PHASE_BREAK = "\n\n"
NOTHING_FOUND_DISPLAY = "No information found."
_RETURN_DISPLAY = re.compile(r'Search results for "(.*)" returned\.', re.DOTALL)
_CONTENT_PREFIX = re.compile(r'Web search results for "(.*?)":\n\n', re.DOTALL)
_NOT_FOUND = re.compile(r'No search results or information found for query: "(.*)"', re.DOTALL)
_SOURCES_HEADING = "\n\nSources:\n"
_OWN_EXTRAS: Extras = {NAME: {}}
_CALL_ID = "search_0"


class Insertion(NamedTuple):
    """Text that the encoder inserted: the number of a source, or None for an empty line."""

    start: int
    end: int
    number: int | None


@value
class ParsedText:
    """The text by phase, the offsets of its citation markers, and the numbers cited for the whole answer."""

    texts: tuple[str, ...]
    markers: tuple[tuple[int, int], ...]
    """Offset in the text, and number of the source."""
    unplaced: tuple[int, ...]
    phases: tuple[Phase, ...] = ("",)


def parse_text(text: str, count: int, extension: Fields, offset: int) -> ParsedText:
    """Parse the text of a result, with the extension if it matches the text."""
    if extension.has("inserted"):
        try:
            parsed = _parse_with_extension(text, count, extension, offset)
        except WireError:
            parsed = None
        if parsed is not None:
            return parsed
    return parse_plain_text(text, count)


def parse_plain_text(text: str, count: int) -> ParsedText:
    """Parse the text of a result without the extension; `count` sources are listed."""
    found = (Insertion(*match.span(), int(match[1])) for match in _MARKER.finditer(text))
    insertions = [item for item in found if item.number is not None and 1 <= item.number <= count]
    seen = {item.number for item in insertions}
    unplaced = tuple(number for number in range(1, count + 1) if number not in seen) if seen else ()
    return remove_insertions(text, insertions, unplaced, ("",))


def _parse_with_extension(text: str, count: int, extension: Fields, offset: int) -> ParsedText | None:
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
        if number is None and text[low:position] != PHASE_BREAK:
            return None
        insertions.append(Insertion(low, position, number))
    unplaced = tuple(item for item in extension.items("unplaced") if isinstance(item, int))
    numbers = [*unplaced, *(item.number for item in insertions if item.number is not None)]
    if not all(1 <= number <= count for number in numbers):
        return None
    known: dict[str, Phase] = {phase: phase for phase in get_args(Phase)}
    phases = tuple(known.get(name, "") for name in extension.texts("phases")) or ("",)
    breaks = sum(item.number is None for item in insertions)
    return remove_insertions(text, insertions, unplaced, phases) if len(phases) == breaks + 1 else None


def remove_insertions(
    text: str, insertions: Iterable[Insertion], unplaced: tuple[int, ...], phases: tuple[Phase, ...]
) -> ParsedText:
    texts = [""]
    markers: list[tuple[int, int]] = []
    pieces: list[str] = []
    position = length = 0
    for start, end, number in insertions:
        pieces.append(text[position:start])
        length += start - position
        position = end
        if number is not None:
            markers.append((length, number))
        else:
            texts[-1] = "".join(pieces)
            texts.append("")
            pieces = []
    texts[-1] = "".join([*pieces, text[position:]])
    return ParsedText(tuple(texts), tuple(markers), unplaced, phases)


def read_result(body: JsonObject) -> list[Event]:
    """Decode a result to events, without auditing its sources."""
    result = Fields.of(body, UpstreamWireError)
    if not result.has("llmContent") and not result.has("error"):
        raise result.fault("expected the text of a result", "llmContent")
    extension = result.obj(FIELD)
    events: list[Event] = [Started()]
    events += (Warned(item.text("code"), item.text("message")) for item in extension.objs("warnings"))
    if not result.has("error"):
        return [*events, *_decode_result(result, extension), Finished()]
    if extension.has("partial"):
        partial = extension.obj("partial")
        events += _decode_result(partial, partial.obj(FIELD))
    return [*events, Failed(decode_error_result(result))]


def _decode_result(result: Fields, extension: Fields) -> Iterator[Event]:
    content = result.text("llmContent")
    if result.text("returnDisplay") == NOTHING_FOUND_DISPLAY:
        match = _NOT_FOUND.fullmatch(content)
        yield from _search_events(match[1] if match else "", ())
        return
    query, start = _find_query(content, result.text("returnDisplay"))
    listed = [_decode_source(entry) for entry in result.objs("sources")]
    end, labels = _find_source_list(content, start, len(listed))
    sources = [
        source if source.title or label in ("", domain_of(source.url)) else replace(source, domain=label)
        for source, label in zip(listed, labels, strict=True)
    ]
    yield from _search_events(query, sources)
    yield from _text_events(parse_text(content[start:end], len(sources), extension, start), sources)


def _find_query(content: str, display: str) -> tuple[str, int]:
    """Find the query, and the offset where the text begins."""
    returned = _RETURN_DISPLAY.fullmatch(display)
    if returned is not None:
        prefix = f'Web search results for "{returned[1]}":\n\n'
        if content.startswith(prefix):
            return returned[1], len(prefix)
    match = _CONTENT_PREFIX.match(content)
    return (match[1], match.end()) if match else ("", 0)


def _find_source_list(content: str, start: int, count: int) -> tuple[int, list[str]]:
    """Find the offset where the text ends, and the labels in the list of sources after it."""
    position = content.rfind(_SOURCES_HEADING, start)
    lines = content[position + len(_SOURCES_HEADING) :].split("\n")
    if not count or position < 0 or len(lines) != count:
        return len(content), [""] * count
    labels = []
    for number, line in enumerate(lines, 1):
        head = f"[{number}] "
        if not line.startswith(head):
            return len(content), [""] * count
        labels.append(re.sub(r" \(https?://\S*\)$", "", line.removeprefix(head)))
    return position, labels


def _decode_source(entry: Fields) -> Source:
    web = entry.obj("web")
    return Source(safe_url(web.text("uri")), web.text("title"))


def _search_events(query: str, sources: Sequence[Source]) -> Iterator[Event]:
    if not query and not sources:
        return
    yield SearchCalled(0, SearchCall(_CALL_ID, (query,) if query else (), extras=_OWN_EXTRAS))
    yield SearchReturned(1, SearchResult(_CALL_ID, tuple(sources), extras=_OWN_EXTRAS))


def _text_events(parsed: ParsedText, sources: Sequence[Source]) -> Iterator[Event]:
    def evidence(number: int) -> tuple[Evidence, ...]:
        return (Evidence(replace(sources[number - 1], state="cited"), extras=_OWN_EXTRAS),)

    parts = range(2, 2 + len(parsed.texts))
    for part, text, phase in zip(parts, parsed.texts, parsed.phases, strict=True):
        if text:
            yield TextDelta(part, text, phase)
    for position, number in parsed.markers:
        yield Cited(Citation(Span(position, position), evidence(number)))
    for number in parsed.unplaced:
        yield Cited(Citation(None, evidence(number)))
    for part, text in zip(parts, parsed.texts, strict=True):
        if text:
            yield TextSettled(part)


class Decoder(StreamDecoder):
    """Decodes the one JSON body."""

    needs_content = False  # "nothing was found" is a result

    def on_frame(self, frame: Frame) -> None:
        for event in read_result(Fields.of(load_json(frame.data, UpstreamWireError), UpstreamWireError).raw):
            self.emit(event)
