"""Decodes responses, streamed or whole, into events.

A stream is a list of items, each added, filled and done, and ends with the whole response. The type inside
the data decides; unknown types (`codex.*`, `response.debug`) are skipped, and so is the sentinel `[DONE]`
that OpenRouter sends. An error may arrive twice, as `error` and as `response.failed`; the first one ends the
stream.

The same item arrives up to three times: when it is added, when it is done, and in the completed response. The
item readers accept all of them and emit everything once, so that a stream, a stream with gaps and a whole
body give the same events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.event_queue import EventQueue
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import FormReader, dump_json, load_json
from groundwire.dialects.mistral_reader import EVENTS, ConversationReader, is_conversation
from groundwire.dialects.openai_responses.errors import FINISH_REASONS, decode_stream_error
from groundwire.dialects.openai_responses.history import (
    PHASES,
    AnnotationKey,
    UrlCitation,
    anchor_of,
    citations_from_links,
    citations_from_numbers,
    decode_annotation,
    decode_generated_image,
    is_misplaced,
    message_extras,
    reasoning_extras,
    reasoning_texts,
    resolve_annotation,
    resolve_early,
    text_extras,
)
from groundwire.dialects.openai_responses.search import (
    NAME,
    decode_fetch_call,
    decode_fetch_result,
    decode_listed_sources,
    decode_numbered_results,
    decode_search_item,
)
from groundwire.dialects.openai_responses.tools import ServerToolUse, call_extras
from groundwire.dialects.openai_responses.usage import decode_usage
from groundwire.dialects.sse import Frame
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
    Json,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCall,
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
    Warned,
)
from groundwire.model.parts import Phase
from groundwire.model.source import MAX_EVIDENCE
from groundwire.text.annotate import MarkerStripper
from groundwire.text.spans import LinkLocator

if TYPE_CHECKING:
    from groundwire.dialects.text_frames import ResponsesTextDelta


class Decoder(StreamDecoder):
    """Decodes a response, streamed or whole."""

    def __init__(self) -> None:
        super().__init__()
        self._readers: dict[int, ItemReader] = {}
        self._settler = CitationSettler(self.queue)
        self._tool_use = ServerToolUse()
        self._conversation = ConversationReader(self.queue, NAME)
        self._has_started = False

    def on_frame(self, frame: Frame) -> None:
        if frame.data == b"[DONE]" or self._read_text_delta(frame.data):
            return
        try:
            document = load_json(frame.data, UpstreamWireError)
            if self._is_plain_text(document):
                return
            fields = Fields.of(document, UpstreamWireError)
            read = _EVENTS.get(fields.text("type") or frame.event, Decoder._on_untyped)
            read(self, fields)
        except WireError:
            self._abandon()
            raise

    def on_end(self) -> None:
        self._abandon()

    def _read_text_delta(self, data: bytes) -> bool:
        """Read the bytes of a text delta of an open text part; returns whether they are one."""
        if data.find(_TEXT_DELTA_BYTES) < 0:
            return False
        event = _TEXT_DELTAS.read(data)
        reader = self._readers.get(event.output_index) if event is not None else None
        if event is None or type(reader) is not MessageItemReader:
            return False
        text = reader.texts.get(event.content_index)
        if text is None:
            return False
        text.feed(event.delta)
        return True

    def _is_plain_text(self, document: Json) -> bool:
        """Fast path for nine of ten frames: a text delta of an open text part."""
        if not isinstance(document, dict) or document.get("type") != _TEXT_DELTA:
            return False
        index, delta = document.get("output_index"), document.get("delta")
        reader = self._readers.get(index) if type(index) is int else None
        if type(reader) is not MessageItemReader or not isinstance(delta, str):
            return False
        number = document.get("content_index")
        text = reader.texts.get(number) if type(number) is int else None
        if text is None:
            return False
        text.feed(delta)
        return True

    def read_response(self, response: Fields) -> None:
        """Decode a whole response, any part of which may have been streamed before."""
        if is_conversation(response):
            self._conversation.read_body(response)
            return
        self._emit_started(response)
        items = list(response.objs("output"))
        self._tool_use.read_outputs(items)
        for reader, item in self._match_readers(items):
            reader.done(item)
        usage = decode_usage(response)
        if usage is not None:
            self.emit(UsageSeen(usage))
        if response.has("error") or response.has("detail") or response.text("status") == "failed":
            self._fail({key: response.get(key) for key in ("error", "detail")})
        else:
            # Our own responses list their citations explicitly, even if there are none.
            has_citations = "citations" in as_object(response.get(FIELD))
            self._settler.listed = decode_listed_sources(response)
            self._settler.finish(derive_citations=not has_citations)
            self.emit(self._finish(response))

    def _emit_started(self, response: Fields) -> None:
        self._tool_use.read_declared(response)
        if not self._has_started:
            self._has_started = True
            self.emit(Started(response.text("id"), response.text("model")))

    def _finish(self, response: Fields) -> Finished:
        status = response.text("status", "completed")
        if status == "incomplete":
            reason = response.obj("incomplete_details").text("reason")
            finish = FINISH_REASONS.get(reason, "other")
            return Finished(finish, "" if reason in ("max_output_tokens", "content_filter") else reason)
        if status not in ("completed", "requires_action"):
            return Finished("other", status)
        if any(self._is_pending_call(index, item) for index, item in self._readers.items()):
            return Finished("tool_calls")
        messages = (item for item in self._readers.values() if isinstance(item, MessageItemReader))
        return Finished("refused" if any(item.has_refused for item in messages) else "stop")

    def _is_pending_call(self, index: int, item: ItemReader) -> bool:
        """Whether the turn ended because the client has to run this call.

        If a message follows a call of one of the provider's own tools, the provider has run the tool itself.
        """
        if not item.waits_for_client or self._tool_use.is_answered(item.call_id):
            return False
        return item.kind == "function_call" or not any(
            other > index and isinstance(reader, MessageItemReader) for other, reader in self._readers.items()
        )

    def _fail(self, error: JsonObject) -> None:
        self._abandon()
        self.emit(Failed(decode_stream_error(error)))

    def _abandon(self) -> None:
        """Abandon the open items. Events emitted before an error stay valid, and so do their citations."""
        for item in self._readers.values():
            item.abandon()
        self._conversation.close()
        self._settler.finish(derive_citations=False)

    def _open_reader(self, index: int, item: Fields) -> ItemReader:
        self._emit_started(item.with_raw({}))
        provisional = next(
            (key for key in self._readers if key < 0 and self._readers[key].kind == item.text("type")), 0
        )
        if provisional:
            reader = self._readers[index] = self._readers.pop(provisional)
            return reader
        reader = self._readers[index] = open_item_reader(
            self.queue, item, self._settler, self._tool_use, len(self._readers)
        )
        return reader

    def _match_readers(self, items: list[Fields]) -> Iterator[tuple[ItemReader, Fields]]:
        """Match each item of a response to its reader: by id, else the next free reader of its type.

        Some servers use other ids in the final response than in the stream, and some omit items in either of
        them.
        """
        free = dict(self._readers)
        known = {reader.id: index for index, reader in free.items() if reader.id}
        by_id = [known.get(item.text("id")) for item in items]
        by_reader_index = {index: free.pop(index) for index in by_id if index in free}
        for index, item in zip(by_id, items, strict=True):
            if index is not None:
                yield by_reader_index[index], item
                continue
            spare = next((key for key in free if free[key].kind == item.text("type")), None)
            if spare is None:
                yield self._open_reader(max(self._readers, default=-1) + 1, item), item
            else:
                yield free.pop(spare), item

    def _output_index(self, event: Fields, kind: str) -> int:
        """Output index of an item; an event without one refers to the last item, or to a new one."""
        index = event.integer("output_index")
        if index is not None:
            return index
        last = max(self._readers, default=-1)
        return last if last >= 0 and self._readers[last].kind == kind else max(last, -1) + 1

    def _message_reader(self, event: Fields) -> MessageItemReader:
        """Reader of the message that an event refers to, opened if it was not announced."""
        index = self._output_index(event, "message")
        reader = self._readers.get(index)
        if not isinstance(reader, MessageItemReader):
            reader = MessageItemReader(self.queue, self._unannounced_item(event, "message"), self._settler)
            self._readers[index] = reader
        return reader

    def _reasoning_reader(self, event: Fields) -> ReasoningItemReader:
        index = self._output_index(event, "reasoning")
        reader = self._readers.get(index)
        if not isinstance(reader, ReasoningItemReader):
            reader = self._readers[index] = ReasoningItemReader(
                self.queue, self._unannounced_item(event, "reasoning")
            )
        return reader

    def _call_reader(self, event: Fields) -> CallItemReader:
        index = self._output_index(event, "function_call")
        reader = self._readers.get(index)
        if not isinstance(reader, CallItemReader):
            reader = self._readers[index] = CallItemReader(
                self.queue, self._unannounced_item(event, "function_call")
            )
        return reader

    def _unannounced_item(self, event: Fields, kind: str) -> Fields:
        item = event.with_raw({"type": kind, "id": event.get("item_id")})
        self._emit_started(event.with_raw({}))
        return item

    def _on_started(self, event: Fields) -> None:
        self._emit_started(event.obj("response"))

    def _on_item_added(self, event: Fields) -> None:
        index = event.integer("output_index")
        self._open_reader(max(self._readers, default=-1) + 1 if index is None else index, event.obj("item"))

    def _on_item_done(self, event: Fields) -> None:
        item = event.obj("item")
        self._tool_use.read_outputs((item,))
        index = self._output_index(event, item.text("type"))
        reader = self._readers.get(index)
        if reader is None or reader.kind != item.text("type"):
            reader = self._open_reader(index, item)
        reader.done(item)

    def _on_part_added(self, event: Fields) -> None:
        kind = event.obj("part").text("type")
        if kind in ("output_text", "refusal"):
            self._message_reader(event).text(event.integer("content_index") or 0, kind)

    def _on_part_done(self, event: Fields) -> None:
        part = event.obj("part")
        if part.text("type") in ("output_text", "refusal"):
            self._message_reader(event).part_done(event.integer("content_index") or 0, part)

    def _on_text_delta(self, event: Fields) -> None:
        self._message_reader(event).text(event.integer("content_index") or 0).feed(event.text("delta"))

    def _on_text_done(self, event: Fields) -> None:
        text = self._message_reader(event).text(event.integer("content_index") or 0)
        text.complete(event.text("text"))
        self._settler.emit_certain(text)

    def _on_annotation(self, event: Fields) -> None:
        if event.has("annotation"):
            text = self._message_reader(event).text(event.integer("content_index") or 0)
            self._settler.annotate(text, event.obj("annotation"))

    def _on_refusal_delta(self, event: Fields) -> None:
        text = self._message_reader(event).text(event.integer("content_index") or 0, "refusal")
        text.feed(event.text("delta"))

    def _on_refusal_done(self, event: Fields) -> None:
        text = self._message_reader(event).text(event.integer("content_index") or 0, "refusal")
        text.complete(event.text("refusal"))

    def _on_summary_delta(self, event: Fields) -> None:
        self._reasoning_reader(event).feed(
            "summary", event.integer("summary_index") or 0, event.text("delta")
        )

    def _on_reasoning_delta(self, event: Fields) -> None:
        self._reasoning_reader(event).feed(
            "content", event.integer("content_index") or 0, event.text("delta")
        )

    def _on_arguments_delta(self, event: Fields) -> None:
        self._call_reader(event).feed(event.text("delta"))

    def _on_arguments_done(self, event: Fields) -> None:
        self._call_reader(event).complete(event.text("arguments"))

    def _on_thought(self, event: Fields) -> None:
        """Read Perplexity's thoughts, which it sends outside the list of items, like its searches."""
        self._emit_started(event.with_raw({}))
        if event.text("thought"):
            self.emit(ReasoningDelta(self.next_part(), event.text("thought")))

    def _on_search_queries(self, event: Fields) -> None:
        self._on_thought(event)
        item = event.with_raw({"type": "search_results", "queries": event.get("queries")})
        reader = self._extra_item(item, unqueried=True)
        if isinstance(reader, SearchItemReader):
            reader.announce(item)

    def _on_search_results(self, event: Fields) -> None:
        self._on_thought(event)
        item = event.with_raw({"type": "search_results", "results": event.get("results")})
        self._extra_item(item).done(item)

    def _on_fetch_queries(self, event: Fields) -> None:
        self._on_thought(event)
        reader = self._extra_item(event.with_raw({"type": "fetch_url_results"}), unqueried=True)
        if isinstance(reader, FetchItemReader):
            reader.announce(event.texts("urls"))

    def _on_fetch_results(self, event: Fields) -> None:
        self._on_thought(event)
        item = event.with_raw({"type": "fetch_url_results", "contents": event.get("contents")})
        self._extra_item(item).done(item)

    def _extra_item(self, item: Fields, *, unqueried: bool = False) -> ItemReader:
        """The first open item of a type (with `unqueried` one without queries), or a new one.

        A new one gets a negative index until the item of its type arrives in the output.
        """
        kind = item.text("type")
        for reader in self._readers.values():
            if reader.kind == kind and not reader.is_done and not (unqueried and reader.is_called):
                return reader
        index = min(0, *self._readers) - 1 if self._readers else -1
        reader = self._readers[index] = open_item_reader(
            self.queue, item, self._settler, self._tool_use, len(self._readers)
        )
        return reader

    def _on_finished(self, event: Fields) -> None:
        response = event.obj("response")
        status = _STATUS_BY_EVENT.get(event.text("type"), "completed")
        body = {**response.raw, "status": response.get("status") or status}
        if event.has("error"):
            body["error"] = event.get("error")
        self.read_response(response.with_raw(body))

    def _on_error(self, event: Fields) -> None:
        self._fail(event.raw)

    def _on_conversation(self, event: Fields) -> None:
        self._conversation.read(event)

    def _on_untyped(self, event: Fields) -> None:
        """Read a body instead of a stream: a response, or an error that came with status 200."""
        if event.has("type"):
            return
        is_response = event.get("object") == "response" or is_conversation(event)
        if is_response or event.has("error") or event.has("detail"):
            self.read_response(event)


