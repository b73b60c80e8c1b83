"""The items of an answer while they go out: one writer for each kind.

Each writer knows its place in the list and its id, tells what happens to it, and can say at any time what
the item is as a whole. Indices of annotations count within a content part; content parts of a message come
one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from groundwire.dialects.openai_responses.citations import AnnotationList
from groundwire.dialects.openai_responses.output import encode_message
from groundwire.dialects.openai_responses.parts import (
    encode_action,
    encode_call,
    encode_reasoning,
    encode_search,
    encode_text,
)
from groundwire.dialects.openai_responses.wire import native
from groundwire.model import (
    NO_EXTRAS,
    Citation,
    Extras,
    Json,
    JsonObject,
    Reasoning,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)
from groundwire.model.parts import Phase

Tell: TypeAlias = Callable[[str, JsonObject], None]
"""Sends one event: its name without `response.`, and its fields."""


class ItemWriter(ABC):
    """One item of the list."""

    may_be_cut = False

    def __init__(self, tell: Tell, index: int, item_id: str) -> None:
        self.tell = tell
        self.index = index
        self.place: JsonObject = {"item_id": item_id, "output_index": index}
        self.id = item_id
        self.extras: Extras = NO_EXTRAS
        self.is_done = False
        self.done: JsonObject = {}

    @abstractmethod
    def item(self) -> JsonObject:
        """The item as far as it has been told."""

    def add(self, item: JsonObject) -> None:
        """The item begins."""
        self.tell("output_item.added", {"output_index": self.index, "item": item})

    def close(self, status: str = "") -> None:
        """The item is complete, or cut off."""
        if self.is_done:
            return
        self.is_done = True
        self.end()
        item = self.item()
        if status and self.may_be_cut:
            item["status"] = status
        self.done = item
        self.tell("output_item.done", {"output_index": self.index, "item": item})

    def end(self) -> None:
        """What has to be told before the item is done."""

    def say(self, name: str, fields: JsonObject) -> None:
        """An event about this item."""
        self.tell(name, {**self.place, **fields})


class WholeWriter(ItemWriter):
    """An item that comes whole: a picture, or something only this dialect understands."""

    def __init__(self, tell: Tell, index: int, item: JsonObject) -> None:
        item_id = item.get("id")
        super().__init__(tell, index, item_id if isinstance(item_id, str) else "")
        self._item = item
        self.add(item)

    def item(self) -> JsonObject:
        return dict(self._item)


class ReasoningWriter(ItemWriter):
    """A reasoning, shown as one summary."""

    def __init__(self, tell: Tell, index: int, item_id: str) -> None:
        super().__init__(tell, index, item_id)
        self._chunks: list[str] = []
        self.add({"type": "reasoning", "summary": [], "id": item_id})

    def write(self, text: str) -> None:
        """More of it."""
        if self.is_done or not text:
            return
        if not self._chunks:
            self._part("reasoning_summary_part.added", "")
        self._chunks.append(text)
        self.say("reasoning_summary_text.delta", {"summary_index": 0, "delta": text})

    def end(self) -> None:
        if self._chunks:
            text = "".join(self._chunks)
            self.say("reasoning_summary_text.done", {"summary_index": 0, "text": text})
            self._part("reasoning_summary_part.done", text)

    def item(self) -> JsonObject:
        return {**encode_reasoning(Reasoning("".join(self._chunks), self.extras)), "id": self.id}

    def _part(self, name: str, text: str) -> None:
        self.say(name, {"summary_index": 0, "part": {"type": "summary_text", "text": text}})


class CallWriter(ItemWriter):
    """A function call."""

    may_be_cut = True

    def __init__(self, tell: Tell, index: int, item_id: str, call: ToolCall) -> None:
        super().__init__(tell, index, item_id)
        self._call_id = call.id
        self._name = call.name
        self._chunks: list[str] = []
        self.extras = call.extras
        self.add({**self.item(), "arguments": "", "status": "in_progress"})

    def write(self, name: str, arguments: str) -> None:
        """More of it."""
        self._name = name or self._name
        if arguments and not self.is_done:
            self._chunks.append(arguments)
            self.say("function_call_arguments.delta", {"delta": arguments})

    def end(self) -> None:
        arguments = "".join(self._chunks) or "{}"
        self.say("function_call_arguments.done", {"name": self._name, "arguments": arguments})

    def item(self) -> JsonObject:
        call = ToolCall(self._call_id, self._name, "".join(self._chunks) or "{}", self.extras)
        return {"status": "completed", **encode_call(call), "id": self.id}


class SearchWriter(ItemWriter):
    """A search, from its beginning to what it found."""

    def __init__(self, tell: Tell, index: int, item_id: str, call: SearchCall | None) -> None:
        super().__init__(tell, index, item_id)
        self.call = call
        self._result: SearchResult | None = None
        item = encode_search(item_id, call, None)
        self.add({**item, "action": encode_action(call, None)})
        self.say("web_search_call.in_progress", {})
        self.say("web_search_call.searching", {})

    def finish(self, result: SearchResult) -> None:
        """What came back."""
        self._result = result
        self.close()

    def end(self) -> None:
        if self._result is not None and not self._result.error:
            self.say("web_search_call.completed", {})

    def item(self) -> JsonObject:
        return encode_search(self.id, self.call, self._result)


class TextWriter:
    """One content part of a message."""

    def __init__(self, message: MessageWriter, number: int, part: int, phase: Phase) -> None:
        self.message = message
        self.part = part
        self.phase = phase
        self.extras: Extras = NO_EXTRAS
        self.start = 0
        self.length = 0
        self.is_settled = False
        self._place: JsonObject = {**message.place, "content_index": number}
        self._tell = message.tell
        self._chunks: list[str] = []
        self._told = AnnotationList()
        self._closed: JsonObject | None = None
        self._say("content_part.added", {"part": encode_text(Text("", phase), [])})

    @property
    def end(self) -> int:
        """Where it ends so far, in the whole text."""
        return self.start + self.length

    def write(self, text: str) -> None:
        """More words."""
        self._chunks.append(text)
        self.length += len(text)
        if self.phase == "refusal":
            self._say("refusal.delta", {"delta": text})
        else:
            self._say("output_text.delta", {"delta": text, "logprobs": []})

    def cite(self, citation: Citation, low: int, high: int) -> None:
        """A citation of a range of the whole text that lies in this part."""
        start, end = low - self.start, high - self.start
        self._annotate_all(self._told.add(citation, start, end, self.text()[start:end]))

    def cite_unplaced(self, citation: Citation) -> None:
        """A citation of the answer as a whole."""
        self._annotate_all(self._told.add_unplaced(citation))

    def close(self) -> None:
        """The part is complete."""
        if self._closed is not None:
            return
        others = native(self.extras).get("annotations")
        for number, annotation in enumerate(others if isinstance(others, list) else (), len(self._told)):
            self._annotate(number, annotation)
        self._closed = content = self.content()
        if self.phase == "refusal":
            self._say("refusal.done", {"refusal": self.text()})
        else:
            self._say("output_text.done", {"text": self.text(), "logprobs": content["logprobs"]})
        self._say("content_part.done", {"part": content})

    def content(self) -> JsonObject:
        """The part as a whole."""
        return encode_text(self.value(), list(self._told)) if self._closed is None else self._closed

    @property
    def is_closed(self) -> bool:
        """Has it been told to be complete?"""
        return self._closed is not None

    @property
    def head(self) -> Text:
        """The part as the model has it, without its words."""
        return Text("", self.phase, self.extras)

    def value(self) -> Text:
        """The part as the model has it."""
        return Text(self.text(), self.phase, self.extras)

    def text(self) -> str:
        """The words so far."""
        if len(self._chunks) > 1:
            self._chunks[:] = ["".join(self._chunks)]
        return self._chunks[0] if self._chunks else ""

    def _annotate_all(self, new: list[JsonObject]) -> None:
        # A part that is closed takes no more; the response at the end has them all.
        for number, annotation in enumerate([] if self.is_closed else new, len(self._told) - len(new)):
            self._annotate(number, annotation)

    def _annotate(self, number: int, annotation: Json) -> None:
        self._say("output_text.annotation.added", {"annotation_index": number, "annotation": annotation})

    def _say(self, name: str, fields: JsonObject) -> None:
        self._tell(name, {**self._place, **fields})


class MessageWriter(ItemWriter):
    """A message of the assistant's."""

    may_be_cut = True

    def __init__(self, tell: Tell, index: int, item_id: str, phase: Phase) -> None:
        super().__init__(tell, index, item_id)
        self.texts: list[TextWriter] = []
        item = encode_message(item_id, [Text("", phase)], [])
        self.add({**item, "status": "in_progress"})

    def open(self, part: int, phase: Phase) -> TextWriter:
        """A new content part."""
        text = TextWriter(self, len(self.texts), part, phase)
        self.texts.append(text)
        return text

    def end(self) -> None:
        for text in self.texts:
            text.close()

    def item(self) -> JsonObject:
        values = [text.value() for text in self.texts]
        return encode_message(self.id, values, [text.content() for text in self.texts])
