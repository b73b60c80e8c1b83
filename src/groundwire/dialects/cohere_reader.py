"""Reader of Cohere's Chat API, version 2: its stream events become events of an answer.

`POST /v2/chat` returns a message, or a stream of events with the same content. A citation has the offsets of
the cited text in a block of content, in code points, repeats that text, and lists its sources: documents that
the request contained, or outputs of tools. A source is cited by the address in it, or by its title. The
output of a tool that has neither is the client's own, and is not cited.

`cohere_chat` uses it, and `openai_chat` for servers that are configured with that dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundwire.dialects.event_queue import EventQueue
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields, as_object
from groundwire.errors import Overloaded, TimedOut
from groundwire.model import (
    Citation,
    Cited,
    Evidence,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    FinishReason,
    Json,
    JsonObject,
    ReasoningDelta,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
)
from groundwire.text.spans import QuoteLocator, anchor_at
from groundwire.text.urls import safe_url

FINISH_REASONS: Mapping[str, FinishReason] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR_TOXIC": "filtered",
}
_FAILURES = {"ERROR": Overloaded, "TIMEOUT": TimedOut}
OWN_SOURCE = "gw_"
"""Begins the ids of sources that groundwire wrote: pages, which are not documents of the request."""

_URL_FIELDS = ("url", "link", "uri", "source")
_TITLE_FIELDS = ("title", "name")
_QUOTE_FIELDS = ("snippet", "text", "excerpt")


def is_cohere(body: Fields) -> bool:
    """Whether a body is a whole response of this API."""
    return isinstance(body.get("message"), dict) and body.has("finish_reason") and not body.has("choices")


def is_cohere_event(value: Json) -> bool:
    """Whether a value is an event of a stream of this API."""
    kind = as_object(value).get("type")
    return isinstance(kind, str) and kind in _READERS


class CohereReader:
    """Reads the events of one response into the queue of a decoder."""

    __slots__ = ("_blocks", "_calls", "_dialect", "_is_started", "_pending", "_plan", "_queue")

    def __init__(self, queue: EventQueue, dialect: str) -> None:
        """`dialect` is the name that marks what Cohere wrote."""
        self._queue = queue
        self._dialect = dialect
        self._is_started = False
        self._blocks: dict[tuple[str, int], int] = {}
        """Parts by the kind and the index of their block."""
        self._calls: dict[int, int] = {}
        self._plan: int | None = None
        self._pending: list[Fields] = []
        """Citations whose text has not arrived."""

    def read(self, event: Fields) -> None:
        """Read an event of a stream; one of an unknown type is skipped."""
        reader = _READERS.get(event.text("type"))
        if reader is not None:
            self._start(event)
            reader(self, event)

    def read_body(self, body: Fields) -> None:
        """Read a whole response."""
        self._start(body)
        self.read_message(body.obj("message"))
        self.end(body)

    def read_message(self, message: Fields) -> None:
        """Read a whole message, whose content may be a string in the history."""
        if message.text("tool_plan"):
            self._add_plan(message)
        content = message.get("content")
        if isinstance(content, str):
            self._add_content(0, message.with_raw({"text": content}))
        else:
            for index, block in enumerate(message.objs("content")):
                self._add_content(index, block)
        for index, call in enumerate(message.objs("tool_calls")):
            self._add_call(index, call)
        for citation in message.objs("citations"):
            self._add_citation(citation)

    def settle(self) -> None:
        """Emit the citations that waited for their text; all others have been emitted."""
        pending, self._pending = self._pending, []
        for citation in pending:
            self._emit_citation(citation)
        for (kind, _), part in self._blocks.items():
            if kind == "text":
                self._queue.emit(TextSettled(part))

    def end(self, ending: Fields) -> None:
        """Read the usage, and the reason why the answer ended."""
        self.settle()
        reason = ending.text("finish_reason")
        if ending.obj("usage").raw:
            self._queue.emit(UsageSeen(decode_usage(ending.obj("usage"))))
        if failure := _FAILURES.get(reason):
            message = ending.text("error") or f"the answer ended with {reason}"
            self._queue.emit(Failed(failure(message, upstream_code=reason)))
        else:
            self._queue.emit(Finished(FINISH_REASONS.get(reason, "other"), reason))

    def _start(self, holder: Fields) -> None:
        if not self._is_started:
            self._is_started = True
            self._queue.emit(Started(holder.text("id")))

    def _add_content(self, index: int, content: Fields) -> None:
        if thinking := content.text("thinking"):
            self._queue.emit(ReasoningDelta(self._reasoning_part(index), thinking))
        if text := content.text("text"):
            self._queue.emit(TextDelta(self._part("text", index), text))

    def _part(self, kind: str, index: int) -> int:
        part = self._blocks.get((kind, index))
        if part is None:
            part = self._blocks[kind, index] = self._queue.next_part()
        return part

    def _reasoning_part(self, index: int) -> int:
        is_new = ("thinking", index) not in self._blocks
        part = self._part("thinking", index)
        if is_new:
            self._mark(part, "thinking")
        return part

    def _mark(self, part: int, kind: str) -> None:
        """Mark reasoning as Cohere's: a block of thinking, or the plan before tool calls."""
        self._queue.emit(ReasoningDelta(part, ""))
        self._queue.emit(ExtrasSeen(part, {self._dialect: {"type": kind}}))

    def _add_plan(self, message: Fields) -> None:
        if self._plan is None:
            self._plan = self._queue.next_part()
            self._mark(self._plan, "tool_plan")
        self._queue.emit(ReasoningDelta(self._plan, message.text("tool_plan")))

    def _add_call(self, index: int, call: Fields) -> None:
        function = call.obj("function")
        part = self._calls.get(index)
        if part is None:
            part = self._calls[index] = self._queue.next_part()
        delta = ToolCallDelta(part, call.text("id"), function.text("name"), function.text("arguments"))
        self._queue.emit(delta)

    def _add_citation(self, citation: Fields) -> None:
        if citation.text("type", "TEXT_CONTENT") != "TEXT_CONTENT":
            return  # citations of a plan or of reasoning
        if self._is_early(citation):
            self._pending.append(citation)
        else:
            self._emit_citation(citation)

    def _is_early(self, citation: Fields) -> bool:
        if citation.has(FIELD):
            span = _own_span(citation)
            return span is not None and span.end > len(self._queue.text_buffer)
        end = citation.offset("end") or 0
        part = self._blocks.get(("text", citation.integer("content_index") or 0))
        return end > 0 and (part is None or end > len(self._queue.text_buffer.text(part)))

    def _emit_citation(self, citation: Fields) -> None:
        evidence = tuple(
            item for source in citation.objs("sources") if (item := self._evidence(source)) is not None
        )
        if not evidence:
            return
        span = _own_span(citation) if citation.has(FIELD) else self._span(citation)
        if span is not None and span.end > len(self._queue.text_buffer):
            span = None
        if span is None:
            if citation.offset("end"):
                url = evidence[0].source.url
                message = f"no span in the text for the citation of {url or evidence[0].source.title}"
                self._queue.emit(Warned("citation_unplaced", message))
            self._queue.emit(Cited(Citation(None, evidence)))
        else:
            anchor = anchor_at(span, self._queue.text_buffer.slice)
            self._queue.emit(Cited(Citation(span, evidence, anchor)))

    def _span(self, citation: Fields) -> Span | None:
        """The span in the whole text; None if the repeated text is elsewhere and not unique."""
        index = citation.integer("content_index") or 0
        part = self._blocks.get(("text", index))
        if part is None:
            return None
        start, end = citation.offset("start") or 0, citation.offset("end") or 0
        text, quote = self._queue.text_buffer.text(part), citation.text("text")
        if quote:
            found = QuoteLocator(text).locate(start, end, quote)
        else:
            found = Span(start, end) if 0 <= start <= end <= len(text) and end else None
        if found is None:
            return None
        offset = self._queue.text_buffer.start(part)
        return Span(found.start + offset, found.end + offset)

    def _evidence(self, source: Fields) -> Evidence | None:
        """The evidence; None for a source that cannot be named."""
        is_document = source.text("type") == "document"
        fields = as_object(source.get("document" if is_document else "tool_output"))
        url = next((found for name in _URL_FIELDS if (found := safe_url(_text(fields.get(name))))), "")
        title = _first(fields, _TITLE_FIELDS)
        if not url and not title:
            if not is_document:
                return None
            title = source.text("id") or "Document"
        is_own = source.text("id").startswith(OWN_SOURCE)
        mark: Extras = {} if is_own else {self._dialect: {"source": source.raw}}
        return Evidence(Source(url, title, "cited"), _first(fields, _QUOTE_FIELDS), extras=mark)

    def _on_content(self, event: Fields) -> None:
        self._add_content(event.integer("index") or 0, _message(event).obj("content"))

    def _on_plan(self, event: Fields) -> None:
        self._add_plan(_message(event))

    def _on_call(self, event: Fields) -> None:
        self._add_call(event.integer("index") or 0, _message(event).obj("tool_calls"))

    def _on_citation(self, event: Fields) -> None:
        self._add_citation(_message(event).obj("citations"))

    def _on_end(self, event: Fields) -> None:
        self.end(event.obj("delta"))

    def _skip(self, _: Fields) -> None:
        """An event without content; the id of the first one has been read."""


