"""Response decoder: chunks of a stream, or one whole body, to events.

Chunks are data-only server-sent events or the elements of one JSON array; there are no event names and no
sentinel. Nothing marks the last chunk: usage may follow the finish reason. So searches, citations and the
end are emitted when there are no more chunks, or when decoding fails. Without server tool parts a search is
visible only in the metadata, and its parts come after the text. Only the first candidate is read.

Consecutive pieces of text are one part, and so are pieces of a thought, because a stream cuts them
anywhere. A signature belongs to the part it came with, on its last piece or on an empty piece after it, and
closes it. The result of a search is emitted at the end of the turn, because the server tool's own part
names no pages. Server tool parts are signed and must be sent back unchanged, so they are kept whole.

Grounding offsets are UTF-8 bytes over all text of the candidate that is not a thought, across all parts and
chunks; zero is left out. Most segments repeat their text, and then the span is checked: a wrong offset is
corrected where the text occurs exactly once, otherwise the pages are cited without a span. The offsets of a
segment without text cannot be checked; they are used if they lie inside the text. In a stream,
`groundingChunks` are those not sent before and indices count over all of them; some servers repeat all of
them each time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini.errors import FINISH_REASONS, error_in, read_error
from groundwire.dialects.gemini.search import NAME, SERVER_PART, extras_of
from groundwire.dialects.gemini.tools import NO_ID, encode_arguments
from groundwire.dialects.gemini.usage import decode_usage
from groundwire.dialects.json import FormReader, load_json
from groundwire.dialects.proto_json import either_spelling, integers, many, numbers, read_body
from groundwire.dialects.sse import Frame
from groundwire.errors import Interrupted, UpstreamWireError, WireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    FinishReason,
    Image,
    Json,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
)
from groundwire.model.source import MAX_EVIDENCE
from groundwire.model.value import replace
from groundwire.text.offsets import from_points, to_points
from groundwire.text.spans import QuoteLocator, anchor_at
from groundwire.text.urls import domain_of, safe_url

if TYPE_CHECKING:
    from groundwire.dialects.text_frames import GeminiTextChunk

SERVER_SEARCH_TOOLS = frozenset({"GOOGLE_SEARCH_WEB", "GOOGLE_SEARCH_IMAGE"})
SERVER_FETCH_TOOLS = frozenset({"URL_CONTEXT"})

# Hosts that only Google's own models can read.
_PRIVATE_HOSTS = frozenset({"generativelanguage.googleapis.com"})


def decode_blob(part: Fields) -> Image | Opaque:
    """Decode inline data: an image, or an opaque part."""
    blob = part.obj("inlineData")
    media_type = blob.text("mimeType")
    if media_type and not media_type.startswith("image/"):
        return Opaque(NAME, part.raw)
    return Image(media_type, blob.text("data"), extras=_part_extras(part, "inlineData", "mimeType", "data"))


def decode_file(part: Fields) -> Image | Opaque:
    """Decode data by URL: an image that anyone can fetch, or an opaque part."""
    file = part.obj("fileData")
    media_type = file.text("mimeType")
    url = safe_url(file.text("fileUri"))
    if not url or domain_of(url) in _PRIVATE_HOSTS or not (media_type or "image/").startswith("image/"):
        return Opaque(NAME, part.raw)
    return Image(media_type, url=url, extras=_part_extras(part, "fileData", "mimeType", "fileUri"))


def decode_search_call(part: Fields, number: int) -> SearchCall | None:
    """Decode a `toolCall` of a search or a fetch; None if it is another tool's."""
    call = part.obj("toolCall")
    kind = call.text("toolType")
    arguments = call.obj("args")
    call_id = call.text("id") or f"search_{number}"
    extras = extras_of({SERVER_PART: part.raw})
    if kind in SERVER_SEARCH_TOOLS:
        queries = tuple(query for query in arguments.texts("queries") if query)
        return SearchCall(call_id, queries, extras=extras)
    if kind in SERVER_FETCH_TOOLS:
        urls = arguments.texts("urls") or (arguments.text("url"),)
        return SearchCall(call_id, kind="open", url=safe_url(urls[0]), extras=extras)
    return None


