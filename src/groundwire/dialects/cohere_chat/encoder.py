"""Response encoder: events to stream events, and answers to messages.

A citation follows its text and has offsets in a block of content. One that covers several blocks is written
once for each of them, with its exact span in the field `groundwire`. Its sources are documents with address,
title and quote, whose ids begin with `gw_`. A citation of the answer as a whole has the offsets 0 and 0.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.cohere_chat.errors import encode_finish, encode_stream_error
from groundwire.dialects.cohere_chat.search import NAME
from groundwire.dialects.cohere_chat.tools import encode_call
from groundwire.dialects.cohere_chat.usage import encode_usage
from groundwire.dialects.cohere_reader import OWN_SOURCE
from groundwire.dialects.extras import FIELD, add_extension
from groundwire.dialects.features import Feature
from groundwire.model import (
    Assembler,
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    Json,
    JsonObject,
    Part,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)

LOSSES: Mapping[Feature, str] = {
    Feature.PHASE: "nowhere; commentary is plain text",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.QUERIES: "`groundwire.searches`",
    Feature.SEARCH_CALLS: "`groundwire.searches`",
    Feature.PAGES_OPENED: "`groundwire.searches`",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.RETRIEVED: "`groundwire.sources`",
    Feature.RETRIEVED_TITLES: "`groundwire.sources`",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "`groundwire.searches`, as the state `failed` with its `error`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.CALLERS: "nowhere",
    Feature.IMAGES: "nowhere",
    Feature.PAUSE: "nowhere",
    Feature.REFUSAL: "nowhere; both end with `ERROR_TOXIC`",
    Feature.CACHE_TOKENS: "`cached_tokens`, for those read; nowhere for those written",
    Feature.REASONING_TOKENS: "counted in `output_tokens`",
    Feature.TOOL_TOKENS: "counted in `input_tokens`",
    Feature.COST: "`groundwire.cost`",
}
_PLAN = "tool_plan"
_MOST_BLOCKS = 20
"""A citation of more blocks is written for the last of them: the cost stays linear."""


class _CitationEncoder:
    """Encodes citations, with offsets in the blocks of text that have been added."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._indexes: list[int] = []
        self._texts: list[list[str]] = []
        self._ids: dict[tuple[str, str], str] = {}
        self.length = 0

    def open_block(self, index: int) -> None:
        """Begin a block of text."""
        self._starts.append(self.length)
        self._indexes.append(index)
        self._texts.append([])

    def add(self, text: str) -> None:
        """Add text to the last block."""
        self._texts[-1].append(text)
        self.length += len(text)

    def encode(self, citation: Citation) -> Iterator[JsonObject]:
        """Encode a citation, for each block of text that it covers."""
        span = citation.span
        if span is None or not self._starts or not 0 <= span.start <= span.end <= self.length:
            yield {"start": 0, "end": 0, "text": "", **self._sources(citation, 0)}
            return
        last = max(bisect_left(self._starts, span.end) - 1, 0)
        first = min(max(bisect_right(self._starts, span.start) - 1, 0), last)
        for block in range(max(first, last - _MOST_BLOCKS), last + 1):
            base, text = self._starts[block], self._text(block)
            start, end = max(span.start - base, 0), min(span.end - base, len(text))
            if start < end or first == last:
                body: JsonObject = {"start": start, "end": end, "text": text[start:end]}
                body |= self._sources(citation, self._indexes[block])
                is_exact = first == last and end > 0
                yield body if is_exact else {**body, FIELD: {"span": [span.start, span.end]}}

    def _text(self, block: int) -> str:
        pieces = self._texts[block]
        if len(pieces) > 1:
            pieces[:] = ["".join(pieces)]
        return pieces[0] if pieces else ""

    def _sources(self, citation: Citation, index: int) -> JsonObject:
        sources: list[Json] = [self._source(item) for item in citation.evidence]
        return {"sources": sources, "content_index": index, "type": "TEXT_CONTENT"}

    def _source(self, evidence: Evidence) -> JsonObject:
        verbatim = evidence.extras.get(NAME, {}).get("source")
        if isinstance(verbatim, dict):
            return verbatim
        source = evidence.source
        identity = self._ids.setdefault((source.url, source.title), f"{OWN_SOURCE}{len(self._ids)}")
        fields: JsonObject = {"id": identity, "title": source.title, "url": source.url}
        fields["snippet"] = evidence.quote
        document: JsonObject = {name: item for name, item in fields.items() if item}
        return {"type": "document", "id": identity, "document": document}


def encode_message(parts: Iterable[Part], citations: Iterable[Citation]) -> JsonObject:
    """Encode an answer, or an assistant turn of the history, as a message."""
    content: list[Json] = []
    calls: list[Json] = []
    plan = ""
    cited = _CitationEncoder()
    for part in parts:
        match part:
            case Text(text):
                cited.open_block(len(content))
                cited.add(text)
                content.append({"type": "text", "text": text})
            case Reasoning(text) if _is_plan(part):
                plan += text
            case Reasoning(text):
                content.append({"type": "thinking", "thinking": text})
            case ToolCall():
                calls.append(encode_call(part))
    notes: list[Json] = [note for citation in citations for note in cited.encode(citation)]
    fields: JsonObject = {"content": content, _PLAN: plan, "tool_calls": calls, "citations": notes}
    return {"role": "assistant", **{name: item for name, item in fields.items() if item}}


