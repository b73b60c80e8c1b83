"""Annotations of a text block, and the citations they mean.

One annotation stands for one span and one source; a span with three sources is three annotations. Offsets
count UTF-8 bytes of the block's own text, `start_index` 0 may be left out, and one without `end_index`
speaks for the answer as a whole. Nothing in an annotation repeats the cited words, so the unit is checked
by what it cuts: if some offset of a block falls inside a character, its offsets were code points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.parts import decode_source, marked, own
from groundwire.model import Citation, Cited, Evidence, JsonObject, Span, Warned
from groundwire.text.offsets import Unit, from_points, to_points
from groundwire.text.spans import anchor_kind

# Where each kind of citation keeps its address and its name.
_KEYS = {
    "url_citation": ("url", "title"),
    "place_citation": ("url", "name"),
    "file_citation": ("document_uri", "file_name"),
}


def decode_annotations(annotations: Iterable[Fields], text: str, base: int) -> Iterator[Cited | Warned]:
    """The citations of one block, whose text begins at `base` in the whole answer."""
    found = [item for item in annotations if item.text("type", "url_citation") in _KEYS]
    places = [(item.offset("start_index") or 0, item.offset("end_index")) for item in found]
    spans = _to_spans(text, places)
    for item, (_, end), span in zip(found, places, spans, strict=True):
        evidence = _decode_evidence(item)
        if span is None:
            yield Cited(Citation(None, (evidence,)))
            if end is not None:
                yield Warned(
                    "citation_unplaced", f"{evidence.source.url or evidence.source.title}: no such place"
                )
        else:
            kind = anchor_kind(text[span.start : span.end])
            yield Cited(Citation(Span(base + span.start, base + span.end), (evidence,), kind))


def encode_annotations(citations: Iterable[Citation], text: str, base: int) -> list[JsonObject]:
    """Annotations for a block that begins at `base`; what begins before it is cited from its beginning."""
    listed = list(citations)
    placed = [citation.span for citation in listed if citation.span is not None]
    points = [max(point - base, 0) for span in placed for point in span]
    offsets = iter(from_points(text, points, "utf8"))
    annotations: list[JsonObject] = []
    for citation in listed:
        place: JsonObject = {}
        if citation.span is not None:
            place = {"start_index": next(offsets), "end_index": next(offsets)}
        annotations += ({**_encode_evidence(item), **place} for item in citation.evidence if _has_name(item))
    return annotations


def ends_within(citation: Citation, start: int, end: int) -> bool:
    """Does the cited claim end in this stretch of the answer?"""
    span = citation.span
    if span is None or not 0 <= span.start <= span.end <= end:
        return False
    return span.end > start or span.end == start == 0


def _decode_evidence(item: Fields) -> Evidence:
    kind = item.text("type", "url_citation")
    address, title = _KEYS[kind]
    rest = item.rest("type", "start_index", "end_index", address, title)
    if kind != "url_citation":
        rest |= {"type": kind, address: item.get(address)}
    source = decode_source(item.text(address), item.text(title), "cited")
    return Evidence(source, extras=marked(rest))


def _has_name(item: Evidence) -> bool:
    return bool(item.source.url or item.source.title or own(item.extras))


def _encode_evidence(item: Evidence) -> JsonObject:
    rest = own(item.extras)
    told = rest.get("type")
    kind = "url_citation" if item.source.url else "file_citation"
    if isinstance(told, str) and told in _KEYS:
        kind = told
    address, title = _KEYS[kind]
    body: JsonObject = {"type": kind}
    if item.source.url:
        body[address] = item.source.url
    if item.source.title:
        body[title] = item.source.title
    return body | rest


def _to_spans(text: str, places: Sequence[tuple[int, int | None]]) -> list[Span | None]:
    fits, unit = _measure(text, [offset for place in places for offset in place if offset is not None])
    believed = [
        (start, end) if end is not None and start <= end and fits(start) and fits(end) else None
        for start, end in places
    ]
    points = iter(to_points(text, (offset for place in believed if place for offset in place), unit))
    return [None if place is None else Span(next(points), next(points)) for place in believed]


def _measure(text: str, offsets: Sequence[int]) -> tuple[Callable[[int], bool], Unit]:
    """The unit of these offsets, and whether one of them can stand in the text."""
    data = text.encode("utf-8", "surrogatepass")

    def in_bytes(offset: int) -> bool:
        return offset == len(data) or (0 <= offset < len(data) and data[offset] & 0xC0 != 0x80)

    def in_points(offset: int) -> bool:
        return 0 <= offset <= len(text)

    if any(0 <= offset < len(data) and not in_bytes(offset) for offset in offsets) and all(
        in_points(offset) for offset in offsets
    ):
        return in_points, "point"
    return in_bytes, "utf8"
