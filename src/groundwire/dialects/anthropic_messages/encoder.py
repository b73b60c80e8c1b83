"""Events as a message, one block at a time.

Event names equal the `type` inside. Citations are written before the text of their block, results whole in
the opening. Nothing follows `message_stop` or `error`.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.dialects.anthropic_messages.citations import CitationWriter
from groundwire.dialects.anthropic_messages.cutting import Cutter, Piece
from groundwire.dialects.anthropic_messages.ending import EXTENDED, encode_ending, encode_head
from groundwire.dialects.anthropic_messages.errors import encode_error_event
from groundwire.dialects.anthropic_messages.pairs import SearchWriter
from groundwire.dialects.anthropic_messages.parts import encode_id
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.usage import encode_usage
from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.citation_buffer import CitationBuffer
from groundwire.dialects.extras import add_extension
from groundwire.dialects.json import dump_json
from groundwire.dialects.signed_tokens import seal
from groundwire.model import (
    Assembler,
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    JsonObject,
    PartAdded,
    ReasoningDelta,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    UsageSeen,
    Warned,
)


class Encoder(StreamEncoder):
    """Writes a message, one block at a time."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._late = CitationBuffer(reply.citations)
        self._assembler = Assembler()
        self._cutter = Cutter()
        self._searches = SearchWriter(reply.key)
        self._citing = CitationWriter(reply)
        self._started = self._spoken = False
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
        if not self._spoken:
            self._spoken = True
            self._write_blocks(self._searches.rest())
        block: JsonObject = {"type": "text", "text": ""}
        if piece.citations:
            block = {"citations": [], **block}
        self._open_block(("text", part), block)
        self._citations = piece.citations
        for citation in piece.citations:
            self._send_citation(citation)

    def _write_citation(self, citation: Citation) -> None:
        """A citation whose text is to come cuts it; one that is late goes on the block that is open.

        Its pages go into a list of results; one without a place goes nowhere else.
        """
        self._searches.cite((citation,))
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
            self._delta({"type": "citations_delta", "citation": self._citing.encode(item, citation.span)})

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
        """Search blocks. A result comes whole; a call opens without its input, which follows as JSON text,
        of which the first piece is always empty."""
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

    def _open_once(self, what: tuple[str, int], block: JsonObject) -> None:
        if self._open != what:
            self._open_block(what, block)

    def _open_block(self, what: tuple[str, int], block: JsonObject) -> None:
        self._write_blocks(self._searches.flush())
        self._start_block(what, block)

    def _start_block(self, what: tuple[str, int], block: JsonObject) -> None:
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
        if self._started:
            self._write_blocks(self._searches.rest())
        if isinstance(event, Failed):
            self._send(encode_error_event(event.error))
            return
        answer = self._assembler.answer()
        ending: JsonObject = {
            "type": "message_delta",
            "delta": encode_ending(answer),
            "usage": encode_usage(answer.usage, self._searches.searches),
        }
        self._send(add_extension(ending, answer, EXTENDED))
        self._send({"type": "message_stop"})

    def _send(self, payload: JsonObject) -> None:
        self.send(str(payload["type"]), payload)
