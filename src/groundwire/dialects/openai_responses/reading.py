"""The items of an answer while they come in: one reader for each kind.

The same item is told up to three times: when it is added, when it is done, and in the completed response.
Every reader takes them all and tells each thing once, so that a stream, a stream with gaps and a whole body
give the same events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_responses.parts import (
    call_extras,
    decode_fetch,
    decode_fetched,
    decode_numbers,
    decode_picture,
    decode_search,
    message_extras,
    reasoning_extras,
    reasoning_texts,
)
from groundwire.dialects.openai_responses.server_tools import ToolUse
from groundwire.dialects.openai_responses.settling import Settling, TextReader
from groundwire.dialects.openai_responses.wire import NAME, PHASES
from groundwire.model import (
    ExtrasSeen,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    ToolCallDelta,
)
from groundwire.model.parts import Phase


class ItemReader(ABC):
    """One item."""

    waits_for_client = False
    """Is it a call that the client has to run?"""

    def __init__(self, decoder: StreamDecoder, item: Fields) -> None:
        self.decoder = decoder
        self.kind = item.text("type")
        self.id = item.text("id")
        self.call_id = item.text("call_id")
        self.is_called = False
        self.is_done = False

    @abstractmethod
    def done(self, item: Fields) -> None:
        """The item in full, perhaps again."""

    def abandon(self) -> None:
        """The answer broke off before the item was done."""


class MessageReader(ItemReader):
    """A message of the assistant's."""

    def __init__(self, decoder: StreamDecoder, item: Fields, settling: Settling) -> None:
        super().__init__(decoder, item)
        self._settling = settling
        self._texts: dict[int, TextReader] = {}
        self._others: set[int] = set()
        self._phase = PHASES.get(item.text("phase"), "")
        self.has_refused = False

    def text(self, index: int, kind: str = "output_text") -> TextReader:
        """The text at an index, begun if it is new."""
        text = self._texts.get(index)
        if text is None:
            phase: Phase = "refusal" if kind == "refusal" else self._phase
            text = self._texts[index] = self._settling.open(self.id, phase)
            self.has_refused = self.has_refused or kind == "refusal"
        return text

    def part_done(self, index: int, part: Fields) -> None:
        """A content part in full."""
        kind = part.text("type")
        if kind != "refusal" and not isinstance(part.get("text"), str):
            self._keep(index, part)
            return
        text = self.text(index, kind)
        text.complete(part.text("refusal" if kind == "refusal" else "text"))
        for annotation in part.objs("annotations"):
            self._settling.annotate(text, annotation)
        text.describe(part)
        text.is_done = True
        self._settling.advance()

    def done(self, item: Fields) -> None:
        phase = PHASES.get(item.text("phase"), "")
        for index, part in enumerate(item.objs("content")):
            self.part_done(index, part)
        extras = message_extras(item)
        for text in self._texts.values():
            text.rename(phase)
            text.describe_message(extras)
            text.complete()
            text.is_done = True
        self.is_done = True
        self._settling.advance()

    def _keep(self, index: int, part: Fields) -> None:
        """A content part without words stands alone, in a form that can be given back."""
        if part.text("type") and index not in self._others:
            self._others.add(index)
            message: JsonObject = {"type": "message", "role": "assistant", "content": [part.raw]}
            self.decoder.emit(PartAdded(self.decoder.next_part(), Opaque(NAME, message)))


class ReasoningReader(ItemReader):
    """A reasoning: summaries, open text, or neither."""

    def __init__(self, decoder: StreamDecoder, item: Fields) -> None:
        super().__init__(decoder, item)
        self._part = decoder.next_part()
        self._told: set[tuple[str, int]] = set()
        if self.id:
            decoder.emit(ExtrasSeen(self._part, {NAME: {"id": self.id}}))

    def feed(self, kind: str, index: int, text: str) -> None:
        """More of one of its texts; they are told with an empty line between them."""
        if not text:
            return
        if self._told and (kind, index) not in self._told:
            text = "\n\n" + text
        self._told.add((kind, index))
        self.decoder.emit(ReasoningDelta(self._part, text))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        for kind, index, text in reasoning_texts(item):
            if (kind, index) not in self._told:
                self.feed(kind, index, text)
        if not self._told:
            self.decoder.emit(ReasoningDelta(self._part, ""))
        self.decoder.emit(ExtrasSeen(self._part, reasoning_extras(item)))


