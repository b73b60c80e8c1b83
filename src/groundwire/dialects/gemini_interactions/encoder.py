"""Response encoder: events to a stream, and answers to the steps of an interaction.

Events are named in `event_type` and as SSE events; `event: done` with `[DONE]` ends the bytes.

Text is sent at once, and its step stays open until it is settled and something else begins, so that the
annotations can follow it; meanwhile other steps are sent under their own index. Consecutive text parts
share a step, as the provider itself would send them: its clients show each step as a paragraph. A citation
belongs to the text in which its claim ends. Function calls may be interleaved and stay open until the end.
Pages that other providers found are listed as result items with `url` and `title`. There is no form for
finding a pattern in a page: such calls are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.extras import add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.gemini_interactions.decoder import CITATION_FIELDS
from groundwire.dialects.gemini_interactions.errors import encode_error_object, encode_status
from groundwire.dialects.gemini_interactions.search import (
    NAME,
    encode_queries,
    encode_result_items,
    own_extras,
    with_title,
)
from groundwire.dialects.gemini_interactions.tools import decode_arguments
from groundwire.dialects.gemini_interactions.usage import encode_usage
from groundwire.dialects.timestamps import timestamp
from groundwire.errors import GroundwireError
from groundwire.model import (
    Answer,
    Assembler,
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    Json,
    JsonObject,
    Opaque,
    Part,
    PartAdded,
    Reasoning,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
)
from groundwire.text.offsets import from_points


def encode_image(image: Image) -> JsonObject:
    """Encode an image block."""
    block: JsonObject = {"type": "image"}
    if image.data:
        block["data"] = image.data
    if image.media_type:
        block["mime_type"] = image.media_type
    if image.url:
        block["uri"] = image.url
    return {**block, **own_extras(image.extras)}


LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere; consecutive texts are one step",
    Feature.PHASE: "nowhere; a new step begins where it changes",
    Feature.QUOTES: "`groundwire.citations`",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "`is_error`, and the reason in `groundwire.searches`",
    Feature.CALLERS: "nowhere",
    Feature.REFUSAL: "`errors`, as blocked output",
    Feature.CACHE_TOKENS: "`total_cached_tokens`, for those read; nowhere for those written",
    Feature.COST: "`groundwire.cost`",
}


def encode_annotations(citations: Iterable[Citation], text: str, base: int) -> list[JsonObject]:
    """Encode annotations for a block that begins at offset `base`; earlier starts are clipped to it."""
    listed = list(citations)
    spans = [citation.span for citation in listed if citation.span is not None]
    points = [max(point - base, 0) for span in spans for point in span]
    offsets = iter(from_points(text, points, "utf8"))
    annotations: list[JsonObject] = []
    for citation in listed:
        position: JsonObject = {}
        if citation.span is not None:
            position = {"start_index": next(offsets), "end_index": next(offsets)}
        annotations += (
            {**_encode_evidence(item), **position} for item in citation.evidence if _has_name(item)
        )
    return annotations


def ends_within(citation: Citation, start: int, end: int) -> bool:
    """Whether the cited claim ends in this range of the answer."""
    span = citation.span
    if span is None or not 0 <= span.start <= span.end <= end:
        return False
    return span.end > start or span.end == start == 0


def _has_name(item: Evidence) -> bool:
    return bool(item.source.url or item.source.title or "type" in own_extras(item.extras))


def _encode_evidence(item: Evidence) -> JsonObject:
    rest = own_extras(item.extras)
    given_type = rest.get("type")
    kind = "url_citation" if item.source.url else "file_citation"
    if isinstance(given_type, str) and given_type in CITATION_FIELDS:
        kind = given_type
    address, title = CITATION_FIELDS[kind]
    body: JsonObject = {"type": kind}
    if item.source.url:
        body[address] = item.source.url
    if item.source.title:
        body[title] = item.source.title
    return body | rest


_FETCH_ERRORS = ("error", "paywall", "unsafe")
_DEFAULT_ID = "search"  # ids are required


def encode_search_call(call: SearchCall) -> JsonObject | None:
    """Encode a search call; None if the dialect has no form for it or it is part of another step."""
    if call.kind == "find" or "part_of" in own_extras(call.extras):
        return None
    if call.kind == "open":
        step: JsonObject = {"type": "url_context_call", "arguments": {"urls": [call.url]}}
    else:
        step = {"type": "google_search_call", "arguments": encode_queries(call.queries)}
    return step | {"id": call.id or _DEFAULT_ID} | own_extras(call.extras)


def encode_search_result(result: SearchResult, call: SearchCall | None) -> JsonObject | None:
    """Encode a search result; `call` is the call it answers, if known."""
    if "part_of" in own_extras(result.extras):
        return None
    if call is not None and call.kind == "open":
        return _encode_fetch_result(result, call)
    if call is not None and call.kind == "find" and not result.sources:
        return None
    step: JsonObject = {
        "type": "google_search_result",
        "call_id": result.call_id or _DEFAULT_ID,
        "result": encode_result_items(result.sources, result.suggestions),
        "is_error": bool(result.error),
    }
    return step | own_extras(result.extras)


def _encode_fetch_result(result: SearchResult, call: SearchCall) -> JsonObject:
    native = own_extras(result.extras)
    if "result" in native:
        return {"type": "url_context_result", "call_id": result.call_id or _DEFAULT_ID, **native}
    items: list[Json] = [
        with_title({"url": source.url, "status": "success"}, source) for source in result.sources
    ]
    if result.error:
        status = result.error if result.error in _FETCH_ERRORS else "error"
        items = [{"url": call.url, "status": status}]
    step: JsonObject = {
        "type": "url_context_result",
        "call_id": result.call_id or _DEFAULT_ID,
        "result": items,
        "is_error": bool(result.error),
    }
    return step | native


def encode_head(reply: Reply, status: str) -> JsonObject:
    """Encode the fields that every form of an interaction begins with."""
    return {"id": f"v1_{reply.id}", "status": status, "object": "interaction", "model": reply.model}


def encode_timestamps(reply: Reply) -> JsonObject:
    """Encode when the interaction was created."""
    time = timestamp(reply.created)
    return {"created": time, "updated": time}


def encode_steps(parts: Iterable[Part], citations: Iterable[Citation]) -> list[JsonObject]:
    """Encode the steps of a turn, each citation with the text in which its claim ends."""
    groups = list(_joined_texts(parts))
    texts = [group for group in groups if isinstance(group, str)]
    shares = iter(_citations_by_text(texts, citations))
    calls: dict[str, SearchCall] = {}
    steps: list[JsonObject] = []
    position = 0
    for group in groups:
        if isinstance(group, str):
            steps.append(encode_output(group, encode_annotations(next(shares), group, position)))
            position += len(group)
        elif step := encode_part(group, calls):
            steps.append(step)
    annotations = encode_annotations(next(shares), "", position)
    if annotations:
        steps.append(encode_output("", annotations))
    return steps


def encode_output(text: str, annotations: list[JsonObject]) -> JsonObject:
    """Encode a text step."""
    block: JsonObject = {"type": "text", "text": text}
    if annotations:
        block["annotations"] = list[Json](annotations)
    return {"type": "model_output", "content": [block]}


def encode_part(part: Part, calls: dict[str, SearchCall]) -> JsonObject | None:
    """Encode any other part as a step, if it has one; `calls` collects the search calls by id."""
    match part:
        case Reasoning():
            return encode_thought(part)
        case ToolCall():
            step: JsonObject = {"type": "function_call", "id": part.id, "name": part.name}
            return step | {"arguments": decode_arguments(part.arguments)} | own_extras(part.extras)
        case SearchCall():
            calls[part.id] = part
            return encode_search_call(part)
        case SearchResult():
            return encode_search_result(part, calls.get(part.call_id))
        case Image():
            return {"type": "model_output", "content": [encode_image(part)]}
        case Opaque(dialect, data) if dialect == NAME:
            return data
        case _:
            return None


def encode_thought(part: Reasoning) -> JsonObject:
    """Encode a thought, with its signature if it has one."""
    step: JsonObject = {"type": "thought"}
    if part.text:
        step["summary"] = [{"type": "text", "text": part.text}]
    return step | own_extras(part.extras)


def _joined_texts(parts: Iterable[Part]) -> Iterator[str | Part]:
    """The parts, with consecutive texts of one phase joined."""
    for phase, group in groupby(parts, lambda part: part.phase if isinstance(part, Text) else None):
        if phase is None:
            yield from group
        else:
            text = "".join(part.text for part in group if isinstance(part, Text))
            if text:
                yield text


def _citations_by_text(texts: list[str], citations: Iterable[Citation]) -> list[list[Citation]]:
    """The citations of each text, and last those without a text.

    A citation without a span goes with the last text, because it applies to all of it.
    """
    starts, end = [], 0
    for text in texts:
        starts.append(end)
        end += len(text)
    shares: list[list[Citation]] = [[] for _ in range(len(texts) + 1)]
    for citation in citations:
        if citation.span is not None and texts and ends_within(citation, 0, end):
            shares[max(bisect_left(starts, citation.span.end) - 1, 0)].append(citation)
        else:
            shares[max(len(texts) - 1, 0)].append(Citation(None, citation.evidence))
    return shares


_DONE_FRAME = b"event: done\ndata: [DONE]\n\n"

# Fields of a step that are sent in a delta rather than at its start.
_DELTA_FIELDS = {
    "google_search_call": ("arguments",),
    "google_search_result": ("result", "is_error"),
    "url_context_call": ("arguments",),
    "url_context_result": ("result", "is_error"),
}


@dataclass(slots=True)
class TextRun:
    """Consecutive text parts, sent as one step."""

    index: int
    phase: str
    parts: list[int]
    unsettled: set[int] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    joinable: bool = True
    in_order: bool = True
    """Whether its parts arrived one after the other, each complete. If not, spans do not apply to it."""


@dataclass(slots=True)
class OpenFunctionCall:
    """A function call; its step is started when its name is known."""

    id: str = ""
    name: str = ""
    index: int | None = None
    pending: list[JsonObject] = field(default_factory=list)


class Encoder(StreamEncoder):
    """Encodes events as the stream of an interaction."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._answer = Assembler()
        self._lengths: dict[int, int] = {}
        self._citations: list[Citation] = []
        self._runs: deque[TextRun] = deque()
        self._run_of: dict[int, TextRun] = {}
        self._calls: dict[int, OpenFunctionCall] = {}
        self._searches: dict[str, SearchCall] = {}
        self._thought: tuple[int, int] | None = None
        self._started = False
        self._steps = 0

    def ping(self) -> bytes:
        """Nothing: clients of Gemini fail on comments."""
        return b""

    def on_event(self, event: Event) -> None:
        self._answer.feed(event)
        if not self._started:
            self._begin(event)
        match event:
            case TextDelta() | TextSettled() | Cited():
                self._on_text_event(event)
            case ReasoningDelta():
                self._send_thought(event)
            case ToolCallDelta():
                self._on_tool_call(event)
            case PartAdded(_, Image() as image):
                self._send_image(image)
            case SearchCalled(_, value) | SearchReturned(_, value) | PartAdded(_, value):
                self._send_step(encode_part(value, self._searches))
            case ExtrasSeen():
                self._send_signature(event)
            case Finished():
                self._finish()
            case Failed(error):
                self._fail(error)

    def _begin(self, event: Event) -> None:
        self._started = True
        head = encode_head(self.reply, "in_progress")
        if isinstance(event, Started):
            head["model"] = self.reply.model or event.model
        self._send("interaction.created", {"interaction": head})
        self._send("interaction.status_update", {"interaction_id": head["id"], "status": "in_progress"})

    # text

    def _on_text_event(self, event: TextDelta | TextSettled | Cited) -> None:
        match event:
            case TextDelta():
                self._send_text(event)
            case TextSettled(part):
                self._settle(part)
            case Cited(citation):
                self._citations.append(citation)

    def _send_text(self, event: TextDelta) -> None:
        run = self._run_of.get(event.part) or self._start_run(event)
        if run.parts[-1] != event.part:
            run.in_order = False
        run.texts.append(event.text)
        self._lengths[event.part] = self._lengths.get(event.part, 0) + len(event.text)
        self._delta(run.index, {"text": event.text, "type": "text"})

    def _start_run(self, event: TextDelta) -> TextRun:
        run = self._runs[-1] if self._runs else None
        if run is None or not run.joinable or run.phase != event.phase or run.parts[-1] > event.part:
            self._close_texts()
            run = TextRun(self._start({"type": "model_output"}), event.phase, [])
            self._runs.append(run)
        if event.part in self._lengths:
            run.in_order = False
        run.parts.append(event.part)
        run.unsettled.add(event.part)
        self._run_of[event.part] = run
        return run

    def _settle(self, part: int) -> None:
        if part in self._run_of:
            self._run_of[part].unsettled.discard(part)

    def _close_texts(self) -> None:
        """Close the open texts to further parts because another step begins; end those that are settled."""
        self._end_thought()
        for run in self._runs:
            run.joinable = False
        while self._runs and not self._runs[0].unsettled:
            self._end_run(self._runs.popleft(), last=False)

    def _end_run(self, run: TextRun, *, last: bool) -> None:
        """Send the annotations of a text and end it; the last text gets all citations without a span."""
        for part in run.parts:
            del self._run_of[part]
        start = sum(length for part, length in self._lengths.items() if part < run.parts[0])
        text = "".join(run.texts)
        end = start + len(text)
        included: list[Citation] = []
        remaining: list[Citation] = []
        for citation in self._citations:
            if run.in_order and ends_within(citation, start, end):
                included.append(citation)
            elif last:
                included.append(Citation(None, citation.evidence))
            else:
                remaining.append(citation)
        self._citations = remaining
        self._annotate(run.index, encode_annotations(included, text, start))
        self._stop(run.index)

    def _annotate(self, index: int, annotations: list[JsonObject]) -> None:
        if annotations:
            self._delta(index, {"annotations": list[Json](annotations), "type": "text_annotation_delta"})

    # thoughts

    def _send_thought(self, event: ReasoningDelta) -> None:
        index = self._thought_index(event.part)
        if event.text:
            content: JsonObject = {"text": event.text, "type": "text"}
            self._delta(index, {"content": content, "type": "thought_summary"})

    def _thought_index(self, part: int) -> int:
        if self._thought is None or self._thought[0] != part:
            self._close_texts()
            self._thought = part, self._start({"type": "thought"})
        return self._thought[1]

    def _end_thought(self) -> None:
        if self._thought is not None:
            self._stop(self._thought[1])
            self._thought = None

    def _send_signature(self, event: ExtrasSeen) -> None:
        signature = own_extras(event.extras).get("signature")
        if not signature:
            return
        if self._thought is not None and self._thought[0] == event.part:
            self._delta(self._thought[1], {"signature": signature, "type": "thought_signature"})
        elif event.part in self._calls:
            signed: JsonObject = {"arguments": "", "signature": signature, "type": "arguments_delta"}
            self._send_arguments(self._calls[event.part], signed)

    # function calls

    def _on_tool_call(self, event: ToolCallDelta) -> None:
        call = self._calls.get(event.part)
        if call is None:
            self._close_texts()
            call = self._calls[event.part] = OpenFunctionCall(f"call_{event.part}")
        if call.index is None:
            call.id = event.id or call.id
            call.name = event.name or call.name
            if call.name:
                self._begin_call(call)
        if event.arguments:
            self._send_arguments(call, {"arguments": event.arguments, "type": "arguments_delta"})

    def _begin_call(self, call: OpenFunctionCall) -> int:
        if call.index is None:
            call.index = self._start(
                {"type": "function_call", "id": call.id, "name": call.name, "arguments": {}}
            )
            for delta in call.pending:
                self._delta(call.index, delta)
        return call.index

    def _send_arguments(self, call: OpenFunctionCall, delta: JsonObject) -> None:
        if call.index is None:
            call.pending.append(delta)
        else:
            self._delta(call.index, delta)

    # other steps

    def _send_image(self, image: Image) -> None:
        self._close_texts()
        index = self._start({"type": "model_output"})
        self._delta(index, encode_image(image))
        self._stop(index)

    def _send_step(self, step: JsonObject | None) -> None:
        """Send a complete step."""
        if step is None:
            return
        self._close_texts()
        kind = step.get("type")
        keys = _DELTA_FIELDS.get(kind, ()) if isinstance(kind, str) else ()
        index = self._start({key: value for key, value in step.items() if key not in keys})
        if keys:
            self._delta(index, {"type": kind} | {key: step[key] for key in keys if key in step})
        self._stop(index)

    # the end

    def _finish(self) -> None:
        self._end_steps()
        answer = self._answer.answer()
        self._send(
            "interaction.completed",
            {"interaction": add_extension(encode_interaction(answer, self.reply), answer, LOSSES)},
        )
        self.send_raw(_DONE_FRAME)

    def _fail(self, error: GroundwireError) -> None:
        self._end_steps()
        body: JsonObject = {"error": encode_error_object(error)}
        self._send("error", add_extension(body, self._answer.answer(), LOSSES))
        self.send_raw(_DONE_FRAME)

    def _end_steps(self) -> None:
        self._end_thought()
        while self._runs:
            run = self._runs.popleft()
            self._end_run(run, last=not self._runs)
        if self._citations:
            index = self._start({"type": "model_output"})
            unplaced = [Citation(None, citation.evidence) for citation in self._citations]
            self._annotate(index, encode_annotations(unplaced, "", 0))
            self._stop(index)
        for call in self._calls.values():
            self._stop(self._begin_call(call))

    # frames

    def _start(self, step: JsonObject) -> int:
        index = self._steps
        self._steps += 1
        self._send("step.start", {"index": index, "step": step})
        return index

    def _delta(self, index: int, delta: JsonObject) -> None:
        self._send("step.delta", {"index": index, "delta": delta})

    def _stop(self, index: int) -> None:
        self._send("step.stop", {"index": index})

    def _send(self, kind: str, body: JsonObject) -> None:
        body["event_type"] = kind
        self.send(kind, body)


def encode_interaction(answer: Answer, reply: Reply) -> JsonObject:
    """Encode the interaction without its steps, as the last event of a stream has it."""
    body = encode_head(reply, "")
    body["model"] = reply.model or answer.model
    if answer.error is not None:
        body |= {"status": "failed", "errors": [encode_error_object(answer.error)]}
    else:
        body |= encode_status(answer.finish, answer.detail)
    usage = encode_usage(answer.usage)
    if usage:
        body["usage"] = usage
    return body | encode_timestamps(reply) | own_extras(answer.extras)