def decode_search_result(part: Fields, call_id: str) -> SearchResult | None:
    """Decode a `toolResponse` of a search: suggestions, but no pages; None if it is another tool's."""
    response = part.obj("toolResponse")
    if response.text("toolType") not in SERVER_SEARCH_TOOLS | SERVER_FETCH_TOOLS:
        return None
    return SearchResult(
        response.text("id") or call_id,
        suggestions=response.obj("response").text("searchSuggestions"),
        extras={NAME: {SERVER_PART: part.raw}},
    )


# Extras of an image: fields next to the data are kept as they are, fields inside it under the name `data`.
def _part_extras(part: Fields, key: str, *known: str) -> dict[str, JsonObject]:
    inside = part.obj(key).rest(*known)
    return extras_of({**part.rest(key), **({"data": inside} if inside else {})})


SIGNATURE = "thoughtSignature"
_NOT_ID_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")


class ContentReader:
    """Reads the parts of a model turn and emits events: of a response, or of a turn sent back."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self.emit = emit
        self.make_call_id: Callable[[], str] | None = None
        """Makes an id for a call without one, instead of the default."""
        self.response_id = ""
        self.text_parts: list[int] = []
        self.part_starts: list[int] = []
        """The offset of each wire part in the text, in code points."""
        self.calls: list[SearchCall] = []
        self.results: list[tuple[int, SearchResult]] = []
        """Results of server tools that were not emitted yet, with the part number reserved for them."""
        self.call_count = 0
        self._texts: list[str] = []
        self._length = 0
        self._parts = 0
        self._open: type[TextDelta | ReasoningDelta] | None = None
        self._open_part = 0

    @property
    def text(self) -> str:
        """All text so far, without thoughts."""
        return "".join(self._texts)

    def next_part(self) -> int:
        """Return the number of a new part, and end the text before it."""
        self._open = None
        self._parts += 1
        return self._parts - 1

    def read(self, content: Fields) -> None:
        """Read the parts of a content."""
        for part in many(content, "parts"):
            self.part_starts.append(self._length)
            self._read_part(part)

    def read_text(self, text: str) -> None:
        """Read a part that is plain text."""
        self.part_starts.append(self._length)
        if self._open is not TextDelta:
            self._begin(TextDelta)
        self.emit(TextDelta(self._open_part, text))
        self._texts.append(text)
        self._length += len(text)

    def _read_part(self, part: Fields) -> None:
        if part.raw.get("text") is not None:
            self._read_text(part)
            return
        for key, read in _PART_READERS.items():
            if part.has(key):
                read(self, part)
                return
        self._add_opaque(part)

    def _read_text(self, part: Fields) -> None:
        text = part.text("text")
        kind = ReasoningDelta if part.flag("thought") else TextDelta
        rest = _with_camel_signature(part.rest("text", "thought"))
        if not text and rest and kind is TextDelta and kind is not self._open:
            self._add_opaque(part)  # a signature without text
            return
        self._emit_text(kind, text, rest)
        if SIGNATURE in rest:
            self._open = None

    def _emit_text(
        self, kind: type[TextDelta | ReasoningDelta], text: str, rest: JsonObject | None = None
    ) -> None:
        if not text and not rest:
            return
        if kind is not self._open:
            self._begin(kind)
        if rest:
            self.emit(ExtrasSeen(self._open_part, {NAME: rest}))
        self.emit(kind(self._open_part, text))
        if kind is TextDelta:
            self._texts.append(text)
            self._length += len(text)

    def _begin(self, kind: type[TextDelta | ReasoningDelta]) -> None:
        self._open_part = self.next_part()
        self._open = kind
        if kind is TextDelta:
            self.text_parts.append(self._open_part)
        else:
            self.emit(ExtrasSeen(self._open_part, {NAME: {}}))

    def _read_call(self, part: Fields) -> None:
        call = part.obj("functionCall")
        number = self.next_part()
        name = call.text("name")
        call_id = call.text("id")
        extras = _with_camel_signature(part.rest("functionCall"))
        if not call_id:
            extras[NO_ID] = True
        if extras:
            self.emit(ExtrasSeen(number, {NAME: extras}))
        arguments = encode_arguments(call.obj("args").raw)
        self.emit(ToolCallDelta(number, call_id or self._make_call_id(), name, arguments))
        self.call_count += 1

    def _make_call_id(self) -> str:
        """An id for a call without one: stable for this answer, different in every answer."""
        if self.make_call_id is not None:
            return self.make_call_id()
        answer = _NOT_ID_CHARACTERS.sub("", self.response_id)[:40]
        return f"call_{answer}_{self.call_count}" if answer else f"call_{self.call_count}"

    def _read_server_call(self, part: Fields) -> None:
        call = decode_search_call(part, len(self.calls))
        if call is None:
            self._add_opaque(part)
            return
        self.calls.append(call)
        self.emit(SearchCalled(self.next_part(), call))

    def _read_server_response(self, part: Fields) -> None:
        result = decode_search_result(part, self.calls[-1].id if self.calls else "search_0")
        if result is None:
            self._add_opaque(part)
            return
        number = self.next_part()
        self.emit(ExtrasSeen(number, result.extras))
        self.results.append((number, result))

    def _read_blob(self, part: Fields) -> None:
        self.emit(PartAdded(self.next_part(), decode_blob(part)))

    def _read_file(self, part: Fields) -> None:
        self.emit(PartAdded(self.next_part(), decode_file(part)))

    def _add_opaque(self, part: Fields) -> None:
        if part.rest():
            self.emit(PartAdded(self.next_part(), Opaque(NAME, part.raw)))


_PART_READERS: dict[str, Callable[[ContentReader, Fields], None]] = {
    "functionCall": ContentReader._read_call,
    "toolCall": ContentReader._read_server_call,
    "toolResponse": ContentReader._read_server_response,
    "inlineData": ContentReader._read_blob,
    "fileData": ContentReader._read_file,
}


_TEXT_CHUNK_FIELDS = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId", "createTime"})
_TEXT_CANDIDATE_FIELDS = frozenset({"content", "index", "groundingMetadata"})


def _plain_text_of(candidates: Json) -> str:
    """Text of the only candidate, if it has nothing else."""
    candidate = candidates[0] if isinstance(candidates, list) and len(candidates) == 1 else None
    if not isinstance(candidate, dict) or not _TEXT_CANDIDATE_FIELDS.issuperset(candidate):
        return ""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    part = parts[0] if isinstance(parts, list) and len(parts) == 1 else None
    if not isinstance(part, dict) or len(part) != 1 or candidate.get("groundingMetadata"):
        return ""
    index, text = candidate.get("index"), part.get("text")
    is_first = index is None or (type(index) is int and not index)
    return text if is_first and isinstance(text, str) else ""


def _with_camel_signature(rest: JsonObject) -> JsonObject:
    """Rename the signature field to its camelCase name."""
    if "thought_signature" in rest:
        rest = {**rest, SIGNATURE: rest["thought_signature"]}
        del rest["thought_signature"]
    return rest


REDIRECT_URL = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
"""Redirect URLs of the Developer API; the title is then the domain of the page."""

PAGE_STATUS_PREFIX = "URL_RETRIEVAL_STATUS_"
CHUNK_KEY = "chunk"
"""The key in the extras of a source for a chunk that is not a plain web page."""

_DOMAIN_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_ADDRESS_KEYS = {"web": "uri", "image": "sourceUri", "retrievedContext": "uri", "maps": "uri"}
_QUERY_FIELDS = ("webSearchQueries", "imageSearchQueries", "retrievalQueries")
"""`retrievalQueries` are queries of Google Maps and of private data."""

_ATTRIBUTIONS = "groundingAttributions"
_GROUNDING_FIELDS = (
    *(*_QUERY_FIELDS[:2], "searchEntryPoint", "groundingChunks", "groundingSupports"),
    _ATTRIBUTIONS,
)
_GROUNDING_LISTS = either_spelling(dict.fromkeys((*_QUERY_FIELDS, "groundingChunks", "groundingSupports")))
_Item = TypeVar("_Item")


class GroundingSupport(NamedTuple):
    """A `groundingSupports` entry: a segment of the text and the chunks that support it."""

    start: int
    end: int | None
    quote: str
    part: int
    chunks: tuple[int, ...]
    scores: tuple[float, ...]


class GroundingReader:
    """Collects the grounding metadata of all chunks of an answer."""

    def __init__(self) -> None:
        self.queries: dict[str, None] = {}
        self.sources: list[Source] = []
        self.suggestions = ""
        self.extras: JsonObject = {}
        self.raw: JsonObject = {}
        """The `groundingMetadata` verbatim; merged from all chunks of a stream."""
        self._supports: list[GroundingSupport] = []
        self._recited: set[tuple[int, int | None, str, str]] = set()
        self._attributed: set[tuple[int, int | None, str, str]] = set()
        self._attributed_sources: dict[tuple[str, str], int] = {}

    def add(self, fields: Fields) -> None:
        """Add the `groundingMetadata` of a chunk."""
        self._add_raw(fields.raw)
        for key in _QUERY_FIELDS:
            self.queries.update((query, None) for query in fields.texts(key) if query.strip())
        merge_repeated(self.sources, list(_decode_chunks(fields)))
        merge_repeated(
            self._supports, [_decode_support(support) for support in fields.objs("groundingSupports")]
        )
        self.add_attributions(fields)
        entry = fields.obj("searchEntryPoint")
        self.suggestions = entry.text("renderedContent") or self.suggestions
        if blob := entry.text("sdkBlob"):
            self.extras["sdkBlob"] = blob
        if rest := fields.rest(*_GROUNDING_FIELDS):
            self.extras["groundingMetadata"] = {**as_object(self.extras.get("groundingMetadata")), **rest}

    def add_recited(self, metadata: Fields) -> None:
        """Add the `citationMetadata` of a chunk: sources of recited text, whose offsets are bytes.

        The Gemini API lists `citationSources`, Vertex `citations`. Many entries name no source.
        """
        for entry in (*many(metadata, "citationSources"), *many(metadata, "citations")):
            uri = entry.text("uri")
            url = safe_url(uri)
            source = Source(url, entry.text("title") or ("" if url else uri))
            start, end = entry.offset("startIndex") or 0, entry.offset("endIndex")
            key = (start, end, source.url, source.title)
            if (source.url or source.title) and key not in self._recited:
                self._recited.add(key)
                self._supports.append(GroundingSupport(start, end, "", 0, (len(self.sources),), ()))
                self.sources.append(source)

    def add_attributions(self, fields: Fields) -> None:
        """Add `groundingAttributions`, the form of Gemini 1.0: each has a source, a segment and a score.

        Those of `generateAnswer` have a passage of the client instead, and no segment.
        """
        for attribution in many(fields, _ATTRIBUTIONS):
            source, segment = _decode_attributed(attribution), attribution.obj("segment")
            start, end = segment.offset("startIndex") or 0, segment.offset("endIndex")
            key = (start, end, source.url, source.title)
            if not (source.url or source.title) or key in self._attributed:
                continue
            self._attributed.add(key)
            index = self._attributed_sources.setdefault((source.url, source.title), len(self.sources))
            if index == len(self.sources):
                self.sources.append(source)
            score = attribution.number("confidenceScore")
            scores = () if score is None else (score,)
            support = GroundingSupport(start, end, segment.text("text"), 0, (index,), scores)
            self._supports.append(support)

    def _add_raw(self, metadata: JsonObject) -> None:
        if not self.raw:
            self.raw = metadata
            return
        merged = dict(self.raw)
        for key, value in metadata.items():
            known = merged.get(key)
            if key in _GROUNDING_LISTS and isinstance(known, list) and isinstance(value, list):
                merged[key] = value if value[: len(known)] == known else [*known, *value]
            else:
                merged[key] = value
        self.raw = merged

    def citation_events(self, text: str, part_starts: list[int]) -> Iterator[Event]:
        """The citation events of a complete text."""
        unplaced = sourceless = count = 0
        size = len(text.encode("utf-8", "surrogatepass"))
        quotes = QuoteLocator(text)
        for support, spans in zip(self._supports, self._spans(text, part_starts), strict=True):
            if count > MAX_EVIDENCE:
                break
            evidence = tuple(self._evidence(support))
            sourceless += len(evidence) < len(set(support.chunks))
            if not evidence:
                continue
            count += len(evidence)
            span = _resolve_span(support, spans, size, quotes)
            unplaced += span is None
            kind = anchor_at(span, lambda start, end: text[start:end]) if span else "claim"
            yield Cited(Citation(span, evidence, kind))
        if unplaced:
            yield Warned("citation_unplaced", f"{unplaced} of the citations could not be located in the text")
        if sourceless:
            yield Warned("citation_without_source", f"{sourceless} of the citations refer to no known source")

    def _spans(self, text: str, part_starts: list[int]) -> Iterator[list[Span]]:
        """The possible spans of each support, in code points; all are converted in one pass.

        By the schema, offsets count from the start of the part; no answer has been seen that does so.
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

    def _evidence(self, support: GroundingSupport) -> Iterator[Evidence]:
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


