"""A stream written.

Events are named in `event_type` and as SSE events; `event: done` with `[DONE]` ends the bytes.

Text goes out at once, and its step stays open until it is settled and something else begins, so that the
annotations can follow it; meanwhile other steps go their way under their own index. Neighbouring text parts
share a step. Function calls may come interleaved and stay open until the end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.extras import add_extension
from groundwire.dialects.gemini_interactions.citations import encode_annotations, ends_within
from groundwire.dialects.gemini_interactions.errors import encode_error_object
from groundwire.dialects.gemini_interactions.interaction import encode_head, encode_part
from groundwire.dialects.gemini_interactions.losses import LOSSES
from groundwire.dialects.gemini_interactions.parts import encode_image, own
from groundwire.dialects.gemini_interactions.response import encode_end
from groundwire.errors import GroundwireError
from groundwire.model import (
    Assembler,
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    Json,
    JsonObject,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchReturned,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
)

_DONE = b"event: done\ndata: [DONE]\n\n"
# What of a step comes in a delta rather than at its start.
_PAYLOADS = {
    "google_search_call": ("arguments",),
    "google_search_result": ("result", "is_error"),
    "url_context_call": ("arguments",),
    "url_context_result": ("result", "is_error"),
}


@dataclass(slots=True)
class _Run:
    """Neighbouring text parts, told as one step."""

    index: int
    phase: str
    parts: list[int]
    unsettled: set[int] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    joinable: bool = True
    in_order: bool = True
    """Did its parts come one after the other, each whole? If not, places in the answer are none in it."""


@dataclass(slots=True)
class _Call:
    """A function call; it is begun when its name is known."""

    id: str = ""
    name: str = ""
    index: int | None = None
    held: list[JsonObject] = field(default_factory=list)


class Encoder(StreamEncoder):
    """The stream of an interaction."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._answer = Assembler()
        self._lengths: dict[int, int] = {}
        self._citations: list[Citation] = []
        self._runs: deque[_Run] = deque()
        self._run_of: dict[int, _Run] = {}
        self._calls: dict[int, _Call] = {}
        self._searches: dict[str, SearchCall] = {}
        self._thought: tuple[int, int] | None = None
        self._begun = False
        self._steps = 0

    def ping(self) -> bytes:
        """Nothing: clients of Gemini break on comments."""
        return b""

    def on_event(self, event: Event) -> None:
        self._answer.feed(event)
        if not self._begun:
            self._begin(event)
        match event:
            case TextDelta() | TextSettled() | Cited():
                self._word(event)
            case ReasoningDelta():
                self._think(event)
            case ToolCallDelta():
                self._call(event)
            case PartAdded(_, Image() as image):
                self._picture(image)
            case SearchCalled(_, value) | SearchReturned(_, value) | PartAdded(_, value):
                self._whole(encode_part(value, self._searches))
            case ExtrasSeen():
                self._sign(event)
            case Finished():
                self._finish()
            case Failed(error):
                self._fail(error)

    def _begin(self, event: Event) -> None:
        self._begun = True
        head = encode_head(self.reply, "in_progress")
        if isinstance(event, Started):
            head["model"] = self.reply.model or event.model
        self._send("interaction.created", {"interaction": head})
        self._send("interaction.status_update", {"interaction_id": head["id"], "status": "in_progress"})

    # text

    def _word(self, event: TextDelta | TextSettled | Cited) -> None:
        match event:
            case TextDelta():
                self._text(event)
            case TextSettled(part):
                self._settle(part)
            case Cited(citation):
                self._citations.append(citation)

    def _text(self, event: TextDelta) -> None:
        run = self._run_of.get(event.part) or self._run_for(event)
        if run.parts[-1] != event.part:
            run.in_order = False
        run.words.append(event.text)
        self._lengths[event.part] = self._lengths.get(event.part, 0) + len(event.text)
        self._delta(run.index, {"text": event.text, "type": "text"})

    def _run_for(self, event: TextDelta) -> _Run:
        run = self._runs[-1] if self._runs else None
        if run is None or not run.joinable or run.phase != event.phase or run.parts[-1] > event.part:
            self._part_texts()
            run = _Run(self._start({"type": "model_output"}), event.phase, [])
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

    def _part_texts(self) -> None:
        """Something else begins: texts before it take no more parts, and end if they are settled."""
        self._end_thought()
        for run in self._runs:
            run.joinable = False
        while self._runs and not self._runs[0].unsettled:
            self._end_run(self._runs.popleft(), last=False)

    def _end_run(self, run: _Run, *, last: bool) -> None:
        """Tell the annotations of a text, with the last one all that have no place, and stop it."""
        for part in run.parts:
            del self._run_of[part]
        start = sum(length for part, length in self._lengths.items() if part < run.parts[0])
        text = "".join(run.words)
        end = start + len(text)
        mine: list[Citation] = []
        others: list[Citation] = []
        for citation in self._citations:
            if run.in_order and ends_within(citation, start, end):
                mine.append(citation)
            elif last:
                mine.append(Citation(None, citation.evidence))
            else:
                others.append(citation)
        self._citations = others
        self._annotate(run.index, encode_annotations(mine, text, start))
        self._stop(run.index)

    def _annotate(self, index: int, annotations: list[JsonObject]) -> None:
        if annotations:
            self._delta(index, {"annotations": list[Json](annotations), "type": "text_annotation_delta"})

    # thoughts

    def _think(self, event: ReasoningDelta) -> None:
        index = self._thinking(event.part)
        if event.text:
            content: JsonObject = {"text": event.text, "type": "text"}
            self._delta(index, {"content": content, "type": "thought_summary"})

    def _thinking(self, part: int) -> int:
        if self._thought is None or self._thought[0] != part:
            self._part_texts()
            self._thought = part, self._start({"type": "thought"})
        return self._thought[1]

    def _end_thought(self) -> None:
        if self._thought is not None:
            self._stop(self._thought[1])
            self._thought = None

    def _sign(self, event: ExtrasSeen) -> None:
        signature = own(event.extras).get("signature")
        if not signature:
            return
        if self._thought is not None and self._thought[0] == event.part:
            self._delta(self._thought[1], {"signature": signature, "type": "thought_signature"})
        elif event.part in self._calls:
            signed: JsonObject = {"arguments": "", "signature": signature, "type": "arguments_delta"}
            self._argue(self._calls[event.part], signed)

    # function calls

    def _call(self, event: ToolCallDelta) -> None:
        call = self._calls.get(event.part)
        if call is None:
            self._part_texts()
            call = self._calls[event.part] = _Call(f"call_{event.part}")
        if call.index is None:
            call.id = event.id or call.id
            call.name = event.name or call.name
            if call.name:
                self._begin_call(call)
        if event.arguments:
            self._argue(call, {"arguments": event.arguments, "type": "arguments_delta"})

    def _begin_call(self, call: _Call) -> int:
        if call.index is None:
            call.index = self._start(
                {"type": "function_call", "id": call.id, "name": call.name, "arguments": {}}
            )
            for delta in call.held:
                self._delta(call.index, delta)
        return call.index

    def _argue(self, call: _Call, delta: JsonObject) -> None:
        if call.index is None:
            call.held.append(delta)
        else:
            self._delta(call.index, delta)

    # other steps

    def _picture(self, image: Image) -> None:
        self._part_texts()
        index = self._start({"type": "model_output"})
        self._delta(index, encode_image(image))
        self._stop(index)

    def _whole(self, step: JsonObject | None) -> None:
        """A step that comes complete."""
        if step is None:
            return
        self._part_texts()
        kind = step.get("type")
        keys = _PAYLOADS.get(kind, ()) if isinstance(kind, str) else ()
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
            {"interaction": add_extension(encode_end(answer, self.reply), answer, LOSSES)},
        )
        self.send_raw(_DONE)

    def _fail(self, error: GroundwireError) -> None:
        self._end_steps()
        body: JsonObject = {"error": encode_error_object(error)}
        self._send("error", add_extension(body, self._answer.answer(), LOSSES))
        self.send_raw(_DONE)

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