_TEXT_DELTA = "response.output_text.delta"
_TEXT_DELTA_BYTES = b'"response.output_text.delta"'


def _load_form() -> type[ResponsesTextDelta]:
    from groundwire.dialects.text_frames import ResponsesTextDelta  # noqa: PLC0415  it needs msgspec

    return ResponsesTextDelta


_TEXT_DELTAS = FormReader(_load_form)
_STATUS_BY_EVENT = {
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
    "response.failed": "failed",
}
_EVENTS: dict[str, Callable[[Decoder, Fields], None]] = {
    "response.created": Decoder._on_started,
    "response.queued": Decoder._on_started,
    "response.in_progress": Decoder._on_started,
    "response.output_item.added": Decoder._on_item_added,
    "response.output_item.done": Decoder._on_item_done,
    "response.content_part.added": Decoder._on_part_added,
    "response.content_part.done": Decoder._on_part_done,
    _TEXT_DELTA: Decoder._on_text_delta,
    "response.output_text.done": Decoder._on_text_done,
    "response.output_text.annotation.added": Decoder._on_annotation,
    "response.refusal.delta": Decoder._on_refusal_delta,
    "response.refusal.done": Decoder._on_refusal_done,
    "response.reasoning_summary_text.delta": Decoder._on_summary_delta,
    "response.reasoning_text.delta": Decoder._on_reasoning_delta,
    "response.function_call_arguments.delta": Decoder._on_arguments_delta,
    "response.function_call_arguments.done": Decoder._on_arguments_done,
    "response.reasoning.started": Decoder._on_thought,
    "response.reasoning.search_queries": Decoder._on_search_queries,
    "response.reasoning.search_results": Decoder._on_search_results,
    "response.reasoning.fetch_url_queries": Decoder._on_fetch_queries,
    "response.reasoning.fetch_url_results": Decoder._on_fetch_results,
    "response.reasoning.stopped": Decoder._on_thought,
    "response.completed": Decoder._on_finished,
    "response.done": Decoder._on_finished,
    "response.incomplete": Decoder._on_finished,
    "response.cancelled": Decoder._on_finished,
    "response.failed": Decoder._on_finished,
    "error": Decoder._on_error,
    **dict.fromkeys(EVENTS, Decoder._on_conversation),
}


