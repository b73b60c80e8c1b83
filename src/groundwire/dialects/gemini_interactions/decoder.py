"""Response decoder: steps of a stream, of a whole interaction or of history to events.

Each event names itself in `event_type`; `event: done` with `[DONE]` ends the bytes. Recorded order:
created, status_update, then start, deltas and stop of each step, then completed, which has the usage and no
steps. All annotations of a text come in one delta after it, and the search steps come after the text.

A whole step is begun with all its fields and stopped at once; in a stream `step.start` brings the bare
step, deltas fill it and `step.stop` ends it. Text, thoughts and function calls are emitted as they come,
all others when they are complete. Steps are identified by their index, so several may be open. The text of
a step is one part, unless an image or audio divides it; consecutive text blocks of one step cannot be
distinguished in a stream and are one part here too. Their annotations count from the beginning of their
own block.

One annotation has one span and one source; a span with three sources is three annotations. Offsets count
UTF-8 bytes of the block's own text, `start_index` 0 may be left out, and an annotation without `end_index`
cites for the answer as a whole. Annotations do not repeat the cited text, so the unit is checked against
the text: if an offset of a block falls inside a character, its offsets were code points.

Google discloses no search results, only `search_suggestions` (the same HTML several times over). An earlier
revision of the API sent result items with `url` and `title`, and clients still read them. One
`url_context_call` may open several pages: each becomes a call of its own, and those after the first name
the step as `part_of`, so that it is sent back as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Protocol

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.errors import decode_end, decode_error_object, is_blocked
from groundwire.dialects.gemini_interactions.search import (
    MARK,
    NAME,
    encode_queries,
    encode_result_items,
    marked_extras,
)
from groundwire.dialects.gemini_interactions.usage import decode_usage
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.sse import Frame
from groundwire.dialects.text_buffer import TextBuffer
from groundwire.errors import UpstreamError, UpstreamWireError, WireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
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
    SourceState,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    UsageSeen,
    Warned,
)
from groundwire.text.offsets import Unit, to_points
from groundwire.text.spans import anchor_kind
from groundwire.text.urls import domain_of, safe_url

_REDIRECT_HOST = "vertexaisearch.cloud.google.com"
_HOST_NAME = re.compile(r"(?:[\w-]+\.)+[\w-]{2,}")


def decode_image(block: Fields) -> Image:
    """Decode an image block."""
    rest = block.rest("type", "data", "mime_type", "uri")
    return Image(
        block.text("mime_type"),
        block.text("data"),
        block.text("uri"),
        marked_extras(rest) if rest else {},
    )


def decode_source(url: str, title: str, state: SourceState = "retrieved") -> Source:
    """Decode a page. With Google's redirect URLs, the title is the domain of the page."""
    address = safe_url(url)
    hidden = domain_of(address) == _REDIRECT_HOST and _HOST_NAME.fullmatch(title) is not None
    return Source(address, title, state, domain=title if hidden else "")


class EventSink(Protocol):
    """Receives the events of steps; the queue of a stream decoder is one."""

    text_buffer: TextBuffer

    def emit(self, event: Event) -> None: ...

    def next_part(self) -> int: ...


