"""From chunks to events.

A body is a stream of one chunk whose `message` stands where a chunk has its `delta`, so both are read by
the same table. Perplexity sends both: in a body the delta is empty, in a stream every chunk repeats the
message as far as it has come. The parts of an answer have numbers in the order in which a message lists
them, because streams do not keep to it: OpenRouter tells encrypted reasoning after the text, Perplexity its
pages at the end. Only the choice with index 0 is read.

Annotations may come before, between and after the text, and again; citations are told when it is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import load_json
from groundwire.dialects.openai_chat.calls import CallTold, decode_call, decode_legacy_call, is_for_client
from groundwire.dialects.openai_chat.chunks import read_chunks
from groundwire.dialects.openai_chat.citations import Told, resolve
from groundwire.dialects.openai_chat.errors import decode_finish, decode_told_error
from groundwire.dialects.openai_chat.lists import LIST_FIELDS
from groundwire.dialects.openai_chat.parts import NAME, decode_image, marked
from groundwire.dialects.openai_chat.reasoning import (
    DETAILS,
    Details,
    decode_reasoning,
    verbatim_reasoning,
)
from groundwire.dialects.openai_chat.searches import ServerSearch, ServerSearches
from groundwire.dialects.openai_chat.usage import decode_usage
from groundwire.dialects.sse import Frame
from groundwire.errors import Interrupted, UpstreamError, UpstreamWireError, WireError
from groundwire.model import (
    Event,
    ExtrasSeen,
    Failed,
    Finished,
    Json,
    JsonObject,
    PartAdded,
    ReasoningDelta,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.text.annotate import MarkerStripper


class Decoder(StreamDecoder):
    """Reads a stream, or a whole body."""

    def __init__(self) -> None:
        super().__init__()
        self._search = self.next_part()
        self._parts = _SEARCH_PARTS
        self._thoughts, self._text, self._refusal = (self.next_part() for _ in range(3))
        self._told = Told()
        self._lists = self._told.lists
        self._searches = ServerSearches()
        self._searched: dict[str, tuple[int, int]] = {}
        self._called: set[str] = set()
        self._stripper = MarkerStripper(private_only=True)
        self._details = Details()
        self._field = ""
        self._calls: dict[int, int] = {}
        self._named: set[int] = set()
        self._kept: dict[int, JsonObject] = {}
        self._call_id = ""
        self._pages: tuple[Source, ...] = ()
        self._usage: Usage | None = None
        self._reason = self._native = ""
        self._started = self._streamed = self._read = self._refused = self._settled = False

    def read(self, body: JsonObject) -> list[Event]:
        """The events of a whole body."""
        answer = Fields.of(body, UpstreamWireError)
        if not answer.items("choices") and not answer.has("error") and answer.get("object") != "error":
            raise answer.fault("expected a choice", "choices")
        self.look(body)
        self.on_chunk(answer)
        self.conclude()
        events, self._events = self._events, []
        return events

    def on_frame(self, frame: Frame) -> None:
        """One chunk, or the sentinel `[DONE]`."""
        data = frame.data
        if data[:1] != b"{":
            data = data.strip()
            if data == b"[DONE]":
                self.conclude()
                return
            if not data:
                return
        try:
            value = load_json(data, UpstreamWireError)
            if self._streamed and (words := _words_alone(value)):
                self._say(words)
                return
            chunk = Fields.of(value, UpstreamWireError)
            self.on_chunk(chunk)
            if frame.event == "error":
                self.fail(decode_told_error(chunk.raw))
        except WireError:
            self.settle()
            raise

    def on_end(self) -> None:
        """Some servers leave `[DONE]` out: an answer that said why it ended is whole."""
        if self._reason:
            self.conclude()
        else:
            self.settle()

    def on_chunk(self, chunk: Fields) -> None:
        """A chunk of a stream, or a body."""
        raw = chunk.raw
        if not self._started:
            self._started = True
            self.emit(Started(chunk.text("id"), chunk.text("model")))
        if not _NO_LISTS(raw):
            self._lists.read(raw)
        if raw.get("usage") is not None:
            self._usage = decode_usage(chunk.obj("usage"))
        elif as_object(raw.get("x_groq")).get("usage") is not None:
            self._usage = decode_usage(chunk.obj("x_groq").obj("usage"))
        error = raw.get("error")
        for choice in chunk.objs("choices"):
            if not choice.integer("index"):
                self._on_choice(choice)
                error = error or choice.get("error")
                break
        if raw.get("object") == "error":  # vLLM
            error = error or raw
        if error or self._reason == "error":
            self.fail(decode_told_error(error if isinstance(error, dict) else {"error": error}))

    def _on_choice(self, choice: Fields) -> None:
        delta = choice.obj("delta")
        if any(value for key, value in delta.raw.items() if key != "role"):
            self._streamed = True
            self._on_message(delta)
        if choice.has("message"):
            self._on_whole(choice.obj("message"))
        if not _NO_LISTS(choice.raw):
            self._lists.read(choice.raw)
        self._reason = choice.text("finish_reason") or self._reason
        self._native = choice.text("native_finish_reason") or self._native

    def _on_whole(self, message: Fields) -> None:
        """A message in full; in a stream, the message as far as it has come."""
        if not self._streamed and not self._read:
            self._read = True
            self._on_message(message)
            return
        content = message.get("content")
        if isinstance(content, str) and len(content) > self._stripper.length_fed:
            told = self.transcript.text(self._text)
            if content.startswith(told) or len(told) < self._stripper.length_fed:
                self._say(content[self._stripper.length_fed :])
        self._on_steps(message)

    def _on_message(self, message: Fields) -> None:
        raw = message.raw
        # A delta has one or two fields; a whole message is read in the order of the table.
        for key in raw if self._streamed else _READERS:
            if key in _READERS and raw.get(key) is not None:
                _READERS[key](self, message)

    def _on_lists(self, message: Fields) -> None:
        self._lists.read(message.raw)

    def _on_tools(self, message: Fields) -> None:
        for search in self._searches.read_tools(message):
            self._tell_search(search)

    def _on_steps(self, message: Fields) -> None:
        for step in self._searches.read_steps(message):
            if isinstance(step, str):
                self._think(f"{step}\n", "reasoning_steps")
            else:
                self._tell_search(step)

    def _tell_search(self, search: ServerSearch) -> None:
        """An act of the server: told when it is known what it was, and when it is known what it found."""
        call, result = search
        if call.id not in self._searched:
            first = 1 + 2 * len(self._searched)
            is_room = first + 1 < _SEARCH_PARTS
            self._searched[call.id] = (first, first + 1) if is_room else (self.next_part(), self.next_part())
            self.emit(SearchStarted(self._searched[call.id][0], call.id))
        called, returned = self._searched[call.id]
        is_known = call.queries or call.url or call.pattern or result is not None
        if is_known and call.id not in self._called:
            self._called.add(call.id)
            self.emit(SearchCalled(called, call))
        if result is not None:
            self.emit(SearchReturned(returned, result))

    def _on_reasoning_content(self, message: Fields) -> None:
        self._think(message.text("reasoning_content"), "reasoning_content")

    def _on_reasoning(self, message: Fields) -> None:
        if not message.text("reasoning_content"):
            self._think(message.text("reasoning"), "reasoning")

    def _on_details(self, message: Fields) -> None:
        self._details.add(message.objs(DETAILS))
        text, field = decode_reasoning(message)
        if field == DETAILS and message.items(DETAILS):
            self._field = self._field or DETAILS
            self.emit(ReasoningDelta(self._thoughts, text))

    def _think(self, text: str, field: str) -> None:
        if text:
            self._field = field
            self._tell_pages()
            self.emit(ReasoningDelta(self._thoughts, text))

    def _on_content(self, message: Fields) -> None:
        content = message.get("content")
        if isinstance(content, str):
            self._say(content)
            return
        for chunk in read_chunks(message):
            if chunk.thought:
                self._think(chunk.thought, "thinking")
            self._say(chunk.text)
            self._told.annotations += (
                replace(note, start=self._stripper.length_fed, end=self._stripper.length_fed)
                for note in chunk.notes
            )
            self._told.references += ((self._stripper.length_fed, number) for number in chunk.references)

    def _say(self, words: str) -> None:
        if text := self._stripper.feed(words):
            if self._lists.pages is not self._pages:
                self._tell_pages()
            self.emit(TextDelta(self._text, text))

    def _on_refusal(self, message: Fields) -> None:
        text = message.text("refusal")
        if text:
            self._refused = True
            self.emit(TextDelta(self._refusal, text, "refusal"))

    def _on_images(self, message: Fields) -> None:
        for image in message.objs("images"):
            self.emit(PartAdded(self.next_part(), decode_image(image)))

    def _on_calls(self, message: Fields) -> None:
        for position, call in enumerate(message.objs("tool_calls")):
            if not is_for_client(call):
                continue
            told = decode_call(call)
            index = call.integer("index")
            self._call(told, self._guess(told, position) if index is None else index)

    def _guess(self, told: CallTold, position: int) -> int:
        """Servers that leave the index out send calls whole, or name a new one by its id."""
        if not self._streamed:
            return position
        new = told.id not in ("", self._call_id) or not self._calls
        self._call_id = told.id or self._call_id
        return len(self._calls) if new else len(self._calls) - 1

    def _on_legacy_call(self, message: Fields) -> None:
        self._call(decode_legacy_call(message.obj("function_call")), 0)

    def _call(self, told: CallTold, index: int) -> None:
        part = self._calls.get(index)
        new = part is None
        if part is None:
            part = self._calls[index] = self.next_part()
        if told.verbatim != self._kept.get(part, {}) and told.verbatim:
            self._kept[part] = told.verbatim
            self.emit(ExtrasSeen(part, marked(told.verbatim)))
        call_id = (told.id or f"call_{len(self._calls) - 1}") if new else ""
        name = "" if part in self._named else told.name
        if name:
            self._named.add(part)
        if call_id or name or told.arguments:
            self.emit(ToolCallDelta(part, call_id, name, told.arguments))

    def _on_annotations(self, message: Fields) -> None:
        self._told.annotate(message)

    def conclude(self) -> None:
        """Everything has been said: tell what could only be told now, and how it ended."""
        for search in self._searches.pending():
            self._tell_search(search)
        self.settle()
        said = self._reason or len(self.transcript) or self._calls
        if not said:
            self.emit(Failed(Interrupted("the answer ended before it began")))
            return
        reason, detail = decode_finish(self._reason, self._native)
        if self._refused and reason == "stop":
            reason = "refused"
        elif self._calls and (reason == "stop" or not self._reason):
            reason = "tool_calls"  # a forced function ends with `stop`
        self.emit(Finished(reason, detail))

    def fail(self, error: UpstreamError) -> None:
        """The provider told an error; what came before stands."""
        self.settle()
        self.emit(Failed(error))

    def settle(self) -> None:
        """Tell what waits for the end of the text."""
        if self._settled:
            return
        self._settled = True
        rest = self._stripper.close()
        if rest:
            self.emit(TextDelta(self._text, rest))
        self._tell_pages()
        if self._field:
            self.emit(ExtrasSeen(self._thoughts, verbatim_reasoning(self._field, self._details.whole())))
        text = self.transcript.text(self._text)
        if text and (files := self._told.files()):
            self.emit(ExtrasSeen(self._text, {NAME: {"annotations": files}}))
        for event in resolve(text, self._told, self._stripper.map_offset, self._searches.shown_pages()):
            self.emit(event)
        for part in (self._text, self._refusal):
            if self.transcript.text(part):
                self.emit(TextSettled(part))
        if self._usage is not None:
            self.emit(UsageSeen(self._usage))

    def _tell_pages(self) -> None:
        """Before the first words if they are known by then; again if there came more."""
        pages = self._lists.pages
        if pages is not self._pages:
            self._pages = pages
            self.emit(SearchReturned(self._search, SearchResult("search_0", pages, extras={NAME: {}})))


_SEARCH_PARTS = 100
"""Parts that are kept for searches, so that they come before the text however late they are told."""
_NO_LISTS = frozenset(LIST_FIELDS).isdisjoint

_QUIET = frozenset(
    {
        "id",
        "object",
        "created",
        "model",
        "choices",
        "provider",
        "service_tier",
        "system_fingerprint",
        "obfuscation",
    }
)
_SPOKEN = frozenset({"role", "content"})
_OPEN = frozenset({"index", "delta", "logprobs", "finish_reason", "native_finish_reason"})


def _words_alone(chunk: Json) -> str:
    """The words of a chunk that says nothing else: nearly all of a stream is made of such."""
    if not isinstance(chunk, dict) or not _QUIET.issuperset(chunk):
        return ""
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    if not isinstance(choice, dict) or not _OPEN.issuperset(choice):
        return ""
    delta = choice.get("delta")
    if choice.get("index") or choice.get("finish_reason") or not isinstance(delta, dict):
        return ""
    words = delta.get("content")
    return words if isinstance(words, str) and _SPOKEN.issuperset(delta) else ""


_READERS: Mapping[str, Callable[[Decoder, Fields], None]] = {
    **dict.fromkeys(LIST_FIELDS, Decoder._on_lists),
    "executed_tools": Decoder._on_tools,
    "reasoning_steps": Decoder._on_steps,
    "reasoning_content": Decoder._on_reasoning_content,
    "reasoning": Decoder._on_reasoning,
    DETAILS: Decoder._on_details,
    "content": Decoder._on_content,
    "refusal": Decoder._on_refusal,
    "images": Decoder._on_images,
    "tool_calls": Decoder._on_calls,
    "function_call": Decoder._on_legacy_call,
    "annotations": Decoder._on_annotations,
}