class ItemReader(ABC):
    """Reads one item of the output."""

    waits_for_client = False
    """Whether it is a call that the client has to run."""

    def __init__(self, queue: EventQueue, item: Fields) -> None:
        self.queue = queue
        self.kind = item.text("type")
        self.id = item.text("id")
        self.call_id = item.text("call_id")
        self.is_called = False
        self.is_done = False

    @abstractmethod
    def done(self, item: Fields) -> None:
        """Read the complete item, which may arrive repeatedly."""

    def abandon(self) -> None:
        """The response ended before the item was done."""


class MessageItemReader(ItemReader):
    """Reads an assistant message."""

    def __init__(self, queue: EventQueue, item: Fields, settler: CitationSettler) -> None:
        super().__init__(queue, item)
        self._settler = settler
        self.texts: dict[int, TextPartReader] = {}
        self._kept_parts: set[int] = set()
        self._phase = PHASES.get(item.text("phase"), "")
        self.has_refused = False

    def text(self, index: int, kind: str = "output_text") -> TextPartReader:
        """Text part at an index, opened if it is new."""
        text = self.texts.get(index)
        if text is None:
            phase: Phase = "refusal" if kind == "refusal" else self._phase
            text = self.texts[index] = self._settler.open(self.id, phase)
            self.has_refused = self.has_refused or kind == "refusal"
        return text

    def part_done(self, index: int, part: Fields) -> None:
        """Read a complete content part."""
        kind = part.text("type")
        if kind != "refusal" and not isinstance(part.get("text"), str):
            self._keep_part(index, part)
            return
        text = self.text(index, kind)
        text.complete(part.text("refusal" if kind == "refusal" else "text"))
        if part.get("annotations") != text.annotations:
            for annotation in part.objs("annotations"):
                self._settler.annotate(text, annotation)
        text.emit_extras(part)
        text.is_done = True
        self._settler.advance()

    def done(self, item: Fields) -> None:
        phase = PHASES.get(item.text("phase"), "")
        for index, part in enumerate(item.objs("content")):
            self.part_done(index, part)
        extras = message_extras(item)
        for text in self.texts.values():
            text.set_phase(phase)
            text.emit_message_extras(extras)
            text.complete()
            text.is_done = True
        self.is_done = True
        self._settler.advance()

    def _keep_part(self, index: int, part: Fields) -> None:
        """Keep a content part without text as a separate part that can be written back."""
        if part.text("type") and index not in self._kept_parts:
            self._kept_parts.add(index)
            message: JsonObject = {"type": "message", "role": "assistant", "content": [part.raw]}
            self.queue.emit(PartAdded(self.queue.next_part(), Opaque(NAME, message)))