def merge_repeated(known: list[_Item], new: list[_Item]) -> None:
    """Append new items; if the new list begins with all known items, it replaces them."""
    if new[: len(known)] == known:
        known[:] = new
    else:
        known += new


def _decode_chunks(fields: Fields) -> Iterator[Source]:
    """Decode one source for each chunk, also for empty ones, so that indices stay valid."""
    chunks = iter(fields.objs("groundingChunks"))
    for value in fields.items("groundingChunks"):
        yield Source("") if value is None else _decode_chunk(next(chunks))


def _decode_chunk(chunk: Fields) -> Source:
    kind = next((key for key in _ADDRESS_KEYS if chunk.has(key)), "web")
    page = chunk.obj(kind)
    uri = page.text(_ADDRESS_KEYS[kind])
    url = safe_url(uri)
    # A document of a private store has a name instead of a web URL (`gs://…`, or none at all).
    title = page.text("title") or ("" if url else uri or page.text("documentName"))
    is_domain = uri.startswith(REDIRECT_URL) and _DOMAIN_NAME.fullmatch(title) is not None
    passage = page.text("text") if kind == "retrievedContext" else ""
    return Source(
        url,
        title,
        excerpts=(passage,) if passage else (),
        domain=page.text("domain") or (title if is_domain else ""),
        extras={} if kind == "web" else {NAME: {CHUNK_KEY: chunk.raw}},
    )


