"""Streams, both ways.

A message is a sequence of blocks, each opened, filled and closed. Citations come before the text of their
block; results come whole in the opening; the fields of `usage` are cumulative, and those told last hold.
Event names equal the `type` inside; nothing follows `message_stop` or `error`.
"""

from __future__ import annotations

from collections.abc import Callable

from groundwire.dialects.anthropic_messages.cutting import Cutter, Piece
from groundwire.dialects.anthropic_messages.ending import LOSSES, encode_ending, encode_head
from groundwire.dialects.anthropic_messages.errors import (
    FINISH_REASONS,
    decode_stream_error,
    encode_error_event,
)
from groundwire.dialects.anthropic_messages.parts import (
    encode_citation,
    encode_id,
    encode_search_call,
    encode_search_id,
    encode_search_result,
)
from groundwire.dialects.anthropic_messages.reading import Block, TextBlock, open_block
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.tokens import seal
from groundwire.dialects.anthropic_messages.usage import decode_usage, encode_usage
from groundwire.dialects.base import DEFAULT_KEY, Reply, StreamDecoder, StreamEncoder
from groundwire.dialects.extension import extend
from groundwire.dialects.fields import Fields
from groundwire.dialects.framing import Frame
from groundwire.dialects.jsontext import dump_json, load_json
from groundwire.dialects.late import LateCitations
from groundwire.errors import UpstreamWireError, WireError
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
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    UsageSeen,
    Warned,
)
from groundwire.text.anchors import anchor_kind


class Decoder(StreamDecoder):
    """Reads a message, told by events or whole."""

    def __init__(self, key: bytes = DEFAULT_KEY, fault: type[WireError] = UpstreamWireError) -> None:
        super().__init__()
        self.key = key
        self._fault = fault
        self._blocks: dict[int, Block] = {}
        self._usage: JsonObject = {}
        self._finish: Finished | None = None
        self._uncut: list[tuple[Evidence, Span]] = []

    def on_frame(self, frame: Frame) -> None:
        document = load_json(frame.data, self._fault)
        if self._is_plain_text(document):
            return
        fields = Fields.of(document, self._fault)
        read = _EVENTS.get(fields.text("type"))
        if read is not None:
            read(self, fields)

    def on_end(self) -> None:
        if self._finish is not None:
            self.stop()

    def _is_plain_text(self, document: Json) -> bool:
        """The quick way for what nine of ten frames are: more words of an open text block."""
        if not isinstance(document, dict) or document.get("type") != "content_block_delta":
            return False
        delta = document.get("delta")
        if not isinstance(delta, dict) or delta.get("type") != "text_delta":
            return False
        index, text = document.get("index"), delta.get("text")
        block = self._blocks.get(index) if isinstance(index, int) else None
        if not isinstance(text, str) or not isinstance(block, TextBlock):
            return False
        self.emit(TextDelta(block.part, text))
        return True

    def start(self, message: Fields) -> None:
        """The head of a message."""
        self.emit(Started(message.text("id"), message.text("model")))
        self.count(message.obj("usage"))

    def count(self, usage: Fields) -> None:
        """Counts told now replace those told before."""
        if usage.raw:
            self._usage = {
                **self._usage,
                **{key: value for key, value in usage.raw.items() if value is not None},
            }
            self.emit(UsageSeen(decode_usage(usage.with_raw(self._usage))))

    def open(self, index: int, block: Fields) -> None:
        """A block begins."""
        self._blocks[index] = open_block(self, block)

    def shut(self, index: int) -> None:
        """A block is complete."""
        block = self._blocks.pop(index, None)
        if block is not None:
            block.end()
            self._tell_whole_citations()

    def finish(self, message: Fields) -> None:
        """Why the message ended, which is told a little before it does."""
        reason = message.text("stop_reason")
        if reason:
            kept: JsonObject = {key: value for key in _ENDING if (value := message.get(key)) is not None}
            self._finish = Finished(FINISH_REASONS.get(reason, "other"), reason, {NAME: kept} if kept else {})

    def stop(self) -> None:
        """The message is over."""
        for index in sorted(self._blocks):
            self.shut(index)
        self.emit(self._finish or Finished("other"))

    def cite(self, part: int, evidence: Evidence, span: Span | None) -> None:
        """A citation of the block that has just ended: it applies to the whole of it.

        One that we cut ourselves knows its own span, which may reach into blocks to come.
        """
        if span is not None:
            self._uncut.append((evidence, span))
            self._tell_whole_citations()
            return
        start = self.transcript.start(part)
        text = self.transcript.text(part)
        place = Span(start, start + len(text)) if text else None
        self.emit(Cited(Citation(place, (evidence,), anchor_kind(text))))

    def _tell_whole_citations(self) -> None:
        length = len(self.transcript)
        waiting, self._uncut = self._uncut, []
        for evidence, span in waiting:
            if span.end > length:
                self._uncut.append((evidence, span))
            else:
                anchor = anchor_kind(self.transcript.slice(*span))
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
        self.emit(Failed(decode_stream_error(event.obj("error").raw)))


_ENDING = ("stop_sequence", "stop_details", "container")
_EVENTS: dict[str, Callable[[Decoder, Fields], None]] = {
    "message_start": Decoder._on_start,
    "content_block_start": Decoder._on_block_start,
    "content_block_delta": Decoder._on_block_delta,
    "content_block_stop": Decoder._on_block_stop,
    "message_delta": Decoder._on_message_delta,
    "message_stop": Decoder._on_stop,
    "error": Decoder._on_error,
}