class CallReader(ItemReader):
    """A function call of the client's.

    Perplexity announces the calls of its own tools as functions too, complete at once; those are never done
    and not in the response. So what is announced complete is told when it is done.
    """

    def __init__(self, decoder: StreamDecoder, item: Fields) -> None:
        super().__init__(decoder, item)
        self._part = decoder.next_part()
        self._length = 0
        self._is_named = False
        self.waits_for_client = not (item.text("status") == "completed" and item.has("arguments"))
        if self.waits_for_client:
            self._begin(item)

    def feed(self, arguments: str) -> None:
        """More of the arguments."""
        if arguments:
            self._length += len(arguments)
            self.decoder.emit(ToolCallDelta(self._part, arguments=arguments))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        if not self.waits_for_client:
            self.waits_for_client = True
            self._begin(item)
        self._name(item)
        self.complete(item.text("arguments"))
        self.decoder.emit(ExtrasSeen(self._part, call_extras(item)))

    def _begin(self, item: Fields) -> None:
        if self.id:
            self.decoder.emit(ExtrasSeen(self._part, {NAME: {"id": self.id}}))
        self._name(item)

    def _name(self, item: Fields) -> None:
        if not self._is_named and item.has("name"):
            self._is_named = True
            call_id = item.text("call_id") or item.text("id")
            self.decoder.emit(ToolCallDelta(self._part, call_id, item.text("name")))

    def complete(self, arguments: str) -> None:
        """What the deltas left out."""
        self.feed(arguments[self._length :])


class SearchReader(ItemReader):
    """A search, or the opening of a page, or a look into one: which, is known only at the end."""

    def __init__(self, decoder: StreamDecoder, item: Fields, number: int, settling: Settling) -> None:
        super().__init__(decoder, item)
        self._settling = settling
        self._call_id = self.id or f"search_{number}"
        self._part = decoder.next_part()
        self._result_part = decoder.next_part()
        self._added = item
        if not item.obj(FIELD).flag("uncalled"):
            decoder.emit(SearchStarted(self._part, self._call_id))

    def announce(self, item: Fields) -> None:
        """The queries, where they are told before the item is done."""
        call, _ = decode_search(item, self._call_id)
        self._call(call)

    def _call(self, call: SearchCall | None) -> None:
        if call is not None and not self.is_called:
            self.is_called = True
            self.decoder.emit(SearchCalled(self._part, call))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        call, result = decode_search(item, self._call_id)
        self._call(call)
        self._settling.numbered.update(decode_numbers(item))
        if result is not None:
            self.decoder.emit(SearchReturned(self._result_part, result))

    def abandon(self) -> None:
        call, _ = decode_search(self._added, self._call_id)
        if not self.is_done and call is not None and (call.queries or call.url):
            self.is_done = True
            self._call(call)


class FetchReader(ItemReader):
    """Pages that Perplexity opened: one item for all of them, each of which is a page opened here."""

    def __init__(self, decoder: StreamDecoder, item: Fields, number: int) -> None:
        super().__init__(decoder, item)
        self._name = self.id or f"fetch_{number}"
        self._calls: dict[str, str] = {}

    def announce(self, urls: Iterable[str]) -> None:
        """The addresses, perhaps again."""
        self.is_called = True
        for url in urls:
            if url not in self._calls:
                call_id = self._calls[url] = f"{self._name}_{len(self._calls)}"
                call = decode_fetch(url, call_id)
                self.decoder.emit(SearchStarted(part := self.decoder.next_part(), call_id))
                self.decoder.emit(SearchCalled(part, call))

    def done(self, item: Fields) -> None:
        if self.is_done:
            return
        self.is_done = True
        contents = list(item.objs("contents"))
        self.announce(content.text("url") for content in contents)
        for content in contents:
            result = decode_fetched(content, self._calls[content.text("url")])
            self.decoder.emit(SearchReturned(self.decoder.next_part(), result))


class OpaqueReader(ItemReader):
    """An item that means something to this dialect alone, or a picture."""

    def __init__(self, decoder: StreamDecoder, item: Fields) -> None:
        super().__init__(decoder, item)
        self._part = decoder.next_part()

    def done(self, item: Fields) -> None:
        if self.is_done or not self.kind:
            return
        self.is_done = True
        is_picture = self.kind == "image_generation_call" and bool(item.text("result"))
        self.decoder.emit(
            PartAdded(self._part, decode_picture(item) if is_picture else Opaque(NAME, item.raw))
        )


def open_item(
    decoder: StreamDecoder, item: Fields, settling: Settling, tools: ToolUse, number: int
) -> ItemReader:
    """The reader for an item."""
    kind = item.text("type")
    if kind == "message":
        return MessageReader(decoder, item, settling)
    if kind == "reasoning":
        return ReasoningReader(decoder, item)
    if kind == "fetch_url_results":
        settling.has_searched = True
        return FetchReader(decoder, item, number)
    if tools.is_search(item):
        settling.has_searched = True
        return SearchReader(decoder, item, number, settling)
    waits = tools.is_client_call(item)
    if kind == "function_call" and waits:
        return CallReader(decoder, item)
    reader = OpaqueReader(decoder, item)
    reader.waits_for_client = waits
    return reader