def _decode_attributed(attribution: Fields) -> Source:
    """Decode the source of an attribution: a page, or a passage that the client sent or stored."""
    if not attribution.has("sourceId"):
        return _decode_chunk(attribution)
    source_id = attribution.obj("sourceId")
    stored = source_id.obj("semanticRetrieverChunk")
    name = (
        source_id.obj("groundingPassage").text("passageId") or stored.text("chunk") or stored.text("source")
    )
    passage = "".join(part.text("text") for part in many(attribution.obj("content"), "parts"))
    return Source("", name or "Passage", excerpts=(passage,) if passage else ())


def _decode_support(support: Fields) -> GroundingSupport:
    segment = support.obj("segment")
    return GroundingSupport(
        segment.offset("startIndex") or 0,
        segment.offset("endIndex"),
        segment.text("text"),
        segment.offset("partIndex") or 0,
        integers(support, "groundingChunkIndices"),
        numbers(support, "confidenceScores"),
    )


def _resolve_span(
    support: GroundingSupport, spans: list[Span], size: int, quotes: QuoteLocator
) -> Span | None:
    if not support.quote:
        is_valid = support.end is not None and 0 <= support.start <= support.end <= size
        return spans[-1] if is_valid else None
    for span in spans[:-1]:
        if quotes.holds(span, support.quote):
            return span
    return quotes.locate(*spans[-1], support.quote)


_UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"
_MOST_MISSES = 8
"""After so many chunks of another form, the rest of the stream is not expected to have it."""


def _load_form() -> type[GeminiTextChunk]:
    from groundwire.dialects.text_frames import GeminiTextChunk  # noqa: PLC0415  it needs msgspec

    return GeminiTextChunk


_TEXT_CHUNKS = FormReader(_load_form)


class ResponseReader:
    """Reads chunks and emits events."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._content = ContentReader(emit)
        self._grounding = GroundingReader()
        self._recited = GroundingReader()
        self._pages: list[tuple[str, str]] = []
        self._opened: set[str] = set()
        self._usage_chunk: Json = None
        self._misses = 0
        """Chunks in a row that are not only text."""
        self._finish = ""
        self._candidate: JsonObject = {}
        self._feedback: JsonObject = {}
        self._started = self._answered = self._settled = self._failed = False

    def read_text_chunk(self, data: bytes) -> bool:
        """Read the bytes of a chunk that is only text, as nearly all are; returns whether it is one."""
        if not self._answered or self._misses > _MOST_MISSES:
            return False
        chunk = _TEXT_CHUNKS.read(data)
        candidate = chunk.candidates[0] if chunk is not None else None
        text = candidate.content.parts[0].text if candidate is not None else ""
        if chunk is None or candidate is None or not text or candidate.index or candidate.grounding_metadata:
            self._misses += 1
            return False
        self._misses = 0
        self._content.read_text(text)
        if chunk.has_usage:
            self._usage_chunk = {"usageMetadata": cast("Json", chunk.usage_metadata)}
        return True

    def read_plain_text(self, chunk: Json) -> bool:
        """Read a chunk that is only text, as nearly all are; returns whether it is one."""
        if not self._answered or not isinstance(chunk, dict) or not _TEXT_CHUNK_FIELDS.issuperset(chunk):
            return False
        text = _plain_text_of(chunk.get("candidates"))
        if not text:
            return False
        self._content.read_text(text)
        if "usageMetadata" in chunk:
            self._usage_chunk = chunk
        return True

    def read(self, body: Fields) -> None:
        """Read one chunk, or the whole body."""
        if "candidates" not in body.raw and isinstance(body.get("response"), dict):
            body = body.obj("response")  # the wrapper of Code Assist
        if "error" in body.raw:
            error = error_in(body.raw)
            if error is not None:
                self._fail(error)
                return
        if not self._started:
            self._started = True
            self._content.response_id = body.text("responseId")
            self._emit(Started(self._content.response_id, body.text("modelVersion")))
        for key in body.raw:
            if read := _BODY_READERS.get(key):
                read(self, body)

    def _read_candidates(self, body: Fields) -> None:
        for candidate in body.objs("candidates"):
            if not candidate.integer("index"):
                self._answered = True
                for key, value in candidate.raw.items():
                    if read := _CANDIDATE_READERS.get(key):
                        read(self, candidate)
                    elif key != "index":
                        self._candidate[key] = value
                return

    def _read_usage(self, body: Fields) -> None:
        self._usage_chunk = body.raw  # cumulative: only the last one is decoded, at the end

    def _read_feedback(self, body: Fields) -> None:
        self._feedback = body.obj("promptFeedback").raw

    def _read_content(self, candidate: Fields) -> None:
        self._content.read(candidate.obj("content"))

    def _read_finish(self, candidate: Fields) -> None:
        finish = candidate.text("finishReason")
        if finish != _UNSPECIFIED:
            self._finish = finish or self._finish

    def _read_grounding(self, candidate: Fields) -> None:
        if candidate.get("groundingMetadata"):  # empty in every chunk of Gemini 2 but the last
            self._grounding.add(candidate.obj("groundingMetadata"))

    def _read_attributions(self, candidate: Fields) -> None:
        self._grounding.add_attributions(candidate)

    def _read_recited(self, candidate: Fields) -> None:
        self._recited.add_recited(candidate.obj("citationMetadata"))

    def _read_pages(self, candidate: Fields) -> None:
        pages = many(candidate.obj("urlContextMetadata"), "urlMetadata")
        listed = [(page.text("retrievedUrl"), page.text("urlRetrievalStatus")) for page in pages]
        merge_repeated(self._pages, listed)

    def settle(self) -> None:
        """Emit what needs the whole text. No more text follows."""
        if self._settled or not self._started:
            return
        self._settled = True
        self._emit_searches()
        for reader in (self._grounding, self._recited):
            for event in reader.citation_events(self._content.text, self._content.part_starts):
                self._emit(event)
        for part in self._content.text_parts:
            self._emit(TextSettled(part))
        usage = self.usage()
        if usage != Usage():
            self._emit(UsageSeen(usage))

    def usage(self) -> Usage:
        """The usage so far: each chunk repeats it."""
        body = read_body(self._usage_chunk or {}, UpstreamWireError)
        return decode_usage(body.obj("usageMetadata"))

    def end(self, *, whole: bool = False) -> None:
        """Emit the end. A whole body is complete even without a finish reason; a stream may be truncated."""
        if self._failed:
            return
        self.settle()
        block = self._feedback.get("blockReason")
        if not self._answered and isinstance(block, str):
            self._emit(Finished("filtered", block, {NAME: {"promptFeedback": self._feedback}}))
        elif self._finish or (whole and self._answered):
            self._emit_finish()
        elif whole:
            self._emit(Failed(Interrupted("the answer holds no candidate")))

    def _fail(self, error: JsonObject) -> None:
        self.settle()
        self._failed = True
        self._emit(Failed(read_error(error, None, {})))

    def _emit_finish(self) -> None:
        reason: FinishReason = FINISH_REASONS.get(self._finish, "other")
        detail = "" if self._finish in ("STOP", "MAX_TOKENS") else self._finish
        if reason == "stop" and self._content.call_count:
            reason = "tool_calls"
        self._emit(Finished(reason, detail, extras_of(self._verbatim())))

    def _verbatim(self) -> JsonObject:
        """What the answer keeps verbatim: fields without a canonical form, and the grounding metadata."""
        kept: JsonObject = {"candidate": self._candidate, "groundingMetadata": self._grounding.raw}
        return {key: value for key, value in kept.items() if value}

    def _emit_searches(self) -> None:
        """Emit the opened pages, then the search with all other pages, then the remaining results."""
        unmatched = [call for call in self._content.calls if call.kind == "open"]
        for retrieved, status in self._pages:
            url = safe_url(retrieved)
            call = next((call for call in unmatched if call.url == url), None)
            if call is None:
                call = self._emit_call(SearchCall("", kind="open", url=url))
            else:
                unmatched.remove(call)
            self._emit_page(call, status.removeprefix(PAGE_STATUS_PREFIX).lower())
        self._emit_search()
        for number, result in self._content.results:
            self._emit(SearchReturned(number, result))

    def _emit_page(self, call: SearchCall, status: str) -> None:
        if status == "unspecified":
            return
        error = "" if status in ("", "success") else status
        known = next((source for source in self._grounding.sources if source.url == call.url), None)
        page = replace(known or Source(call.url), state="opened")
        if not error and call.url:
            self._opened.add(call.url)
        self._emit_result(call, SearchResult(call.id, () if error else (page,), error))

    def _emit_search(self) -> None:
        grounding = self._grounding
        found = tuple(
            source
            for source in grounding.sources
            if (source.url or source.title) and source.url not in self._opened
        )
        emitted = [result.suggestions for _, result in self._content.results]
        suggestions = "" if grounding.suggestions in emitted else grounding.suggestions
        searches = [call for call in self._content.calls if call.kind == "search"]
        if not searches and not (found or suggestions or grounding.queries):
            return
        call = searches[-1] if searches else self._emit_call(SearchCall("", tuple(grounding.queries)))
        if found or suggestions or grounding.extras or not searches:
            self._emit_result(
                call, SearchResult(call.id, found, "", suggestions, extras={NAME: grounding.extras})
            )

    def _emit_call(self, call: SearchCall) -> SearchCall:
        """Emit a call that no server tool part reported."""
        call = replace(call, id=f"search_{len(self._content.calls)}", extras={NAME: {}})
        self._content.calls.append(call)
        self._emit(SearchCalled(self._content.next_part(), call))
        return call

    def _emit_result(self, call: SearchCall, result: SearchResult) -> None:
        """Emit a result, as the part of the server tool's result if there is one."""
        results = self._content.results
        known = next((item for item in results if item[1].call_id == call.id), None)
        if known is None:
            extras = {NAME: result.extras.get(NAME, {})}
            self._emit(SearchReturned(self._content.next_part(), replace(result, extras=extras)))
            return
        results.remove(known)
        number, server_result = known
        suggestions = "\n".join(text for text in (server_result.suggestions, result.suggestions) if text)
        extras = {NAME: {**server_result.extras[NAME], **result.extras.get(NAME, {})}}
        self._emit(SearchReturned(number, replace(result, suggestions=suggestions, extras=extras)))


