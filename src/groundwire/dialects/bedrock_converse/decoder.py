"""Response decoder: Converse streams and whole messages to events.

A stream opens a block for tools and images only; text, reasoning and citations begin with their first delta.
`messageStop` has the stop reason, and `metadata` follows it with the usage, so the answer ends there.

Citations apply to the text of their block (`citationsContent`, as Claude writes it). Nova writes text and
citations as separate blocks: a block of citations without text applies to the text before it. Citations of an
empty text apply to the answer as a whole. Citations that groundwire wrote have their exact span in the field
`groundwire`, because a claim may be split over several blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeAlias

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.bedrock_converse.errors import FINISH_REASONS, STREAM_ERROR, decode_stream_error
from groundwire.dialects.bedrock_converse.search import (
    NAME,
    SERVER_TOOL,
    decode_search_call,
    decode_search_result,
    is_search_call,
    is_search_result,
)
from groundwire.dialects.bedrock_converse.usage import decode_usage
from groundwire.dialects.event_stream import ERROR_EVENT, EventStreamReader
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.sse import Frame
from groundwire.dialects.tool_arguments import decode_arguments
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import (
    NO_EXTRAS,
    Citation,
    Cited,
    Evidence,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    Json,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    UsageSeen,
)
from groundwire.text.spans import anchor_at
from groundwire.text.urls import domain_of, safe_url

DOCUMENT_LOCATIONS = ("documentChar", "documentPage", "documentChunk")
_MAX_INDEX = 1_000_000


def decode_citation(citation: Fields) -> Evidence:
    """Decode a citation to its evidence. A document that the client sent has a name, and no URL."""
    location = citation.obj("location")
    web = location.obj("web")
    named = citation.text("source")
    url = safe_url(web.text("url") or named)
    title = citation.text("title") or ("" if url else named or _document_name(location))
    domain = web.text("domain")
    is_visible = not domain or domain.removeprefix("www.") == domain_of(url).removeprefix("www.")
    quote = "".join(content.text("text") for content in citation.objs("sourceContent"))
    return Evidence(
        Source(url, title, "cited", domain="" if is_visible else domain),
        quote,
        extras=NO_EXTRAS if citation.has(FIELD) else {NAME: {"citation": citation.raw}},
    )


def _document_name(location: Fields) -> str:
    for name in DOCUMENT_LOCATIONS:
        index = location.obj(name).integer("documentIndex")
        if index is not None and 0 <= index <= _MAX_INDEX:
            return f"Document {index + 1}"
    return "Document"


def decode_image(image: Fields) -> Image | None:
    """Decode an inline image; None for one that is stored in S3."""
    data = image.obj("source").get("bytes")
    return Image(f"image/{image.text('format', 'png')}", data) if isinstance(data, str) else None


class _Block:
    """A block while its deltas arrive. Its first delta, or its start, decides what it is."""

    __slots__ = ("citations", "has_text", "items", "kind", "part", "start", "text")

    def __init__(self, kind: str, start: Fields, part: int) -> None:
        self.kind = kind
        self.start = start
        self.part = part
        self.text: list[str] = []
        """Text so far of a call's input; signatures of reasoning."""
        self.items: list[Json] = []
        """Content of a tool result."""
        self.citations: list[Fields] = []
        self.has_text = False
        """Did it have a text, if only an empty one?"""