class Encoder(StreamEncoder):
    """Writes a message, one block at a time."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._late = LateCitations(reply.citations)
        self._assembler = Assembler()
        self._cutter = Cutter()
        self._calls: dict[str, SearchCall] = {}
        self._started = False
        self._index = 0
        self._open: tuple[str, int] | None = None
        self._citations: tuple[Citation, ...] = ()
        self._signature = ""
        self._position = 0

    def on_event(self, event: Event) -> None:
        self._assembler.feed(event)
        for due in self._late.feed(event):
            self._write(due)

    def _write(self, event: Event) -> None:
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
        if self._started or isinstance(event, Failed):
            return
        self._started = True
        head = event if isinstance(event, Started) else Started()
        message = encode_head(head.id, head.model, self.reply)
        message["usage"] = {"input_tokens": 0, "output_tokens": 0}
        self._send({"type": "message_start", "message": message})
        self._send({"type": "ping"})

    def _write_text(self, event: TextDelta) -> None:
        for piece in self._cutter.pieces(event.text, self._position):
            if self._open != ("text", event.part) or self._citations != piece.citations:
                self._open_text(event.part, piece)
            # Written out rather than built: this is what most of a stream consists of.
            self.send_text(
                "content_block_delta",
                f'{{"type":"content_block_delta","index":{self._index},"delta":{{"type":"text_delta","text":',
                piece.text,
                "}}",
            )
        self._position += len(event.text)

    def _open_text(self, part: int, piece: Piece) -> None:
        block: JsonObject = {"type": "text", "text": ""}
        if piece.citations:
            block = {"citations": [], **block}
        self._open_block(("text", part), block)
        self._citations = piece.citations
        for citation in piece.citations:
            self._send_citation(citation)

    def _write_citation(self, citation: Citation) -> None:
        """A citation whose text is to come cuts it; one that is late goes on the block that is open."""
        if citation.span is None:
            return
        if citation.span.end > self._position:
            self._cutter.add(citation)
            return
        if self._open is None or self._open[0] != "text":
            self._open_text(-1, Piece("", ()))
        self._send_citation(citation)

    def _send_citation(self, citation: Citation) -> None:
        for item in citation.evidence:
            place = citation.span or Span(0, 0)
            self._delta({"type": "citations_delta", "citation": encode_citation(item, place, self.reply.key)})

    def _settle(self, part: int) -> None:
        if self._open == ("text", part):
            self._close_block()

    def _write_more(self, event: ReasoningDelta | ToolCallDelta | ExtrasSeen) -> None:
        match event:
            case ReasoningDelta(part, text):
                if text:
                    self._open_once(("thinking", part), {"type": "thinking", "thinking": "", "signature": ""})
                    self._delta({"type": "thinking_delta", "thinking": text})
            case ToolCallDelta(part, call_id, name, arguments):
                block_id = encode_id(call_id) or f"toolu_{self.reply.id}_{part}"
                block: JsonObject = {"type": "tool_use", "id": block_id, "name": name, "input": {}}
                self._open_once(("tool_use", part), block)
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
                self._calls[call.id] = call
                self._write_call(encode_search_call(call, encode_search_id(call.id)))
            case SearchReturned(_, result):
                block_id = encode_search_id(result.call_id)
                call_of = self._calls.get(result.call_id)
                self._write_block(encode_search_result(result, call_of, block_id, self.reply.key))
            case PartAdded(_, Image()):
                pass
            case PartAdded(_, opaque):
                if not isinstance(opaque, Image) and opaque.dialect == NAME:
                    self._write_block(opaque.data)

    def _write_call(self, block: JsonObject) -> None:
        """The opening has no input; it follows as JSON text, of which the first piece is always empty."""
        arguments = dump_json(block.get("input", {}))
        self._open_block(("server_tool_use", -1), {**block, "input": {}})
        for fragment in ("", arguments):
            self._delta({"type": "input_json_delta", "partial_json": fragment})
        self._close_block()

    def _write_block(self, block: JsonObject) -> None:
        self._open_block(("whole", -1), block)
        self._close_block()

    def _open_once(self, what: tuple[str, int], block: JsonObject) -> None:
        if self._open != what:
            self._open_block(what, block)

    def _open_block(self, what: tuple[str, int], block: JsonObject) -> None:
        self._close_block()
        self._open = what
        self._citations = ()
        self._send({"type": "content_block_start", "index": self._index, "content_block": block})

    def _close_block(self) -> None:
        if self._open is None:
            return
        if self._open[0] == "thinking":
            signature = self._signature or seal({}, self.reply.key)
            self._delta({"type": "signature_delta", "signature": signature})
            self._signature = ""
        self._send({"type": "content_block_stop", "index": self._index})
        self._open = None
        self._index += 1

    def _delta(self, delta: JsonObject) -> None:
        self._send({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _end(self, event: Finished | Failed) -> None:
        self._close_block()
        if isinstance(event, Failed):
            self._send(encode_error_event(event.error))
            return
        answer = self._assembler.answer()
        ending: JsonObject = {
            "type": "message_delta",
            "delta": encode_ending(answer),
            "usage": encode_usage(answer.usage),
        }
        self._send(extend(ending, answer, LOSSES))
        self._send({"type": "message_stop"})

    def _send(self, payload: JsonObject) -> None:
        self.send(str(payload["type"]), payload)