class ReasoningItemReader(ItemReader):
    """Reads a reasoning item: summaries, content, or neither."""

    def __init__(self, queue: EventQueue, item: Fields) -> None:
        super().__init__(queue, item)
        self._part = queue.next_part()
        self._emitted: set[tuple[str, int]] = set()
        if self.id:
            queue.emit(ExtrasSeen(self._part, {NAME: {"id": self.id}}))

    def feed(self, kind: str, index: int, text: str) -> None:
        """Emit more of one of its texts; the texts are separated by an empty line."""
        if not text:
            return
        if self._emitted and (kind, index) not in self._emitted:
            text = "\n\n" + text
        self._emitted.add((kind, index))
        self.queue.emit(ReasoningDelta(self._part, text))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        for kind, index, text in reasoning_texts(item):
            if (kind, index) not in self._emitted:
                self.feed(kind, index, text)
        if not self._emitted:
            self.queue.emit(ReasoningDelta(self._part, ""))
        self.queue.emit(ExtrasSeen(self._part, reasoning_extras(item)))


class CallItemReader(ItemReader):
    """Reads a function call of the client.

    Perplexity announces calls of its own tools as functions too. They are complete when added, are never
    done, and are missing in the response. So a call that is complete when added is emitted when it is done.
    """

    def __init__(self, queue: EventQueue, item: Fields) -> None:
        super().__init__(queue, item)
        self._part = queue.next_part()
        self._length = 0
        self._has_name = False
        self.waits_for_client = not (item.text("status") == "completed" and item.has("arguments"))
        if self.waits_for_client:
            self._emit_start(item)

    def feed(self, arguments: str) -> None:
        """Emit more of the arguments."""
        if arguments:
            self._length += len(arguments)
            self.queue.emit(ToolCallDelta(self._part, arguments=arguments))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        if not self.waits_for_client:
            self.waits_for_client = True
            self._emit_start(item)
        self._emit_name(item)
        self.complete(item.text("arguments"))
        self.queue.emit(ExtrasSeen(self._part, call_extras(item)))

    def _emit_start(self, item: Fields) -> None:
        if self.id:
            self.queue.emit(ExtrasSeen(self._part, {NAME: {"id": self.id}}))
        self._emit_name(item)

    def _emit_name(self, item: Fields) -> None:
        if not self._has_name and item.has("name"):
            self._has_name = True
            call_id = item.text("call_id") or item.text("id")
            self.queue.emit(ToolCallDelta(self._part, call_id, item.text("name")))

    def complete(self, arguments: str) -> None:
        """Emit the rest of the arguments that the deltas omitted."""
        self.feed(arguments[self._length :])