class Decoder(StreamDecoder):
    """Decodes a message from stream events, or whole."""

    def __init__(self, fault: type[WireError] = UpstreamWireError) -> None:
        super().__init__()
        self._reader = EventStreamReader()
        self._fault = fault
        self._blocks: dict[int, _Block] = {}
        self._text_part: int | None = None
        """The last text part, while the next block may still cite it."""
        self._split: list[tuple[int, int, Evidence, Span]] = []
        """Citations of a span whose text is not complete."""
        self._split_count = 0
        self._settled = 0
        """Where the text ends that can no longer be cited."""
        self._finish: Finished | None = None

    def on_frame(self, frame: Frame) -> None:
        fields = Fields.of(load_json(frame.data or b"{}", self._fault), self._fault)
        read = _EVENT_HANDLERS.get(frame.event)
        if read is not None:
            read(self, fields)
        elif frame.event.endswith("Exception") or frame.event in (ERROR_EVENT, STREAM_ERROR):
            self.emit(Failed(decode_stream_error(frame.event, fields.raw)))

    def on_end(self) -> None:
        if self._finish is not None:
            self.stop()

    def start(self) -> None:
        """Begin a message, which has neither an id nor a model."""
        self.emit(Started())

    def open(self, index: int, start: Fields) -> None:
        """Start a block of a kind that is announced."""
        for kind in ("toolUse", "toolResult", "image"):
            if start.has(kind):
                self._open(index, kind, start.obj(kind))

    def delta(self, index: int, delta: Fields) -> None:
        """Read a delta; the first one of a block that was not announced starts it."""
        for kind, read in _DELTA_READERS.items():
            if delta.has(kind):
                block = self._blocks.get(index)
                if block is None:
                    block = self._open(index, kind, delta.with_raw({}))
                read(self, block, delta)

    def close_block(self, index: int) -> None:
        """Complete a block."""
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block.kind in _TEXT_KINDS:
            self._close_text(block)
        elif close := _BLOCK_CLOSERS.get(block.kind):
            close(self, block)

    def finish(self, message: Fields) -> None:
        """Read the stop reason."""
        reason = message.text("stopReason")
        kept = message.get("additionalModelResponseFields")
        extras: Extras = {NAME: {"additionalModelResponseFields": kept}} if kept else NO_EXTRAS
        self._finish = Finished(FINISH_REASONS.get(reason, "other"), reason, extras)

    def count(self, usage: Fields) -> None:
        """Read the usage."""
        if usage.raw:
            self.emit(UsageSeen(decode_usage(usage)))

    def stop(self) -> None:
        """End the message."""
        for index in sorted(self._blocks):
            self.close_block(index)
        self._settle()
        for *_, evidence, _span in sorted(self._split, key=lambda item: item[:2]):
            self.emit(Cited(Citation(None, (evidence,))))
        self.emit(self._finish or Finished("other"))

    def keep(self, block: JsonObject) -> None:
        """Keep a block of unknown kind whole."""
        self._settle()
        self.emit(PartAdded(self.next_part(), Opaque(NAME, block)))

    def _open(self, index: int, kind: str, start: Fields) -> _Block:
        if index in self._blocks:
            self.close_block(index)
        if kind != "citation":
            self._settle()
        block = self._blocks[index] = _Block(kind, start, self.next_part())
        if kind == "toolUse":
            self._open_tool(block)
        return block

    def _open_tool(self, block: _Block) -> None:
        start = block.start
        if is_search_call(start):
            self.emit(SearchStarted(block.part, start.text("toolUseId")))
        elif start.text("type") != SERVER_TOOL:
            self.emit(ToolCallDelta(block.part, start.text("toolUseId"), start.text("name")))

    def _text_delta(self, block: _Block, delta: Fields) -> None:
        if not block.has_text:
            block.has_text = True
            self._settle()  # a block that began with citations has text of its own after all
        self.emit(TextDelta(block.part, delta.text("text")))

    def _citation_delta(self, block: _Block, delta: Fields) -> None:
        block.citations.append(delta.obj("citation"))

    def _reasoning_delta(self, block: _Block, delta: Fields) -> None:
        content = delta.obj("reasoningContent")
        if content.has("text"):
            self.emit(ReasoningDelta(block.part, content.text("text")))
        block.text.append(content.text("signature"))
        if content.has("redactedContent"):
            extras: JsonObject = {"redactedContent": content.text("redactedContent")}
            self.emit(ReasoningDelta(block.part, ""))
            self.emit(ExtrasSeen(block.part, {NAME: extras}))

    def _input_delta(self, block: _Block, delta: Fields) -> None:
        fragment = delta.obj("toolUse").text("input")
        block.text.append(fragment)
        is_function = not is_search_call(block.start) and block.start.text("type") != SERVER_TOOL
        if fragment and is_function:
            self.emit(ToolCallDelta(block.part, arguments=fragment))

    def _result_delta(self, block: _Block, delta: Fields) -> None:
        block.items += delta.items("toolResult")

    def _image_delta(self, block: _Block, delta: Fields) -> None:
        block.items.append(delta.obj("image").get("source"))

    def _close_text(self, block: _Block) -> None:
        for citation in block.citations:
            self._cite_text(block.part if block.has_text else self._text_part, citation)
        self._emit_complete_citations()
        if block.has_text:
            self._text_part = block.part
            if block.citations:
                self._settle()

    def _close_reasoning(self, block: _Block) -> None:
        signature = "".join(block.text)
        if signature:
            self.emit(ExtrasSeen(block.part, {NAME: {"signature": signature}}))

    def _close_tool(self, block: _Block) -> None:
        whole: JsonObject = {**block.start.raw, "input": decode_arguments("".join(block.text))}
        if is_search_call(block.start):
            self.emit(SearchCalled(block.part, decode_search_call(block.start.with_raw(whole))))
        elif block.start.text("type") == SERVER_TOOL:
            self.emit(PartAdded(block.part, Opaque(NAME, {"toolUse": whole})))

    def _close_result(self, block: _Block) -> None:
        whole: JsonObject = {**block.start.raw, "content": block.items}
        if is_search_result(block.start):
            self.emit(SearchReturned(block.part, decode_search_result(block.start.with_raw(whole))))
        else:
            self.emit(PartAdded(block.part, Opaque(NAME, {"toolResult": whole})))

    def _close_image(self, block: _Block) -> None:
        source = next((as_object(item) for item in block.items if item), {})
        whole: JsonObject = {**block.start.raw, "source": source}
        image = decode_image(block.start.with_raw(whole))
        self.emit(PartAdded(block.part, image or Opaque(NAME, {"image": whole})))

    def _settle(self) -> None:
        part = self._text_part
        if part is not None:
            self._settled = self.text_buffer.start(part) + len(self.text_buffer.text(part))
            self.emit(TextSettled(part))
            self._text_part = None

    def _cite_text(self, part: int | None, citation: Fields) -> None:
        evidence = decode_citation(citation)
        if citation.has(FIELD):
            span = _decode_span(citation.obj(FIELD))
            if span is None or (self._settled and span.end <= self._settled):
                self.emit(Cited(Citation(None, (evidence,))))
                return
            self._split_count += 1
            heappush(self._split, (span.end, self._split_count, evidence, span))
            return
        text = "" if part is None else self.text_buffer.text(part)
        if part is None or not text.strip():
            self.emit(Cited(Citation(None, (evidence,))))
            return
        offset = self.text_buffer.start(part)
        start, end = offset + len(text) - len(text.lstrip()), offset + len(text.rstrip())
        self._emit_citation(evidence, Span(start, end))

    def _emit_complete_citations(self) -> None:
        length = len(self.text_buffer)
        while self._split and self._split[0][0] <= length:
            *_, evidence, span = heappop(self._split)
            self._emit_citation(evidence, span)

    def _emit_citation(self, evidence: Evidence, span: Span) -> None:
        self.emit(Cited(Citation(span, (evidence,), anchor_at(span, self.text_buffer.slice))))

    def _on_start(self, _: Fields) -> None:
        self.start()

    def _on_block_start(self, event: Fields) -> None:
        self.open(event.integer("contentBlockIndex") or 0, event.obj("start"))

    def _on_block_delta(self, event: Fields) -> None:
        self.delta(event.integer("contentBlockIndex") or 0, event.obj("delta"))

    def _on_block_stop(self, event: Fields) -> None:
        self.close_block(event.integer("contentBlockIndex") or 0)

    def _on_stop(self, event: Fields) -> None:
        self.finish(event)

    def _on_metadata(self, event: Fields) -> None:
        self.count(event.obj("usage"))
        if self._finish is not None:
            self.stop()


