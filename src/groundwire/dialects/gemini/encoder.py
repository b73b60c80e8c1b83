"""Response encoder: events to chunks, and the parts and grounding metadata of answers.

There are no event names, no sentinel and no comments: Google's own clients take a comment for broken JSON.
Text is sent as it comes, calls when their arguments are complete, and everything else in the last chunk.
Server tool parts are sent only where Google made them: any other search is reported in the grounding
metadata alone. A citation of the whole answer has no form here: its pages are listed like pages that were
only found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.extras import add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.fields import as_object
from groundwire.dialects.gemini.decoder import CHUNK_KEY, PAGE_STATUS_PREFIX, REDIRECT_URL
from groundwire.dialects.gemini.errors import encode_error, encode_finish
from groundwire.dialects.gemini.search import NAME, SERVER_PART, extras_of
from groundwire.dialects.gemini.tools import NO_ID, decode_arguments, parse_object
from groundwire.dialects.gemini.usage import encode_usage
from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.model import (
    Answer,
    Assembler,
    Citation,
    Event,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    Json,
    JsonObject,
    Opaque,
    Part,
    PartAdded,
    Reasoning,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from groundwire.text.offsets import from_points
from groundwire.text.spans import QuoteLocator

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere; consecutive texts are joined",
    Feature.PHASE: "nowhere",
    Feature.UNPLACED: "chunks without supports, and `groundwire.citations`",
    Feature.QUOTES: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.SEARCH_CALLS: "`groundwire.searches`; all queries are in one list",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.RETRIEVED: "the same list as pages cited for the whole answer",
    Feature.RETRIEVED_TITLES: "the same list as pages cited for the whole answer",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "`groundwire.searches`, as the state `failed` with its `error`",
    Feature.CALLERS: "nowhere",
    Feature.PAUSE: "nowhere; the answer ends with STOP",
    Feature.REFUSAL: "nowhere; the answer ends with SAFETY",
    Feature.CACHE_TOKENS: "nowhere; tokens read from a cache are counted, tokens written to one are not",
    Feature.SEARCH_COUNT: "nowhere",
    Feature.COST: "nowhere",
}

NOT_RESENT = (
    "clients send back the `content` of an answer, without its `groundingMetadata`: citations and searches "
    "of earlier turns do not come back; with the rendering `markers` or `both` the URLs stay in the text"
)

PART_DATA_FIELDS = frozenset(
    {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)

_CLIENT_FIELDS = PART_DATA_FIELDS | {"thought", "thoughtSignature"}

_MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
}

_FILE_SUFFIX = re.compile(r"\.(\w{3,4})(?:[?#].*)?$")


def encode_part(part: Part) -> JsonObject | None:
    """Encode a part; None if the dialect has no form for it."""
    match part:
        case Text(text):
            return {"text": text, **part.extras.get(NAME, {})} if text or NAME in part.extras else None
        case Reasoning(text):
            return {"text": text, "thought": True, **part.extras.get(NAME, {})}
        case Image():
            return encode_image(part)
        case ToolCall():
            return encode_call(part)
        case SearchCall() | SearchResult():
            whole = part.extras.get(NAME, {}).get(SERVER_PART)
            return whole if isinstance(whole, dict) else None
        case Opaque(dialect, data) if dialect == NAME:
            return data
    return None


def encode_parts(parts: Iterable[Part]) -> list[JsonObject]:
    """Encode the parts that the dialect has a form for."""
    return [encoded for part in parts if (encoded := encode_part(part)) is not None]


def client_part(part: JsonObject) -> JsonObject | None:
    """Reduce a part to the fields that clients know; None if no data is left."""
    known: JsonObject = {
        key: value for key, value in part.items() if key in _CLIENT_FIELDS and value is not None
    }
    return None if known.keys().isdisjoint(PART_DATA_FIELDS) else known


def encode_image(image: Image) -> JsonObject:
    """Encode an image, inline or by URL; a file must have a media type."""
    extras = image.extras.get(NAME, {})
    if image.data:
        blob: JsonObject = {"mimeType": image.media_type, "data": image.data, **_inner_extras(extras)}
        return {"inlineData": blob, **_outer_extras(extras)}
    media_type = image.media_type or _guess_media_type(image.url)
    return {
        "fileData": {"mimeType": media_type, "fileUri": image.url, **_inner_extras(extras)},
        **_outer_extras(extras),
    }


def encode_call(call: ToolCall) -> JsonObject:
    """Encode a function call."""
    extras = call.extras.get(NAME, {})
    named: JsonObject = {"id": call.id} if call.id and NO_ID not in extras else {}
    rest = {key: value for key, value in extras.items() if key != NO_ID}
    return {
        "functionCall": {**named, "name": call.name, "args": decode_arguments(call.arguments)},
        **rest,
    }


def _inner_extras(extras: JsonObject) -> JsonObject:
    inside = extras.get("data")
    return inside if isinstance(inside, dict) else {}


def _outer_extras(extras: JsonObject) -> JsonObject:
    return {key: value for key, value in extras.items() if key != "data"}


def _guess_media_type(url: str) -> str:
    match = _FILE_SUFFIX.search(url)
    return _MEDIA_TYPES.get(match[1].lower() if match else "", "image/jpeg")


MAX_SEGMENT_TEXT = 1_000_000
"""How many characters of the answer its segments may repeat, beyond twice its length. Claims that overlap a
thousand times would otherwise repeat the answer a thousand times; further segments have only offsets."""


def encode_grounding(answer: Answer, text: str) -> JsonObject:
    """Encode the grounding metadata of an answer that was sent as `text`; empty if there is none."""
    results = [part for part in answer.parts if isinstance(part, SearchResult)]
    calls = {part.id: part for part in answer.parts if isinstance(part, SearchCall)}
    chunks = ChunkList()
    for result in results:
        call = calls.get(result.call_id)
        for source in result.sources:
            # An opened page is in the metadata of pages; here it adds its title, if it has one.
            if call is None or call.kind != "open" or source.title or source.url != call.url:
                chunks.index_of(source)
    supports: list[Json] = [*_encode_supports(answer, text, chunks)]
    for citation in answer.citations:
        for item in citation.evidence:
            chunks.index_of(item.source)
    queries = dict.fromkeys(
        query for call in calls.values() if call.kind == "search" for query in call.queries
    )
    kept: JsonObject = {}
    for result in results:
        kept.update(as_object(result.extras.get(NAME, {}).get("groundingMetadata")))
    retrieval_queries = kept.get("retrievalQueries")
    metadata: JsonObject = {
        "webSearchQueries": [
            query
            for query in queries
            if query and not (isinstance(retrieval_queries, list) and query in retrieval_queries)
        ],
        "searchEntryPoint": _encode_entry_point(results),
        "groundingChunks": chunks.encoded,
        "groundingSupports": supports,
        **kept,
    }
    return {key: value for key, value in metadata.items() if value}


class ChunkList:
    """The `groundingChunks`: each page once, by URL and title; each passage of a document without a URL."""

    def __init__(self) -> None:
        self.encoded: list[Json] = []
        self._indices: dict[tuple[str, str, str], int] = {}

    def index_of(self, source: Source) -> int | None:
        """Return the index of a source, adding it if it is new; None if it has neither URL nor title."""
        if not (source.url or source.title):
            return None
        key = (source.url, source.title, "" if source.url else "".join(source.excerpts[:1]))
        if key not in self._indices:
            self._indices[key] = len(self.encoded)
            self.encoded.append(_encode_chunk(source))
        return self._indices[key]


def _encode_chunk(source: Source) -> JsonObject:
    whole = source.extras.get(NAME, {}).get(CHUNK_KEY)
    if isinstance(whole, dict):
        return whole
    if not source.url:
        document: JsonObject = {"title": source.title}
        return {"retrievedContext": document | ({"text": source.excerpts[0]} if source.excerpts else {})}
    title_is_domain = source.url.startswith(REDIRECT_URL) and source.domain == source.title
    page: JsonObject = {"uri": source.url}
    if source.title:
        page["title"] = source.title
    if source.domain and not title_is_domain:
        page["domain"] = source.domain
    return {"web": page}


def _encode_entry_point(results: Iterable[SearchResult]) -> JsonObject:
    suggestions = dict.fromkeys(result.suggestions for result in results if result.suggestions)
    blobs = [blob for result in results if (blob := result.extras.get(NAME, {}).get("sdkBlob"))]
    entry: JsonObject = {"renderedContent": "\n".join(suggestions)} if suggestions else {}
    return {**entry, "sdkBlob": blobs[-1]} if blobs else entry


def _encode_supports(answer: Answer, text: str, chunks: ChunkList) -> Iterator[JsonObject]:
    """Encode one support for each citation, two where only some of its evidence has a score."""
    located = list(_citations_with_spans(answer, text))
    edges = iter(from_points(text, [edge for _, span in located for edge in span], "utf8"))
    text_left = MAX_SEGMENT_TEXT + 2 * len(text)
    for (citation, span), start, end in zip(located, edges, edges, strict=True):
        segment: JsonObject = {"startIndex": start} if start else {}
        segment["endIndex"] = end
        text_left -= span.end - span.start
        if text_left >= 0:
            segment["text"] = text[span.start : span.end]
        for scored in (True, False):
            evidence = [item for item in citation.evidence if (item.confidence is not None) is scored]
            indexed = [
                (index, item) for item in evidence if (index := chunks.index_of(item.source)) is not None
            ]
            support: JsonObject = {
                "segment": segment,
                "groundingChunkIndices": [index for index, _ in indexed],
            }
            if scored:
                support["confidenceScores"] = [item.confidence for _, item in indexed]
            if indexed:
                yield support


def _citations_with_spans(answer: Answer, text: str) -> Iterator[tuple[Citation, Span]]:
    """The citations that have a span in the text as it was sent."""
    whole = answer.text
    in_order = whole == text
    quotes = QuoteLocator(text)
    for citation in answer.citations:
        span: Span | None = citation.span
        if span is None or not 0 <= span.start <= span.end <= len(whole):
            continue
        if not in_order:
            # Parts were sent in another order than they have in the answer; find the text where it was sent.
            span = quotes.locate(*span, whole[span.start : span.end])
        if span is not None:
            yield citation, span


def encode_pages(answer: Answer) -> JsonObject:
    """Encode the metadata of opened pages."""
    results = {part.call_id: part for part in answer.parts if isinstance(part, SearchResult)}
    pages: list[Json] = [
        {
            "retrievedUrl": part.url,
            "urlRetrievalStatus": PAGE_STATUS_PREFIX + _page_status(results.get(part.id)),
        }
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


class Encoder(StreamEncoder):
    """Encodes events as chunks."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._assembler = Assembler()
        self._head = encode_head("", reply)
        self._text_head = self._text_tail = b""
        self._texts: list[str] = []
        self._calls: dict[int, list[ToolCallDelta]] = {}
        self._extras: dict[int, JsonObject] = {}
        self._sent_parts: dict[int, bool] = {}
        """Parts that were sent, and whether they are thoughts."""

    def ping(self) -> bytes:
        return b""

    def on_event(self, event: Event) -> None:
        self._assembler.feed(event)
        match event:
            case TextDelta(part, text):
                self._send_text(part, text, thought=False)
            case ReasoningDelta(part, text):
                self._send_text(part, text, thought=True)
            case ToolCallDelta(part):
                self._calls.setdefault(part, []).append(event)
            case ExtrasSeen(part, extras):
                self._note_extras(part, extras)
            case SearchCalled(part, whole) | SearchReturned(part, whole):
                self._send_server_part(part, whole.extras)
            case PartAdded(_, value):
                self._release_calls()
                self._send_part(encode_part(value))
            case Started(model=model):
                self._head = encode_head(model, self.reply)
                self._text_head = b""
            case Finished():
                self._finish()
            case Failed(error):
                self._fail(error)

    def _send_text(self, part: int, text: str, *, thought: bool) -> None:
        extras = self._extras.pop(part, None)
        if not text and not extras:
            return
        if self._calls:
            self._release_calls()
        self._sent_parts[part] = thought
        if not thought:
            self._texts.append(text)
        piece: JsonObject = {"text": text, "thought": True} if thought else {"text": text}
        if extras:
            self._send_part({**piece, **extras})
        elif thought:
            self._send_candidate(piece)
        else:
            self._send_plain(text)

    def _send_plain(self, text: str) -> None:
        """Send text from a template: most chunks differ only in it."""
        if not self._text_head:
            content: JsonObject = {"parts": [{"text": 0}], "role": "model"}
            chunk: JsonObject = {"candidates": [{"content": content, "index": 0}], **self._head}
            head, tail = dump_json(chunk).split('"text":0', 1)
            self._text_head = f'data: {head}"text":'.encode()
            self._text_tail = f"{tail}\n\n".encode()
        self.send_text(self._text_head, text, self._text_tail)

    def _note_extras(self, part: int, extras: Extras) -> None:
        """Send a signature with its part; where the text was already sent, with an empty piece after it."""
        own = extras.get(NAME)
        if not own:
            return
        if SERVER_PART in own:
            self._send_server_part(part, extras)
            return
        self._extras[part] = {**self._extras.get(part, {}), **own}
        if part in self._sent_parts:
            self._send_text(part, "", thought=self._sent_parts[part])

    def _send_server_part(self, part: int, extras: Extras) -> None:
        whole = extras.get(NAME, {}).get(SERVER_PART)
        if isinstance(whole, dict) and part not in self._sent_parts:
            self._sent_parts[part] = False
            self._send_part(whole)

    def _release_calls(self, *, force: bool = False) -> None:
        """Send calls whose arguments are complete; a client must never receive half a call."""
        for part, deltas in list(self._calls.items()):
            call = ToolCall(
                next((delta.id for delta in reversed(deltas) if delta.id), ""),
                next((delta.name for delta in reversed(deltas) if delta.name), ""),
                "".join(delta.arguments for delta in deltas),
                extras_of(self._extras.get(part, {})),
            )
            if force or (call.name and parse_object(call.arguments) is not None):
                del self._calls[part]
                self._send_part(encode_call(call))

    def _send_part(self, part: JsonObject | None) -> None:
        shown = client_part(part) if part is not None else None
        if shown is not None:
            self._send_candidate(shown)

    def _send_candidate(self, part: JsonObject) -> None:
        candidate: JsonObject = {"content": {"parts": [part], "role": "model"}, "index": 0}
        self.send("", {"candidates": [candidate], **self._head})

    def _finish(self) -> None:
        self._release_calls(force=True)
        answer = self._assembler.answer()
        # Some clients ignore grounding in a chunk without content.
        self.send("", encode_ending(answer, "".join(self._texts), [{"text": ""}], self.reply))

    def _fail(self, error: GroundwireError) -> None:
        self._release_calls()
        answer = self._assembler.answer()
        if metadata := encode_metadata(answer, "".join(self._texts)):
            usage = encode_usage(answer.usage)
            self.send("", {"candidates": [{**metadata, "index": 0}], "usageMetadata": usage, **self._head})
        # Official clients recognise an error by its first key.
        self.send("", add_extension(encode_error(error, self.reply).body, answer, LOSSES))


