"""Response encoder: events to Converse streams, and answers to content blocks.

A cited text is a block `citationsContent`, in a stream a block with deltas for text and citations. A citation
that comes too late for its text follows in a block of its own, as Nova writes it. The usage is in `metadata`,
after `messageStop`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.bedrock_converse.errors import FINISH_REASONS, STOP_REASONS, encode_stream_error
from groundwire.dialects.bedrock_converse.search import (
    NAME,
    encode_id,
    encode_search_call,
    encode_search_result,
)
from groundwire.dialects.bedrock_converse.usage import encode_usage
from groundwire.dialects.citation_buffer import CitationBuffer
from groundwire.dialects.citation_splitter import CitationSplitter, CitedText
from groundwire.dialects.event_stream import CONTENT_TYPE, encode_event, encode_exception
from groundwire.dialects.extras import FIELD, add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.json import dump_json
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
    Span,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
)
from groundwire.text.urls import domain_of

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere; blocks are split where claims begin and end",
    Feature.PHASE: "nowhere; commentary is plain text",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.CALLERS: "nowhere",
    Feature.PAUSE: "nowhere",
    Feature.REFUSAL: "nowhere; both end with `content_filtered`",
    Feature.REASONING_TOKENS: "counted in `outputTokens`",
    Feature.TOOL_TOKENS: "counted in `inputTokens`",
    Feature.SEARCH_COUNT: "nowhere; the calls of the search tool can be counted",
    Feature.COST: "`groundwire.cost`",
}

_REQUIRED: Mapping[str, JsonObject] = {
    "toolUse": {"toolUseId": "", "name": ""},
    "toolResult": {"toolUseId": ""},
}
"""Fields of a block that clients need, also if a provider left them out."""
_IMAGE_FORMATS = frozenset({"png", "jpeg", "gif", "webp"})


def encode_image(image: Image) -> JsonObject | None:
    """Encode an inline image; None for one that has only an address."""
    form = image.media_type.rpartition("/")[2] or "png"
    form = "jpeg" if form == "jpg" else form
    if not image.data or form not in _IMAGE_FORMATS:
        return None
    return {"image": {"format": form, "source": {"bytes": image.data}, **image.extras.get(NAME, {})}}


def encode_citation(evidence: Evidence, span: Span | None) -> JsonObject:
    """Encode a citation with its exact span; one that Bedrock made is sent verbatim."""
    verbatim = evidence.extras.get(NAME, {}).get("citation")
    if isinstance(verbatim, dict):
        return verbatim
    source = evidence.source
    citation: JsonObject = {}
    if source.title:
        citation["title"] = source.title
    if evidence.quote:
        citation["sourceContent"] = [{"text": evidence.quote}]
    if source.url:
        citation["source"] = source.url
        domain = source.domain or domain_of(source.url)
        citation["location"] = {"web": {"url": source.url, "domain": domain}}
    return {**citation, FIELD: {"span": [span.start, span.end] if span else None}}


def _encode_citations(citations: Iterable[Citation]) -> list[JsonObject]:
    return [encode_citation(item, citation.span) for citation in citations for item in citation.evidence]


def encode_stop(answer: Answer) -> JsonObject:
    """Encode the stop reason; Bedrock's own reason is kept."""
    reason = answer.finish or "other"
    is_own = FINISH_REASONS.get(answer.detail) == reason
    return {"stopReason": answer.detail if is_own else STOP_REASONS[reason], **answer.extras.get(NAME, {})}


def encode_blocks(parts: tuple[Part, ...], citations: tuple[Citation, ...]) -> Iterator[JsonObject]:
    """Encode the blocks of an answer, or of an assistant turn in the history."""
    splitter = CitationSplitter()
    for citation in citations:
        splitter.add(citation)
    lengths = (len(part.text) if isinstance(part, Text) else 0 for part in parts)
    for part, position in zip(parts, accumulate(lengths, initial=0), strict=False):
        if isinstance(part, Text):
            yield from map(_encode_text, splitter.pieces(part.text, position))
        else:
            yield from _encode_part(part)
    if unplaced := _encode_citations(citation for citation in citations if citation.span is None):
        yield {"citationsContent": {"content": [{"text": ""}], "citations": [*unplaced]}}


def _encode_text(piece: CitedText) -> JsonObject:
    if not piece.citations:
        return {"text": piece.text}
    cited: list[Json] = [*_encode_citations(piece.citations)]
    return {"citationsContent": {"content": [{"text": piece.text}], "citations": cited}}


def _encode_part(part: Part) -> Iterator[JsonObject]:
    match part:
        case SearchCall():
            yield {"toolUse": encode_search_call(part)}
        case SearchResult():
            yield {"toolResult": encode_search_result(part)}
        case Reasoning():
            yield {"reasoningContent": _encode_reasoning(part)}
        case ToolCall(call_id, name, arguments):
            block: JsonObject = {"toolUseId": encode_id(call_id), "name": name}
            yield {"toolUse": {**block, "input": decode_arguments(arguments)}}
        case Image():
            yield from filter(None, (encode_image(part),))
        case Opaque(dialect, data) if dialect == NAME:
            yield data


def _encode_reasoning(part: Reasoning) -> JsonObject:
    kept = part.extras.get(NAME, {})
    return kept if "redactedContent" in kept else {"reasoningText": {"text": part.text, **kept}}