class EventCollector:
    """An event sink that collects the events in a list."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.text_buffer = TextBuffer()
        self._parts = 0

    def emit(self, event: Event) -> None:
        """Append an event."""
        if isinstance(event, TextDelta):
            self.text_buffer.add(event.part, event.text)
        self.events.append(event)

    def next_part(self) -> int:
        """Return the number of a new part."""
        self._parts += 1
        return self._parts - 1


# The URL field and the title field of each citation type.
CITATION_FIELDS = {
    "url_citation": ("url", "title"),
    "place_citation": ("url", "name"),
    "file_citation": ("document_uri", "file_name"),
}


def decode_annotations(annotations: Iterable[Fields], text: str, base: int) -> Iterator[Cited | Warned]:
    """Decode the citations of one block, whose text begins at offset `base` of the whole answer."""
    found = [item for item in annotations if item.text("type", "url_citation") in CITATION_FIELDS]
    ranges = [(item.offset("start_index") or 0, item.offset("end_index")) for item in found]
    spans = _to_spans(text, ranges)
    for item, (_, end), span in zip(found, ranges, spans, strict=True):
        evidence = _decode_evidence(item)
        if span is None:
            yield Cited(Citation(None, (evidence,)))
            if end is not None:
                yield Warned(
                    "citation_unplaced",
                    f"{evidence.source.url or evidence.source.title}: offsets outside of the text",
                )
        else:
            kind = anchor_kind(text[span.start : span.end])
            yield Cited(Citation(Span(base + span.start, base + span.end), (evidence,), kind))


def _decode_evidence(item: Fields) -> Evidence:
    kind = item.text("type", "url_citation")
    address, title = CITATION_FIELDS[kind]
    rest = item.rest("type", "start_index", "end_index", address, title)
    if kind != "url_citation":
        rest |= {"type": kind, address: item.get(address)}
    source = decode_source(item.text(address), item.text(title), "cited")
    return Evidence(source, extras=marked_extras(rest))


def _to_spans(text: str, ranges: Sequence[tuple[int, int | None]]) -> list[Span | None]:
    is_valid, unit = _offset_unit(text, [offset for pair in ranges for offset in pair if offset is not None])
    valid = [
        (start, end) if end is not None and start <= end and is_valid(start) and is_valid(end) else None
        for start, end in ranges
    ]
    points = iter(to_points(text, (offset for pair in valid if pair for offset in pair), unit))
    return [None if pair is None else Span(next(points), next(points)) for pair in valid]


def _offset_unit(text: str, offsets: Sequence[int]) -> tuple[Callable[[int], bool], Unit]:
    """The unit of these offsets, and a function that checks whether an offset is valid in the text."""
    data = text.encode("utf-8", "surrogatepass")

    def in_bytes(offset: int) -> bool:
        return offset == len(data) or (0 <= offset < len(data) and data[offset] & 0xC0 != 0x80)

    def in_points(offset: int) -> bool:
        return 0 <= offset <= len(text)

    if any(0 <= offset < len(data) and not in_bytes(offset) for offset in offsets) and all(
        in_points(offset) for offset in offsets
    ):
        return in_points, "point"
    return in_bytes, "utf8"


_SEARCH_FAILED = "unavailable"  # Google reports that a search failed, not why


def decode_search_call(step: Fields, call_id: str) -> list[SearchCall]:
    """Decode a web search call."""
    arguments = step.obj("arguments")
    queries = tuple(query for query in arguments.texts("queries") if query)
    rest = step.rest("type", "id", "arguments")
    if arguments.raw != encode_queries(queries):
        rest["arguments"] = arguments.raw
    return [SearchCall(call_id, queries, extras=marked_extras(rest))]


def decode_fetch_call(step: Fields, call_id: str) -> list[SearchCall]:
    """Decode a fetch of pages, one call for each."""
    urls = step.obj("arguments").texts("urls")
    rest = step.rest("type", "id")
    first = SearchCall(call_id, kind="open", url=safe_url("".join(urls[:1])), extras=marked_extras(rest))
    return [first, *(_further_page(call_id, number, url) for number, url in enumerate(urls[1:], 1))]


def decode_search_result(step: Fields, call_id: str) -> list[SearchResult]:
    """Decode the result of a web search."""
    items = list(step.objs("result"))
    suggestions = "\n".join(dict.fromkeys(filter(None, (item.text("search_suggestions") for item in items))))
    found = (decode_source(item.text("url"), item.text("title")) for item in items)
    sources = tuple(source for source in found if source.url or source.title)
    rest = step.rest("type", "call_id", "result", "is_error")
    if step.items("result") != encode_result_items(sources, suggestions):
        rest["result"] = step.items("result")
    error = _SEARCH_FAILED if step.flag("is_error") else ""
    return [SearchResult(call_id, sources, error, suggestions, extras=marked_extras(rest))]


def decode_fetch_result(step: Fields, call_id: str, urls: Mapping[str, str]) -> list[SearchResult]:
    """Decode the result of a fetch; `urls` maps each page to its canonical call."""
    results = [_decode_page(item, urls.get(item.text("url"), call_id)) for item in step.objs("result")]
    first, *further = results or [
        SearchResult(call_id, error=_SEARCH_FAILED if step.flag("is_error") else "")
    ]
    rest = step.rest("type")
    return [
        SearchResult(first.call_id, first.sources, first.error, extras=marked_extras(rest)),
        *(
            SearchResult(result.call_id, result.sources, result.error, extras={NAME: {"part_of": call_id}})
            for result in further
        ),
    ]


def _further_page(call_id: str, number: int, url: str) -> SearchCall:
    part_of: JsonObject = {"part_of": call_id}
    return SearchCall(f"{call_id}.{number}", kind="open", url=safe_url(url), extras={NAME: part_of})


def _decode_page(item: Fields, call_id: str) -> SearchResult:
    status = item.text("status", "success")
    if status != "success":
        return SearchResult(call_id, error=status)
    return SearchResult(call_id, (decode_source(item.text("url"), item.text("title"), "opened"),))


class OpenStep:
    """State of an open step."""

    __slots__ = ("annotations", "block", "body", "has_argument_deltas", "kind", "part")

    def __init__(self, kind: str, body: Fields) -> None:
        self.kind = kind
        self.body = body
        self.part: int | None = None
        self.has_argument_deltas = False
        """Whether the arguments of a function arrived in deltas."""
        self.block = 0
        """The offset of the current text block in its part."""
        self.annotations: list[Fields] = []


class StepReader:
    """Reads steps and emits events. Raises only the error class it was created with."""

    def __init__(self, sink: EventSink, fault: type[WireError]) -> None:
        self._sink = sink
        self._fault = fault
        self._open: dict[int | None, OpenStep] = {}
        self._pages: dict[str, dict[str, str]] = {}
        self._searches = 0
        self._last_call = "search_0"
        self.has_steps = False
        """Whether there has been any step."""
        self.has_calls = False
        """Whether there has been a function call."""

    def begin(self, index: int | None, step: Fields) -> None:
        """Start a step, bare or with all its fields."""
        if index in self._open:
            self.stop(index)
        self.has_steps = True
        kind = step.text("type")
        opened = self._open[index] = OpenStep(kind, step)
        begin = self._BEGIN.get(kind)
        if begin is not None:
            begin(self, opened, step)

    def delta(self, index: int | None, delta: Fields) -> None:
        """Read a delta of a step; the type of a step without a start is inferred from its delta."""
        kind = delta.text("type")
        step = self._open.get(index)
        if step is None or not step.kind:
            self.begin(index, Fields({"type": _IMPLIED_STEPS.get(kind, kind)}, self._fault))
            step = self._open[index]
        if _IMPLIED_STEPS.get(kind) == step.kind:
            self._DELTA[kind](self, step, delta)
        elif step.kind == "model_output":
            self._add_opaque(step, delta)
        elif kind:
            step.body = Fields(step.body.raw | delta.rest("type"), self._fault)

    def stop(self, index: int | None) -> None:
        """End a step."""
        step = self._open.pop(index, None)
        if step is not None:
            self._STOP.get(step.kind, StepReader._end_opaque)(self, step, step.body)

    def whole(self, step: Fields) -> None:
        """Read a complete step."""
        self.begin(None, step)
        self.stop(None)

    def finish(self) -> None:
        """End all open steps."""
        for index in list(self._open):
            self.stop(index)

    def _part_of(self, step: OpenStep) -> int:
        if step.part is None:
            step.part = self._sink.next_part()
        return step.part

    # model_output

    def _begin_output(self, step: OpenStep, body: Fields) -> None:
        for block in body.objs("content"):
            self._settle_block(step)
            if block.text("type") == "text":
                self._add_text(step, block)
                self._add_annotations(step, block)
            elif block.text("type") == "image":
                self._add_image(step, block)
            else:
                self._add_opaque(step, block)
        if body.has("error"):
            message = body.obj("error").text("message") or "no reason given"
            self._sink.emit(Warned("upstream_step_error", message))

    def _add_text(self, step: OpenStep, delta: Fields) -> None:
        text = delta.text("text")
        if text:
            self._sink.emit(TextDelta(self._part_of(step), text))

    def _add_annotations(self, step: OpenStep, delta: Fields) -> None:
        step.annotations += delta.objs("annotations")

    def _add_image(self, step: OpenStep, delta: Fields) -> None:
        self._settle_text(step)
        self._sink.emit(PartAdded(self._sink.next_part(), decode_image(delta)))

    def _add_opaque(self, step: OpenStep, delta: Fields) -> None:
        if not delta.text("type"):
            return
        self._settle_text(step)
        data: JsonObject = {"type": "model_output", "content": [delta.raw]}
        self._sink.emit(PartAdded(self._sink.next_part(), Opaque(NAME, data)))

    def _settle_block(self, step: OpenStep) -> None:
        """Emit the citations of the block: all its annotations have arrived."""
        text, base = "", len(self._sink.text_buffer)
        if step.part is not None:
            whole = self._sink.text_buffer.text(step.part)
            text, base = whole[step.block :], self._sink.text_buffer.start(step.part) + step.block
            step.block = len(whole)
        for event in decode_annotations(step.annotations, text, base) if step.annotations else ():
            self._sink.emit(event)
        step.annotations = []

    def _settle_text(self, step: OpenStep) -> None:
        self._settle_block(step)
        if step.part is not None:
            self._sink.emit(TextSettled(step.part))
        step.part, step.block = None, 0

    def _end_output(self, step: OpenStep, _: Fields) -> None:
        self._settle_text(step)

    # thought

    def _begin_thought(self, step: OpenStep, body: Fields) -> None:
        for item in body.objs("summary"):
            self._emit_thought(step, item)
        self._add_signature(step, body)
        rest = body.rest("type", "summary", "signature")
        if any(item.text("type", "text") != "text" for item in body.objs("summary")):
            rest["summary"] = body.get("summary")
        if rest:
            self._sink.emit(ExtrasSeen(self._thought_part(step), {NAME: rest}))

    def _add_thought(self, step: OpenStep, delta: Fields) -> None:
        self._emit_thought(step, delta.obj("content"))

    def _emit_thought(self, step: OpenStep, item: Fields) -> None:
        text = item.text("text")
        if text:
            self._sink.emit(ReasoningDelta(self._thought_part(step), text))

    def _add_signature(self, step: OpenStep, delta: Fields) -> None:
        signature = delta.text("signature")
        if signature:
            self._sink.emit(ExtrasSeen(self._thought_part(step), {NAME: {"signature": signature}}))

    def _thought_part(self, step: OpenStep) -> int:
        """The part of a thought, which has the mark of this dialect from its beginning."""
        if step.part is None:
            self._sink.emit(ReasoningDelta(self._part_of(step), ""))
            self._sink.emit(ExtrasSeen(self._part_of(step), MARK))
        return self._part_of(step)

    # function_call

    def _begin_call(self, step: OpenStep, body: Fields) -> None:
        self.has_calls = True
        part = self._part_of(step)
        name = body.text("name")
        self._sink.emit(ToolCallDelta(part, body.text("id") or f"call_{part}", name))
        self._emit_call_extras(step, body.rest("type", "id", "name", "arguments"))

    def _add_arguments(self, step: OpenStep, delta: Fields) -> None:
        arguments = delta.text("arguments")
        if arguments:
            step.has_argument_deltas = True
            self._sink.emit(ToolCallDelta(self._part_of(step), arguments=arguments))
        self._emit_call_extras(step, delta.rest("type", "arguments"))

    def _emit_call_extras(self, step: OpenStep, rest: JsonObject) -> None:
        extras = marked_extras(rest)
        if extras is not MARK:
            self._sink.emit(ExtrasSeen(self._part_of(step), extras))

    def _end_call(self, step: OpenStep, body: Fields) -> None:
        arguments = body.obj("arguments").raw
        if arguments and not step.has_argument_deltas:
            self._sink.emit(ToolCallDelta(self._part_of(step), arguments=dump_json(arguments)))

    # searches

    def _begin_search(self, step: OpenStep, body: Fields) -> None:
        self._sink.emit(SearchStarted(self._part_of(step), self._call_id(step, body)))

    def _call_id(self, step: OpenStep, body: Fields) -> str:
        call_id = body.text("id")
        if not call_id:
            call_id = f"search_{self._searches}"
            step.body = Fields(step.body.raw | {"id": call_id}, self._fault)
        self._searches += 1
        self._last_call = call_id
        return call_id

    def _end_search(self, step: OpenStep, body: Fields) -> None:
        self._emit_search_parts(step, decode_search_call(body, body.text("id")))

    def _end_fetch(self, step: OpenStep, body: Fields) -> None:
        calls = decode_fetch_call(body, body.text("id"))
        urls = body.obj("arguments").texts("urls")
        self._pages[body.text("id")] = dict(zip(urls, (call.id for call in calls), strict=False))
        self._emit_search_parts(step, calls)

    def _end_search_result(self, step: OpenStep, body: Fields) -> None:
        self._emit_search_parts(step, decode_search_result(body, body.text("call_id") or self._last_call))

    def _end_fetch_result(self, step: OpenStep, body: Fields) -> None:
        call_id = body.text("call_id") or self._last_call
        self._emit_search_parts(step, decode_fetch_result(body, call_id, self._pages.get(call_id, {})))

    def _emit_search_parts(self, step: OpenStep, values: list[SearchCall] | list[SearchResult]) -> None:
        for value in values:
            part, step.part = self._part_of(step), None
            if isinstance(value, SearchCall):
                self._sink.emit(SearchCalled(part, value))
            else:
                self._sink.emit(SearchReturned(part, value))

    # other steps

    def _ignore(self, step: OpenStep, body: Fields) -> None:
        """Ignore a step: user input is not part of the answer."""

    def _end_opaque(self, step: OpenStep, body: Fields) -> None:
        if step.kind:
            self._sink.emit(PartAdded(self._part_of(step), Opaque(NAME, body.raw)))

    _BEGIN: ClassVar[Mapping[str, Callable[[StepReader, OpenStep, Fields], None]]] = {
        "model_output": _begin_output,
        "thought": _begin_thought,
        "function_call": _begin_call,
        "google_search_call": _begin_search,
        "url_context_call": _begin_search,
    }
    _DELTA: ClassVar[Mapping[str, Callable[[StepReader, OpenStep, Fields], None]]] = {
        "text": _add_text,
        "text_annotation_delta": _add_annotations,
        "text_annotation": _add_annotations,
        "image": _add_image,
        "thought_summary": _add_thought,
        "thought_signature": _add_signature,
        "arguments_delta": _add_arguments,
        "arguments": _add_arguments,
    }
    _STOP: ClassVar[Mapping[str, Callable[[StepReader, OpenStep, Fields], None]]] = {
        "model_output": _end_output,
        "thought": _ignore,
        "function_call": _end_call,
        "google_search_call": _end_search,
        "google_search_result": _end_search_result,
        "url_context_call": _end_fetch,
        "url_context_result": _end_fetch_result,
        "user_input": _ignore,
        "function_result": _ignore,
    }


_IMPLIED_STEPS = {
    "text": "model_output",
    "text_annotation_delta": "model_output",
    "text_annotation": "model_output",
    "image": "model_output",
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
    "arguments": "function_call",
}

_DONE_DATA = b"[DONE]"
_PENDING_STATUSES = frozenset({"", "in_progress", "queued"})


class Decoder(StreamDecoder):
    """Decodes the stream of an interaction."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = StepReader(self.queue, UpstreamWireError)
        self._started = False
        self._status = Fields({}, UpstreamWireError)

    def on_frame(self, frame: Frame) -> None:
        if frame.data == _DONE_DATA:
            return
        body = Fields.of(load_json(frame.data, UpstreamWireError), UpstreamWireError)
        kind = body.text("event_type")
        if not kind:
            self._on_bare(body)
        elif kind in self._EVENTS:
            self._EVENTS[kind](self, body)

    def on_end(self) -> None:
        if self._status.text("status") not in _PENDING_STATUSES:
            emit_end(self._status, self, self._steps)

    def _on_bare(self, body: Fields) -> None:
        """Read a body without an event type: an error in the older form, or a whole interaction."""
        if body.has("error"):
            self._on_error(body)
        elif body.has("status"):
            read_interaction(body, self, self._steps)

    def _on_created(self, body: Fields) -> None:
        """Read the start, or the first event of a stream without one."""
        if not self._started:
            self._started = True
            emit_start(body.obj("interaction"), self)

    def _on_status(self, body: Fields) -> None:
        self._status = body
        if body.has("usage"):
            self.emit(UsageSeen(decode_usage(body.obj("usage"))))

    def _on_step(self, body: Fields) -> None:
        self._on_created(body)
        self._steps.begin(body.integer("index"), body.obj("step"))

    def _on_delta(self, body: Fields) -> None:
        self._on_created(body)
        self._steps.delta(body.integer("index"), body.obj("delta"))

    def _on_stop(self, body: Fields) -> None:
        self._steps.stop(body.integer("index"))

    def _on_completed(self, body: Fields) -> None:
        self._on_created(body)
        emit_end(body.obj("interaction"), self, self._steps)

    def _on_error(self, body: Fields) -> None:
        self._steps.finish()
        emit_error(body.obj("error"), self)

    _EVENTS: ClassVar[Mapping[str, Callable[[Decoder, Fields], None]]] = {
        "interaction.created": _on_created,
        "interaction.status_update": _on_status,
        "step.start": _on_step,
        "step.delta": _on_delta,
        "step.stop": _on_stop,
        "interaction.completed": _on_completed,
        "error": _on_error,
    }


