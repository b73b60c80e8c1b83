"""From chunks to events.

A body is a stream of one chunk whose `message` stands where a chunk has its `delta`, so both are read by
the same table. Perplexity sends both: in a body the delta is empty, in a stream every chunk repeats the
message as far as it has come. The parts of an answer have numbers in the order in which a message lists
them, because streams do not keep to it: OpenRouter tells encrypted reasoning after the text, Perplexity its
pages at the end. Only the choice with index 0 is read.

Annotations may come before, between and after the text, and again; citations are told when it is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.openai_chat.errors import decode_finish, decode_stream_error
from groundwire.dialects.openai_chat.history import (
    REASONING_DETAILS,
    ChatAnnotation,
    ReasoningDetails,
    SourceCollector,
    decode_image,
    decode_reasoning,
    evidence_for,
    reasoning_extras,
    resolve_citations,
)
from groundwire.dialects.openai_chat.search import LIST_FIELDS, NAME, as_extras, decode_page
from groundwire.dialects.openai_chat.tools import WireCall, decode_call, decode_legacy_call, is_client_call
from groundwire.dialects.openai_chat.usage import decode_usage
from groundwire.dialects.sse import Frame
from groundwire.errors import Interrupted, UpstreamError, UpstreamWireError, WireError
from groundwire.model import (
    Event,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    Json,
    JsonObject,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    SourceState,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.text.markers import MarkerStripper
from groundwire.text.urls import safe_address

_MARK: Extras = {NAME: {}}

_WEB_TOOL = re.compile(r"search|brows|visit|open|find|web", re.IGNORECASE)

_BROWSER_PAGE = re.compile(r"\s*\[(\d{1,4})\]")


class Decoder(StreamDecoder):
    """Reads a stream, or a whole body."""

    def __init__(self) -> None:
        super().__init__()
        self._search = self.next_part()
        self._parts = _SEARCH_PARTS
        self._thoughts, self._text, self._refusal = (self.next_part() for _ in range(3))
        self._told = SourceCollector()
        self._lists = self._told.lists
        self._searches = ServerSearchReader()
        self._searched: dict[str, tuple[int, int]] = {}
        self._called: set[str] = set()
        self._stripper = MarkerStripper(private_only=True)
        self._details = ReasoningDetails()
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
            if self._streamed and (words := _plain_text_delta(value)):
                self._say(words)
                return
            chunk = Fields.of(value, UpstreamWireError)
            self.on_chunk(chunk)
            if frame.event == "error":
                self.fail(decode_stream_error(chunk.raw))
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
        if not _HAS_NO_LISTS(raw):
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
            self.fail(decode_stream_error(error if isinstance(error, dict) else {"error": error}))

    def _on_choice(self, choice: Fields) -> None:
        delta = choice.obj("delta")
        if any(value for key, value in delta.raw.items() if key != "role"):
            self._streamed = True
            self._on_message(delta)
        if choice.has("message"):
            self._on_whole(choice.obj("message"))
        if not _HAS_NO_LISTS(choice.raw):
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
        if isinstance(content, str) and len(content) > self._stripper.taken:
            told = self.transcript.text(self._text)
            if content.startswith(told) or len(told) < self._stripper.taken:
                self._say(content[self._stripper.taken :])
        self._on_steps(message)

    def _on_message(self, message: Fields) -> None:
        raw = message.raw
        # A delta has one or two fields; a whole message is read in the order of the table.
        for key in raw if self._streamed else _FIELD_READERS:
            if key in _FIELD_READERS and raw.get(key) is not None:
                _FIELD_READERS[key](self, message)

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
        self._details.add(message.objs(REASONING_DETAILS))
        text, field = decode_reasoning(message)
        if field == REASONING_DETAILS and message.items(REASONING_DETAILS):
            self._field = self._field or REASONING_DETAILS
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
        for chunk in decode_content_chunks(message):
            if chunk.thought:
                self._think(chunk.thought, "thinking")
            self._say(chunk.text)
            self._told.annotations += (
                replace(note, start=self._stripper.taken, end=self._stripper.taken) for note in chunk.notes
            )
            self._told.references += ((self._stripper.taken, number) for number in chunk.references)

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
            if not is_client_call(call):
                continue
            told = decode_call(call)
            index = call.integer("index")
            self._call(told, self._guess(told, position) if index is None else index)

    def _guess(self, told: WireCall, position: int) -> int:
        """Servers that leave the index out send calls whole, or name a new one by its id."""
        if not self._streamed:
            return position
        new = told.id not in ("", self._call_id) or not self._calls
        self._call_id = told.id or self._call_id
        return len(self._calls) if new else len(self._calls) - 1

    def _on_legacy_call(self, message: Fields) -> None:
        self._call(decode_legacy_call(message.obj("function_call")), 0)

    def _call(self, told: WireCall, index: int) -> None:
        part = self._calls.get(index)
        new = part is None
        if part is None:
            part = self._calls[index] = self.next_part()
        if told.verbatim != self._kept.get(part, {}) and told.verbatim:
            self._kept[part] = told.verbatim
            self.emit(ExtrasSeen(part, as_extras(told.verbatim)))
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
            self.emit(ExtrasSeen(self._thoughts, reasoning_extras(self._field, self._details.whole())))
        text = self.transcript.text(self._text)
        if text and (files := self._told.files()):
            self.emit(ExtrasSeen(self._text, {NAME: {"annotations": files}}))
        for event in resolve_citations(text, self._told, self._stripper.place, self._searches.shown_pages()):
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

_HAS_NO_LISTS = frozenset(LIST_FIELDS).isdisjoint

_TEXT_CHUNK_FIELDS = frozenset(
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

_TEXT_DELTA_FIELDS = frozenset({"role", "content"})

_TEXT_CHOICE_FIELDS = frozenset({"index", "delta", "logprobs", "finish_reason", "native_finish_reason"})


def _plain_text_delta(chunk: Json) -> str:
    """The words of a chunk that says nothing else: nearly all of a stream is made of such."""
    if not isinstance(chunk, dict) or not _TEXT_CHUNK_FIELDS.issuperset(chunk):
        return ""
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    if not isinstance(choice, dict) or not _TEXT_CHOICE_FIELDS.issuperset(choice):
        return ""
    delta = choice.get("delta")
    if choice.get("index") or choice.get("finish_reason") or not isinstance(delta, dict):
        return ""
    words = delta.get("content")
    return words if isinstance(words, str) and _TEXT_DELTA_FIELDS.issuperset(delta) else ""


_FIELD_READERS: Mapping[str, Callable[[Decoder, Fields], None]] = {
    **dict.fromkeys(LIST_FIELDS, Decoder._on_lists),
    "executed_tools": Decoder._on_tools,
    "reasoning_steps": Decoder._on_steps,
    "reasoning_content": Decoder._on_reasoning_content,
    "reasoning": Decoder._on_reasoning,
    REASONING_DETAILS: Decoder._on_details,
    "content": Decoder._on_content,
    "refusal": Decoder._on_refusal,
    "images": Decoder._on_images,
    "tool_calls": Decoder._on_calls,
    "function_call": Decoder._on_legacy_call,
    "annotations": Decoder._on_annotations,
}


class ContentChunk(NamedTuple):
    """What one chunk says. The place of a note is where the chunk stands."""

    text: str = ""
    thought: str = ""
    notes: tuple[ChatAnnotation, ...] = ()
    references: tuple[int, ...] = ()


def decode_content_chunks(message: Fields) -> Iterator[ContentChunk]:
    """The chunks of `content`; those without meaning for an answer are passed over."""
    for chunk in message.objs("content"):
        match chunk.text("type", "text"):
            case "text":
                yield ContentChunk(chunk.text("text"))
            case "refusal":
                yield ContentChunk(chunk.text("refusal"))
            case "thinking":
                yield ContentChunk(thought=_thinking_text(chunk))
            case "tool_reference":
                page = decode_page(chunk.rest("type"), "cited")
                if page.url or page.title:
                    yield ContentChunk(notes=(ChatAnnotation(evidence_for(page), 0, 0),))
            case "reference":
                yield ContentChunk(references=tuple(map(_reference_number, chunk.items("reference_ids"))))


def _thinking_text(chunk: Fields) -> str:
    if isinstance(chunk.get("thinking"), str):
        return chunk.text("thinking")
    return "".join(inner.text("text") for inner in chunk.objs("thinking"))


def _reference_number(value: Json) -> int:
    """A number that may be written as text; -1 for one that names nothing."""
    text = str(value) if isinstance(value, int | str) else ""
    return int(text) if text.isdecimal() and len(text) < 9 else -1


class ServerSearch(NamedTuple):
    """One act of the server's, as far as it has been told."""

    call: SearchCall
    result: SearchResult | None = None


