"""Response encoder: events to stream events, and answers to entries.

Text and reasoning that follow each other are one message. Its text is split into chunks where claims begin
and end, and a reference follows the chunk that it supports. A reference of the answer as a whole follows an
empty text. A citation that comes too late for its text follows the text that was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.citation_buffer import CitationBuffer
from groundwire.dialects.citation_splitter import CitationSplitter
from groundwire.dialects.extras import FIELD, add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.mistral_conversations.errors import encode_stream_error
from groundwire.dialects.mistral_conversations.search import (
    NAME,
    SEARCH_TOOL,
    encode_info,
    encode_lone_result,
    encode_search_call,
)
from groundwire.dialects.mistral_conversations.usage import encode_usage
from groundwire.dialects.mistral_reader import BODY, EXECUTION
from groundwire.dialects.timestamps import timestamp
from groundwire.model import (
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
    Span,
    Started,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere; texts that follow each other are one message",
    Feature.PHASE: "nowhere; commentary is plain text",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.CALLERS: "nowhere",
    Feature.FINISH: "nowhere; a function call shows that the client must act",
    Feature.PAUSE: "nowhere",
    Feature.REFUSAL: "nowhere",
    Feature.CACHE_TOKENS: "nowhere; tokens read from a cache are counted",
    Feature.REASONING_TOKENS: "counted in `completion_tokens`",
    Feature.COST: "`groundwire.cost`",
}
_MESSAGE = "message.output"
_CALL = "function.call"
_OF_THE_STREAM = frozenset({"type", "info", "output_index", "created_at"})
"""Fields of a tool's execution that are written anew, also if Mistral made it."""


def conversation_id(reply: Reply) -> str:
    """The id of the conversation, which is not stored."""
    return f"conv_{reply.id}"


def entry_head(reply: Reply, number: int, model: str) -> JsonObject:
    """The fields that every entry has."""
    created = timestamp(reply.created)
    return {
        "object": "entry",
        "id": f"entry_{reply.id}_{number}",
        "created_at": created,
        "completed_at": created,
        "model": reply.model or model,
    }


def encode_image(image: Image) -> JsonObject:
    """Encode an image; inline data becomes a `data:` URL."""
    url = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
    return {"type": "image_url", "image_url": url}


def _encode_references(citations: Iterable[Citation]) -> Iterator[JsonObject]:
    for citation in citations:
        for item in citation.evidence:
            yield _encode_reference(item, citation.span)


def _encode_reference(evidence: Evidence, span: Span | None) -> JsonObject:
    """Encode a reference; one that Mistral made is written as it came."""
    source = evidence.source
    body: JsonObject = {"type": "tool_reference", "tool": SEARCH_TOOL, "title": source.title}
    if source.url:
        body["url"] = source.url
    if NAME in evidence.extras:
        return {**body, **evidence.extras[NAME]}
    if evidence.quote:
        body["description"] = evidence.quote
    return {**body, FIELD: {"span": [span.start, span.end] if span else None}}


def _encode_thinking(text: str, extras: JsonObject) -> JsonObject:
    thoughts: list[Json] = [{"type": "text", "text": text}] if text else []
    return {"type": "thinking", "thinking": thoughts, **extras}


def encode_entries(parts: tuple[Part, ...], citations: tuple[Citation, ...]) -> Iterator[JsonObject]:
    """Encode an answer, or an assistant turn of the history, as entries."""
    splitter = CitationSplitter()
    for citation in citations:
        splitter.add(citation)
    content: list[Json] = []
    lengths = (len(part.text) if isinstance(part, Text) else 0 for part in parts)
    called = {part.id for part in parts if isinstance(part, SearchCall)}
    found = {part.call_id: part for part in parts if isinstance(part, SearchResult)}
    for part, position in zip(parts, accumulate(lengths, initial=0), strict=False):
        match part:
            case Text(text):
                for piece in splitter.pieces(text, position):
                    content.append({"type": "text", "text": piece.text})
                    content += _encode_references(piece.citations)
            case Reasoning(text):
                content.append(_encode_thinking(text, part.extras.get(NAME, {})))
            case Image():
                content.append(encode_image(part))
            case Opaque(dialect, data) if dialect == NAME and not _is_entry(data):
                content.append(data)
            case _:
                yield from _message(content)
                content = []
                yield from _encode_entry(part, called, found)
    if unplaced := list(_encode_references(citation for citation in citations if citation.span is None)):
        content += [{"type": "text", "text": ""}, *unplaced]
    yield from _message(content)