def _message(event: Fields) -> Fields:
    return event.obj("delta").obj("message")


def decode_usage(usage: Fields) -> Usage:
    """Decode the usage: what was processed, which is more than what is billed."""
    tokens = usage.obj("tokens" if usage.has("tokens") else "billed_units")
    return Usage(
        input_tokens=tokens.count("input_tokens"),
        output_tokens=tokens.count("output_tokens"),
        cached_tokens=usage.count("cached_tokens"),
        searches=usage.obj("billed_units").count("search_units"),
    )


def _own_span(citation: Fields) -> Span | None:
    match citation.obj(FIELD).get("span"):
        case [int(start), int(end)] if 0 <= start <= end:
            return Span(start, end)
    return None


def _first(fields: JsonObject, names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := _text(fields.get(name)))), "")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


_READERS: Mapping[str, Callable[[CohereReader, Fields], None]] = {
    "message-start": CohereReader._skip,
    "content-start": CohereReader._on_content,
    "content-delta": CohereReader._on_content,
    "content-end": CohereReader._skip,
    "tool-plan-delta": CohereReader._on_plan,
    "tool-call-start": CohereReader._on_call,
    "tool-call-delta": CohereReader._on_call,
    "tool-call-end": CohereReader._skip,
    "citation-start": CohereReader._on_citation,
    "citation-end": CohereReader._skip,
    "message-end": CohereReader._on_end,
    "debug": CohereReader._skip,
}
