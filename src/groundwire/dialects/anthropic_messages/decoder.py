"""Response decoder: message streams and whole messages to events.

Blocks are opened, filled and closed, one after the other. Citations arrive before the text of their block
and search results arrive whole in the block start. The fields of `usage` are cumulative; the last value
wins. Nothing follows `message_stop` or `error`.

Blocks that Anthropic made are kept verbatim in `extras` (`block`, `citation`) and sent back byte for byte,
because Anthropic verifies its encrypted fields. Blocks that groundwire made carry a signed token instead,
are not marked as Anthropic's, and are therefore sent as readable text when the conversation continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from html import unescape
from typing import NamedTuple, Protocol, TypeAlias

from groundwire.dialects.anthropic_messages.errors import FINISH_REASONS, decode_stream_error
from groundwire.dialects.anthropic_messages.search import (
    GROUNDWIRE_SEARCH_ID,
    NAME,
    SEARCH_ID_PREFIX,
    SEARCH_RESULT_CITATION,
    WEB_CITATION,
    ListedPage,
)
from groundwire.dialects.anthropic_messages.tools import block_extras, encode_arguments
from groundwire.dialects.anthropic_messages.usage import decode_usage
from groundwire.dialects.base import DEFAULT_KEY, StreamDecoder
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.foreign_history import is_native
from groundwire.dialects.json import load_json
from groundwire.dialects.signed_tokens import is_token, read_token
from groundwire.dialects.sse import Frame
from groundwire.dialects.tool_arguments import decode_arguments
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import (
    NO_EXTRAS,
    Citation,
    Cited,
    Event,
    Evidence,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    Json,
    JsonObject,
    Opaque,
    Part,
    PartAdded,
    ReasoningDelta,
    Request,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    ToolResult,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.text.spans import anchor_at, anchor_kind
from groundwire.text.urls import safe_url

_MAX_INDEX = 1_000_000


class CitedDocument(NamedTuple):
    """A document that citations refer to; one sent by the client has no URL, and only plain text is kept."""

    url: str = ""
    title: str = ""
    text: str = ""


class DocumentIndex:
    """The documents of a conversation, in the order in which Anthropic numbers them.

    `char_location`, `page_location` and `content_block_location` have no URL, only a `document_index`. It
    counts the documents of the request, in the order of its messages and tool results, and continues with
    those fetched in the response. The index is used unless the title or the cited text contradicts it; then
    the only document that supports the citation is used, or none.
    """

    def __init__(self, known: Iterable[CitedDocument] = ()) -> None:
        self._known = list(known)

    def extend(self, documents: Iterable[CitedDocument]) -> None:
        """Append further documents."""
        self._known.extend(documents)

    def source_of(self, citation: Fields) -> Source:
        """The source of a citation: the URL if the document was fetched, else the title in the citation."""
        number = citation.get("document_index")
        index = number if type(number) is int and 0 <= number <= _MAX_INDEX else -1
        title = citation.text("document_title")
        quote = citation.text("cited_text")
        document = self._find(index, title, quote)
        name = title or document.title
        if not name and not document.url:
            name = f"Document {index + 1}" if index >= 0 else "Document"
        return Source(document.url, name, "cited")

    def _find(self, index: int, title: str, quote: str) -> CitedDocument:
        if 0 <= index < len(self._known) and not _contradicts(self._known[index], title, quote):
            return self._known[index]
        fitting = {document for document in self._known if _supports(document, title, quote)}
        return fitting.pop() if len(fitting) == 1 else CitedDocument()


def _contradicts(document: CitedDocument, title: str, quote: str) -> bool:
    if title and document.title:
        return title != document.title
    return bool(quote and document.text) and quote not in document.text


def _supports(document: CitedDocument, title: str, quote: str) -> bool:
    if title and document.title:
        return title == document.title
    return bool(quote) and quote in document.text


def request_documents(request: Request) -> tuple[CitedDocument, ...]:
    """The documents of a request as it is sent; pages that another provider fetched are sent as text."""
    return tuple(
        document
        for message in request.messages
        if message.role != "assistant" or is_native(message, NAME)
        for document in documents_in(message.parts)
    )


def documents_in(parts: Iterable[Part]) -> Iterator[CitedDocument]:
    """The documents among the parts of a turn."""
    for part in parts:
        match part:
            case Opaque(dialect, data) if dialect == NAME and data.get("type") == "document":
                yield _decode_document(data)
            case ToolResult(_, content):
                yield from documents_in(content)
            case SearchResult():
                yield from fetched_documents(as_object(part.extras.get(NAME, {}).get("block")))


def fetched_documents(block: JsonObject) -> Iterator[CitedDocument]:
    """The document in a `web_fetch_tool_result`."""
    result = as_object(block.get("content"))
    document = as_object(result.get("content"))
    if result.get("type") == "web_fetch_result" and document:
        url = result.get("url")
        yield _decode_document(document, safe_url(url) if isinstance(url, str) else "")


def _decode_document(document: JsonObject, url: str = "") -> CitedDocument:
    title = document.get("title")
    source = as_object(document.get("source"))
    text = source.get("data") if source.get("type") == "text" else ""
    return CitedDocument(url, title if isinstance(title, str) else "", text if isinstance(text, str) else "")


SEARCH_TOOLS = ("web_search", "web_fetch")
RESULT_BLOCKS = ("web_search_tool_result", "web_fetch_tool_result")


class DecodedResult(NamedTuple):
    """A decoded result block."""

    result: SearchResult
    cited: tuple[ListedPage, ...]
    """The pages that are cited for the answer as a whole, or that no search found."""


def decode_search_call(block: JsonObject, fields: Fields, fallback_id: str) -> SearchCall:
    """Decode a complete `server_tool_use` block of web search or web fetch."""
    arguments = fields.obj("input")
    caller = fields.obj("caller").text("type")
    url, pattern = safe_url(arguments.text("url")), arguments.text("pattern")
    queries = arguments.texts("queries") or (arguments.text("query"),)
    is_search = fields.text("name") == "web_search"
    call_id = fields.text("id")
    return SearchCall(
        call_id or fallback_id,
        queries=tuple(query for query in queries if query.strip()) if is_search else (),
        kind="search" if is_search else "find" if pattern else "open",
        url="" if is_search else url,
        pattern=pattern,
        caller="" if caller == "direct" else caller,
        extras={NAME: {"block": block}} if _is_anthropic_id(call_id) else NO_EXTRAS,
    )


def decode_search_result(fields: Fields, key: bytes) -> DecodedResult:
    """Decode a result block: its `content` is a list of results, one fetched page, or an error object."""
    caller = fields.obj("caller").text("type")
    content = fields.get("content")
    sources: tuple[Source, ...] = ()
    cited: tuple[ListedPage, ...] = ()
    error = ""
    if isinstance(content, dict):
        page = fields.obj("content")
        error = page.text("error_code")
        if not error and page.text("type").endswith("_error"):
            error = "unavailable"
        if not error and page.has("url"):
            sources = (_decode_page(page),)
    else:
        listed = [_decode_listed_page(item, key) for item in fields.objs("content")]
        sources = tuple(page.source for page in listed if page.found)
        cited = tuple(page for page in listed if page.quotes or not page.found)
    call_id = fields.text("tool_use_id")
    is_native_block = _is_anthropic_id(call_id) and _is_anthropic_content(content)
    result = SearchResult(
        call_id,
        sources,
        error,
        caller="" if caller == "direct" else caller,
        extras={NAME: {"block": fields.raw}} if is_native_block else NO_EXTRAS,
    )
    return DecodedResult(result, cited)


def _decode_listed_page(item: Fields, key: bytes) -> ListedPage:
    kept = read_token(item.text("encrypted_content"), key)
    source = Source(
        safe_url(item.text("url")),
        item.text("title"),
        excerpts=_strings(kept.get("excerpts")),
        date=item.text("page_age"),
    )
    return ListedPage(source, kept.get("found") is not False, _strings(kept.get("quotes")))


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _decode_page(page: Fields) -> Source:
    return Source(safe_url(page.text("url")), page.obj("content").text("title"), "opened")


def _is_anthropic_id(call_id: str) -> bool:
    return bool(call_id) and GROUNDWIRE_SEARCH_ID.fullmatch(call_id) is None


def _is_anthropic_content(content: Json) -> bool:
    """Whether the content can be sent back verbatim: complete, and not made by groundwire."""
    if isinstance(content, dict):
        kind = content.get("type")
        return isinstance(kind, str) and kind.endswith(("_tool_result_error", "_fetch_result"))
    return isinstance(content, list) and all(map(_is_anthropic_page, map(as_object, content)))


def _is_anthropic_page(item: JsonObject) -> bool:
    kind, token = item.get("type"), item.get("encrypted_content")
    return isinstance(kind, str) and bool(kind) and isinstance(token, str) and not is_token(token)


def decode_citation(fields: Fields, key: bytes, documents: DocumentIndex) -> tuple[Evidence, Span | None]:
    """Decode a citation of a block. The span is known only if groundwire split it and signed the span."""
    kind = fields.text("type")
    quote = fields.text("cited_text")
    token = fields.text("encrypted_index") or fields.text("file_id")
    if is_token(token):
        title = fields.text("title") or fields.text("document_title")
        source = Source(safe_url(fields.text("url")), title, "cited")
        return Evidence(source, quote), _decode_span(read_token(token, key))
    extras: Extras = {NAME: {"citation": fields.raw}} if kind else NO_EXTRAS
    if kind in ("", WEB_CITATION):
        # `cited_text` may contain character references (`&#x27;`); the quote is plain text.
        source = Source(safe_url(fields.text("url")), fields.text("title"), "cited")
        return Evidence(source, unescape(quote), extras=extras if token else NO_EXTRAS), None
    if kind == SEARCH_RESULT_CITATION or not fields.has("document_index"):
        return Evidence(_decode_search_result_source(fields), quote, extras=extras), None
    return Evidence(documents.source_of(fields), quote, extras=extras), None


def _decode_search_result_source(fields: Fields) -> Source:
    """Decode the `source` of a client's search result: a URL or any name."""
    name = fields.text("source") or fields.text("url")
    url = safe_url(name)
    title = fields.text("title") or fields.text("document_title")
    return Source(url, title or ("" if url else name), "cited")