class ServerSearchReader:
    """Collects what a server ran; entries are told again when more is known of them."""

    __slots__ = ("_ids", "_known", "_outputs", "_steps")

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._known: dict[str, ServerSearch] = {}
        self._outputs: dict[str, str] = {}
        self._steps: set[str] = set()

    def read_tools(self, message: Fields) -> Iterator[ServerSearch]:
        """What is new in `executed_tools`."""
        for position, tool in enumerate(_entries(message.get("executed_tools"))):
            entry = as_object(tool)
            index = entry.get("index")
            key = f"tool {position if index is None else index}"
            search = _decode_tool(entry, self._ids.get(key) or f"search_{len(self._known) + 1}")
            if search is not None and search != self._known.get(search.call.id):
                self._ids[key] = search.call.id
                self._known[search.call.id] = search
                output = entry.get("output")
                self._outputs[search.call.id] = output if isinstance(output, str) else ""
                yield search

    def read_steps(self, message: Fields) -> Iterator[str | ServerSearch]:
        """What is new in `reasoning_steps`: thoughts, and what was searched and fetched."""
        for step in _entries(message.get("reasoning_steps")):
            key = dump_json(step)
            if key in self._steps or not isinstance(step, dict):
                continue
            self._steps.add(key)
            if isinstance(thought := step.get("thought"), str) and thought:
                yield thought
            for search in _decode_step(step, len(self._known) + 1):
                self._known[search.call.id] = search
                yield search

    def pending(self) -> Iterator[ServerSearch]:
        """Searches whose results never came: the answer is complete, so they found nothing."""
        for search in self._known.values():
            if search.result is None:
                yield ServerSearch(search.call, SearchResult(search.call.id, extras=_MARK))

    def shown_pages(self) -> Mapping[int, Source]:
        """The pages that gpt-oss's browser opened by address, by the number it cites them with."""
        shown: dict[int, Source] = {}
        numbers = {key: _BROWSER_PAGE.match(output) for key, output in self._outputs.items()}
        for order, key in enumerate(self._outputs):
            search, number = self._known[key], numbers[key]
            if search.call.kind == "open" and search.call.url and (number or not any(numbers.values())):
                found = search.result.sources if search.result else ()
                page = next((page for page in found if page.url == search.call.url), None)
                shown[int(number[1]) if number else order] = page or Source(search.call.url, state="opened")
        return shown


