"""A response written event by event.

Every event has a number. Items are closed when the next one begins, except what may still grow: a message
whose text is not settled, a search that has not returned, and function calls, whose arguments may come by
turns. The last event holds the whole response, the same that is given to those who do not stream.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.openai_responses.errors import encode_problem
from groundwire.dialects.openai_responses.output import encode_opaque, is_fragment, joins, search_id
from groundwire.dialects.openai_responses.parts import encode_picture
from groundwire.dialects.openai_responses.placing import Placing
from groundwire.dialects.openai_responses.response import encode_head, encode_response, tell_aside
from groundwire.dialects.openai_responses.wire import NAME, Names, native, native_id
from groundwire.dialects.openai_responses.writing import (
    CallWriter,
    ItemWriter,
    MessageWriter,
    ReasoningWriter,
    SearchWriter,
    TextWriter,
    WholeWriter,
)
from groundwire.model import (
    NO_EXTRAS,
    Assembler,
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
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
)
from groundwire.model.extras import merge_extras
from groundwire.model.parts import Phase


class Encoder(StreamEncoder):
    """Writes a response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._assembler = Assembler()
        self._names = Names(reply.id)
        self._placing = Placing()
        self._number = 0
        self._items: list[ItemWriter] = []
        self._message: MessageWriter | None = None
        self._reasoning: ReasoningWriter | None = None
        self._texts: dict[int, TextWriter] = {}
        self._reasonings: dict[int, ReasoningWriter] = {}
        self._calls: dict[int, CallWriter] = {}
        self._searches: dict[str, SearchWriter] = {}
        self._extras: dict[int, Extras] = {}

    def on_event(self, event: Event) -> None:
        if isinstance(event, ExtrasSeen):
            event = self._with_first_id(event)
        self._assembler.feed(event)
        if not self._number:
            self._begin()
        self._write(event)

    def _write(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._write_text(event)
            case TextSettled(part):
                self._settle(part)
            case Cited(citation):
                self._placing.cite(citation)
            case ReasoningDelta() | ToolCallDelta():
                self._write_other(event)
            case SearchStarted() | SearchCalled() | SearchReturned():
                self._write_search(event)
            case PartAdded(_, value):
                self._write_whole(value)
            case ExtrasSeen(part, extras):
                self._keep(part, extras)
            case Finished() | Failed():
                self._end(event)
            case _:
                pass

    def _begin(self) -> None:
        head = encode_head(self._assembler.answer(), self.reply)
        self._tell("created", {"response": head})
        self._tell("in_progress", {"response": head})

    def _write_text(self, event: TextDelta) -> None:
        text = self._texts.get(event.part)
        if text is None:
            if not event.text:
                return
            text = self._open_text(event.part, event.phase)
        if not text.phase and event.phase != "refusal":
            text.phase = event.phase
        if event.text and not text.is_closed:
            text.write(event.text)
            self._placing.grow()

    def _open_text(self, part: int, phase: Phase) -> TextWriter:
        extras = self._extras.get(part, NO_EXTRAS)
        message = self._message_for(Text("", phase, extras))
        text = self._texts[part] = message.open(part, phase)
        text.extras = extras
        self._placing.open(text)
        return text

    def _message_for(self, text: Text) -> MessageWriter:
        """The open message, if the text belongs to it and its parts are complete; else a new one."""
        message, self._message = self._message, None
        if message is not None and joins([other.head for other in message.texts], text):
            self._placing.settle(message, keep_last=False)
            if message.texts[-1].is_closed:
                self._message = message
                return message
        index = self._next_index()
        name = self._names.take("msg", native_id(text.extras))
        self._message = MessageWriter(self._tell, index, name, text.phase)
        self._items.append(self._message)
        return self._message

    def _settle(self, part: int) -> None:
        text = self._texts.get(part)
        if text is not None:
            text.is_settled = True
            self._placing.settle(self._message)

    def _write_other(self, event: ReasoningDelta | ToolCallDelta) -> None:
        match event:
            case ReasoningDelta(part, words):
                if part not in self._reasonings:
                    name = self._names.take("rs", native_id(self._extras.get(part, NO_EXTRAS)))
                    reasoning = ReasoningWriter(self._tell, self._next_index(), name)
                    self._reasonings[part] = self._reasoning = reasoning
                    self._adopt(part, reasoning)
                self._reasonings[part].write(words)
            case ToolCallDelta(part, call_id, name, arguments):
                if part not in self._calls:
                    self._calls[part] = self._open_call(part, call_id, name)
                self._calls[part].write(name, arguments)

    def _open_call(self, part: int, call_id: str, name: str) -> CallWriter:
        extras = self._extras.get(part, NO_EXTRAS)
        call = ToolCall(self._names.take("call", call_id), name, extras=extras)
        item_id = self._names.take("fc", native_id(extras))
        writer = CallWriter(self._tell, self._next_index(), item_id, call)
        self._adopt(part, writer)
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

    def _open_search(self, call_id: str, call: SearchCall | None) -> SearchWriter:
        name = search_id(self._names, call_id)
        writer = SearchWriter(self._tell, self._next_index(), name, call)
        self._searches[call_id] = writer
        self._items.append(writer)
        return writer

    def _write_whole(self, value: Image | Opaque) -> None:
        if isinstance(value, Image):
            if not value.data:
                return
            item = {**encode_picture(value), "id": self._names.take("ig", native_id(value.extras))}
        elif value.dialect == NAME and not is_fragment(value):
            item = encode_opaque(value, self._names)
        else:
            return
        writer = WholeWriter(self._tell, self._next_index(), item)
        self._items.append(writer)
        writer.close()

    def _next_index(self) -> int:
        """The place of a new item, before which whatever is complete is closed."""
        self._message = None
        self._placing.settle(None)
        if self._reasoning is not None:
            self._reasoning.close()
        return len(self._items)

    def _adopt(self, part: int, writer: ItemWriter) -> None:
        self._items.append(writer)
        writer.extras = self._extras.get(part, NO_EXTRAS)

    def _keep(self, part: int, extras: Extras) -> None:
        self._extras[part] = merge_extras(self._extras.get(part, NO_EXTRAS), extras)
        for writers in (self._texts, self._reasonings, self._calls):
            writer = writers.get(part)
            if writer is not None:
                writer.extras = self._extras[part]

    def _with_first_id(self, event: ExtrasSeen) -> ExtrasSeen:
        """An id that comes after its item has begun is too late."""
        part, extras = event.part, event.extras
        begun = part in self._texts or part in self._reasonings or part in self._calls
        if not begun or "id" not in native(extras):
            return event
        first = native_id(self._extras.get(part, NO_EXTRAS))
        kept = {key: value for key, value in native(extras).items() if key != "id"}
        return ExtrasSeen(part, {**extras, NAME: {**kept, "id": first} if first else kept})

    def _end(self, event: Finished | Failed) -> None:
        self._placing.finish()
        answer = self._assembler.answer()
        response = encode_response(answer, self.reply)
        status = str(response["status"])
        if isinstance(event, Failed):
            self._send("error", {"error": encode_problem(event.error)})
        else:
            self._close(event, is_cut=status == "incomplete")
            told: list[Json] = [item.done for item in self._items]
            if told != response["output"]:
                # The events came in an order that no answer has; what has been told holds.
                response = tell_aside({**response, "output": told}, answer)
        self._tell(status, {"response": response})

    def _close(self, event: Finished, *, is_cut: bool) -> None:
        if event.reason == "refused" and all(text.phase != "refusal" for text in self._texts.values()):
            self._refuse()
        for item in self._items:
            item.close("incomplete" if is_cut and item is self._items[-1] else "")

    def _refuse(self) -> None:
        message = self._message
        if message is None:
            message = MessageWriter(self._tell, self._next_index(), self._names.take("msg"), "")
            self._items.append(message)
        for text in message.texts:
            text.close()
        message.open(-1, "refusal")

    def _tell(self, name: str, fields: JsonObject) -> None:
        self._send(f"response.{name}", fields)

    def _send(self, name: str, fields: JsonObject) -> None:
        self.send(name, {"type": name, **fields, "sequence_number": self._number})
        self._number += 1
