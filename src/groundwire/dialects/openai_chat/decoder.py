"""Decodes responses: streamed chunks and whole bodies into events.

A body is decoded as a stream of one chunk that has a `message` instead of a `delta`, so one table reads both.
Perplexity sends both fields: in a body the delta is empty, in a stream every chunk repeats the message so
far. Part numbers follow the order of the fields in a message, because streams do not keep it: OpenRouter
sends encrypted reasoning after the text, Perplexity its pages at the end. Only the choice with index 0 is
read.

Annotations may arrive before, within and after the text, and repeatedly; citations are emitted when the text
is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.brave_tags import BraveTagReader, TaggedText, is_brave, tagged_usage
from groundwire.dialects.cohere_reader import CohereReader, is_cohere, is_cohere_event
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.openai_chat.errors import decode_finish, decode_stream_error
from groundwire.dialects.openai_chat.history import (
    PROXIED_FIELDS,
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
from groundwire.dialects.openai_chat.search import LIST_FIELDS, NAME, REFERENCES, as_extras, decode_page
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
from groundwire.text.annotate import MarkerStripper
from groundwire.text.urls import safe_url

_MARK: Extras = {NAME: {}}
_WEB_TOOL = re.compile(r"search|brows|visit|open|find|web", re.IGNORECASE)
_BROWSER_PAGE = re.compile(r"\s*\[(\d{1,4})\]")


class Decoder(StreamDecoder):
    """Decodes a stream or a whole body."""

    def __init__(self) -> None:
        super().__init__()
        self._pages_part = self.next_part()
        self.queue.reserve_parts(_RESERVED_PARTS)
        self._reasoning_part, self._text_part, self._refusal_part = (self.next_part() for _ in range(3))
        self._sources = SourceCollector()
        self._lists = self._sources.lists
        self._searches = ServerSearchReader()
        self._search_parts: dict[str, tuple[int, int]] = {}
        self._emitted_calls: set[str] = set()
        self._stripper = MarkerStripper(private_only=True)
        self._details = ReasoningDetails()
        self._reasoning_field = ""
        self._call_parts: dict[int, int] = {}
        self._named_calls: set[int] = set()
        self._call_extras: dict[int, JsonObject] = {}
        self._call_id = ""
        self._emitted_pages: tuple[Source, ...] = ()
        self._usage: Usage | None = None
        self._finish_reason = self._native_reason = ""
        self._cohere = CohereReader(self.queue, NAME)
        self._tags: BraveTagReader | None = None
        self._started = self._streamed = self._message_read = self._refused = self._settled = False

    def read(self, body: JsonObject) -> list[Event]:
        """Decode a whole body into events."""
        answer = Fields.of(body, UpstreamWireError)
        if is_cohere(answer):
            return self._read_cohere(answer)
        if not answer.items("choices") and not answer.has("error") and answer.get("object") != "error":
            raise answer.fault("expected a choice", "choices")
        self.audit(body)
        self.on_chunk(answer)
        self.finish()
        return self.queue.take()

    def on_frame(self, frame: Frame) -> None:
        """Decode one chunk, or the sentinel `[DONE]`."""
        data = frame.data
        if data[:1] != b"{":
            data = data.strip()
            if data == b"[DONE]":
                self.finish()
                return
            if not data:
                return
        try:
            value = load_json(data, UpstreamWireError)
            if frame.event == REFERENCES and isinstance(value, list):
                value = {REFERENCES: value}
            if self._streamed and (text := _plain_text_delta(value)):
                self._emit_text(text)
                return
            chunk = Fields.of(value, UpstreamWireError)
            if is_cohere_event(value):
                self._cohere.read(chunk)
                return
            self.on_chunk(chunk)
            if frame.event == "error":
                self.fail(decode_stream_error(chunk.raw))
        except WireError:
            self.settle()
            raise

    def _read_cohere(self, body: Fields) -> list[Event]:
        self.audit(body.raw)
        self._cohere.read_body(body)
        return self.queue.take()

    def on_end(self) -> None:
        """End the stream. Some servers omit `[DONE]`; with a finish reason the answer is complete."""
        self._cohere.settle()
        if self._finish_reason:
            self.finish()
        else:
            self.settle()

    def on_chunk(self, chunk: Fields) -> None:
        """Decode a chunk of a stream, or a body."""
        raw = chunk.raw
        if not self._started:
            self._started = True
            self.emit(Started(chunk.text("id"), chunk.text("model")))
            self._tags = BraveTagReader() if is_brave(chunk.text("model")) else None
        if not _HAS_NO_LISTS(raw):
            self._on_references(chunk)
            self._sources.add_proxied(raw)
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
        if error or self._finish_reason == "error":
            self.fail(decode_stream_error(error if isinstance(error, dict) else {"error": error}))

    def _on_choice(self, choice: Fields) -> None:
        delta = choice.obj("delta")
        if any(value for key, value in delta.raw.items() if key != "role"):
            self._streamed = True
            self._on_message(delta)
        if choice.has("message"):
            self._on_full_message(choice.obj("message"))
        if not _HAS_NO_LISTS(choice.raw):
            self._lists.read(choice.raw)
        self._finish_reason = choice.text("finish_reason") or self._finish_reason
        self._native_reason = choice.text("native_finish_reason") or self._native_reason

    def _on_full_message(self, message: Fields) -> None:
        """Read a complete message; in a stream, the message so far."""
        if not self._streamed and not self._message_read:
            self._message_read = True
            self._on_message(message)
            return
        content = message.get("content")
        if isinstance(content, str) and len(content) > self._stripper.length_fed:
            received = self.text_buffer.text(self._text_part)
            if content.startswith(received) or len(received) < self._stripper.length_fed:
                self._emit_text(content[self._stripper.length_fed :])
        self._on_steps(message)

    def _on_message(self, message: Fields) -> None:
        raw = message.raw
        # A delta has one or two fields; a whole message is read in the order of the table.
        for key in raw if self._streamed else _FIELD_READERS:
            if key in _FIELD_READERS and raw.get(key) is not None:
                _FIELD_READERS[key](self, message)

    def _on_lists(self, message: Fields) -> None:
        self._lists.read(message.raw)

    def _on_proxied(self, message: Fields) -> None:
        self._sources.add_proxied(message.raw)

    def _on_tools(self, message: Fields) -> None:
        for search in self._searches.read_tools(message):
            self._emit_search(search)

    def _on_references(self, holder: Fields) -> None:
        """Read the references of GitHub Copilot: searches, and other pages."""
        for search in self._searches.read_references(holder):
            self._emit_search(search)
        self._lists.read(holder.raw)

    def _on_steps(self, message: Fields) -> None:
        for step in self._searches.read_steps(message):
            if isinstance(step, str):
                self._emit_reasoning(f"{step}\n", "reasoning_steps")
            else:
                self._emit_search(step)

    def _emit_search(self, search: ServerSearch) -> None:
        """Emit a server-side search: the call once it is known, and the result once there is one."""
        call, result = search
        if call.id not in self._search_parts:
            first = 1 + 2 * len(self._search_parts)
            is_reserved = first + 1 < _RESERVED_PARTS
            self._search_parts[call.id] = (
                (first, first + 1) if is_reserved else (self.next_part(), self.next_part())
            )
            self.emit(SearchStarted(self._search_parts[call.id][0], call.id))
        called, returned = self._search_parts[call.id]
        is_known = call.queries or call.url or call.pattern or result is not None
        if is_known and call.id not in self._emitted_calls:
            self._emitted_calls.add(call.id)
            self.emit(SearchCalled(called, call))
        if result is not None:
            self.emit(SearchReturned(returned, result))

    def _on_reasoning_content(self, message: Fields) -> None:
        self._emit_reasoning(message.text("reasoning_content"), "reasoning_content")

    def _on_reasoning(self, message: Fields) -> None:
        if not message.text("reasoning_content"):
            self._emit_reasoning(message.text("reasoning"), "reasoning")

    def _on_details(self, message: Fields) -> None:
        self._details.add(message.objs(REASONING_DETAILS))
        text, field = decode_reasoning(message)
        if field == REASONING_DETAILS and message.items(REASONING_DETAILS):
            self._reasoning_field = self._reasoning_field or REASONING_DETAILS
            self.emit(ReasoningDelta(self._reasoning_part, text))

    def _emit_reasoning(self, text: str, field: str) -> None:
        if text:
            self._reasoning_field = field
            self._emit_pages()
            self.emit(ReasoningDelta(self._reasoning_part, text))

    def _on_content(self, message: Fields) -> None:
        content = message.get("content")
        if isinstance(content, str):
            self._emit_text(content)
            return
        for chunk in decode_content_chunks(message):
            if chunk.thinking:
                self._emit_reasoning(chunk.thinking, "thinking")
            self._emit_text(chunk.text)
            self._sources.annotations += (
                replace(annotation, start=self._stripper.length_fed, end=self._stripper.length_fed)
                for annotation in chunk.annotations
            )
            self._sources.references += ((self._stripper.length_fed, number) for number in chunk.references)

    def _emit_text(self, delta: str) -> None:
        if self._tags is not None:
            for piece in self._tags.feed(delta):
                self._on_tagged(piece)
            return
        self._emit_untagged(delta)

    def _on_tagged(self, piece: TaggedText) -> None:
        match piece.tag:
            case "":
                self._emit_untagged(piece.text)
            case "citation":
                self._cite_here(piece.content)
            case "enum_item":
                self._emit_untagged(_first_string(piece.content, "original_tokens", "name"))
                citations = piece.content.get("citations")
                for citation in citations if isinstance(citations, list) else ():
                    self._cite_here(as_object(citation))
            case "usage":
                self._usage = tagged_usage(piece.content)

    def _cite_here(self, citation: JsonObject) -> None:
        """Cite a page for the text before this position."""
        page = decode_page({name: citation.get(name) for name in ("url", "title")}, "cited")
        if page.url:
            here = self._stripper.length_fed
            evidence = evidence_for(page, _first_string(citation, "snippet"))
            self._sources.annotations.append(ChatAnnotation(evidence, here, here))

    def _emit_untagged(self, delta: str) -> None:
        if text := self._stripper.feed(delta):
            if self._lists.pages is not self._emitted_pages:
                self._emit_pages()
            self.emit_text(self._text_part, text)

    def _on_refusal(self, message: Fields) -> None:
        text = message.text("refusal")
        if text:
            self._refused = True
            self.emit(TextDelta(self._refusal_part, text, "refusal"))

    def _on_images(self, message: Fields) -> None:
        for image in message.objs("images"):
            self.emit(PartAdded(self.next_part(), decode_image(image)))

    def _on_calls(self, message: Fields) -> None:
        for position, call in enumerate(message.objs("tool_calls")):
            if not is_client_call(call):
                continue
            wire_call = decode_call(call)
            index = call.integer("index")
            self._emit_call(wire_call, self._guess_index(wire_call, position) if index is None else index)

    def _guess_index(self, wire_call: WireCall, position: int) -> int:
        """Index of a call without one: such servers send calls whole, or start a new call with a new id."""
        if not self._streamed:
            return position
        new = wire_call.id not in ("", self._call_id) or not self._call_parts
        self._call_id = wire_call.id or self._call_id
        return len(self._call_parts) if new else len(self._call_parts) - 1

    def _on_legacy_call(self, message: Fields) -> None:
        self._emit_call(decode_legacy_call(message.obj("function_call")), 0)

    def _emit_call(self, wire_call: WireCall, index: int) -> None:
        part = self._call_parts.get(index)
        new = part is None
        if part is None:
            part = self._call_parts[index] = self.next_part()
        if wire_call.verbatim != self._call_extras.get(part, {}) and wire_call.verbatim:
            self._call_extras[part] = wire_call.verbatim
            self.emit(ExtrasSeen(part, as_extras(wire_call.verbatim)))
        call_id = (wire_call.id or f"call_{len(self._call_parts) - 1}") if new else ""
        name = "" if part in self._named_calls else wire_call.name
        if name:
            self._named_calls.add(part)
        if call_id or name or wire_call.arguments:
            self.emit(ToolCallDelta(part, call_id, name, wire_call.arguments))

    def _on_annotations(self, message: Fields) -> None:
        self._sources.annotate(message)

    def finish(self) -> None:
        """Emit what was held back until the end, and the finish reason."""
        for search in self._searches.pending():
            self._emit_search(search)
        self.settle()
        if not (self._finish_reason or len(self.text_buffer) or self._call_parts):
            self.emit(Failed(Interrupted("the response ended before it had any content")))
            return
        reason, detail = decode_finish(self._finish_reason, self._native_reason)
        if self._refused and reason == "stop":
            reason = "refused"
        elif self._call_parts and (reason == "stop" or not self._finish_reason):
            reason = "tool_calls"  # a forced function ends with `stop`
        self.emit(Finished(reason, detail))

    def fail(self, error: UpstreamError) -> None:
        """Emit the provider's error; earlier events stay valid."""
        self.settle()
        self.emit(Failed(error))

    def settle(self) -> None:
        """Emit everything that needs the complete text."""
        if self._settled:
            return
        self._settled = True
        for piece in self._tags.close() if self._tags is not None else ():
            self._on_tagged(piece)
        rest = self._stripper.close()
        if rest:
            self.emit(TextDelta(self._text_part, rest))
        self._emit_pages()
        if self._reasoning_field:
            self.emit(
                ExtrasSeen(
                    self._reasoning_part, reasoning_extras(self._reasoning_field, self._details.whole())
                )
            )
        text = self.text_buffer.text(self._text_part)
        if text and (files := self._sources.files()):
            self.emit(ExtrasSeen(self._text_part, {NAME: {"annotations": files}}))
        for event in resolve_citations(
            text, self._sources, self._stripper.map_offset, self._searches.browser_pages()
        ):
            self.emit(event)
        for part in (self._text_part, self._refusal_part):
            if self.text_buffer.text(part):
                self.emit(TextSettled(part))
        if self._usage is not None:
            self.emit(UsageSeen(self._usage))

    def _emit_pages(self) -> None:
        """Emit the pages found: before the text if they are known by then, and again when more arrive."""
        pages = self._lists.pages
        if pages is not self._emitted_pages:
            self._emitted_pages = pages
            self.emit(SearchReturned(self._pages_part, SearchResult("search_0", pages, extras={NAME: {}})))


