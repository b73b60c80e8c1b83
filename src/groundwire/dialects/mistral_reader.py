"""Reader of Mistral's Conversations API: its entries and stream events become events of an answer.

`POST /v1/conversations` returns entries (`outputs`), or a stream of events that build them. An entry is a
message, the execution of one of Mistral's tools, or a function call. The content of a message is a string or
a list of chunks. A citation is a chunk too: a `tool_reference` after the text that it supports, which is the
chunk before it, or, where a stream does not number its chunks, the text since the last reference.

References that groundwire wrote have their exact span in the field `groundwire`, because a claim may be split
over several chunks, and their quote in `description`. Searches that it wrote have ids that begin with `gw_`,
and what they found in `info`.

`mistral_conversations` uses it, and `openai_responses` for servers that are configured with that dialect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush

from groundwire.dialects.event_queue import EventQueue
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.dialects.tool_arguments import decode_arguments
from groundwire.errors import Overloaded, UpstreamWireError, upstream_error_class
from groundwire.model import (
    NO_EXTRAS,
    Citation,
    Cited,
    Evidence,
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
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
)
from groundwire.text.spans import anchor_at
from groundwire.text.urls import safe_url

BODY = "conversation.response"
EXECUTION = "tool.execution"
OWN_ID = "gw_"
"""Begins the ids of searches that groundwire wrote."""
UNCALLED = "uncalled"
"""In `info`: there are results, but nothing is known about the search."""

_SEARCH_NAME = re.compile(r"(?!(?:document|file|library|memory|tool|code)_)(?:\w+_)?search(?:_\w+)?")
_QUERY_FIELDS = ("query", "search_query", "q")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,([A-Za-z0-9+/=_\s-]*)", re.ASCII)


def is_conversation(body: Fields) -> bool:
    """Whether a body is a whole response of this API."""
    return body.get("object") == BODY or body.has("outputs")


def decode_image(chunk: Fields) -> Image:
    """Decode a chunk `image_url`, whose address is a string or in an object."""
    given = chunk.get("image_url")
    url = given if isinstance(given, str) else chunk.obj("image_url").text("url")
    inline = _DATA_URL.fullmatch(url)
    return Image(inline[1] or "", inline[2]) if inline else Image(url=url)


def decode_usage(usage: Fields) -> Usage:
    """Decode the usage. Tokens that the model read from tools are counted separately from the prompt."""
    read = [usage.count(name) for name in ("prompt_tokens", "connector_tokens")]
    known = [count for count in read if count is not None]
    connectors = usage.obj("connectors")
    searches = [connectors.count(name) or 0 for name in connectors.raw if "search" in name]
    return Usage(
        input_tokens=sum(known) if known else None,
        output_tokens=usage.count("completion_tokens"),
        tool_tokens=read[1],
        searches=sum(searches) if searches else None,
    )


class _TextRun:
    """The text part of a message, and where its text without a citation begins."""

    __slots__ = ("chunks", "cited", "index", "is_cited", "length", "part", "start")

    def __init__(self, part: int) -> None:
        self.part = part
        self.index = 0
        self.length = self.start = 0
        self.chunks: list[str] = []
        self.is_cited = False
        self.cited: tuple[int, int] | None = None

    def add(self, index: int, text: str) -> None:
        if index != self.index or self.is_cited:
            self.index, self.start, self.is_cited = index, self.length, False
            self.chunks.clear()
        self.chunks.append(text)
        self.length += len(text)

    def cite_here(self) -> tuple[int, int] | None:
        """Start and end of the text that a reference here supports; None without text."""
        text = "".join(self.chunks)
        if text.strip() and not self.is_cited:
            leading = len(text) - len(text.lstrip())
            self.cited = (self.start + leading, self.start + len(text.rstrip()))
        self.is_cited = True
        return self.cited


class ConversationReader:
    """Reads the entries or the events of one response into the queue of a decoder."""

    __slots__ = (
        *("_calls", "_dialect", "_executions", "_id", "_is_started", "_queue", "_reasoning"),
        *("_split", "_split_count", "_text", "_unsettled"),
    )

    def __init__(self, queue: EventQueue, dialect: str) -> None:
        """`dialect` is the name that marks what Mistral wrote."""
        self._queue = queue
        self._dialect = dialect
        self._id = ""
        self._is_started = False
        self._text: tuple[str, _TextRun] | None = None
        """The message whose text is being read."""
        self._reasoning: tuple[str, int] | None = None
        self._executions: dict[str, tuple[int, int, JsonObject]] = {}
        """Tools that run: the parts of the call and of its result, and the entry so far."""
        self._calls: dict[str, int] = {}
        self._split: list[tuple[int, int, Evidence, Span]] = []
        """References whose span ends in text that has not arrived."""
        self._split_count = 0
        self._unsettled: list[int] = []

    def read(self, event: Fields) -> None:
        """Read an event of a stream; one of an unknown type is skipped."""
        kind = event.text("type")
        if kind == f"{BODY}.started":
            self._id = event.text("conversation_id")
            return
        self._start(event.text("model"))
        if read := _EVENTS.get(kind):
            read(self, event)

    def read_body(self, body: Fields) -> None:
        """Read a whole response."""
        entries = list(body.objs("outputs"))
        self._id = body.text("conversation_id")
        self._start(next((model for entry in entries if (model := entry.text("model"))), ""))
        for number, entry in enumerate(entries):
            self.read_entry(entry, f"entry_{number}")
        self._finish(body)

    def read_entry(self, entry: Fields, name: str) -> None:
        """Read a whole entry, of a response or of the history."""
        name = entry.text("id") or name
        match entry.text("type", "message.input"):
            case "message.output" | "message.input":
                self._read_content(entry, name, 0)
            case "tool.execution":
                self._begin_execution(entry, name)
                self._end_execution(entry, name)
            case "function.call":
                self._add_call(entry, name)
            case _:
                self._close_text()
                self._queue.emit(PartAdded(self._queue.next_part(), Opaque(self._dialect, entry.raw)))

    def close(self) -> None:
        """Emit what is still open: running tools, and references that waited for their text."""
        for name, (*_, entry) in list(self._executions.items()):
            self._end_execution(Fields(entry, UpstreamWireError), name)
        while self._split:
            *_, evidence, _span = heappop(self._split)
            self._queue.emit(Cited(Citation(None, (evidence,))))
        self._close_text()

    def finish(self) -> None:
        """End the answer."""
        self.close()
        self._queue.emit(Finished("tool_calls" if self._calls else "stop"))

    def _start(self, model: str) -> None:
        if not self._is_started:
            self._is_started = True
            self._queue.emit(Started(self._id, model))

    def _on_message(self, event: Fields) -> None:
        self._read_content(event, event.text("id"), event.integer("content_index") or 0)

    def _read_content(self, entry: Fields, name: str, index: int) -> None:
        """Read the content of a message, or of a delta that has the chunk of this index."""
        content = entry.get("content")
        if isinstance(content, str):
            self._add_text(name, index, content)
        elif isinstance(content, dict):
            self._read_chunk(entry.obj("content"), name, index)
        else:
            for number, chunk in enumerate(entry.objs("content"), index):
                self._read_chunk(chunk, name, number)

    def _read_chunk(self, chunk: Fields, name: str, index: int) -> None:
        match chunk.text("type", "text"):
            case "text":
                self._add_text(name, index, chunk.text("text"))
            case "tool_reference":
                self._cite(name, chunk)
            case "thinking":
                self._add_reasoning(name, chunk)
            case "image_url":
                self._close_text()
                self._queue.emit(PartAdded(self._queue.next_part(), decode_image(chunk)))
            case _:
                self._close_text()
                self._queue.emit(PartAdded(self._queue.next_part(), Opaque(self._dialect, chunk.raw)))

    def _add_text(self, name: str, index: int, text: str) -> None:
        run = self._run_of(name)
        run.add(index, text)
        self._queue.emit(TextDelta(run.part, text))
        self._emit_complete_references()

    def _run_of(self, name: str) -> _TextRun:
        if self._text is None or self._text[0] != name:
            self._close_text()
            self._text = (name, _TextRun(self._queue.next_part()))
        return self._text[1]

    def _close_text(self) -> None:
        """End the text and the reasoning; text is settled once no reference waits for more of it."""
        if self._text is not None:
            self._unsettled.append(self._text[1].part)
        self._text = self._reasoning = None
        if not self._split:
            for part in self._unsettled:
                self._queue.emit(TextSettled(part))
            self._unsettled.clear()

    def _add_reasoning(self, name: str, chunk: Fields) -> None:
        if self._reasoning is None or self._reasoning[0] != name:
            self._close_text()
            self._reasoning = (name, self._queue.next_part())
        part = self._reasoning[1]
        for thought in chunk.objs("thinking"):
            if text := thought.text("text"):
                self._queue.emit(ReasoningDelta(part, text))
        if signature := chunk.text("signature"):
            self._queue.emit(ReasoningDelta(part, ""))
            self._queue.emit(ExtrasSeen(part, {self._dialect: {"signature": signature}}))

    def _cite(self, name: str, chunk: Fields) -> None:
        """Read a reference, which supports the text before it."""
        title, url = chunk.text("title"), safe_url(chunk.text("url"))
        if not title and not url:
            return
        if chunk.has(FIELD):
            self._cite_own(Evidence(Source(url, title, "cited"), chunk.text("description")), chunk)
            return
        mark: Extras = {self._dialect: chunk.rest("type", "title", "url")}
        evidence = Evidence(Source(url, title, "cited"), extras=mark)
        run = self._text[1] if self._text is not None and self._text[0] == name else None
        found = run.cite_here() if run is not None else None
        if run is None or found is None:
            self._queue.emit(Cited(Citation(None, (evidence,))))
            return
        offset = self._queue.text_buffer.start(run.part)
        self._queue.emit(Cited(Citation(Span(found[0] + offset, found[1] + offset), (evidence,))))

    def _cite_own(self, evidence: Evidence, chunk: Fields) -> None:
        match chunk.obj(FIELD).get("span"):
            case [int(start), int(end)] if 0 <= start <= end:
                self._split_count += 1
                heappush(self._split, (end, self._split_count, evidence, Span(start, end)))
                self._emit_complete_references()
            case _:
                self._queue.emit(Cited(Citation(None, (evidence,))))

    def _emit_complete_references(self) -> None:
        buffer = self._queue.text_buffer
        while self._split and self._split[0][0] <= len(buffer):
            *_, evidence, span = heappop(self._split)
            self._queue.emit(Cited(Citation(span, (evidence,), anchor_at(span, buffer.slice))))

    def _on_execution_started(self, event: Fields) -> None:
        self._begin_execution(event, event.text("id"))

    def _begin_execution(self, entry: Fields, name: str) -> None:
        self._close_text()
        call, result = self._queue.next_part(), self._queue.next_part()
        self._executions[name] = (call, result, {**entry.raw, "type": EXECUTION})
        if _SEARCH_NAME.fullmatch(entry.text("name")):
            self._queue.emit(SearchStarted(call, name))

    def _on_execution_delta(self, event: Fields) -> None:
        *_, entry = self._executions.get(event.text("id"), (0, 0, {}))
        earlier = entry.get("arguments")
        entry["arguments"] = (earlier if isinstance(earlier, str) else "") + event.text("arguments")

    def _on_execution_done(self, event: Fields) -> None:
        self._end_execution(event, event.text("id"))

    def _end_execution(self, event: Fields, name: str) -> None:
        if name not in self._executions:
            self._begin_execution(event, name)
        called, returned, begun = self._executions.pop(name)
        known = {key: item for key, item in event.raw.items() if item is not None}
        entry = event.with_raw({**begun, **known, "type": EXECUTION})
        if not _SEARCH_NAME.fullmatch(entry.text("name")):
            self._queue.emit(PartAdded(called, Opaque(self._dialect, entry.raw)))
            return
        info = entry.obj("info") if name.startswith(OWN_ID) else entry.with_raw({})
        if not info.flag(UNCALLED):
            self._queue.emit(SearchCalled(called, self._search_call(entry, name)))
        mark = NO_EXTRAS if name.startswith(OWN_ID) else {self._dialect: dict[str, Json]()}
        sources = tuple(map(_decode_source, info.objs("results")))
        result = SearchResult(name, sources, info.text("error"), extras=mark)
        self._queue.emit(SearchReturned(returned, result))

    def _search_call(self, entry: Fields, name: str) -> SearchCall:
        given = entry.get("arguments")
        arguments = given if isinstance(given, dict) else decode_arguments(_text(given))
        url, pattern = safe_url(_text(arguments.get("url"))), _text(arguments.get("pattern"))
        queries = tuple(_queries(arguments))
        is_page = bool(url) and not queries
        mark: Extras = NO_EXTRAS if name.startswith(OWN_ID) else {self._dialect: entry.rest("id")}
        return SearchCall(
            name,
            queries,
            ("find" if pattern else "open") if is_page else "search",
            url if is_page else "",
            pattern if is_page else "",
            extras=mark,
        )

    def _on_call(self, event: Fields) -> None:
        self._add_call(event, event.text("id") or event.text("tool_call_id"))

    def _add_call(self, entry: Fields, name: str) -> None:
        given = entry.get("arguments")
        arguments = given if isinstance(given, str) else dump_json(given) if given else ""
        if name not in self._calls:
            self._close_text()
            part = self._calls[name] = self._queue.next_part()
            self._queue.emit(ToolCallDelta(part, entry.text("tool_call_id") or name, entry.text("name")))
        if arguments:
            self._queue.emit(ToolCallDelta(self._calls[name], arguments=arguments))

    def _finish(self, event: Fields) -> None:
        if event.obj("usage").raw:
            self._queue.emit(UsageSeen(decode_usage(event.obj("usage"))))
        self.finish()

    def _fail(self, event: Fields) -> None:
        self.close()
        code = event.integer("code")
        kind = upstream_error_class(code) if code is not None and code >= 400 else Overloaded
        message = event.text("message") or "the provider reported an error"
        self._queue.emit(Failed(kind(message, upstream_code="" if code is None else str(code))))


def _queries(arguments: JsonObject) -> Iterator[str]:
    listed = arguments.get("queries")
    found = listed if isinstance(listed, list) else [arguments.get(name) for name in _QUERY_FIELDS]
    return (query for query in found if isinstance(query, str) and query.strip())


def _decode_source(page: Fields) -> Source:
    return Source(
        safe_url(page.text("url")),
        page.text("title"),
        "opened" if page.text("state") == "opened" else "retrieved",
        excerpts=page.texts("excerpts"),
        date=page.text("date"),
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


_EVENTS: Mapping[str, Callable[[ConversationReader, Fields], None]] = {
    f"{EXECUTION}.started": ConversationReader._on_execution_started,
    f"{EXECUTION}.delta": ConversationReader._on_execution_delta,
    f"{EXECUTION}.done": ConversationReader._on_execution_done,
    "message.output.delta": ConversationReader._on_message,
    "function.call.delta": ConversationReader._on_call,
    f"{BODY}.done": ConversationReader._finish,
    f"{BODY}.error": ConversationReader._fail,
}
EVENTS = (*_EVENTS, f"{BODY}.started")