def _decode_span(data: JsonObject) -> Span | None:
    match data.get("span"):
        case [int(start), int(end)] if 0 <= start <= end:
            return Span(start, end)
    return None


class _QueryId(NamedTuple):
    """The id of a block that groundwire made: which query of which search it belongs to."""

    number: int
    total: int
    search: str


def _parse_query_id(block_id: str) -> _QueryId | None:
    match = GROUNDWIRE_SEARCH_ID.fullmatch(block_id)
    if match is None:
        return None
    number, total, rest = match.groups()
    return _QueryId(int(number or 1), int(total or 1), f"{SEARCH_ID_PREFIX}gw_{rest}")


class SearchJoiner:
    """Emits searches; blocks written as one call and result per query become one search again."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._call: tuple[int, SearchCall] | None = None
        self._result: tuple[int, SearchResult] | None = None
        self._unanswered: list[str] = []

    def start(self, part: int, block_id: str) -> None:
        """Read the start of a search call."""
        query_id = _parse_query_id(block_id)
        if query_id is None or query_id.number == 1:
            self._emit(SearchStarted(part, query_id.search if query_id else block_id))

    def call(self, part: int, call: SearchCall) -> None:
        """Read a complete search call."""
        query_id = _parse_query_id(call.id)
        if query_id is None:
            self.flush()
            self._call = (part, call)
            self._emit_call()
        elif query_id.total:
            if self._call is None or self._call[1].id != query_id.search:
                self.flush()
                self._call = (part, replace(call, id=query_id.search))
            else:
                part, known = self._call
                self._call = (part, replace(known, queries=known.queries + call.queries))
            if query_id.number >= query_id.total:
                self._emit_call()

    def result(self, part: int, block: DecodedResult) -> None:
        """Read a search result. A result that only lists cited pages is not a search."""
        result = block.result
        query_id = _parse_query_id(result.call_id)
        self._emit_call()
        if query_id is not None and not query_id.total and block.cited and not result.sources:
            return
        if query_id is None:
            self.flush()
            self._result = (part, self._match_call(result))
            self._emit_result()
            return
        if self._result is None or self._result[1].call_id != query_id.search:
            self.flush()
            self._result = (part, replace(result, call_id=query_id.search))
        else:
            part, known = self._result
            # Where there are fewer pages than queries, a share repeats the last page of the previous one.
            repeated = known.sources and result.sources[:1] == known.sources[-1:]
            self._result = (part, replace(known, sources=known.sources + result.sources[bool(repeated) :]))
        if query_id.number >= query_id.total:
            self._emit_result()

    def flush(self) -> None:
        """Emit an incomplete call or result: nothing more of it follows."""
        self._emit_call()
        self._emit_result()

    def _match_call(self, result: SearchResult) -> SearchResult:
        """Assign a result with an unknown id to the first unanswered search. (Some recorders replace ids. The
        result of a search of the previous turn comes first.)"""
        if result.call_id not in self._unanswered and self._unanswered:
            return replace(result, call_id=self._unanswered[0])
        return result

    def _emit_call(self) -> None:
        pending, self._call = self._call, None
        if pending is not None:
            self._unanswered.append(pending[1].id)
            self._emit(SearchCalled(*pending))

    def _emit_result(self) -> None:
        pending, self._result = self._result, None
        if pending is not None:
            if pending[1].call_id in self._unanswered:
                self._unanswered.remove(pending[1].call_id)
            self._emit(SearchReturned(*pending))


class BlockSink(Protocol):
    """What block readers need of the decoder."""

    key: bytes
    documents: DocumentIndex
    searches: SearchJoiner

    def emit(self, event: Event) -> None: ...
    def next_part(self) -> int: ...
    def cite(self, part: int, evidence: Evidence, span: Span | None) -> None: ...
    def cite_page(self, page: ListedPage) -> None: ...


class BlockReader:
    """Reader of one block. A block of unknown type is kept whole.

    A block is opened with the fields of its start, fed deltas, and closed; a block that arrives whole is
    opened and closed at once.
    """

    def __init__(self, sink: BlockSink, fields: Fields) -> None:
        self.sink = sink
        self.fields = fields
        self.part = sink.next_part()
        self.begin()

    def begin(self) -> None:
        """Emit what the block start contains."""

    def delta(self, delta: Fields) -> None:
        """Emit what a delta contains."""

    def end(self) -> None:
        """Emit what needs the whole block."""
        if self.fields.text("type"):
            self.sink.emit(PartAdded(self.part, Opaque(NAME, self.fields.raw)))

    def add_extras(self, extras: Extras) -> None:
        if extras:
            self.sink.emit(ExtrasSeen(self.part, extras))


class TextBlockReader(BlockReader):
    """Reader of text. Citations arrive before their text; their spans are known when the text is complete."""

    def begin(self) -> None:
        self._citations = list(self.fields.objs("citations"))
        text = self.fields.text("text")
        if text:
            self.sink.emit(TextDelta(self.part, text))

    def delta(self, delta: Fields) -> None:
        kind = delta.text("type")
        if kind == "text_delta":
            self.sink.emit(TextDelta(self.part, delta.text("text")))
        elif kind == "citations_delta":
            self._citations.append(delta.obj("citation"))

    def end(self) -> None:
        for citation in self._citations:
            self.sink.cite(self.part, *decode_citation(citation, self.sink.key, self.sink.documents))
        self.add_extras(block_extras(self.fields, "text", "citations"))
        self.sink.emit(TextSettled(self.part))


class ThinkingBlockReader(BlockReader):
    """Reader of thinking with its signature, or of redacted thinking."""

    def begin(self) -> None:
        self._signature = self.fields.text("signature")
        self.sink.emit(ReasoningDelta(self.part, self.fields.text("thinking")))

    def delta(self, delta: Fields) -> None:
        kind = delta.text("type")
        if kind == "thinking_delta":
            self.sink.emit(ReasoningDelta(self.part, delta.text("thinking")))
        elif kind == "signature_delta":
            self._signature += delta.text("signature")

    def end(self) -> None:
        kept = self.fields.rest("thinking", "signature")
        if self._signature and not is_token(self._signature):
            self.add_extras({NAME: {**kept, "signature": self._signature}})
        elif "data" in kept:
            self.add_extras({NAME: kept})


class InputBlockReader(BlockReader):
    """Reader of a block whose `input` is in the block start, or arrives as fragments of JSON text."""

    def begin(self) -> None:
        self._fragments: list[str] = []

    def delta(self, delta: Fields) -> None:
        if delta.text("type") == "input_json_delta":
            self._fragments.append(delta.text("partial_json"))

    def whole(self) -> JsonObject:
        """Return the block with its input filled in."""
        fragments = "".join(self._fragments)
        return {**self.fields.raw, "input": decode_arguments(fragments)} if fragments else self.fields.raw


class ToolUseBlockReader(InputBlockReader):
    """Reader of a function call."""

    def begin(self) -> None:
        super().begin()
        self.sink.emit(ToolCallDelta(self.part, self.fields.text("id"), self.fields.text("name")))

    def delta(self, delta: Fields) -> None:
        super().delta(delta)
        fragment = delta.text("partial_json")
        if fragment:
            self.sink.emit(ToolCallDelta(self.part, arguments=fragment))

    def end(self) -> None:
        if not any(self._fragments):
            arguments = encode_arguments(self.fields.obj("input").raw)
            self.sink.emit(ToolCallDelta(self.part, arguments=arguments))
        self.add_extras(block_extras(self.fields, "id", "name", "input"))


class SearchCallBlockReader(InputBlockReader):
    """Reader of a server-side search or fetch call."""

    def begin(self) -> None:
        super().begin()
        self.sink.searches.start(self.part, self.fields.text("id") or f"search_{self.part}")

    def end(self) -> None:
        block = self.whole()
        call = decode_search_call(block, self.fields.with_raw(block), f"search_{self.part}")
        self.sink.searches.call(self.part, call)


class ServerToolBlockReader(InputBlockReader):
    """Reader of another server-side tool call (code execution), which is kept whole."""

    def end(self) -> None:
        if self.fields.text("id") and self.fields.text("name"):
            self.sink.emit(PartAdded(self.part, Opaque(NAME, self.whole())))


class SearchResultBlockReader(BlockReader):
    """Reader of search results, which arrive whole in the block start."""

    def begin(self) -> None:
        block = decode_search_result(self.fields, self.sink.key)
        self.sink.searches.result(self.part, block)
        for page in block.cited:
            self.sink.cite_page(page)
        self.sink.documents.extend(fetched_documents(self.fields.raw))

    def end(self) -> None:
        """Everything was emitted at the start."""


_SEARCH_BLOCKS = frozenset({"server_tool_use", *RESULT_BLOCKS})
_ReaderClass: TypeAlias = Callable[[BlockSink, Fields], BlockReader]

_READERS: dict[str, _ReaderClass] = {
    "text": TextBlockReader,
    "thinking": ThinkingBlockReader,
    "redacted_thinking": ThinkingBlockReader,
    "tool_use": ToolUseBlockReader,
    **dict.fromkeys(RESULT_BLOCKS, SearchResultBlockReader),
}


def open_reader(sink: BlockSink, fields: Fields) -> BlockReader:
    """Create the reader of a block."""
    kind = fields.text("type")
    if kind not in _SEARCH_BLOCKS:
        sink.searches.flush()
    if kind == "server_tool_use":
        is_search = fields.text("name") in SEARCH_TOOLS
        return (SearchCallBlockReader if is_search else ServerToolBlockReader)(sink, fields)
    return _READERS.get(kind, BlockReader)(sink, fields)


class Decoder(StreamDecoder):
    """Decodes a message from stream events, or whole."""

    def __init__(
        self,
        key: bytes = DEFAULT_KEY,
        fault: type[WireError] = UpstreamWireError,
        documents: Iterable[CitedDocument] | DocumentIndex = (),
    ) -> None:
        super().__init__()
        self.key = key
        self.documents = documents if isinstance(documents, DocumentIndex) else DocumentIndex(documents)
        self.searches = SearchJoiner(self.emit)
        self._fault = fault
        self._blocks: dict[int, BlockReader] = {}
        self._usage: JsonObject = {}
        self._finish: Finished | None = None
        self._split_citations: list[tuple[int, int, Evidence, Span]] = []
        self._split_count = 0
        self._cited: set[str] = set()
        self._listed_pages: list[Source] = []

    def on_frame(self, frame: Frame) -> None:
        document = load_json(frame.data, self._fault)
        if self._is_plain_text(document):
            return
        fields = Fields.of(document, self._fault)
        read = _EVENT_HANDLERS.get(fields.text("type"))
        if read is not None:
            read(self, fields)

    def on_end(self) -> None:
        self.searches.flush()
        if self._finish is not None:
            self.stop()

    def _is_plain_text(self, document: Json) -> bool:
        """Fast path for nine of ten frames: a text delta of an open text block."""
        if not isinstance(document, dict) or document.get("type") != "content_block_delta":
            return False
        delta, index = document.get("delta"), document.get("index")
        if not isinstance(delta, dict) or delta.get("type") != "text_delta" or not isinstance(index, int):
            return False
        text, block = delta.get("text"), self._blocks.get(index)
        if not isinstance(text, str) or type(block) is not TextBlockReader:
            return False
        self.emit_text(block.part, text)
        return True

    def start(self, message: Fields) -> None:
        """Read the head of a message."""
        self.emit(Started(message.text("id"), message.text("model")))
        self.count(message.obj("usage"))

    def count(self, usage: Fields) -> None:
        """Read usage; new counts replace earlier ones."""
        if usage.raw:
            self._usage = {
                **self._usage,
                **{key: value for key, value in usage.raw.items() if value is not None},
            }
            self.emit(UsageSeen(decode_usage(usage.with_raw(self._usage))))

    def open(self, index: int, block: Fields) -> None:
        """Start a block."""
        self._blocks[index] = open_reader(self, block)

    def shut(self, index: int) -> None:
        """Complete a block."""
        block = self._blocks.pop(index, None)
        if block is not None:
            block.end()
            self._emit_complete_citations()

    def finish(self, message: Fields) -> None:
        """Read the stop reason, which is sent shortly before the end."""
        reason = message.text("stop_reason")
        if reason:
            kept: JsonObject = {key: value for key in _STOP_FIELDS if (value := message.get(key)) is not None}
            self._finish = Finished(FINISH_REASONS.get(reason, "other"), reason, {NAME: kept} if kept else {})

    def stop(self) -> None:
        """End the message."""
        for index in sorted(self._blocks):
            self.shut(index)
        self.searches.flush()
        for source in self._listed_pages:
            if source.url not in self._cited:
                self.emit(Cited(Citation(None, (Evidence(source),))))
        self.emit(self._finish or Finished("other"))

    def cite(self, part: int, evidence: Evidence, span: Span | None) -> None:
        """Emit a citation of the block that has just ended: it applies to the whole block.

        A citation that groundwire split knows its own span, which may extend into later blocks.
        """
        self._cited.add(evidence.source.url)
        if span is not None:
            self._split_count += 1
            heappush(self._split_citations, (span.end, self._split_count, evidence, span))
            self._emit_complete_citations()
            return
        start = self.text_buffer.start(part)
        text = self.text_buffer.text(part)
        block_span = Span(start, start + len(text)) if text else None
        self.emit(Cited(Citation(block_span, (evidence,), anchor_kind(text))))

    def cite_page(self, page: ListedPage) -> None:
        """Read a page that groundwire listed because the answer cites it, as a whole or in a text block.

        Some clients send text blocks back without their citations; then the page is cited for the whole
        answer.
        """
        source = replace(page.source, state="cited")
        if page.quotes:
            self.emit(Cited(Citation(None, tuple(Evidence(source, quote) for quote in page.quotes))))
        else:
            self._listed_pages.append(source)

    def _emit_complete_citations(self) -> None:
        length = len(self.text_buffer)
        while self._split_citations and self._split_citations[0][0] <= length:
            *_, evidence, span = heappop(self._split_citations)
            anchor = anchor_at(span, self.text_buffer.slice)
            self.emit(Cited(Citation(span, (evidence,), anchor)))

    def _on_start(self, event: Fields) -> None:
        self.start(event.obj("message"))

    def _on_block_start(self, event: Fields) -> None:
        self.open(event.integer("index") or 0, event.obj("content_block"))

    def _on_block_delta(self, event: Fields) -> None:
        block = self._blocks.get(event.integer("index") or 0)
        if block is not None:
            block.delta(event.obj("delta"))

    def _on_block_stop(self, event: Fields) -> None:
        self.shut(event.integer("index") or 0)

    def _on_message_delta(self, event: Fields) -> None:
        self.finish(event.obj("delta"))
        self.count(event.obj("usage"))

    def _on_stop(self, _: Fields) -> None:
        self.stop()

    def _on_error(self, event: Fields) -> None:
        self.searches.flush()
        self.emit(Failed(decode_stream_error(event.obj("error").raw)))


_STOP_FIELDS = ("stop_sequence", "stop_details", "container")

_EVENT_HANDLERS: dict[str, Callable[[Decoder, Fields], None]] = {
    "message_start": Decoder._on_start,
    "content_block_start": Decoder._on_block_start,
    "content_block_delta": Decoder._on_block_delta,
    "content_block_stop": Decoder._on_block_stop,
    "message_delta": Decoder._on_message_delta,
    "message_stop": Decoder._on_stop,
    "error": Decoder._on_error,
}