def _decode_span(own: Fields) -> Span | None:
    match own.get("span"):
        case [int(start), int(end)] if 0 <= start <= end:
            return Span(start, end)
    return None


_TEXT_KINDS = ("text", "citation")
_ReadDelta: TypeAlias = Callable[[Decoder, _Block, Fields], None]
_DELTA_READERS: dict[str, _ReadDelta] = {
    "text": Decoder._text_delta,
    "citation": Decoder._citation_delta,
    "reasoningContent": Decoder._reasoning_delta,
    "toolUse": Decoder._input_delta,
    "toolResult": Decoder._result_delta,
    "image": Decoder._image_delta,
}
_BLOCK_CLOSERS: dict[str, Callable[[Decoder, _Block], None]] = {
    "reasoningContent": Decoder._close_reasoning,
    "toolUse": Decoder._close_tool,
    "toolResult": Decoder._close_result,
    "image": Decoder._close_image,
}
_EVENT_HANDLERS: dict[str, Callable[[Decoder, Fields], None]] = {
    "messageStart": Decoder._on_start,
    "contentBlockStart": Decoder._on_block_start,
    "contentBlockDelta": Decoder._on_block_delta,
    "contentBlockStop": Decoder._on_block_stop,
    "messageStop": Decoder._on_stop,
    "metadata": Decoder._on_metadata,
}


def read_block(decoder: Decoder, index: int, block: Fields) -> None:
    """Read a whole block, as the deltas of a stream that would make it."""
    if block.has("text"):
        _read_deltas(decoder, index, block, {"text": block.text("text")})
    elif block.has("citationsContent"):
        cited = block.obj("citationsContent")
        deltas: list[JsonObject] = [{"text": content.text("text")} for content in cited.objs("content")]
        deltas += [{"citation": citation.raw} for citation in cited.objs("citations")]
        _read_deltas(decoder, index, cited, *deltas)
    elif block.has("reasoningContent"):
        content = block.obj("reasoningContent")
        shown = content.raw if content.has("redactedContent") else content.obj("reasoningText").raw
        _read_deltas(decoder, index, block, {"reasoningContent": shown})
    elif block.has("toolUse"):
        decoder.open(index, block)
        arguments = dump_json(block.obj("toolUse").obj("input").raw)
        _read_deltas(decoder, index, block, {"toolUse": {"input": arguments}})
    elif block.has("toolResult"):
        decoder.open(index, block)
        _read_deltas(decoder, index, block, {"toolResult": block.obj("toolResult").items("content")})
    elif block.has("image"):
        decoder.open(index, block)
        _read_deltas(decoder, index, block, {"image": {"source": block.obj("image").get("source")}})
    elif block.raw:
        decoder.keep(block.raw)


def _read_deltas(decoder: Decoder, index: int, block: Fields, *deltas: JsonObject) -> None:
    for delta in deltas:
        decoder.delta(index, block.with_raw(delta))
    decoder.close_block(index)
