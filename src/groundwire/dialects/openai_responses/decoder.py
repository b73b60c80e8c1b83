"""A response read event by event.

A stream tells a list of items, each added, filled and done, and closes with the whole response. The type
inside the data is what counts; unknown types (`codex.*`, `response.debug`) are passed over, and so is the
sentinel `[DONE]` that OpenRouter sends. An error may be told twice, by `error` and by `response.failed`; the
first one is the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import load_json
from groundwire.dialects.openai_responses.conversations import (
    EVENTS,
    Conversation,
    events_of,
    is_conversation,
)
from groundwire.dialects.openai_responses.errors import INCOMPLETE, decode_stream_error
from groundwire.dialects.openai_responses.reading import (
    CallReader,
    FetchReader,
    ItemReader,
    MessageReader,
    ReasoningReader,
    SearchReader,
    open_item,
)
from groundwire.dialects.openai_responses.server_tools import ToolUse
from groundwire.dialects.openai_responses.settling import Settling
from groundwire.dialects.openai_responses.usage import decode_usage
from groundwire.dialects.sse import Frame
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import Failed, Finished, JsonObject, ReasoningDelta, Started, UsageSeen


class Decoder(StreamDecoder):
    """Reads a response, told by events or whole."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, ItemReader] = {}
        self._settling = Settling(self)
        self._tools = ToolUse()
        self._conversation = Conversation()
        self._is_started = False

    def on_frame(self, frame: Frame) -> None:
        if frame.data == b"[DONE]":
            return
        try:
            fields = Fields.of(load_json(frame.data, UpstreamWireError), UpstreamWireError)
            read = _EVENTS.get(fields.text("type") or frame.event, Decoder._on_unnamed)
            read(self, fields)
        except WireError:
            self._break_off()
            raise

    def on_end(self) -> None:
        self._break_off()

    def whole(self, response: Fields) -> None:
        """A response in full, whatever of it has been told before."""
        if is_conversation(response):
            for event in events_of(response):
                self._on_conversation(response.with_raw(event))
            return
        self._start(response)
        items = list(response.objs("output"))
        self._tools.read_outputs(items)
        for reader, item in self._match(items):
            reader.done(item)
        usage = decode_usage(response)
        if usage is not None:
            self.emit(UsageSeen(usage))
        if response.has("error") or response.has("detail") or response.text("status") == "failed":
            self._fail({key: response.get(key) for key in ("error", "detail")})
        else:
            # An answer of ours that was searched for and cites nothing says so itself.
            says_itself = "citations" in as_object(response.get(FIELD))
            self._settling.finish(derive_citations=not says_itself)
            self.emit(self._finish(response))

    def _start(self, response: Fields) -> None:
        self._tools.read_declared(response)
        if not self._is_started:
            self._is_started = True
            self.emit(Started(response.text("id"), response.text("model")))

    def _finish(self, response: Fields) -> Finished:
        status = response.text("status", "completed")
        if status == "incomplete":
            reason = response.obj("incomplete_details").text("reason")
            finish = INCOMPLETE.get(reason, "other")
            return Finished(finish, "" if reason in ("max_output_tokens", "content_filter") else reason)
        if status not in ("completed", "requires_action"):
            return Finished("other", status)
        if any(self._is_waiting(index, item) for index, item in self._items.items()):
            return Finished("tool_calls")
        messages = (item for item in self._items.values() if isinstance(item, MessageReader))
        return Finished("refused" if any(item.has_refused for item in messages) else "stop")

    def _is_waiting(self, index: int, item: ItemReader) -> bool:
        """Is the turn over because the client has to run this call?

        A provider that answered after a tool call of its own kind has run the tool itself.
        """
        if not item.waits_for_client or self._tools.is_answered(item.call_id):
            return False
        return item.kind == "function_call" or not any(
            other > index and isinstance(reader, MessageReader) for other, reader in self._items.items()
        )

    def _fail(self, error: JsonObject) -> None:
        self._break_off()
        self.emit(Failed(decode_stream_error(error)))

    def _break_off(self) -> None:
        """What has been told before an error stands, and so do its citations."""
        for item in self._items.values():
            item.abandon()
        self._settling.finish(derive_citations=False)

    def _open(self, index: int, item: Fields) -> ItemReader:
        self._start(item.with_raw({}))
        told = next((key for key in self._items if key < 0 and self._items[key].kind == item.text("type")), 0)
        if told:
            reader = self._items[index] = self._items.pop(told)
            return reader
        reader = self._items[index] = open_item(self, item, self._settling, self._tools, len(self._items))
        return reader

    def _match(self, items: list[Fields]) -> Iterator[tuple[ItemReader, Fields]]:
        """Each item of a response with its reader: the one of its id, else the next free one of its kind.

        Some servers give other ids at the end than on the way, some leave items out of either telling.
        """
        free = dict(self._items)
        known = {reader.id: index for index, reader in free.items() if reader.id}
        by_id = [known.get(item.text("id")) for item in items]
        named = {index: free.pop(index) for index in by_id if index in free}
        for index, item in zip(by_id, items, strict=True):
            if index is not None:
                yield named[index], item
                continue
            spare = next((key for key in free if free[key].kind == item.text("type")), None)
            if spare is None:
                yield self._open(max(self._items, default=-1) + 1, item), item
            else:
                yield free.pop(spare), item

    def _index(self, event: Fields, kind: str) -> int:
        """The place of an item; an event that does not say it is about the last item, or a new one."""
        index = event.integer("output_index")
        if index is not None:
            return index
        last = max(self._items, default=-1)
        return last if last >= 0 and self._items[last].kind == kind else max(last, -1) + 1

    def _message(self, event: Fields) -> MessageReader:
        """The message an event is for, begun if nobody announced it."""
        index = self._index(event, "message")
        reader = self._items.get(index)
        if not isinstance(reader, MessageReader):
            reader = MessageReader(self, self._unannounced(event, "message"), self._settling)
            self._items[index] = reader
        return reader

    def _reasoning(self, event: Fields) -> ReasoningReader:
        index = self._index(event, "reasoning")
        reader = self._items.get(index)
        if not isinstance(reader, ReasoningReader):
            reader = self._items[index] = ReasoningReader(self, self._unannounced(event, "reasoning"))
        return reader

    def _call(self, event: Fields) -> CallReader:
        index = self._index(event, "function_call")
        reader = self._items.get(index)
        if not isinstance(reader, CallReader):
            reader = self._items[index] = CallReader(self, self._unannounced(event, "function_call"))
        return reader

    def _unannounced(self, event: Fields, kind: str) -> Fields:
        item = event.with_raw({"type": kind, "id": event.get("item_id")})
        self._start(event.with_raw({}))
        return item

    def _on_begun(self, event: Fields) -> None:
        self._start(event.obj("response"))

    def _on_item_added(self, event: Fields) -> None:
        index = event.integer("output_index")
        self._open(max(self._items, default=-1) + 1 if index is None else index, event.obj("item"))

    def _on_item_done(self, event: Fields) -> None:
        item = event.obj("item")
        self._tools.read_outputs((item,))
        index = self._index(event, item.text("type"))
        reader = self._items.get(index)
        if reader is None or reader.kind != item.text("type"):
            reader = self._open(index, item)
        reader.done(item)

    def _on_part_added(self, event: Fields) -> None:
        kind = event.obj("part").text("type")
        if kind in ("output_text", "refusal"):
            self._message(event).text(event.integer("content_index") or 0, kind)

    def _on_part_done(self, event: Fields) -> None:
        part = event.obj("part")
        if part.text("type") in ("output_text", "refusal"):
            self._message(event).part_done(event.integer("content_index") or 0, part)

    def _on_text_delta(self, event: Fields) -> None:
        self._message(event).text(event.integer("content_index") or 0).feed(event.text("delta"))

    def _on_text_done(self, event: Fields) -> None:
        text = self._message(event).text(event.integer("content_index") or 0)
        text.complete(event.text("text"))
        self._settling.tell(text)

    def _on_annotation(self, event: Fields) -> None:
        if event.has("annotation"):
            text = self._message(event).text(event.integer("content_index") or 0)
            self._settling.annotate(text, event.obj("annotation"))

    def _on_refusal_delta(self, event: Fields) -> None:
        text = self._message(event).text(event.integer("content_index") or 0, "refusal")
        text.feed(event.text("delta"))

    def _on_refusal_done(self, event: Fields) -> None:
        text = self._message(event).text(event.integer("content_index") or 0, "refusal")
        text.complete(event.text("refusal"))

    def _on_summary_delta(self, event: Fields) -> None:
        self._reasoning(event).feed("summary", event.integer("summary_index") or 0, event.text("delta"))

    def _on_reasoning_delta(self, event: Fields) -> None:
        self._reasoning(event).feed("content", event.integer("content_index") or 0, event.text("delta"))

    def _on_arguments_delta(self, event: Fields) -> None:
        self._call(event).feed(event.text("delta"))

    def _on_arguments_done(self, event: Fields) -> None:
        self._call(event).complete(event.text("arguments"))

    def _on_thought(self, event: Fields) -> None:
        """Perplexity tells its thoughts, and what it searches for, beside the list of items."""
        self._start(event.with_raw({}))
        if event.text("thought"):
            self.emit(ReasoningDelta(self.next_part(), event.text("thought")))

    def _on_search_queries(self, event: Fields) -> None:
        self._on_thought(event)
        item = event.with_raw({"type": "search_results", "queries": event.get("queries")})
        reader = self._told_beside(item, new=True)
        if isinstance(reader, SearchReader):
            reader.announce(item)

    def _on_search_results(self, event: Fields) -> None:
        self._on_thought(event)
        item = event.with_raw({"type": "search_results", "results": event.get("results")})
        self._told_beside(item).done(item)

    def _on_fetch_queries(self, event: Fields) -> None:
        self._on_thought(event)
        reader = self._told_beside(event.with_raw({"type": "fetch_url_results"}), new=True)
        if isinstance(reader, FetchReader):
            reader.announce(event.texts("urls"))

    def _on_fetch_results(self, event: Fields) -> None:
        self._on_thought(event)
        item = event.with_raw({"type": "fetch_url_results", "contents": event.get("contents")})
        self._told_beside(item).done(item)

    def _told_beside(self, item: Fields, *, new: bool = False) -> ItemReader:
        """The first open item of a kind, `new` if its queries are still to be told, or one begun here.

        It has a place below zero until an item of its kind comes, which is the same one.
        """
        kind = item.text("type")
        for reader in self._items.values():
            if reader.kind == kind and not reader.is_done and not (new and reader.is_called):
                return reader
        index = min(0, *self._items) - 1 if self._items else -1
        reader = self._items[index] = open_item(self, item, self._settling, self._tools, len(self._items))
        return reader

    def _on_finished(self, event: Fields) -> None:
        response = event.obj("response")
        status = _STATUS.get(event.text("type"), "completed")
        body = {**response.raw, "status": response.get("status") or status}
        if event.has("error"):
            body["error"] = event.get("error")
        self.whole(response.with_raw(body))

    def _on_error(self, event: Fields) -> None:
        self._fail(event.raw)

    def _on_conversation(self, event: Fields) -> None:
        for told in self._conversation.translate(event):
            _EVENTS[str(told["type"])](self, event.with_raw(told))

    def _on_unnamed(self, event: Fields) -> None:
        """A body instead of a stream: a response, or an error that came with status 200."""
        if event.has("type"):
            return
        is_response = event.get("object") == "response" or is_conversation(event)
        if is_response or event.has("error") or event.has("detail"):
            self.whole(event)


_STATUS = {
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
    "response.failed": "failed",
}
_EVENTS: dict[str, Callable[[Decoder, Fields], None]] = {
    "response.created": Decoder._on_begun,
    "response.queued": Decoder._on_begun,
    "response.in_progress": Decoder._on_begun,
    "response.output_item.added": Decoder._on_item_added,
    "response.output_item.done": Decoder._on_item_done,
    "response.content_part.added": Decoder._on_part_added,
    "response.content_part.done": Decoder._on_part_done,
    "response.output_text.delta": Decoder._on_text_delta,
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
