"""Grounding metadata: queries, pages (chunks) and which words they support.

Offsets are UTF-8 bytes over all text of the candidate that is not a thought, over all parts and chunks of a
stream; zero is left out. Each segment repeats its text, so every place is checked: an offset that is not
borne out is repaired where the text stands just once, else the pages are cited without a place. In a stream,
chunks are those not sent before and indices count over all of them; some send all of them again each time.
A citation of the whole answer has no words here: its pages are told like pages that were only found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini.proto import NAME, either_spelling, integers, numbers
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Json,
    JsonObject,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Warned,
)
from groundwire.model.source import MAX_EVIDENCE
from groundwire.model.value import replace
from groundwire.text.offsets import from_points, to_points
from groundwire.text.spans import QuoteLocator, anchor_at
from groundwire.text.urls import safe_url

REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
"""Where the Developer API sends readers; the title is then the domain of the page."""
PAGE_STATUS = "URL_RETRIEVAL_STATUS_"
CHUNK = "chunk"
"""Under this name the extras of a source hold a chunk that is no plain web page."""

_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_ADDRESS_KEYS = {"web": "uri", "image": "sourceUri", "retrievedContext": "uri", "maps": "uri"}
_QUERIES = ("webSearchQueries", "imageSearchQueries", "retrievalQueries")
"""`retrievalQueries` are those of Google Maps and of private data."""
_KNOWN = (*_QUERIES[:2], "searchEntryPoint", "groundingChunks", "groundingSupports")
_LISTS = either_spelling(dict.fromkeys((*_QUERIES, "groundingChunks", "groundingSupports")))

MAX_REPEATED = 1_000_000
"""Characters of the answer that its segments repeat, beyond twice its length. Claims that overlap a thousand
times would else repeat the answer a thousand times; what exceeds this has offsets alone."""

_Item = TypeVar("_Item")


class Support(NamedTuple):
    """Words and the chunks they lean on, as the wire has it."""

    start: int
    end: int | None
    quote: str
    part: int
    chunks: tuple[int, ...]
    scores: tuple[float, ...]


class Grounding:
    """Everything the chunks of an answer say about where it comes from."""

    def __init__(self) -> None:
        self.queries: dict[str, None] = {}
        self.sources: list[Source] = []
        self.suggestions = ""
        self.extras: JsonObject = {}
        self.raw: JsonObject = {}
        """The `groundingMetadata` as the wire has it; that of a stream is put together from its chunks."""
        self._supports: list[Support] = []

    def add(self, fields: Fields) -> None:
        """Take a `groundingMetadata`."""
        self._add_raw(fields.raw)
        for key in _QUERIES:
            self.queries.update((query, None) for query in fields.texts(key) if query.strip())
        grow(self.sources, list(_decode_chunks(fields)))
        grow(self._supports, [_decode_support(support) for support in fields.objs("groundingSupports")])
        entry = fields.obj("searchEntryPoint")
        self.suggestions = entry.text("renderedContent") or self.suggestions
        if blob := entry.text("sdkBlob"):
            self.extras["sdkBlob"] = blob
        if rest := fields.rest(*_KNOWN):
            self.extras["groundingMetadata"] = {**as_object(self.extras.get("groundingMetadata")), **rest}

    def _add_raw(self, metadata: JsonObject) -> None:
        if not self.raw:
            self.raw = metadata
            return
        merged = dict(self.raw)
        for key, value in metadata.items():
            known = merged.get(key)
            if key in _LISTS and isinstance(known, list) and isinstance(value, list):
                merged[key] = value if value[: len(known)] == known else [*known, *value]
            else:
                merged[key] = value
        self.raw = merged

    def tell(self, text: str, part_starts: list[int]) -> Iterator[Event]:
        """The citations of a complete text."""
        unplaced = sourceless = told = 0
        size = len(text.encode("utf-8", "surrogatepass"))
        quotes = QuoteLocator(text)
        for support, spans in zip(self._supports, self._spans(text, part_starts), strict=True):
            if told > MAX_EVIDENCE:
                break
            evidence = tuple(self._evidence(support))
            sourceless += len(evidence) < len(set(support.chunks))
            if not evidence:
                continue
            told += len(evidence)
            span = _place(support, spans, size, quotes)
            unplaced += span is None
            kind = anchor_at(span, lambda start, end: text[start:end]) if span else "claim"
            yield Cited(Citation(span, evidence, kind))
        if unplaced:
            yield Warned("citation_unplaced", f"{unplaced} of the citations could not be placed in the text")
        if sourceless:
            yield Warned("citation_without_source", f"{sourceless} of the citations name no known source")

    def _spans(self, text: str, part_starts: list[int]) -> Iterator[list[Span]]:
        """What the offsets of each support may mean, in code points; all are converted in one pass.

        By the schema offsets count from the start of the part; no answer has been seen that does so.
        """
        in_parts = any(support.part for support in self._supports)
        bases = [0, *from_points(text, part_starts[1:], "utf8")] if in_parts else [0]
        edges: list[int] = []
        counts: list[int] = []
        for support in self._supports:
            shifts = [bases[support.part], 0] if 0 < support.part < len(bases) else [0]
            counts.append(len(shifts))
            edges += (shift + edge for shift in shifts for edge in (support.start, support.end or 0))
        points = iter(to_points(text, edges, "utf8"))
        for count in counts:
            yield [Span(next(points), next(points)) for _ in range(count)]

    def _evidence(self, support: Support) -> Iterator[Evidence]:
        seen: set[int] = set()
        for position, index in enumerate(support.chunks):
            if index in seen:
                continue
            seen.add(index)
            source = self.sources[index] if 0 <= index < len(self.sources) else None
            if source is None or not (source.url or source.title):
                continue
            score = support.scores[position] if position < len(support.scores) else None
            quote = source.excerpts[0] if source.excerpts else ""
            yield Evidence(replace(source, state="cited"), quote, score, {NAME: {}})


def grow(known: list[_Item], new: list[_Item]) -> None:
    """Add what is new: all of it, unless it begins with everything that is known."""
    if new[: len(known)] == known:
        known[:] = new
    else:
        known += new


def _decode_chunks(fields: Fields) -> Iterator[Source]:
    """One source for each chunk, also for those that say nothing, so that indices keep their meaning."""
    chunks = iter(fields.objs("groundingChunks"))
    for value in fields.items("groundingChunks"):
        yield Source("") if value is None else _decode_chunk(next(chunks))


def _decode_chunk(chunk: Fields) -> Source:
    kind = next((key for key in _ADDRESS_KEYS if chunk.has(key)), "web")
    page = chunk.obj(kind)
    uri = page.text(_ADDRESS_KEYS[kind])
    url = safe_url(uri)
    # A document of a private store has a name instead of a web address (`gs://…`, or none at all).
    title = page.text("title") or ("" if url else uri or page.text("documentName"))
    is_domain = uri.startswith(REDIRECT) and _DOMAIN.fullmatch(title) is not None
    passage = page.text("text") if kind == "retrievedContext" else ""
    return Source(
        url,
        title,
        excerpts=(passage,) if passage else (),
        domain=page.text("domain") or (title if is_domain else ""),
        extras={} if kind == "web" else {NAME: {CHUNK: chunk.raw}},
    )


def _decode_support(support: Fields) -> Support:
    segment = support.obj("segment")
    return Support(
        segment.offset("startIndex") or 0,
        segment.offset("endIndex"),
        segment.text("text"),
        segment.offset("partIndex") or 0,
        integers(support, "groundingChunkIndices"),
        numbers(support, "confidenceScores"),
    )


def _place(support: Support, spans: list[Span], size: int, quotes: QuoteLocator) -> Span | None:
    if not support.quote:
        is_told = support.end is not None and 0 <= support.start <= support.end <= size
        return spans[-1] if is_told else None
    for span in spans[:-1]:
        if quotes.holds(span, support.quote):
            return span
    return quotes.locate(*spans[-1], support.quote)


def encode_grounding(answer: Answer, text: str) -> JsonObject:
    """The metadata of an answer whose words went out as `text`; empty if there is nothing to say."""
    results = [part for part in answer.parts if isinstance(part, SearchResult)]
    calls = {part.id: part for part in answer.parts if isinstance(part, SearchCall)}
    chunks = _Chunks()
    for result in results:
        call = calls.get(result.call_id)
        for source in result.sources:
            # An opened page stands in the metadata of pages; here it adds its title, if it has one.
            if call is None or call.kind != "open" or source.title or source.url != call.url:
                chunks.place(source)
    supports: list[Json] = [*_encode_supports(answer, text, chunks)]
    for citation in answer.citations:
        for item in citation.evidence:
            chunks.place(item.source)
    queries = dict.fromkeys(
        query for call in calls.values() if call.kind == "search" for query in call.queries
    )
    kept: JsonObject = {}
    for result in results:
        kept.update(as_object(result.extras.get(NAME, {}).get("groundingMetadata")))
    told = kept.get("retrievalQueries")
    metadata: JsonObject = {
        "webSearchQueries": [
            query for query in queries if query and not (isinstance(told, list) and query in told)
        ],
        "searchEntryPoint": _encode_entry_point(results),
        "groundingChunks": chunks.encoded,
        "groundingSupports": supports,
        **kept,
    }
    return {key: value for key, value in metadata.items() if value}


class _Chunks:
    """Each page once, by address and title; each passage of a document that has no address."""

    def __init__(self) -> None:
        self.encoded: list[Json] = []
        self._places: dict[tuple[str, str, str], int] = {}

    def place(self, source: Source) -> int | None:
        """The index of a source, which is added if it is new; None if it has no name at all."""
        if not (source.url or source.title):
            return None
        key = (source.url, source.title, "" if source.url else "".join(source.excerpts[:1]))
        if key not in self._places:
            self._places[key] = len(self.encoded)
            self.encoded.append(_encode_chunk(source))
        return self._places[key]


def _encode_chunk(source: Source) -> JsonObject:
    whole = source.extras.get(NAME, {}).get(CHUNK)
    if isinstance(whole, dict):
        return whole
    if not source.url:
        document: JsonObject = {"title": source.title}
        return {"retrievedContext": document | ({"text": source.excerpts[0]} if source.excerpts else {})}
    told_by_title = source.url.startswith(REDIRECT) and source.domain == source.title
    page: JsonObject = {"uri": source.url}
    if source.title:
        page["title"] = source.title
    if source.domain and not told_by_title:
        page["domain"] = source.domain
    return {"web": page}


def _encode_entry_point(results: Iterable[SearchResult]) -> JsonObject:
    suggestions = dict.fromkeys(result.suggestions for result in results if result.suggestions)
    blobs = [blob for result in results if (blob := result.extras.get(NAME, {}).get("sdkBlob"))]
    entry: JsonObject = {"renderedContent": "\n".join(suggestions)} if suggestions else {}
    return {**entry, "sdkBlob": blobs[-1]} if blobs else entry


def _encode_supports(answer: Answer, text: str, chunks: _Chunks) -> Iterator[JsonObject]:
    """One support for each citation, two where only some of its evidence has a score."""
    placed = list(_placed(answer, text))
    edges = iter(from_points(text, [edge for _, span in placed for edge in span], "utf8"))
    room = MAX_REPEATED + 2 * len(text)
    for (citation, span), start, end in zip(placed, edges, edges, strict=True):
        segment: JsonObject = {"startIndex": start} if start else {}
        segment["endIndex"] = end
        room -= span.end - span.start
        if room >= 0:
            segment["text"] = text[span.start : span.end]
        for scored in (True, False):
            evidence = [item for item in citation.evidence if (item.confidence is not None) is scored]
            places = [(place, item) for item in evidence if (place := chunks.place(item.source)) is not None]
            support: JsonObject = {
                "segment": segment,
                "groundingChunkIndices": [place for place, _ in places],
            }
            if scored:
                support["confidenceScores"] = [item.confidence for _, item in places]
            if places:
                yield support


def _placed(answer: Answer, text: str) -> Iterator[tuple[Citation, Span]]:
    """The citations that have a place in the words as they went out."""
    whole = answer.text
    in_order = whole == text
    quotes = QuoteLocator(text)
    for citation in answer.citations:
        span: Span | None = citation.span
        if span is None or not 0 <= span.start <= span.end <= len(whole):
            continue
        if not in_order:
            # Parts were told in another order than they stand in, and what was sent cannot be moved.
            span = quotes.locate(*span, whole[span.start : span.end])
        if span is not None:
            yield citation, span


def encode_pages(answer: Answer) -> JsonObject:
    """The metadata of pages that were opened."""
    results = {part.call_id: part for part in answer.parts if isinstance(part, SearchResult)}
    pages: list[Json] = [
        {"retrievedUrl": part.url, "urlRetrievalStatus": PAGE_STATUS + _page_status(results.get(part.id))}
        for part in answer.parts
        if isinstance(part, SearchCall) and part.kind == "open"
    ]
    return {"urlMetadata": pages} if pages else {}


def _page_status(result: SearchResult | None) -> str:
    if result is None:
        return "UNSPECIFIED"
    if not result.error:
        return "SUCCESS"
    return result.error.upper() if result.error.upper() in ("PAYWALL", "UNSAFE") else "ERROR"