class SearchItemReader(ItemReader):
    """Reads a search, an opened page, or a search within a page; which one it is shows only at the end."""

    def __init__(self, queue: EventQueue, item: Fields, number: int, settler: CitationSettler) -> None:
        super().__init__(queue, item)
        self._settler = settler
        self._call_id = self.id or f"search_{number}"
        self._part = queue.next_part()
        self._result_part = queue.next_part()
        self._added = item
        if not item.obj(FIELD).flag("uncalled"):
            queue.emit(SearchStarted(self._part, self._call_id))

    def announce(self, item: Fields) -> None:
        """Emit the queries if they arrive before the item is done."""
        call, _ = decode_search_item(item, self._call_id)
        self._emit_call(call)

    def _emit_call(self, call: SearchCall | None) -> None:
        if call is not None and not self.is_called:
            self.is_called = True
            self.queue.emit(SearchCalled(self._part, call))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        call, result = decode_search_item(item, self._call_id)
        self._emit_call(call)
        self._settler.numbered.update(decode_numbered_results(item))
        if result is not None:
            self.queue.emit(SearchReturned(self._result_part, result))

    def abandon(self) -> None:
        call, _ = decode_search_item(self._added, self._call_id)
        if not self.is_done and call is not None and (call.queries or call.url):
            self.is_done = True
            self._emit_call(call)


class FetchItemReader(ItemReader):
    """Reads Perplexity's opened pages: one item for all of them, but a call for each page here."""

    def __init__(self, queue: EventQueue, item: Fields, number: int) -> None:
        super().__init__(queue, item)
        self._prefix = self.id or f"fetch_{number}"
        self._calls: dict[str, str] = {}

    def announce(self, urls: Iterable[str]) -> None:
        """Emit the calls for URLs, which may arrive repeatedly."""
        self.is_called = True
        for url in urls:
            if url not in self._calls:
                call_id = self._calls[url] = f"{self._prefix}_{len(self._calls)}"
                call = decode_fetch_call(url, call_id)
                self.queue.emit(SearchStarted(part := self.queue.next_part(), call_id))
                self.queue.emit(SearchCalled(part, call))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        contents = list(item.objs("contents"))
        self.announce(content.text("url") for content in contents)
        for content in contents:
            result = decode_fetch_result(content, self._calls[content.text("url")])
            self.queue.emit(SearchReturned(self.queue.next_part(), result))