class JsonArrayEncoder(Encoder):
    """The same chunks as the elements of one JSON array: the stream for requests without `alt=sse`."""

    content_type = "application/json"

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._separator = "["

    def ping(self) -> bytes:
        return b" "  # whitespace between values is valid JSON

    def on_event(self, event: Event) -> None:
        super().on_event(event)
        if self._ended:
            self.send_raw(b"\r\n]")

    def _send_plain(self, text: str) -> None:
        self._send_candidate({"text": text})

    def send(self, _name: str, payload: JsonObject) -> None:
        self.send_raw(f"{self._separator}{dump_json(payload)}".encode("utf-8", "replace"))
        self._separator = "\r\n,\r\n"


def encode_ending(answer: Answer, text: str, parts: list[Json], reply: Reply) -> JsonObject:
    """Encode the last chunk of an answer that was sent as `text`."""
    body: JsonObject = {}
    feedback = answer.extras.get(NAME, {}).get("promptFeedback")
    if feedback and not answer.parts:
        body["promptFeedback"] = feedback
    else:
        body["candidates"] = [
            {
                "content": {"parts": parts, "role": "model"},
                **_encode_finish_reason(answer),
                "index": 0,
                **encode_metadata(answer, text),
            }
        ]
    if usage := encode_usage(answer.usage):
        body["usageMetadata"] = usage
    return add_extension({**body, **encode_head(answer.model, reply)}, answer, LOSSES)


def _encode_finish_reason(answer: Answer) -> JsonObject:
    """Encode why a candidate ended, and the fields that were kept verbatim."""
    rest = as_object(answer.extras.get(NAME, {}).get("candidate"))
    name = encode_finish(answer.finish, answer.detail)
    if answer.detail == "CONTINUATION" and "continuationToken" in rest:
        name = answer.detail
    message = answer.error.message if answer.error else answer.detail
    details: JsonObject = {"finishMessage": message} if message not in ("", name) else {}
    return {"finishReason": name, **details, **rest}


def encode_metadata(answer: Answer, text: str) -> JsonObject:
    """Encode the grounding and page metadata of a candidate."""
    metadata: JsonObject = {
        "groundingMetadata": encode_grounding(answer, text),
        "urlContextMetadata": encode_pages(answer),
    }
    return {key: value for key, value in metadata.items() if value}


def encode_head(model: str, reply: Reply) -> JsonObject:
    """Encode the fields that every chunk has."""
    return {"modelVersion": reply.model or model, "responseId": reply.id}