_RESERVED_PARTS = 100
"""Part numbers reserved for searches, so that they precede the text however late they arrive."""

_HAS_NO_LISTS = frozenset((*LIST_FIELDS, *PROXIED_FIELDS)).isdisjoint
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
    """Text of a chunk that has nothing else.

    Nearly all chunks of a stream are such, so this is the fast path.
    """
    if not isinstance(chunk, dict) or not _TEXT_CHUNK_FIELDS.issuperset(chunk):
        return ""
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    if not isinstance(choice, dict) or not _TEXT_CHOICE_FIELDS.issuperset(choice):
        return ""
    delta = choice.get("delta")
    if choice.get("index") or choice.get("finish_reason") or not isinstance(delta, dict):
        return ""
    content = delta.get("content")
    return content if isinstance(content, str) and _TEXT_DELTA_FIELDS.issuperset(delta) else ""


def _first_string(fields: JsonObject, *names: str) -> str:
    values = (fields.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


_FIELD_READERS: Mapping[str, Callable[[Decoder, Fields], None]] = {
    **dict.fromkeys(LIST_FIELDS, Decoder._on_lists),
    **dict.fromkeys(PROXIED_FIELDS, Decoder._on_proxied),
    "executed_tools": Decoder._on_tools,
    REFERENCES: Decoder._on_references,
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
    """One chunk of a content list. Its annotations are at the position of the chunk."""

    text: str = ""
    thinking: str = ""
    annotations: tuple[ChatAnnotation, ...] = ()
    references: tuple[int, ...] = ()


def decode_content_chunks(message: Fields) -> Iterator[ContentChunk]:
    """Decode `content` that is a list of chunks; unknown chunk types are skipped.

    Mistral puts sources between the text chunks that they support: a `tool_reference` is a page, and the
    `reference_ids` of a `reference` are numbers of sources that the client sent. `thinking` contains chunks
    again.
    """
    for chunk in message.objs("content"):
        match chunk.text("type", "text"):
            case "text":
                yield ContentChunk(chunk.text("text"))
            case "refusal":
                yield ContentChunk(chunk.text("refusal"))
            case "thinking":
                yield ContentChunk(thinking=_thinking_text(chunk))
            case "tool_reference":
                page = decode_page(chunk.rest("type"), "cited")
                if page.url or page.title:
                    yield ContentChunk(annotations=(ChatAnnotation(evidence_for(page), 0, 0),))
            case "reference":
                yield ContentChunk(references=tuple(map(_reference_number, chunk.items("reference_ids"))))


def _thinking_text(chunk: Fields) -> str:
    if isinstance(chunk.get("thinking"), str):
        return chunk.text("thinking")
    return "".join(inner.text("text") for inner in chunk.objs("thinking"))


def _reference_number(value: Json) -> int:
    """A number that may be a string; -1 if it is not a valid number."""
    text = str(value) if isinstance(value, int | str) else ""
    return int(text) if text.isdecimal() and len(text) < 9 else -1


class ServerSearch(NamedTuple):
    """One search of the server, with what is known of it so far."""

    call: SearchCall
    result: SearchResult | None = None


class ServerSearchReader:
    """Reads the searches that a server ran; an entry is repeated when there is more of it.

    Groq lists `executed_tools` in the message and in deltas: first the call, then the same entry with its
    results (`search_results.results`, `browser_results`). The arguments show what kind of call it was.
    Perplexity lists `reasoning_steps`: thoughts, searches with their keywords, and fetched pages. GitHub
    Copilot lists `copilot_references`; those of the type `github.web-search` have a query and its results.

    gpt-oss cites with `【4†L12-L15】`. The number refers to a page shown by its browser, and every browser
    call shows one. Only a call that opened a page by URL reveals which page that was.
    """

    __slots__ = ("_ids", "_known", "_outputs", "_steps")

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._known: dict[str, ServerSearch] = {}
        self._outputs: dict[str, str] = {}
        self._steps: set[str] = set()

    def read_tools(self, message: Fields) -> Iterator[ServerSearch]:
        """New or changed searches in `executed_tools`."""
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
        """New entries of `reasoning_steps`: thoughts, searches and fetched pages."""
        for step in _entries(message.get("reasoning_steps")):
            key = dump_json(step)
            if key in self._steps or not isinstance(step, dict):
                continue
            self._steps.add(key)
            if isinstance(thinking := step.get("thought"), str) and thinking:
                yield thinking
            for search in _decode_step(step, len(self._known) + 1):
                self._known[search.call.id] = search
                yield search

    def read_references(self, holder: Fields) -> Iterator[ServerSearch]:
        """New searches in `copilot_references`."""
        for reference in map(as_object, _entries(holder.get(REFERENCES))):
            data, key = as_object(reference.get("data")), dump_json(reference)
            if reference.get("type") != "github.web-search" or key in self._steps:
                continue
            self._steps.add(key)
            query, call_id = data.get("query"), f"search_{len(self._known) + 1}"
            queries = (query,) if isinstance(query, str) and query else ()
            sources = tuple(map(decode_page, map(as_object, _entries(data.get("results")))))
            search = ServerSearch(
                SearchCall(call_id, queries, extras=_MARK), SearchResult(call_id, sources, extras=_MARK)
            )
            self._known[call_id] = search
            yield search

    def pending(self) -> Iterator[ServerSearch]:
        """Searches that never got a result: the answer is complete, so they found nothing."""
        for search in self._known.values():
            if search.result is None:
                yield ServerSearch(search.call, SearchResult(search.call.id, extras=_MARK))

    def browser_pages(self) -> Mapping[int, Source]:
        """Pages that gpt-oss's browser opened by URL, by the number it cites them with."""
        pages: dict[int, Source] = {}
        numbers = {key: _BROWSER_PAGE.match(output) for key, output in self._outputs.items()}
        for order, key in enumerate(self._outputs):
            search, number = self._known[key], numbers[key]
            if search.call.kind == "open" and search.call.url and (number or not any(numbers.values())):
                found = search.result.sources if search.result else ()
                page = next((page for page in found if page.url == search.call.url), None)
                pages[int(number[1]) if number else order] = page or Source(search.call.url, state="opened")
        return pages


def _decode_tool(tool: JsonObject, call_id: str) -> ServerSearch | None:
    """Decode an entry of `executed_tools`; None for tools that do not use the web."""
    arguments = _tool_arguments(tool.get("arguments"))
    found = (
        *_decode_pages(as_object(tool.get("search_results")).get("results")),
        *_decode_pages(tool.get("browser_results"), "opened"),
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
    """Derive the kind of call from its arguments."""
    named = [arguments.get(name) for name in ("query", "q", "search_query")]
    queries = tuple(
        query for query in (*named, *_entries(arguments.get("queries"))) if isinstance(query, str) and query
    )
    urls = (arguments.get(name) for name in ("url", "id", "link"))
    url = next((safe for item in urls if isinstance(item, str) and (safe := safe_url(item))), "")
    pattern = arguments.get("pattern")
    if isinstance(pattern, str) and pattern:
        return SearchCall(call_id, (), "find", url, pattern, extras=_MARK)
    if queries:
        return SearchCall(call_id, queries, extras=_MARK)
    return SearchCall(call_id, (), "open", url, extras=_MARK) if url else None


def _decode_step(step: JsonObject, number: int) -> Iterator[ServerSearch]:
    """Decode an entry of `reasoning_steps`."""
    searched, fetched = as_object(step.get("web_search")), as_object(step.get("fetch_url_content"))
    if searched:
        keywords = _entries(searched.get("search_keywords"))
        queries = tuple(keyword for keyword in keywords if isinstance(keyword, str))
        call_id = f"search_{number}"
        found = tuple(_decode_pages(searched.get("search_results")))
        yield ServerSearch(
            SearchCall(call_id, queries, extras=_MARK), SearchResult(call_id, found, extras=_MARK)
        )
        number += 1
    for page in _decode_pages(fetched.get("contents"), "opened"):
        call_id = f"search_{number}"
        yield ServerSearch(
            SearchCall(call_id, (), "open", page.url, extras=_MARK),
            SearchResult(call_id, (page,), extras=_MARK),
        )
        number += 1


def _decode_pages(listed: Json, state: SourceState = "retrieved") -> Iterator[Source]:
    for page in _entries(listed):
        source = decode_page(as_object(page), state)
        if source.url or source.title:
            yield source


def _entries(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _tool_arguments(value: Json) -> JsonObject:
    """Arguments as JSON text or as an object; empty for anything else."""
    if isinstance(value, str):
        try:
            value = load_json(value, UpstreamWireError)
        except UpstreamWireError:
            return {}
    return as_object(value)