class OpaqueItemReader(ItemReader):
    """Reads an image, or an item that is specific to this dialect."""

    def __init__(self, queue: EventQueue, item: Fields) -> None:
        super().__init__(queue, item)
        self._part = queue.next_part()

    def done(self, item: Fields) -> None:
        if self.is_done or not self.kind:
            return
        self.is_done = True
        is_image = self.kind == "image_generation_call" and bool(item.text("result"))
        self.queue.emit(
            PartAdded(self._part, decode_generated_image(item) if is_image else Opaque(NAME, item.raw))
        )


def open_item_reader(
    queue: EventQueue, item: Fields, settler: CitationSettler, tools: ServerToolUse, number: int
) -> ItemReader:
    """Create the reader for an item."""
    kind = item.text("type")
    if kind == "message":
        return MessageItemReader(queue, item, settler)
    if kind == "reasoning":
        return ReasoningItemReader(queue, item)
    if kind == "fetch_url_results":
        settler.has_searched = True
        return FetchItemReader(queue, item, number)
    if tools.is_search(item):
        settler.has_searched = True
        return SearchItemReader(queue, item, number, settler)
    waits = tools.is_client_call(item)
    if kind == "function_call" and waits:
        return CallItemReader(queue, item)
    reader = OpaqueItemReader(queue, item)
    reader.waits_for_client = waits
    return reader


class _PendingAnnotations:
    """Annotations that wait for text, ordered by the amount of text they need.

    Each is checked again when that text has arrived, not with every delta and every other annotation.
    """

    __slots__ = ("_by_end", "_by_whole_end", "_count", "_new", "_until_complete")

    def __init__(self) -> None:
        self._count = 0
        self._new: list[UrlCitation] = []
        self._by_end: list[tuple[int, int, UrlCitation]] = []
        self._by_whole_end: list[tuple[int, int, UrlCitation]] = []
        self._until_complete: list[UrlCitation] = []

    def __bool__(self) -> bool:
        return bool(self._new or self._by_end or self._by_whole_end or self._until_complete)

    def add(self, annotation: UrlCitation) -> None:
        self._new.append(annotation)

    def hold(self, annotation: UrlCitation, end: int | None) -> None:
        """Hold an annotation until the part reaches `end`, or without `end` until the part is complete."""
        if end is None:
            self._until_complete.append(annotation)
        else:
            self._count += 1
            heappush(self._by_end, (end, self._count, annotation))

    def hold_for_answer(self, annotation: UrlCitation, end: int) -> None:
        """Hold an annotation until the whole answer reaches `end`."""
        self._count += 1
        heappush(self._by_whole_end, (end, self._count, annotation))

    def take_due(self, has_arrived: Callable[[int], bool], total: int) -> list[UrlCitation]:
        due, self._new = self._new, []
        while self._by_end and has_arrived(self._by_end[0][0]):
            due.append(heappop(self._by_end)[-1])
        while self._by_whole_end and self._by_whole_end[0][0] <= total:
            due.append(heappop(self._by_whole_end)[-1])
        return due

    def take_complete(self, total: int) -> list[UrlCitation]:
        """Take all annotations of a complete part, except those that wait for other parts."""
        due, self._until_complete = self._until_complete, []
        return [*self.take_due(lambda _: True, total), *due]

    def take_all(self) -> list[UrlCitation]:
        remaining, self._by_whole_end = sorted(self._by_whole_end), []
        return [*self.take_complete(0), *(entry[-1] for entry in remaining)]


