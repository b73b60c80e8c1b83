"""Streams, both ways; here messages as events: blocks are opened, filled and closed, one after the other.

Citations come before the text of their block; results come whole in the opening; the fields of `usage` are
cumulative, and those told last hold. Nothing follows `message_stop` or `error`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from groundwire.dialects.anthropic_messages.documents import Document, Documents
from groundwire.dialects.anthropic_messages.encoder import Encoder
from groundwire.dialects.anthropic_messages.errors import FINISH_REASONS, decode_stream_error
from groundwire.dialects.anthropic_messages.pairs import SearchReader
from groundwire.dialects.anthropic_messages.parts import Listed
from groundwire.dialects.anthropic_messages.reading import Block, TextBlock, open_block
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.usage import decode_usage
from groundwire.dialects.base import DEFAULT_KEY, StreamDecoder
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.dialects.sse import Frame
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import (
    Citation,
    Cited,
    Evidence,
    Failed,
    Finished,
    Json,
    JsonObject,
    Source,
    Span,
    Started,
    TextDelta,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.text.spans import anchor_at, anchor_kind

__all__ = ["Decoder", "Encoder"]


class Decoder(StreamDecoder):
    """Reads a message, told by events or whole."""

    def __init__(
        self,
        key: bytes = DEFAULT_KEY,
        fault: type[WireError] = UpstreamWireError,
        documents: Iterable[Document] | Documents = (),
    ) -> None:
        """`documents` are those of the request."""
        super().__init__()
        self.key = key
        self.documents = documents if isinstance(documents, Documents) else Documents(documents)
        self.searches = SearchReader(self.emit)
        self._fault = fault
        self._blocks: dict[int, Block] = {}
        self._usage: JsonObject = {}
        self._finish: Finished | None = None
        self._uncut: list[tuple[int, int, Evidence, Span]] = []
        self._uncut_count = 0
        self._cited: set[str] = set()
        self._pages: list[Source] = []

    def on_frame(self, frame: Frame) -> None:
        document = load_json(frame.data, self._fault)
        if self._is_plain_text(document):
            return
        fields = Fields.of(document, self._fault)
        read = _EVENTS.get(fields.text("type"))
        if read is not None:
            read(self, fields)

    def on_end(self) -> None:
        self.searches.flush()
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
        self.searches.flush()
        for source in self._pages:
            if source.url not in self._cited:
                self.emit(Cited(Citation(None, (Evidence(source),))))
        self.emit(self._finish or Finished("other"))

    def cite(self, part: int, evidence: Evidence, span: Span | None) -> None:
        """A citation of the block that has just ended: it applies to the whole of it.

        One that we cut ourselves knows its own span, which may reach into blocks to come.
        """
        self._cited.add(evidence.source.url)
        if span is not None:
            self._uncut_count += 1
            heappush(self._uncut, (span.end, self._uncut_count, evidence, span))
            self._tell_whole_citations()
            return
        start = self.text_buffer.start(part)
        text = self.text_buffer.text(part)
        place = Span(start, start + len(text)) if text else None
        self.emit(Cited(Citation(place, (evidence,), anchor_kind(text))))

    def cite_page(self, page: Listed) -> None:
        """A page of a result of ours that the answer cites: as a whole, or in a text block. Some clients
        send text blocks back without their citations; then the page speaks for the answer as a whole."""
        source = replace(page.source, state="cited")
        if page.quotes:
            self.emit(Cited(Citation(None, tuple(Evidence(source, quote) for quote in page.quotes))))
        else:
            self._pages.append(source)

    def _tell_whole_citations(self) -> None:
        length = len(self.text_buffer)
        while self._uncut and self._uncut[0][0] <= length:
            *_, evidence, span = heappop(self._uncut)
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