_KEPT_FIELDS = ("service_tier", "continuation_token", "environment_id")


def read_interaction(body: Fields, sink: EventSink, steps: StepReader) -> None:
    """Read a body that is an interaction or an error."""
    emit_start(body, sink)
    if body.has("error"):
        emit_error(body.obj("error"), sink)
        return
    if not body.has("status"):
        raise body.fault("expected an interaction", "status")
    emit_end(body, sink, steps)


def emit_start(body: Fields, sink: EventSink) -> None:
    """Emit the start, with id and model."""
    sink.emit(Started(body.text("id"), body.text("model") or body.text("agent")))


def emit_end(body: Fields, sink: EventSink, steps: StepReader) -> None:
    """Emit the steps that were not streamed, the usage, and the end."""
    if not steps.has_steps:
        for step in body.objs("steps"):
            steps.whole(step)
    steps.finish()
    if body.has("usage"):
        sink.emit(UsageSeen(decode_usage(body.obj("usage"))))
    end = decode_end(body.text("status"), list(body.objs("errors")), has_calls=steps.has_calls)
    if isinstance(end, UpstreamError):
        sink.emit(Failed(end))
    else:
        kept: JsonObject = {name: body.get(name) for name in _KEPT_FIELDS if body.has(name)}
        sink.emit(Finished(end.reason, end.detail, {NAME: kept} if kept else {}))


def emit_error(body: Fields, sink: EventSink) -> None:
    """Emit an error that ends the answer; blocked output is a finish reason."""
    error = decode_error_object(body)
    if is_blocked(error):
        sink.emit(Finished("filtered", error.upstream_code))
    else:
        sink.emit(Failed(error))