class TextPartReader:
    """Reads one text part of a message and resolves its annotations.

    Annotations arrive after or before their text, and every `done` event repeats them. A citation is emitted
    once, as soon as its span is certain: immediately if the text is there and confirms it, else when the part
    is complete.
    """

    __slots__ = (
        "_is_described",
        "_kept_keys",
        "_links",
        "_message_extras",
        "_other_annotations",
        "_pending",
        "_queue",
        "_stripper",
        "annotations",
        "is_complete",
        "is_done",
        "is_last",
        "is_settled",
        "length",
        "part",
        "phase",
        "seen",
        "start",
    )

    def __init__(self, queue: EventQueue, item_id: str, phase: Phase) -> None:
        self._queue = queue
        self._message_extras: Extras = {NAME: {"id": item_id}} if item_id else NO_EXTRAS
        self._stripper = MarkerStripper(private_only=True)
        self._other_annotations: list[Json] = []
        self._kept_keys: set[str] = set()
        self._links: LinkLocator | None = None
        self._is_described = False
        self.part = queue.next_part()
        self.phase = phase
        self.length = 0
        self.start = 0
        self.is_complete = False
        self.is_done = False
        self.is_last = False
        self.is_settled = False
        self.annotations: list[Json] = []
        """The annotations as they arrived: `done` events repeat them."""
        self.seen: set[AnnotationKey] = set()
        self._pending = _PendingAnnotations()

    def feed(self, delta: str) -> None:
        """Add a text delta."""
        if self.is_complete:
            return
        text = self._stripper.feed(delta)
        if text and self.length and not self.phase:
            self.length += len(text)
            self._queue.emit_text(self.part, text)
        else:
            self._emit_text(text)

    def complete(self, whole: str | None = None) -> None:
        """End the text; `whole` is the complete text if the event repeats it."""
        if self.is_complete:
            return
        rest = self._stripper.close()
        if whole is not None:
            # Text that the deltas omitted is emitted now; emitted text cannot be withdrawn.
            stripper = MarkerStripper(private_only=True)
            text = stripper.feed(whole) + stripper.close()
            emitted = self.text
            if text.startswith(emitted):
                rest, self._stripper = text[len(emitted) :], stripper
        self._emit_text(rest)
        self.is_complete = True

    def emit_extras(self, part: Fields) -> None:
        """Emit the other fields of the text part."""
        if self._is_described:
            return
        self._is_described = True
        extras = text_extras(part, self._other_annotations)
        if extras and not self.length:
            self._queue.emit(TextDelta(self.part, "", self.phase))
        if extras:
            self._queue.emit(ExtrasSeen(self.part, extras))

    def emit_message_extras(self, extras: Extras) -> None:
        """Emit the other fields of the message, unless the text is empty."""
        if self.length and extras != self._message_extras:
            self._message_extras = extras
            self._queue.emit(ExtrasSeen(self.part, extras))

    def keep_annotation(self, annotation: Fields) -> bool:
        """Keep an annotation that is not a web citation; returns whether it is new."""
        key = dump_json(annotation.raw)
        if key in self._kept_keys:
            return False
        self._kept_keys.add(key)
        self._other_annotations.append(annotation.raw)
        return True

    def set_phase(self, phase: Phase) -> None:
        """Set the phase, which some servers send only at the end of the message."""
        if phase and not self.phase:
            self.phase = phase
            if self.length:
                self._queue.emit(TextDelta(self.part, "", phase))

    @property
    def text(self) -> str:
        """The text so far."""
        return self._queue.text_buffer.text(self.part)

    @property
    def is_waiting(self) -> bool:
        """Whether there are annotations whose span is not certain yet."""
        return bool(self._pending)

    def add_annotation(self, annotation: UrlCitation) -> None:
        """Add an annotation."""
        self._pending.add(annotation)

    def take_certain(self) -> list[Citation]:
        """Take the citations whose span is certain by now, with offsets in the part."""
        text = self.text
        total = len(self._queue.text_buffer)
        found: list[Citation] = []
        for annotation in self._due(len(text), total):
            if len(found) >= MAX_EVIDENCE:
                break  # no more are kept, and a URL may be linked thousands of times
            whole_span = self._whole_span(annotation)
            if whole_span is not None and whole_span.end > total:
                self._pending.hold_for_answer(annotation, whole_span.end)
            elif whole_span is not None:
                span = Span(whole_span.start - self.start, whole_span.end - self.start)
                found.append(Citation(span, (annotation.evidence,), anchor_of(annotation, "")))
            elif self.is_complete:
                found += self._resolve(annotation, text)
            elif (citation := resolve_early(annotation, text, self._stripper.map_offset)) is not None:
                found.append(citation)
            else:
                is_ahead = self._stripper.map_offset(annotation.end) > len(text)
                self._pending.hold(annotation, annotation.end if is_ahead else None)
        return found

    def _due(self, length: int, total: int) -> list[UrlCitation]:
        if self.is_last:
            return self._pending.take_all()
        if self.is_complete:
            return self._pending.take_complete(total)
        return self._pending.take_due(lambda end: self._stripper.map_offset(end) <= length, total)

    def _whole_span(self, annotation: UrlCitation) -> Span | None:
        """Span of which the annotation is a slice, if it fits; truncated to the text if that was cut off."""
        span = annotation.whole_span
        if span is None or max(span.start, self.start) != self.start + annotation.start:
            return None
        if self.is_last:
            span = Span(span.start, min(span.end, len(self._queue.text_buffer)))
        return span if 0 <= span.start < span.end else None

    def _resolve(self, annotation: UrlCitation, text: str) -> list[Citation]:
        if self._links is None:
            self._links = LinkLocator(text)
        citations = resolve_annotation(annotation, text, self._stripper.map_offset, self._links)
        if is_misplaced(annotation, citations[0]):
            message = f"The cited span for {annotation.url} is not in the text."
            self._queue.emit(Warned("citation_unplaced", message))
        return citations

    def _emit_text(self, text: str) -> None:
        if not text:
            return
        if not self.length and self._message_extras:
            # An encoder needs the id of the message before its first text.
            self._queue.emit(ExtrasSeen(self.part, self._message_extras))
        self.length += len(text)
        self._queue.emit(TextDelta(self.part, text, self.phase))