_BODY_READERS = either_spelling(
    {
        "candidates": ResponseReader._read_candidates,
        "usageMetadata": ResponseReader._read_usage,
        "promptFeedback": ResponseReader._read_feedback,
    }
)

_CANDIDATE_READERS = either_spelling(
    {
        "content": ResponseReader._read_content,
        "finishReason": ResponseReader._read_finish,
        "groundingMetadata": ResponseReader._read_grounding,
        "urlContextMetadata": ResponseReader._read_pages,
        "citationMetadata": ResponseReader._read_recited,
        _ATTRIBUTIONS: ResponseReader._read_attributions,
    }
)


class Decoder(StreamDecoder):
    """Decodes chunks; the end of the bytes is the end of the answer."""

    def __init__(self) -> None:
        super().__init__()
        self._answer = ResponseReader(self.emit)

    def usage_so_far(self) -> Usage | None:
        return self._answer.usage()

    def on_frame(self, frame: Frame) -> None:
        if self._answer.read_text_chunk(frame.data):
            return
        if frame.data in (b"", b"[DONE]"):  # Google sends no sentinel, some compatible servers do
            return
        try:
            body = load_json(frame.data, UpstreamWireError)
            for chunk in body if isinstance(body, list) else (body,):
                if not self._answer.read_plain_text(chunk):
                    self._answer.read(read_body(chunk, UpstreamWireError))
        except WireError:
            self._answer.settle()
            raise

    def on_end(self) -> None:
        self._answer.end()
