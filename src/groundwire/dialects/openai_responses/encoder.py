"""Encodes events as a streamed response.

Every event has a sequence number. An item is closed when the next one begins, unless it may still grow: a
message whose text is not settled, a search that has not returned, and function calls, whose arguments may be
interleaved. The last event has the whole response, the same as without streaming.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeAlias

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.json import dump_json, quote_json
from groundwire.dialects.openai_responses.errors import encode_error_object
from groundwire.dialects.openai_responses.history import (
    MAX_EXTRA_SLICES,
    AnnotationList,
    belongs_to_message,
    encode_assistant_message,
    encode_generated_image,
    encode_reasoning_item,
    encode_text,
)
from groundwire.dialects.openai_responses.response import (
    ItemIds,
    add_citations_extension,
    encode_head,
    encode_opaque,
    encode_response,
    is_fragment,
    search_item_id,
)
from groundwire.dialects.openai_responses.search import (
    NAME,
    encode_action,
    encode_search_item,
    own_extras,
    own_id,
)
from groundwire.dialects.openai_responses.tools import encode_call
from groundwire.dialects.sse import encode_frame
from groundwire.model import (
    NO_EXTRAS,
    Assembler,
    Citation,
    Cited,
    Event,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    Json,
    JsonObject,
    Opaque,
    PartAdded,
    Reasoning,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Span,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
)
from groundwire.model.extras import merge_extras
from groundwire.model.parts import Phase

# Most of a stream consists of frames that differ only in their text and number.
_DELTA_TAIL = b',"logprobs":[],"sequence_number":%d}\n\n'

SendEvent: TypeAlias = Callable[[str, JsonObject], None]
"""Sends one event: its name without `response.`, and its fields."""


class NumberedFrames:
    """Numbers the frames of a stream and appends them to its chunks.

    Item writers refer to it and not to the encoder, which so is in no reference cycle.
    """

    __slots__ = ("_chunks", "count")

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks
        self.count = 0

    def send_event(self, name: str, fields: JsonObject) -> None:
        """Send an event of the response."""
        self.send(f"response.{name}", fields)

    def send(self, name: str, fields: JsonObject) -> None:
        """Send an event by its whole name."""
        payload: JsonObject = {"type": name, **fields, "sequence_number": self.count}
        self._chunks.append(encode_frame(name, dump_json(payload)))
        self.count += 1

    def send_delta(self, head: bytes, text: str) -> None:
        """Send a text delta: the fast form of `send`."""
        self._chunks.append(head + quote_json(text) + _DELTA_TAIL % self.count)
        self.count += 1


class Encoder(StreamEncoder):
    """Encodes events as a streamed response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._assembler = Assembler()
        self._ids = ItemIds(reply.id)
        self._placer = AnnotationPlacer()
        self._frames = NumberedFrames(self._chunks)
        self._send_event = self._frames.send_event
        self._writers: list[ItemWriter] = []
        self._message: MessageItemWriter | None = None
        self._reasoning: ReasoningItemWriter | None = None
        self._texts: dict[int, TextPartWriter] = {}
        self._reasonings: dict[int, ReasoningItemWriter] = {}
        self._calls: dict[int, CallItemWriter] = {}
        self._searches: dict[str, SearchItemWriter] = {}
        self._extras: dict[int, Extras] = {}

    def on_event(self, event: Event) -> None:
        if isinstance(event, ExtrasSeen):
            event = self._with_first_id(event)
        self._assembler.feed(event)
        if not self._frames.count:
            self._send_start()
        self._write(event)

    def _write(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._write_text(event)
            case TextSettled(part):
                self._settle(part)
            case Cited(citation):
                self._placer.cite(citation)
            case ReasoningDelta() | ToolCallDelta():
                self._write_delta(event)
            case SearchStarted() | SearchCalled() | SearchReturned():
                self._write_search(event)
            case PartAdded(_, value):
                self._write_whole(value)
            case ExtrasSeen(part, extras):
                self._store_extras(part, extras)
            case Finished() | Failed():
                self._finish(event)
            case _:
                pass

    def _send_start(self) -> None:
        head = encode_head(self._assembler.answer(), self.reply)
        self._send_event("created", {"response": head})
        self._send_event("in_progress", {"response": head})

    def _write_text(self, event: TextDelta) -> None:
        text = self._texts.get(event.part)
        if text is None:
            if not event.text:
                return
            text = self._open_text(event.part, event.phase)
        if not text.phase and event.phase != "refusal":
            text.phase = event.phase
        if event.text and not text.is_closed:
            if text.delta_head:
                text.add(event.text)
                self._frames.send_delta(text.delta_head, event.text)
            else:
                text.write(event.text)
            self._placer.grow()

    def _open_text(self, part: int, phase: Phase) -> TextPartWriter:
        extras = self._extras.get(part, NO_EXTRAS)
        message = self._message_for(Text("", phase, extras))
        text = self._texts[part] = message.open(part, phase)
        text.extras = extras
        self._placer.open(text, message)
        return text

    def _message_for(self, text: Text) -> MessageItemWriter:
        """The open message if the text belongs to it and its parts are complete, else a new one."""
        message, self._message = self._message, None
        if message is not None and belongs_to_message([other.head for other in message.texts], text):
            self._placer.settle(message, keep_last=False)
            if message.texts[-1].is_closed:
                self._message = message
                return message
        index = self._next_index()
        item_id = self._ids.take("msg", own_id(text.extras))
        self._message = MessageItemWriter(self._send_event, index, item_id, text.phase)
        self._writers.append(self._message)
        return self._message

    def _settle(self, part: int) -> None:
        text = self._texts.get(part)
        if text is not None:
            text.is_settled = True
            self._placer.settle(self._message)

    def _write_delta(self, event: ReasoningDelta | ToolCallDelta) -> None:
        match event:
            case ReasoningDelta(part, text):
                if part not in self._reasonings:
                    item_id = self._ids.take("rs", own_id(self._extras.get(part, NO_EXTRAS)))
                    reasoning = ReasoningItemWriter(self._send_event, self._next_index(), item_id)
                    self._reasonings[part] = self._reasoning = reasoning
                    self._add_writer(part, reasoning)
                self._reasonings[part].write(text)
            case ToolCallDelta(part, call_id, name, arguments):
                if part not in self._calls:
                    self._calls[part] = self._open_call(part, call_id, name)
                self._calls[part].write(name, arguments)

    def _open_call(self, part: int, call_id: str, name: str) -> CallItemWriter:
        extras = self._extras.get(part, NO_EXTRAS)
        call = ToolCall(self._ids.take("call", call_id), name, extras=extras)
        item_id = self._ids.take("fc", own_id(extras))
        writer = CallItemWriter(self._send_event, self._next_index(), item_id, call)
        self._add_writer(part, writer)
        return writer

    def _write_search(self, event: SearchStarted | SearchCalled | SearchReturned) -> None:
        match event:
            case SearchStarted(_, call_id):
                self._open_search(call_id, None)
            case SearchCalled(_, call):
                writer = self._searches.get(call.id)
                if writer is None or writer.is_done or writer.call is not None:
                    writer = self._open_search(call.id, call)
                writer.call = call
            case SearchReturned(_, result):
                writer = self._searches.get(result.call_id)
                (writer or self._open_search(result.call_id, None)).finish(result)

    def _open_search(self, call_id: str, call: SearchCall | None) -> SearchItemWriter:
        item_id = search_item_id(self._ids, call_id)
        writer = SearchItemWriter(self._send_event, self._next_index(), item_id, call)
        self._searches[call_id] = writer
        self._writers.append(writer)
        return writer

    def _write_whole(self, value: Image | Opaque) -> None:
        if isinstance(value, Image):
            if not value.data:
                return
            item = {**encode_generated_image(value), "id": self._ids.take("ig", own_id(value.extras))}
        elif value.dialect == NAME and not is_fragment(value):
            item = encode_opaque(value, self._ids)
        else:
            return
        writer = WholeItemWriter(self._send_event, self._next_index(), item)
        self._writers.append(writer)
        writer.close()

    def _next_index(self) -> int:
        """Output index of a new item; closes the items that are complete."""
        self._message = None
        self._placer.settle(None)
        if self._reasoning is not None:
            self._reasoning.close()
        return len(self._writers)

    def _add_writer(self, part: int, writer: ItemWriter) -> None:
        self._writers.append(writer)
        writer.extras = self._extras.get(part, NO_EXTRAS)

    def _store_extras(self, part: int, extras: Extras) -> None:
        self._extras[part] = merge_extras(self._extras.get(part, NO_EXTRAS), extras)
        for writers in (self._texts, self._reasonings, self._calls):
            writer = writers.get(part)
            if writer is not None:
                writer.extras = self._extras[part]

    def _with_first_id(self, event: ExtrasSeen) -> ExtrasSeen:
        """Drop an id that arrives after its item has begun."""
        part, extras = event.part, event.extras
        has_begun = part in self._texts or part in self._reasonings or part in self._calls
        if not has_begun or "id" not in own_extras(extras):
            return event
        first_id = own_id(self._extras.get(part, NO_EXTRAS))
        other_extras = {key: value for key, value in own_extras(extras).items() if key != "id"}
        return ExtrasSeen(
            part, {**extras, NAME: {**other_extras, "id": first_id} if first_id else other_extras}
        )

    def _finish(self, event: Finished | Failed) -> None:
        self._placer.finish()
        answer = self._assembler.answer()
        response = encode_response(answer, self.reply)
        status = str(response["status"])
        if isinstance(event, Failed):
            self._frames.send("error", {"error": encode_error_object(event.error)})
        else:
            self._close_items(event, is_incomplete=status == "incomplete")
            items: list[Json] = [writer.final_item for writer in self._writers]
            if items != response["output"]:
                # The events came in an order that no answer has: keep the items as they were sent.
                response = add_citations_extension({**response, "output": items}, answer)
        self._send_event(status, {"response": response})

    def _close_items(self, event: Finished, *, is_incomplete: bool) -> None:
        if event.reason == "refused" and all(text.phase != "refusal" for text in self._texts.values()):
            self._send_refusal()
        for writer in self._writers:
            writer.close("incomplete" if is_incomplete and writer is self._writers[-1] else "")

    def _send_refusal(self) -> None:
        message = self._message
        if message is None:
            message = MessageItemWriter(self._send_event, self._next_index(), self._ids.take("msg"), "")
            self._writers.append(message)
        for text in message.texts:
            text.close()
        message.open(-1, "refusal")


class ItemWriter(ABC):
    """Writes one item of the output.

    It has an index and an id, sends the events of the item, and can encode the item at any time.
    """

    can_be_incomplete = False

    def __init__(self, send_event: SendEvent, index: int, item_id: str) -> None:
        self.send_event = send_event
        self.index = index
        self.position: JsonObject = {"item_id": item_id, "output_index": index}
        self.id = item_id
        self.extras: Extras = NO_EXTRAS
        self.is_done = False
        self.final_item: JsonObject = {}

    @abstractmethod
    def item(self) -> JsonObject:
        """Encode the item so far."""

    def add(self, item: JsonObject) -> None:
        """Send the beginning of the item."""
        self.send_event("output_item.added", {"output_index": self.index, "item": item})

    def close(self, status: str = "") -> None:
        """Send the end of the item; `status` if it was cut off."""
        if self.is_done:
            return
        self.is_done = True
        self.send_end()
        item = self.item()
        if status and self.can_be_incomplete:
            item["status"] = status
        self.final_item = item
        self.send_event("output_item.done", {"output_index": self.index, "item": item})

    def send_end(self) -> None:
        """Send the events that precede the end of the item."""

    def send_item_event(self, name: str, fields: JsonObject) -> None:
        """Send an event about this item."""
        self.send_event(name, {**self.position, **fields})


class WholeItemWriter(ItemWriter):
    """Writes an item that arrives whole: an image, or an item that is specific to this dialect."""

    def __init__(self, send_event: SendEvent, index: int, item: JsonObject) -> None:
        item_id = item.get("id")
        super().__init__(send_event, index, item_id if isinstance(item_id, str) else "")
        self._item = item
        self.add(item)

    def item(self) -> JsonObject:
        return dict(self._item)


class ReasoningItemWriter(ItemWriter):
    """Writes reasoning as one summary."""

    def __init__(self, send_event: SendEvent, index: int, item_id: str) -> None:
        super().__init__(send_event, index, item_id)
        self._chunks: list[str] = []
        self.add({"type": "reasoning", "summary": [], "id": item_id})

    def write(self, text: str) -> None:
        """Send more text."""
        if self.is_done or not text:
            return
        if not self._chunks:
            self._send_part("reasoning_summary_part.added", "")
        self._chunks.append(text)
        self.send_item_event("reasoning_summary_text.delta", {"summary_index": 0, "delta": text})

    def send_end(self) -> None:
        if self._chunks:
            text = "".join(self._chunks)
            self.send_item_event("reasoning_summary_text.done", {"summary_index": 0, "text": text})
            self._send_part("reasoning_summary_part.done", text)

    def item(self) -> JsonObject:
        return {**encode_reasoning_item(Reasoning("".join(self._chunks), self.extras)), "id": self.id}

    def _send_part(self, name: str, text: str) -> None:
        self.send_item_event(name, {"summary_index": 0, "part": {"type": "summary_text", "text": text}})


class CallItemWriter(ItemWriter):
    """Writes a function call."""

    can_be_incomplete = True

    def __init__(self, send_event: SendEvent, index: int, item_id: str, call: ToolCall) -> None:
        super().__init__(send_event, index, item_id)
        self._call_id = call.id
        self._name = call.name
        self._chunks: list[str] = []
        self.extras = call.extras
        self.add({**self.item(), "arguments": "", "status": "in_progress"})

    def write(self, name: str, arguments: str) -> None:
        """Send more of the arguments."""
        self._name = name or self._name
        if arguments and not self.is_done:
            self._chunks.append(arguments)
            self.send_item_event("function_call_arguments.delta", {"delta": arguments})

    def send_end(self) -> None:
        arguments = "".join(self._chunks) or "{}"
        self.send_item_event("function_call_arguments.done", {"name": self._name, "arguments": arguments})

    def item(self) -> JsonObject:
        call = ToolCall(self._call_id, self._name, "".join(self._chunks) or "{}", self.extras)
        return {"status": "completed", **encode_call(call), "id": self.id}


class SearchItemWriter(ItemWriter):
    """Writes a search with its results."""

    def __init__(self, send_event: SendEvent, index: int, item_id: str, call: SearchCall | None) -> None:
        super().__init__(send_event, index, item_id)
        self.call = call
        self._result: SearchResult | None = None
        item = encode_search_item(item_id, call, None)
        self.add({**item, "action": encode_action(call, None)})
        self.send_item_event("web_search_call.in_progress", {})
        self.send_item_event("web_search_call.searching", {})

    def finish(self, result: SearchResult) -> None:
        """Add the result and close the item."""
        self._result = result
        self.close()

    def send_end(self) -> None:
        if self._result is not None and not self._result.error:
            self.send_item_event("web_search_call.completed", {})

    def item(self) -> JsonObject:
        return encode_search_item(self.id, self.call, self._result)


class TextPartWriter:
    """Writes one content part of a message. Its annotations have offsets within the part."""

    def __init__(self, message: MessageItemWriter, number: int, part: int, phase: Phase) -> None:
        self.part = part
        self.phase = phase
        self.extras: Extras = NO_EXTRAS
        self.start = 0
        self.length = 0
        self.is_settled = False
        self._position: JsonObject = {**message.position, "content_index": number}
        self._send_event = message.send_event
        self._chunks: list[str] = []
        self._annotations = AnnotationList()
        self._final_content: JsonObject | None = None
        self.delta_head = b"" if phase == "refusal" else self._encode_delta_head()
        """The frame of a delta up to its text; empty for a refusal."""
        self._send("content_part.added", {"part": encode_text(Text("", phase), [])})

    def _encode_delta_head(self) -> bytes:
        kind = "response.output_text.delta"
        fields = dump_json({"type": kind, **self._position})[:-1]
        return f'event: {kind}\ndata: {fields},"delta":'.encode()

    @property
    def end(self) -> int:
        """End offset so far, in the whole text."""
        return self.start + self.length

    def add(self, text: str) -> None:
        """Add text that has been sent."""
        self._chunks.append(text)
        self.length += len(text)

    def write(self, text: str) -> None:
        """Send more text."""
        self.add(text)
        if self.phase == "refusal":
            self._send("refusal.delta", {"delta": text})
        else:
            self._send("output_text.delta", {"delta": text, "logprobs": []})

    def cite(self, citation: Citation, low: int, high: int) -> None:
        """Send the annotations for a range of the whole text within this part."""
        start, end = low - self.start, high - self.start
        self._send_annotations(self._annotations.add(citation, start, end, self.text()[start:end]))

    def cite_unplaced(self, citation: Citation) -> None:
        """Send the annotations for a citation of the whole answer."""
        self._send_annotations(self._annotations.add_unplaced(citation))

    def close(self) -> None:
        """Send the end of the part."""
        if self._final_content is not None:
            return
        others = own_extras(self.extras).get("annotations")
        for number, annotation in enumerate(
            others if isinstance(others, list) else (), len(self._annotations)
        ):
            self._send_annotation(number, annotation)
        self._final_content = content = self.content()
        if self.phase == "refusal":
            self._send("refusal.done", {"refusal": self.text()})
        else:
            self._send("output_text.done", {"text": self.text(), "logprobs": content["logprobs"]})
        self._send("content_part.done", {"part": content})

    def content(self) -> JsonObject:
        """Encode the part."""
        if self._final_content is not None:
            return self._final_content
        return encode_text(self.value(), list(self._annotations))

    @property
    def is_closed(self) -> bool:
        """Whether the end of the part has been sent."""
        return self._final_content is not None

    @property
    def head(self) -> Text:
        """The part as a model value, without its text."""
        return Text("", self.phase, self.extras)

    def value(self) -> Text:
        """The part as a model value."""
        return Text(self.text(), self.phase, self.extras)

    def text(self) -> str:
        """The text so far."""
        if len(self._chunks) > 1:
            self._chunks[:] = ["".join(self._chunks)]
        return self._chunks[0] if self._chunks else ""

    def _send_annotations(self, new: list[JsonObject]) -> None:
        # A closed part takes no more annotations; the final response has them all.
        for number, annotation in enumerate([] if self.is_closed else new, len(self._annotations) - len(new)):
            self._send_annotation(number, annotation)

    def _send_annotation(self, number: int, annotation: Json) -> None:
        self._send("output_text.annotation.added", {"annotation_index": number, "annotation": annotation})

    def _send(self, name: str, fields: JsonObject) -> None:
        self._send_event(name, {**self._position, **fields})


class MessageItemWriter(ItemWriter):
    """Writes an assistant message, whose content parts follow one another."""

    can_be_incomplete = True

    def __init__(self, send_event: SendEvent, index: int, item_id: str, phase: Phase) -> None:
        super().__init__(send_event, index, item_id)
        self.texts: list[TextPartWriter] = []
        item = encode_assistant_message(item_id, [Text("", phase)], [])
        self.add({**item, "status": "in_progress"})

    def open(self, part: int, phase: Phase) -> TextPartWriter:
        """Open a new content part."""
        text = TextPartWriter(self, len(self.texts), part, phase)
        self.texts.append(text)
        return text

    def send_end(self) -> None:
        for text in self.texts:
            text.close()

    def item(self) -> JsonObject:
        values = [text.value() for text in self.texts]
        return encode_assistant_message(self.id, values, [text.content() for text in self.texts])


class _WaitingCitation:
    """A citation that waits for its text, and whether a slice of it has been sent."""

    __slots__ = ("citation", "is_sent", "span")

    def __init__(self, citation: Citation, span: Span) -> None:
        self.citation = citation
        self.span = span
        self.is_sent = False

    def send_slice(self, text: TextPartWriter) -> None:
        """Send the slice of the citation within a part."""
        start, end = max(self.span.start, text.start), min(self.span.end, text.end)
        is_point = self.span.start == self.span.end
        if text.phase != "refusal" and (start < end or (is_point and text.start < end)):
            text.cite(self.citation, start, end)
            self.is_sent = True


class AnnotationPlacer:
    """Places the citations of a stream in its text parts, and closes the parts.

    Spans count over the whole text, annotations within their part. So a citation is sent when all earlier
    parts are settled and its text has been sent; one that covers several parts is sent in slices. Waiting
    citations are sent in the order of their spans. A part stays open until it is settled, and the last part
    until another one follows: it takes the citations without a span.
    """

    def __init__(self) -> None:
        self._texts: list[TextPartWriter] = []
        self._messages: dict[int, MessageItemWriter] = {}
        """The message of each part."""
        self._finished_count = 0
        self._offset = 0
        self._waiting: list[tuple[Span, str, int, _WaitingCitation]] = []
        self._count = 0
        self._unplaced: list[Citation] = []
        self._extra_slices_left = MAX_EXTRA_SLICES

    def open(self, text: TextPartWriter, message: MessageItemWriter) -> None:
        """Add a new part of a message."""
        self._messages[text.part] = message
        insort(self._texts, text, key=lambda other: other.part)
        if text is self._texts[-1]:
            self._first_open()

    def grow(self) -> None:
        """Send the citations that waited for new text."""
        if self._waiting:
            self._first_open()

    def cite(self, citation: Citation) -> None:
        """Add a citation."""
        span = citation.span
        if span is None or span.end <= 0 or span.start > span.end:
            self._unplaced.append(citation)
            return
        self._count += 1
        heappush(self._waiting, (span, citation.anchor, self._count, _WaitingCitation(citation, span)))
        self._first_open()

    def settle(self, current: MessageItemWriter | None, *, keep_last: bool = True) -> None:
        """Close the settled parts, up to the first open one.

        The message `current` stays open, and with `keep_last` its last part too.
        """
        while (text := self._first_open()) is not None and text.is_settled and not self._unplaced:
            message = self._messages[text.part]
            if keep_last and message is current and text is current.texts[-1]:
                return
            self._finish_part(text)
            text.close()
            if message is not current and text is message.texts[-1]:
                message.close()

    def finish(self) -> None:
        """All text has been sent: place every remaining citation, or treat it as one without a span."""
        while (text := self._first_open()) is not None:
            self._finish_part(text)
        while self._waiting:
            self._keep_if_unsent(heappop(self._waiting)[-1])
        citable = [text for text in self._texts if text.phase != "refusal"]
        for citation in self._unplaced if citable else ():
            citable[-1].cite_unplaced(citation)
        self._unplaced.clear()

    def _first_open(self) -> TextPartWriter | None:
        """The first part that is not finished; sends the citations that it can."""
        if self._finished_count == len(self._texts):
            return None
        text = self._texts[self._finished_count]
        text.start = self._offset
        while self._waiting and self._waiting[0][0].end <= text.end:
            self._send_last_slice(heappop(self._waiting)[-1], text)
        return text

    def _finish_part(self, text: TextPartWriter) -> None:
        """Finish a part that has all its text: send its slices of citations that continue after it."""
        rest = []
        while self._waiting and _starts_before_end(self._waiting[0][0], text):
            entry = heappop(self._waiting)
            if entry[0].end <= text.end:
                self._send_last_slice(entry[-1], text)
            else:
                entry[-1].send_slice(text)
                self._extra_slices_left -= 1
                if self._extra_slices_left > 0 or not entry[-1].is_sent:
                    rest.append(entry)
        for entry in rest:
            heappush(self._waiting, entry)
        self._offset = text.end
        self._finished_count += 1

    def _send_last_slice(self, waiting: _WaitingCitation, text: TextPartWriter) -> None:
        """Send the last slice of a citation.

        One for text that was closed long ago is left to the response.
        """
        waiting.send_slice(text)
        if waiting.span.end > text.start:
            self._keep_if_unsent(waiting)

    def _keep_if_unsent(self, waiting: _WaitingCitation) -> None:
        if not waiting.is_sent:
            self._unplaced.append(waiting.citation)


def _starts_before_end(span: Span, text: TextPartWriter) -> bool:
    """Whether a span begins before the end of a part. A point at the end belongs to the part."""
    return span.start < text.end or span.end <= text.end
