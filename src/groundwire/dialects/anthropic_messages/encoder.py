"""Response encoder: events to message streams, and answers to content blocks.

Event names equal the `type` inside. Citations are written before the text of their block and search results
whole in the block start. Nothing follows `message_stop` or `error`.

Anthropic's searches have one query each, and every search has a result. Other providers search for several
things at once, list pages without a query, or only cite. The blocks written for them are recognised by
their id:

    srvtoolu_gw_ID         a search with one query
    srvtoolu_gw2of3_ID     the second query of a search with three
    srvtoolu_gw0of0_ID     a call and result for pages that no reported search found
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, pairwise
from typing import TypeVar

from groundwire.dialects.anthropic_messages.decoder import request_documents
from groundwire.dialects.anthropic_messages.errors import FINISH_REASONS, STOP_REASONS, encode_error_event
from groundwire.dialects.anthropic_messages.search import NAME, SEARCH_ID_PREFIX, WEB_CITATION, ListedPage
from groundwire.dialects.anthropic_messages.tools import encode_id
from groundwire.dialects.anthropic_messages.usage import encode_usage
from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.citation_buffer import CitationBuffer
from groundwire.dialects.citation_splitter import CitationSplitter, CitedText
from groundwire.dialects.extras import add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.json import dump_json
from groundwire.dialects.signed_tokens import sign_span, sign_token
from groundwire.dialects.tool_arguments import decode_arguments
from groundwire.model import (
    Answer,
    Assembler,
    Citation,
    Cited,
    Event,
    Evidence,
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
    SearchStarted,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    UsageSeen,
    Warned,
)

_ANTHROPIC_ERROR_CODES = (
    *("invalid_tool_input", "unavailable", "max_uses_exceeded", "too_many_requests", "query_too_long"),
    *("request_too_large", "url_too_long", "url_not_allowed", "url_not_in_prior_context"),
    *("url_not_accessible", "unsupported_content_type", "content_too_large"),
)

_ERROR_CODES = {
    **{code: code for code in _ANTHROPIC_ERROR_CODES},
    # Google's codes for a page that could not be read.
    "error": "url_not_accessible",
    "paywall": "url_not_accessible",
    "unsafe": "url_not_allowed",
}


def verbatim_block(part: SearchCall | SearchResult) -> JsonObject | None:
    """The block as Anthropic made it, if it did."""
    block = part.extras.get(NAME, {}).get("block")
    return block if isinstance(block, dict) else None


def encode_search_call(call: SearchCall, query: str, block_id: str) -> JsonObject:
    """Encode a `server_tool_use` for one query of a search, or for a page."""
    arguments: JsonObject = {"query": query}
    if call.kind != "search":
        arguments = {"url": call.url}
        if call.pattern:
            arguments["pattern"] = call.pattern
    return {
        "type": "server_tool_use",
        "id": block_id,
        "name": "web_search" if call.kind == "search" else "web_fetch",
        "input": arguments,
        **_encode_caller(call.caller),
    }


def encode_search_result(
    result: SearchResult, pages: Iterable[ListedPage], block_id: str, key: bytes
) -> JsonObject:
    """Encode the pages that a search of another provider found."""
    content: list[Json] = [_encode_listed_page(page, key) for page in pages]
    return _encode_result_block("web_search", result, block_id, content)


def encode_search_error(result: SearchResult, block_id: str, kind: str = "web_search") -> JsonObject:
    """Encode the error of a search of another provider."""
    code = _ERROR_CODES.get(result.error, "unavailable")
    error: JsonObject = {"type": f"{kind}_tool_result_error", "error_code": code}
    return _encode_result_block(kind, result, block_id, error)


def encode_fetch_result(result: SearchResult, call: SearchCall, block_id: str) -> JsonObject:
    """Encode the page that another provider opened, or the error."""
    if result.error:
        return encode_search_error(result, block_id, "web_fetch")
    return _encode_result_block("web_fetch", result, block_id, _encode_page(result, call))


@lru_cache(maxsize=16)
def _plain_page_token(key: bytes) -> str:
    """The token of a page without excerpts, as most pages are."""
    return sign_token({"excerpts": []}, key)


def _encode_listed_page(page: ListedPage, key: bytes) -> JsonObject:
    source = page.source
    kept: JsonObject = {"excerpts": list(source.excerpts)}
    if not page.found:
        kept["found"] = False
    if page.quotes:
        kept["quotes"] = list(page.quotes)
    is_plain = page.found and not page.quotes and not source.excerpts
    return {
        "type": "web_search_result",
        "url": source.url,
        "title": source.title,
        "encrypted_content": _plain_page_token(key) if is_plain else sign_token(kept, key),
        "page_age": source.date or None,
    }


def _encode_result_block(kind: str, result: SearchResult, block_id: str, content: Json) -> JsonObject:
    return {
        "type": f"{kind}_tool_result",
        "tool_use_id": block_id,
        "content": content,
        **_encode_caller(result.caller),
    }


def _encode_page(result: SearchResult, call: SearchCall) -> JsonObject:
    source = result.sources[0] if result.sources else Source(call.url)
    document: JsonObject = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "\n\n".join(source.excerpts)},
        "title": source.title or None,
    }
    return {
        "type": "web_fetch_result",
        "url": source.url or call.url,
        "retrieved_at": None,
        "content": document,
    }


def _encode_caller(caller: str) -> JsonObject:
    return {"caller": {"type": caller, "tool_id": ""}} if caller else {}


class CitationWriter:
    """Encodes the citations of one message.

    Web citations have a URL and an encrypted index. A source without a URL is cited as a document with a
    title. The signed token holds the exact span, because a claim may be split over several blocks.
    """

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._titles: dict[str, int] = {}
        self._documents: int | None = None

    def encode(self, evidence: Evidence, span: Span | None) -> JsonObject:
        """Encode evidence; Anthropic's own citations are sent verbatim."""
        verbatim = evidence.extras.get(NAME, {}).get("citation")
        if isinstance(verbatim, dict):
            return verbatim
        source = evidence.source
        token = sign_span(*(span or (0, 0)), self._reply.key)
        if source.url:
            return {
                "type": WEB_CITATION,
                "url": source.url,
                "title": source.title or None,
                "encrypted_index": token,
                "cited_text": evidence.quote,
            }
        return {
            "type": "char_location",
            "cited_text": evidence.quote,
            "document_index": self._document_index(source.title),
            "document_title": source.title or None,
            "start_char_index": 0,
            "end_char_index": len(evidence.quote),
            "file_id": token,
        }

    def _document_index(self, title: str) -> int:
        """An index that no document of the request has: clients look documents up by it."""
        if self._documents is None:
            self._documents = len(request_documents(self._reply.request))
        return self._documents + self._titles.setdefault(title, len(self._titles))


LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere; blocks are split where claims begin and end",
    Feature.PHASE: "nowhere; commentary is plain text",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.IMAGES: "nowhere",
    Feature.REFUSAL: "nowhere; both end with `refusal`",
    Feature.TOOL_TOKENS: "counted in `input_tokens`",
    Feature.SEARCH_COUNT: "the number of search blocks, where a provider counts fewer or none",
    Feature.COST: "`groundwire.cost`",
}

EXTENSION_FEATURES = frozenset({*LOSSES, Feature.UNPLACED})
"""Features in the extension field. Pages that are cited for the whole answer are in a list of results, where
only groundwire can tell them from other results."""


def encode_message_head(message_id: str, model: str, reply: Reply) -> JsonObject:
    """Encode a message without content."""
    return {
        "id": message_id if message_id.startswith("msg_") else f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def encode_stop(answer: Answer) -> JsonObject:
    """Encode the stop reason; Anthropic's own reason is kept."""
    reason = answer.finish or "other"
    verbatim = FINISH_REASONS.get(answer.detail) == reason
    return {
        "stop_reason": answer.detail if verbatim else STOP_REASONS[reason],
        "stop_sequence": None,
        **answer.extras.get(NAME, {}),
    }


_Item = TypeVar("_Item")


def _query_ids(search: str, total: int) -> list[str]:
    """The block ids of one search, one for each query; Anthropic's own ids are kept."""
    plain = encode_id(search)
    if total == 1:
        return [plain if plain.startswith(SEARCH_ID_PREFIX) else f"{SEARCH_ID_PREFIX}gw_{plain}"]
    rest = plain.removeprefix(f"{SEARCH_ID_PREFIX}gw_")
    return [f"{SEARCH_ID_PREFIX}gw{number}of{total}_{rest}" for number in range(1, total + 1)] or [
        f"{SEARCH_ID_PREFIX}gw0of0_{rest}"
    ]


class SearchBlockWriter:
    """Encodes searches and their results, and lists every cited page in some result.

    The last result is held until something else is written, so that it can list pages that are cited and that
    the provider did not name among those it found.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._calls: dict[str, SearchCall] = {}
        self._held: SearchResult | None = None
        self._cited: dict[str, tuple[Source, list[str]]] = {}
        self._listed: set[str] = set()
        self._used: set[str] = set()
        self._written = 0
        self._wrote_cited_pages = False

    @property
    def searches(self) -> int:
        """How many successful searches were written. A result for cited pages counts only where no search was
        reported."""
        return self._written or int(self._wrote_cited_pages)

    def cite(self, citations: Iterable[Citation]) -> None:
        """Collect the pages of citations. Pages of Anthropic's own citations are in its own results."""
        for citation in citations:
            for item in citation.evidence:
                url = item.source.url
                if url and NAME not in item.extras:
                    _, quotes = self._cited.setdefault(url, (item.source, []))
                    if citation.span is None:
                        quotes.append(item.quote)

    def call(self, call: SearchCall) -> list[JsonObject]:
        """Return the blocks to write when a search is called."""
        due = self.flush()
        self._calls[call.id] = call
        verbatim = verbatim_block(call)
        if verbatim is not None:
            return [*due, verbatim]
        ids = _query_ids(call.id, _query_count(call))
        self._used.update(ids)
        queries = call.queries or ("",)
        return [*due, *(encode_search_call(call, *pair) for pair in zip(queries, ids, strict=True))]

    def result(self, result: SearchResult) -> list[JsonObject]:
        """Return the blocks to write when a search returns."""
        due = self.flush()
        verbatim = verbatim_block(result)
        if verbatim is not None:
            self._listed.update(source.url for source in result.sources)
            return [*due, verbatim]
        self._held = result
        return due

    def flush(self) -> list[JsonObject]:
        """Return the blocks of the held result."""
        result, self._held = self._held, None
        return [] if result is None else self._encode(result)

    def rest(self) -> list[JsonObject]:
        """Return the blocks of the held result, and a call and result for cited pages that no result
        lists."""
        due = self.flush()
        if pages := self._unlisted_pages():
            self._wrote_cited_pages = True
            due += self._write(SearchResult("cited"), pages)
        return due

    def can_list(self, part: Part) -> bool:
        """Whether this result can list further pages. Its call must have been written."""
        if not isinstance(part, SearchResult) or part.error or verbatim_block(part) is not None:
            return False
        call = self._calls.get(part.call_id)
        return call is None or call.kind == "search"

    def register_calls(self, parts: Iterable[Part]) -> None:
        """Register the calls of a complete answer."""
        self._calls.update((part.id, part) for part in parts if isinstance(part, SearchCall))

    def _encode(self, result: SearchResult) -> list[JsonObject]:
        call = self._calls.get(result.call_id)
        if call is not None and call.kind != "search":
            self._listed.update((call.url, *(source.url for source in result.sources)))
            [block_id] = _query_ids(call.id, 1)
            return [encode_fetch_result(result, call, block_id)]
        pages = [] if result.error else [*self._found_pages(result), *self._unlisted_pages()]
        if not result.error:
            self._written += 1 if call is None else _query_count(call)
        return self._write(result, pages)

    def _write(self, result: SearchResult, pages: Sequence[ListedPage]) -> list[JsonObject]:
        """Encode a result block for each query, and the call if none was reported."""
        call = self._calls.get(result.call_id)
        blocks: list[JsonObject] = []
        if call is None:
            ids = [self._unused_id(*_query_ids(result.call_id, 0))]
            blocks = [encode_search_call(SearchCall("", caller=result.caller), "", ids[0])]
        else:
            ids = _query_ids(call.id, _query_count(call))
        if result.error:
            return [*blocks, *(encode_search_error(result, block_id) for block_id in ids)]
        for block_id, share in zip(ids, _split_evenly(pages, len(ids)), strict=True):
            blocks.append(encode_search_result(result, share, block_id, self._key))
        return blocks

    def _found_pages(self, result: SearchResult) -> list[ListedPage]:
        """The found pages with a URL: results are shown as links."""
        pages = []
        for source in result.sources:
            if source.url:
                _, quotes = self._cited.pop(source.url, (source, []))
                pages.append(ListedPage(source, quotes=tuple(quotes)))
                self._listed.add(source.url)
        return pages

    def _unlisted_pages(self) -> list[ListedPage]:
        """The cited pages that are not listed yet, or not as pages cited for the whole answer."""
        pages = [
            ListedPage(source, found=False, quotes=tuple(quotes))
            for url, (source, quotes) in self._cited.items()
            if quotes or url not in self._listed
        ]
        self._listed.update(self._cited)
        self._cited.clear()
        return pages

    def _unused_id(self, block_id: str) -> str:
        number = next(n for n in count() if f"{block_id}_{n}" not in self._used)
        unused = block_id if block_id not in self._used else f"{block_id}_{number}"
        self._used.add(unused)
        return unused


def _query_count(call: SearchCall) -> int:
    return max(1, len(call.queries))


def _split_evenly(items: Sequence[_Item], shares: int) -> list[tuple[_Item, ...]]:
    """Split items into shares. Providers list the pages of all queries together: in shares, no query appears
    to have found nothing, and no page is listed for every query."""
    edges = [len(items) * number // shares for number in range(shares + 1)]
    return [tuple(items[start : max(end, start + 1)]) for start, end in pairwise(edges)]


# Most of a stream consists of frames that differ only in their text.
_TEXT_HEAD = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":'
)
_TEXT_TAIL = b"}}\n\n"
_BLOCK_START = b'event: content_block_start\ndata: {"type":"content_block_start","index":%d,"content_block":'
_TEXT_START = _BLOCK_START + b'{"type":"text","text":""}}\n\n'
_CITED_TEXT_START = _BLOCK_START + b'{"citations":[],"type":"text","text":""}}\n\n'
_BLOCK_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'


class Encoder(StreamEncoder):
    """Encodes events as a message stream, one block at a time."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._buffer = CitationBuffer(reply.citations)
        self._assembler = Assembler()
        self._splitter = CitationSplitter()
        self._searches = SearchBlockWriter(reply.key)
        self._citation_writer = CitationWriter(reply)
        self._started = self._has_text = False
        self._index = 0
        self._open: tuple[str, int] | None = None
        self._open_text_part: int | None = None
        self._text_head = b""
        self._citations: tuple[Citation, ...] = ()
        self._signature = ""
        self._position = 0

    def on_event(self, event: Event) -> None:
        self._assembler.feed(event)
        for due in self._buffer.feed(event):
            if type(due) is TextDelta and self._started:
                self._write_text(due)
            else:
                self._write(due)

    def _write(self, event: Event) -> None:
        if not self._started:
            self._begin(event)
        match event:
            case TextDelta():
                self._write_text(event)
            case ReasoningDelta() | ToolCallDelta() | ExtrasSeen():
                self._write_more(event)
            case Cited(citation):
                self._write_citation(citation)
            case TextSettled(part):
                self._settle(part)
            case SearchCalled() | SearchReturned() | PartAdded():
                self._write_whole(event)
            case Finished() | Failed():
                self._end(event)
            case Started() | SearchStarted() | UsageSeen() | Warned():
                pass

    def _begin(self, event: Event) -> None:
        if isinstance(event, Failed):
            return
        self._started = True
        head = event if isinstance(event, Started) else Started()
        message = encode_message_head(head.id, head.model, self.reply)
        message["usage"] = {"input_tokens": 0, "output_tokens": 0}
        self._send({"type": "message_start", "message": message})
        self._send({"type": "ping"})

    def _write_text(self, event: TextDelta) -> None:
        text, end = event.text, self._position + len(event.text)
        if event.part == self._open_text_part and self._splitter.is_whole(end, self._citations):
            if text:
                self.send_text(self._text_head, text, _TEXT_TAIL)
            self._position = end
            return
        for piece in self._splitter.pieces(event.text, self._position):
            if self._open != ("text", event.part) or self._citations != piece.citations:
                self._open_text(event.part, piece)
            self.send_text(self._text_head, piece.text, _TEXT_TAIL)
        self._position = end

    def _open_text(self, part: int, piece: CitedText) -> None:
        if not self._has_text:
            self._has_text = True
            self._write_blocks(self._searches.rest())
        block: JsonObject = {"type": "text", "text": ""}
        if piece.citations:
            block = {"citations": [], **block}
        self._open_block(("text", part), block)
        self._citations = piece.citations
        for citation in piece.citations:
            self._send_citation(citation)

    def _write_citation(self, citation: Citation) -> None:
        """Split later text at a citation; a late citation goes on the open block.

        Its pages go into a list of results; a citation without a span goes only there.
        """
        self._searches.cite((citation,))
        if citation.span is None:
            return
        if citation.span.end > self._position:
            self._splitter.add(citation)
            return
        if self._open is None or self._open[0] != "text":
            self._open_text(-1, CitedText("", ()))
        self._send_citation(citation)

    def _send_citation(self, citation: Citation) -> None:
        for item in citation.evidence:
            self._delta(
                {"type": "citations_delta", "citation": self._citation_writer.encode(item, citation.span)}
            )

    def _settle(self, part: int) -> None:
        if self._open == ("text", part):
            self._close_block()

    def _write_more(self, event: ReasoningDelta | ToolCallDelta | ExtrasSeen) -> None:
        match event:
            case ReasoningDelta(part, text):
                if text:
                    self._ensure_block(
                        ("thinking", part), {"type": "thinking", "thinking": "", "signature": ""}
                    )
                    self._delta({"type": "thinking_delta", "thinking": text})
            case ToolCallDelta(part, call_id, name, arguments):
                block_id = encode_id(call_id) or f"toolu_{self.reply.id}_{part}"
                block: JsonObject = {"type": "tool_use", "id": block_id, "name": name, "input": {}}
                self._ensure_block(("tool_use", part), block)
                self._delta({"type": "input_json_delta", "partial_json": arguments})
            case ExtrasSeen(part, extras):
                self._write_signature(part, extras.get(NAME, {}))

    def _write_signature(self, part: int, extras: JsonObject) -> None:
        if extras.get("type") == "redacted_thinking":
            self._write_block(extras)
        elif self._open == ("thinking", part):
            signature = extras.get("signature")
            self._signature = signature if isinstance(signature, str) else ""

    def _write_whole(self, event: SearchCalled | SearchReturned | PartAdded) -> None:
        match event:
            case SearchCalled(_, call):
                self._write_blocks(self._searches.call(call))
            case SearchReturned(_, result):
                self._close_block()
                self._write_blocks(self._searches.result(result))
            case PartAdded(_, Image()):
                pass
            case PartAdded(_, opaque):
                if not isinstance(opaque, Image) and opaque.dialect == NAME:
                    self._write_block(opaque.data)

    def _write_blocks(self, blocks: Iterable[JsonObject]) -> None:
        """Write search blocks. A result is written whole; a call starts without its input, which follows as
        JSON text, whose first fragment is always empty."""
        for block in blocks:
            if block["type"] != "server_tool_use":
                self._start_block(("whole", -1), block)
            else:
                self._start_block(("server_tool_use", -1), {**block, "input": {}})
                for fragment in ("", dump_json(block.get("input", {}))):
                    self._delta({"type": "input_json_delta", "partial_json": fragment})
            self._close_block()

    def _write_block(self, block: JsonObject) -> None:
        self._open_block(("whole", -1), block)
        self._close_block()

    def _ensure_block(self, block_key: tuple[str, int], block: JsonObject) -> None:
        if self._open != block_key:
            self._open_block(block_key, block)

    def _open_block(self, block_key: tuple[str, int], block: JsonObject) -> None:
        self._write_blocks(self._searches.flush())
        self._start_block(block_key, block)

    def _start_block(self, block_key: tuple[str, int], block: JsonObject) -> None:
        self._close_block()
        self._open = block_key
        self._citations = ()
        if block_key[0] == "text":
            self._open_text_part = block_key[1]
            self._text_head = _TEXT_HEAD % self._index
            self.send_raw((_CITED_TEXT_START if "citations" in block else _TEXT_START) % self._index)
            return
        self._send({"type": "content_block_start", "index": self._index, "content_block": block})

    def _close_block(self) -> None:
        if self._open is None:
            return
        if self._open[0] == "thinking":
            signature = self._signature or sign_token({}, self.reply.key)
            self._delta({"type": "signature_delta", "signature": signature})
            self._signature = ""
        self.send_raw(_BLOCK_STOP % self._index)
        self._open = self._open_text_part = None
        self._index += 1

    def _delta(self, delta: JsonObject) -> None:
        self._send({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _end(self, event: Finished | Failed) -> None:
        self._close_block()
        if self._started:
            self._write_blocks(self._searches.rest())
        if isinstance(event, Failed):
            self._send(encode_error_event(event.error))
            return
        answer = self._assembler.answer()
        ending: JsonObject = {
            "type": "message_delta",
            "delta": encode_stop(answer),
            "usage": encode_usage(answer.usage, self._searches.searches),
        }
        self._send(add_extension(ending, answer, EXTENSION_FEATURES))
        self._send({"type": "message_stop"})

    def _send(self, payload: JsonObject) -> None:
        self.send(str(payload["type"]), payload)


def encode_blocks(
    parts: tuple[Part, ...], citations: tuple[Citation, ...], reply: Reply, searches: SearchBlockWriter
) -> Iterator[JsonObject]:
    """Encode the blocks of an answer, or of an assistant turn in the history."""
    splitter = CitationSplitter()
    for citation in citations:
        if citation.span is not None:
            splitter.add(citation)
    citation_writer = CitationWriter(reply)
    searches.register_calls(parts)
    # The last search lists the cited pages that no search found; without one, they get a call and result.
    listing = next((part for part in reversed(parts) if searches.can_list(part)), None)
    pages = citations
    position = 0
    for part in parts:
        if part is listing or (listing is None and isinstance(part, Text)):
            searches.cite(pages)
            pages = ()
        if isinstance(part, Text):
            yield from searches.flush() if listing else searches.rest()
            yield from _encode_text(part, splitter, position, citation_writer)
            position += len(part.text)
        else:
            yield from _encode_part(part, searches, reply)
    searches.cite(pages)
    yield from searches.rest()


def _encode_text(
    part: Text, splitter: CitationSplitter, position: int, citation_writer: CitationWriter
) -> Iterator[JsonObject]:
    for piece in splitter.pieces(part.text, position):
        block: JsonObject = {"type": "text", "text": piece.text}
        if piece.citations:
            block["citations"] = [
                citation_writer.encode(item, citation.span)
                for citation in piece.citations
                for item in citation.evidence
            ]
        yield {**block, **part.extras.get(NAME, {})}


def _encode_part(part: Part, searches: SearchBlockWriter, reply: Reply) -> Iterator[JsonObject]:
    match part:
        case SearchCall():
            yield from searches.call(part)
        case SearchResult():
            yield from searches.result(part)
        case Reasoning():
            yield from searches.flush()
            yield _encode_thinking(part, reply)
        case ToolCall(call_id, name, arguments):
            yield from searches.flush()
            block: JsonObject = {"type": "tool_use", "id": encode_id(call_id), "name": name}
            yield {**block, "input": decode_arguments(arguments), **part.extras.get(NAME, {})}
        case Opaque(dialect, data) if dialect == NAME:
            yield from searches.flush()
            yield data


def _encode_thinking(part: Reasoning, reply: Reply) -> JsonObject:
    kept = part.extras.get(NAME, {})
    if kept.get("type") == "redacted_thinking":
        return kept
    signature = kept.get("signature", sign_token({}, reply.key))
    return {"type": "thinking", "thinking": part.text, **kept, "signature": signature}