class CitationSettler:
    """Text parts of an answer in order; settles them and emits their citations.

    Parts settle in order, so that the offset of each in the whole answer is known.

    The Codex backend searches and links its sources without any annotation. If an answer has a search and no
    annotation at all, its links are its citations; until that is certain, a part with links is not settled.
    """

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._texts: list[TextPartReader] = []
        self._settled_count = 0
        self._offset = 0
        self._is_annotated = False
        self._slices: set[tuple[int, int, str, str]] = set()
        self._warned_files: set[str] = set()
        self.has_searched = False
        self.numbered: dict[str, Source] = {}
        self.listed: tuple[Source, ...] = ()
        """Sources that the response lists next to its output."""

    def open(self, item_id: str, phase: Phase) -> TextPartReader:
        """Open a new text part."""
        text = TextPartReader(self._queue, item_id, phase)
        self._texts.append(text)
        return text

    def annotate(self, text: TextPartReader, fields: Fields) -> None:
        """Add an annotation, which may be a repetition."""
        text.annotations.append(fields.raw)
        annotation = decode_annotation(fields)
        if annotation is None:
            if text.keep_annotation(fields):
                self._warn_of_file(fields)
            return
        if annotation.key in text.seen:
            return
        text.seen.add(annotation.key)
        if annotation.whole_span is not None:
            # Only the first slice of a citation counts.
            slice_key = (*annotation.whole_span, annotation.url, annotation.evidence.quote)
            if slice_key in self._slices:
                return
            self._slices.add(slice_key)
        text.add_annotation(annotation)
        if not self._is_annotated:
            self._is_annotated = True
            self.advance()
        self.emit_certain(text)

    def _warn_of_file(self, annotation: Fields) -> None:
        names = (annotation.get(key) for key in ("filename", "title", "file_id"))
        name = next((name for name in names if isinstance(name, str) and name), annotation.text("type"))
        if name not in self._warned_files:
            self._warned_files.add(name)
            message = f"The answer refers to {name}. Only clients of the Responses API can show it."
            self._queue.emit(Warned("file_citation", message))

    def emit_certain(self, text: TextPartReader) -> None:
        """Emit the certain citations of a part, if the offset of the part is certain."""
        if not text.is_waiting:
            return
        if not text.is_settled:
            if text is not self._texts[self._settled_count]:
                return
            text.start = self._offset
        self._emit_citations(text, text.take_certain())

    def advance(self) -> None:
        """Settle the parts that are done, up to the first open one."""
        while self._settled_count < len(self._texts):
            text = self._texts[self._settled_count]
            self.emit_certain(text)
            if not text.is_done or text.is_waiting or self._may_have_link_citations(text):
                return
            self._settle(text)

    def finish(self, *, derive_citations: bool) -> None:
        """All text has arrived: settle everything."""
        for text in self._texts:
            text.complete()
            text.is_done = text.is_last = True
        has_no_annotations = not self._is_annotated
        derives = derive_citations and has_no_annotations and self.has_searched
        self._is_annotated = True
        start = found = 0
        for text in self._texts if derives else ():
            text.start = start
            if text.phase != "refusal":
                citations = [
                    *citations_from_links(text.text),
                    *citations_from_numbers(text.text, self.numbered),
                ]
                self._emit_citations(text, citations)
                found += len(citations)
            start += text.length
        if derive_citations and has_no_annotations and not found:
            for source in self.listed:
                evidence = Evidence(source, extras={NAME: {"derived": True}})
                self._queue.emit(Cited(Citation(None, (evidence,))))
        self.advance()

    def _may_have_link_citations(self, text: TextPartReader) -> bool:
        if not self.has_searched or self._is_annotated:
            return False
        return "](http" in text.text or (bool(self.numbered) and "[" in text.text)

    def _settle(self, text: TextPartReader) -> None:
        text.is_settled = True
        text.start = self._offset
        self._offset += text.length
        self._settled_count += 1
        if text.length:
            self._queue.emit(TextSettled(text.part))

    def _emit_citations(self, text: TextPartReader, citations: list[Citation]) -> None:
        for citation in citations:
            span = citation.span
            if span is not None:
                span = Span(text.start + span.start, text.start + span.end)
            self._queue.emit(Cited(Citation(span, citation.evidence, citation.anchor)))