def _decode_tool(tool: JsonObject, call_id: str) -> ServerSearch | None:
    """An entry of `executed_tools`; None for what has nothing to do with the web."""
    arguments = _tool_arguments(tool.get("arguments"))
    found = (
        *_sources(as_object(tool.get("search_results")).get("results")),
        *_sources(tool.get("browser_results"), "opened"),
    )
    kind = tool.get("type")
    if not found and "code" in arguments:
        return None
    call = _decode_search_call(arguments, call_id)
    if call is None:
        if not found and not (isinstance(kind, str) and _WEB_TOOL.search(kind)):
            return None
        call = SearchCall(call_id, extras=_MARK)
    is_done = bool(found) or isinstance(tool.get("output"), str)
    return ServerSearch(call, SearchResult(call_id, found, extras=_MARK) if is_done else None)


def _decode_search_call(arguments: JsonObject, call_id: str) -> SearchCall | None:
    """What the arguments of a call say it did."""
    named = [arguments.get(name) for name in ("query", "q", "search_query")]
    queries = tuple(
        query for query in (*named, *_entries(arguments.get("queries"))) if isinstance(query, str) and query
    )
    addresses = (arguments.get(name) for name in ("url", "id", "link"))
    url = next((safe for item in addresses if isinstance(item, str) and (safe := safe_address(item))), "")
    pattern = arguments.get("pattern")
    if isinstance(pattern, str) and pattern:
        return SearchCall(call_id, (), "find", url, pattern, extras=_MARK)
    if queries:
        return SearchCall(call_id, queries, extras=_MARK)
    return SearchCall(call_id, (), "open", url, extras=_MARK) if url else None


def _decode_step(step: JsonObject, number: int) -> Iterator[ServerSearch]:
    """An entry of `reasoning_steps`."""
    searched, fetched = as_object(step.get("web_search")), as_object(step.get("fetch_url_content"))
    if searched:
        words = _entries(searched.get("search_keywords"))
        queries = tuple(word for word in words if isinstance(word, str))
        call_id = f"search_{number}"
        found = tuple(_sources(searched.get("search_results")))
        yield ServerSearch(
            SearchCall(call_id, queries, extras=_MARK), SearchResult(call_id, found, extras=_MARK)
        )
        number += 1
    for page in _sources(fetched.get("contents"), "opened"):
        call_id = f"search_{number}"
        yield ServerSearch(
            SearchCall(call_id, (), "open", page.url, extras=_MARK),
            SearchResult(call_id, (page,), extras=_MARK),
        )
        number += 1


def _sources(listed: Json, state: SourceState = "retrieved") -> Iterator[Source]:
    for page in _entries(listed):
        source = decode_page(as_object(page), state)
        if source.url or source.title:
            yield source


def _entries(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _tool_arguments(value: Json) -> JsonObject:
    """JSON text, or the object itself; empty for what is neither."""
    if isinstance(value, str):
        try:
            value = load_json(value, UpstreamWireError)
        except UpstreamWireError:
            return {}
    return as_object(value)