class Encoder(StreamEncoder):
    """Encodes events as a Converse stream, one block at a time."""

    content_type = CONTENT_TYPE

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._buffer = CitationBuffer(reply.citations)
        self._assembler = Assembler()
        self._splitter = CitationSplitter()
        self._started = False
        self._index = 0
        self._open: tuple[str, int] | None = None
        self._citations: tuple[Citation, ...] = ()
        self._position = 0

    def ping(self) -> bytes:
        """Nothing: the event stream has no keep-alive."""
        return b""

    def send(self, name: str, payload: JsonObject) -> None:
        """Queue one event."""
        self.send_raw(encode_event(name, dump_json(payload).encode("utf-8", "replace")))

    def on_event(self, event: Event) -> None:
        self._assembler.feed(event)
        for due in self._buffer.feed(event):
            self._write(due)

    def _write(self, event: Event) -> None:
        if not self._started and not isinstance(event, Failed):
            self._started = True
            self.send("messageStart", {"role": "assistant"})
        match event:
            case TextDelta():
                self._write_text(event)
            case ReasoningDelta() | ToolCallDelta() | ExtrasSeen():
                self._write_more(event)
            case Cited(citation):
                self._write_citation(citation)
            case TextSettled(part) if self._open == ("text", part):
                self._close_block()
            case SearchCalled() | SearchReturned() | PartAdded():
                self._write_whole(event)
            case Finished() | Failed():
                self._end(event)

    def _write_text(self, event: TextDelta) -> None:
        for piece in self._splitter.pieces(event.text, self._position):
            if self._open != ("text", event.part) or self._citations != piece.citations:
                self._open_block(("text", event.part))
                self._citations = piece.citations
                self._send_citations(piece.citations)
            self._delta({"text": piece.text})
        self._position += len(event.text)

    def _write_citation(self, citation: Citation) -> None:
        """Split later text at a citation; a late one gets a block of its own, one of the whole answer a block
        with an empty text."""
        if citation.span is not None and citation.span.end > self._position:
            self._splitter.add(citation)
            return
        key = ("citation", -1) if citation.span is not None else ("whole", -1)
        if self._open != key:
            self._open_block(key)
            if citation.span is None:
                self._delta({"text": ""})
        self._send_citations((citation,))

    def _send_citations(self, citations: Iterable[Citation]) -> None:
        for citation in _encode_citations(citations):
            self._delta({"citation": citation})

    def _write_more(self, event: ReasoningDelta | ToolCallDelta | ExtrasSeen) -> None:
        match event:
            case ReasoningDelta(part, text):
                if text:
                    self._ensure_block(("reasoning", part))
                    self._delta({"reasoningContent": {"text": text}})
            case ToolCallDelta(part, call_id, name, arguments):
                if self._open != ("toolUse", part):
                    use_id = encode_id(call_id) or f"tooluse_{self.reply.id}_{part}"
                    self._open_block(("toolUse", part), {"toolUse": {"toolUseId": use_id, "name": name}})
                self._delta({"toolUse": {"input": arguments}})
            case ExtrasSeen(part, extras):
                self._write_signature(part, extras.get(NAME, {}))

    def _write_signature(self, part: int, extras: JsonObject) -> None:
        """The signature of reasoning, or reasoning that is encrypted."""
        for name in ("signature", "redactedContent"):
            if name in extras:
                self._ensure_block(("reasoning", part))
                self._delta({"reasoningContent": {name: extras[name]}})

    def _write_whole(self, event: SearchCalled | SearchReturned | PartAdded) -> None:
        match event:
            case SearchCalled(_, call):
                self._write_tool("toolUse", encode_search_call(call))
            case SearchReturned(_, result):
                self._write_tool("toolResult", encode_search_result(result))
            case PartAdded(_, added):
                self._write_added(added)

    def _write_added(self, part: Image | Opaque) -> None:
        """Write an image, or a tool call or result that only Bedrock reads. A stream has no other blocks."""
        block = part.data if isinstance(part, Opaque) and part.dialect == NAME else None
        if isinstance(part, Image):
            block = encode_image(part)
        for kind, content in (block or {}).items():
            if kind in ("toolUse", "toolResult") and isinstance(content, dict):
                self._write_tool(kind, content)
            elif kind == "image" and isinstance(content, dict):
                start = {name: item for name, item in content.items() if name != "source"}
                self._open_block(("image", -1), {"image": start})
                self._delta({"image": {"source": content.get("source")}})
                self._close_block()

    def _write_tool(self, kind: str, block: JsonObject) -> None:
        """Write a call or a result whole: its start, and its input or content as one delta."""
        start = {**_REQUIRED[kind]}
        start |= {name: item for name, item in block.items() if name not in ("input", "content")}
        self._open_block((kind, -1), {kind: start})
        delta: Json = {"input": dump_json(block.get("input", {}))} if kind == "toolUse" else block["content"]
        self._delta({kind: delta})
        self._close_block()

    def _ensure_block(self, key: tuple[str, int]) -> None:
        if self._open != key:
            self._open_block(key)

    def _open_block(self, key: tuple[str, int], start: JsonObject | None = None) -> None:
        self._close_block()
        self._open = key
        self._citations = ()
        if start is not None:
            self.send("contentBlockStart", {"start": start, "contentBlockIndex": self._index})

    def _close_block(self) -> None:
        if self._open is not None:
            self.send("contentBlockStop", {"contentBlockIndex": self._index})
            self._open = None
            self._index += 1

    def _delta(self, delta: JsonObject) -> None:
        self.send("contentBlockDelta", {"delta": delta, "contentBlockIndex": self._index})

    def _end(self, event: Finished | Failed) -> None:
        self._close_block()
        if isinstance(event, Failed):
            name, detail = encode_stream_error(event.error)
            self.send_raw(encode_exception(name, dump_json(detail).encode("utf-8", "replace")))
            return
        answer = self._assembler.answer()
        self.send("messageStop", encode_stop(answer))
        ending: JsonObject = {"usage": encode_usage(answer.usage), "metrics": {"latencyMs": 0}}
        self.send("metadata", add_extension(ending, answer, LOSSES))