def _message(content: list[Json]) -> Iterator[JsonObject]:
    if content:
        yield {"type": _MESSAGE, "role": "assistant", "content": content}


def _is_entry(data: JsonObject) -> bool:
    """Whether data that only Mistral reads is an entry, and not a chunk of a message."""
    return "." in str(data.get("type"))


def _encode_entry(part: Part, called: set[str], found: Mapping[str, SearchResult]) -> Iterator[JsonObject]:
    match part:
        case SearchCall(call_id):
            entry = encode_search_call(part)
            result = found.get(call_id)
            is_own = NAME not in part.extras
            yield {**entry, "info": encode_info(result)} if result is not None and is_own else entry
        case SearchResult(call_id) if call_id not in called:
            yield encode_lone_result(part)
        case ToolCall(call_id, name, arguments):
            yield {"type": _CALL, "tool_call_id": call_id, "name": name, "arguments": arguments}
        case Opaque(dialect, data) if dialect == NAME:
            yield data


class Encoder(StreamEncoder):
    """Encodes events as a stream of a conversation."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._buffer = CitationBuffer(reply.citations)
        self._assembler = Assembler()
        self._splitter = CitationSplitter()
        self._model = reply.model
        self._started = False
        self._entries = 0
        self._message: JsonObject | None = None
        """The fields of the message that is open."""
        self._content = -1
        self._chunk = ""
        """The kind of chunk that is open."""
        self._citations: tuple[Citation, ...] = ()
        self._position = 0
        self._running: dict[str, JsonObject] = {}
        self._calls: dict[int, JsonObject] = {}

    def on_event(self, event: Event) -> None:
        self._assembler.feed(event)
        for due in self._buffer.feed(event):
            self._write(due)

    def _write(self, event: Event) -> None:
        if isinstance(event, Started):
            self._model = self._model or event.model
        if not self._started:
            self._started = True
            self._send(f"{BODY}.started", {"conversation_id": conversation_id(self.reply)})
        match event:
            case TextDelta(text=text):
                self._write_text(text)
            case ReasoningDelta(text=text) if text:
                self._write_thinking(_encode_thinking(text, {}))
            case ExtrasSeen(extras=extras) if "signature" in extras.get(NAME, {}):
                self._write_thinking(_encode_thinking("", extras[NAME]))
            case Cited(citation):
                self._write_citation(citation)
            case ToolCallDelta():
                self._write_call(event)
            case SearchCalled() | SearchReturned() | PartAdded():
                self._write_whole(event)
            case Finished() | Failed():
                self._end(event)

    def _write_text(self, text: str) -> None:
        for piece in self._splitter.pieces(text, self._position):
            if self._chunk != "text" or self._citations != piece.citations:
                self._open_chunk("text")
                self._citations = piece.citations
            self._send_content(piece.text)
        self._position += len(text)

    def _write_thinking(self, chunk: JsonObject) -> None:
        if self._chunk != "thinking":
            self._open_chunk("thinking")
        self._send_content(chunk)

    def _write_citation(self, citation: Citation) -> None:
        """Split later text at a citation; a late one follows what was sent."""
        if citation.span is not None and citation.span.end > self._position:
            self._splitter.add(citation)
            return
        kind = "late" if citation.span is not None else "whole"
        if self._chunk != kind:
            self._open_chunk(kind)
            if citation.span is None:
                self._send_content("")
        self._send_references((citation,))

    def _send_references(self, citations: Iterable[Citation]) -> None:
        for reference in _encode_references(citations):
            self._content += 1
            self._send_content(reference)

    def _open_chunk(self, kind: str) -> None:
        """Begin a chunk, in a new message if none is open."""
        self._close_chunk()
        if self._message is None:
            self._message = {**self._head(), "role": "assistant"}
            self._content = -1
        self._chunk = kind
        if kind != "late":
            self._content += 1

    def _close_chunk(self) -> None:
        """End a chunk with the references that it has."""
        citations, self._citations = self._citations, ()
        self._chunk = ""
        self._send_references(citations)

    def _close_message(self) -> None:
        self._close_chunk()
        self._message = None

    def _head(self) -> JsonObject:
        head = entry_head(self.reply, self._entries, self._model)
        kept: JsonObject = {name: head[name] for name in ("id", "model")}
        kept["output_index"] = self._entries
        self._entries += 1
        return kept

    def _send_content(self, content: Json) -> None:
        fields = {**(self._message or {}), "content_index": self._content, "content": content}
        self._send("message.output.delta", fields)

    def _write_call(self, event: ToolCallDelta) -> None:
        call = self._calls.get(event.part)
        if call is None:
            self._close_message()
            head = self._head()
            call_id = event.id or f"call_{self.reply.id}_{len(self._calls)}"
            call = self._calls[event.part] = {**head, "name": event.name, "tool_call_id": call_id}
        elif not event.arguments:
            return
        self._send(f"{_CALL}.delta", {**call, "arguments": event.arguments})

    def _write_whole(self, event: SearchCalled | SearchReturned | PartAdded) -> None:
        match event:
            case SearchCalled(_, call):
                self._begin_search(call.id, encode_search_call(call))
            case SearchReturned(_, result) if result.call_id in self._running:
                entry = self._running.pop(result.call_id)
                self._end_search(entry, {} if NAME in result.extras else encode_info(result))
            case SearchReturned(_, result):
                entry = encode_lone_result(result)
                self._begin_search(result.call_id, entry)
                info = entry["info"]
                self._end_search(self._running.pop(result.call_id), info if isinstance(info, dict) else {})
            case PartAdded(_, Image() as image):
                self._open_chunk("image")
                self._send_content(encode_image(image))
            case PartAdded(_, Opaque(dialect, data)) if dialect == NAME:
                self._write_opaque(data)

    def _begin_search(self, call_id: str, entry: JsonObject) -> None:
        self._close_message()
        started: JsonObject = {name: item for name, item in entry.items() if name not in _OF_THE_STREAM}
        fields: JsonObject = {**self._head(), **started}
        self._running[call_id] = {name: fields[name] for name in ("id", "name", "output_index")}
        if "info" in entry:
            self._running[call_id]["info"] = entry["info"]
        self._send(f"{EXECUTION}.started", fields)

    def _end_search(self, entry: JsonObject, info: JsonObject) -> None:
        self._send(f"{EXECUTION}.done", {**entry, "info": info} if info else entry)

    def _write_opaque(self, data: JsonObject) -> None:
        """Write an execution of a tool, or a chunk. A stream has no other entries."""
        if not _is_entry(data):
            self._open_chunk("opaque")
            self._send_content(data)
        elif data.get("type") == EXECUTION:
            name = str(data.get("id"))
            self._begin_search(name, {"name": "", "arguments": "", **data})
            self._end_search(self._running.pop(name), {})

    def _send(self, kind: str, fields: JsonObject) -> None:
        self.send(kind, {"type": kind, "created_at": timestamp(self.reply.created), **fields})

    def _end(self, event: Finished | Failed) -> None:
        self._close_message()
        if isinstance(event, Failed):
            self._send(f"{BODY}.error", encode_stream_error(event.error))
            return
        answer = self._assembler.answer()
        ending: JsonObject = {"usage": encode_usage(answer.usage)}
        self._send(f"{BODY}.done", add_extension(ending, answer, LOSSES))