def _is_plan(part: Reasoning) -> bool:
    return part.extras.get(NAME, {}).get("type") == _PLAN


class Encoder(StreamEncoder):
    """Encodes events as a stream of `/v2/chat`."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._assembler = Assembler()
        self._started = False
        self._open: tuple[str, int] | None = None
        self._index = -1
        self._calls: dict[int, int] = {}
        self._plans: set[int] = set()
        self._cited = _CitationEncoder()
        self._citations = 0
        self._waiting: list[Citation] = []
        self._text_head = self._text_tail = b""

    def on_event(self, event: Event) -> None:
        self._assembler.feed(event)
        if not self._started:
            self._started = True
            start: JsonObject = {"message": {"role": "assistant", "content": [], "citations": []}}
            self._send("message-start", id=self.reply.id, delta=start)
        match event:
            case TextDelta(part, text):
                self._send_text(part, text)
            case ReasoningDelta(part, text) if text:
                self._send_reasoning(part, text)
            case ToolCallDelta():
                self._send_call(event)
            case ExtrasSeen(part, extras) if extras.get(NAME, {}).get("type") == _PLAN:
                self._plans.add(part)
            case Cited(citation):
                self._send_or_hold(citation)
            case Finished() | Failed():
                self._end(event)

    def _send_text(self, part: int, text: str) -> None:
        if self._open != ("text", part):
            self._open_block(("text", part))
            self._cited.open_block(self._index)
            head = f'event: content-delta\ndata: {{"type":"content-delta","index":{self._index},'
            self._text_head = f'{head}"delta":{{"message":{{"content":{{"text":'.encode()
            self._text_tail = b"}}}}\n\n"
        if text:
            self._cited.add(text)
            self.send_text(self._text_head, text, self._text_tail)

    def _send_reasoning(self, part: int, text: str) -> None:
        if part in self._plans:
            self._close_block()
            self._send("tool-plan-delta", delta={"message": {_PLAN: text}})
            return
        if self._open != ("thinking", part):
            self._open_block(("thinking", part))
        self._send_delta("content-delta", self._index, "content", {"thinking": text})

    def _send_call(self, event: ToolCallDelta) -> None:
        index = self._calls.get(event.part)
        if index is None:
            index = self._calls[event.part] = len(self._calls)
            self._close_block()
            self._open = ("call", index)
            call_id = event.id or f"call_{self.reply.id}_{index}"
            call = encode_call(ToolCall(call_id, event.name, event.arguments))
            self._send_delta("tool-call-start", index, "tool_calls", call)
        elif event.arguments:
            arguments: JsonObject = {"function": {"arguments": event.arguments}}
            self._send_delta("tool-call-delta", index, "tool_calls", arguments)

    def _send_or_hold(self, citation: Citation) -> None:
        """Send a citation whose text has been sent; hold one that came early until the end."""
        if citation.span is not None and citation.span.end > self._cited.length:
            self._waiting.append(citation)
        else:
            self._send_citation(citation)

    def _send_citation(self, citation: Citation) -> None:
        for note in self._cited.encode(citation):
            index, self._citations = self._citations, self._citations + 1
            self._send_delta("citation-start", index, "citations", note)
            self._send("citation-end", index=index)

    def _open_block(self, block: tuple[str, int]) -> None:
        self._close_block()
        self._open = block
        self._index += 1
        kind = block[0]
        self._send_delta("content-start", self._index, "content", {"type": kind, kind: ""})

    def _close_block(self) -> None:
        if self._open is None:
            return
        kind, number = self._open
        if kind == "call":
            self._send("tool-call-end", index=number)
        else:
            self._send("content-end", index=self._index)
        self._open = None

    def _send_delta(self, kind: str, index: int, name: str, content: JsonObject) -> None:
        self._send(kind, index=index, delta={"message": {name: content}})

    def _send(self, kind: str, **fields: Json) -> None:
        self.send(kind, {"type": kind, **fields})

    def _end(self, event: Finished | Failed) -> None:
        self._close_block()
        for citation in self._waiting:
            self._send_citation(citation)
        answer = self._assembler.answer()
        if isinstance(event, Failed):
            delta = encode_stream_error(event.error)
        else:
            delta = {"finish_reason": encode_finish(answer.finish, answer.detail)}
        ending: JsonObject = {"type": "message-end", "id": self.reply.id}
        ending["delta"] = {**delta, "usage": encode_usage(answer.usage)}
        self.send("message-end", add_extension(ending, answer, LOSSES))
        self.send_raw(b"data: [DONE]\n\n")
