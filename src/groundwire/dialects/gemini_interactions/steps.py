"""Steps as events: one reader for the stream, for a whole answer and for history.

A whole step is begun with all it has and stopped at once; in a stream `step.start` brings the bare step,
deltas fill it and `step.stop` ends it. Text, thoughts and function calls are told as they come, all others
when they are complete. Steps are kept apart by their index, so several may be open.

The text of a step is one part, except that a picture or sound divides it; text blocks that follow each
other in one step cannot be told apart in a stream and are one part here too. Their annotations count from
the beginning of their own block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.citations import decode_annotations
from groundwire.dialects.gemini_interactions.notes import Teller
from groundwire.dialects.gemini_interactions.parts import MARK, NAME, decode_image, marked
from groundwire.dialects.gemini_interactions.searches import (
    decode_open_call,
    decode_open_result,
    decode_search_call,
    decode_search_result,
)
from groundwire.dialects.json import dump_json
from groundwire.errors import WireError
from groundwire.model import (
    ExtrasSeen,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Warned,
)


class _Step:
    """A step that is open."""

    __slots__ = ("annotations", "block", "body", "kind", "part", "spoke")

    def __init__(self, kind: str, body: Fields) -> None:
        self.kind = kind
        self.body = body
        self.part: int | None = None
        self.spoke = False
        """Have arguments of a function come piece by piece?"""
        self.block = 0
        """Where the text block that is being told begins in its part."""
        self.annotations: list[Fields] = []


class Steps:
    """Reads steps and tells what they mean. Raises the fault it was made with, nothing else."""

    def __init__(self, teller: Teller, fault: type[WireError]) -> None:
        self._teller = teller
        self._fault = fault
        self._open: dict[int | None, _Step] = {}
        self._pages: dict[str, dict[str, str]] = {}
        self._searches = 0
        self._last_call = "search_0"
        self.any = False
        """Has there been a step at all?"""
        self.called = False
        """Has there been a function call?"""

    def begin(self, index: int | None, step: Fields) -> None:
        """A step, bare or with all it has."""
        if index in self._open:
            self.stop(index)
        self.any = True
        kind = step.text("type")
        opened = self._open[index] = _Step(kind, step)
        begin = self._BEGIN.get(kind)
        if begin is not None:
            begin(self, opened, step)

    def delta(self, index: int | None, delta: Fields) -> None:
        """More of a step; one that was not begun by name is taken for what its delta says it is."""
        kind = delta.text("type")
        step = self._open.get(index)
        if step is None or not step.kind:
            self.begin(index, Fields({"type": _IMPLIED.get(kind, kind)}, self._fault))
            step = self._open[index]
        if _IMPLIED.get(kind) == step.kind:
            self._DELTA[kind](self, step, delta)
        elif step.kind == "model_output":
            self._add_opaque(step, delta)
        elif kind:
            step.body = Fields(step.body.raw | delta.rest("type"), self._fault)

    def stop(self, index: int | None) -> None:
        """The end of a step."""
        step = self._open.pop(index, None)
        if step is not None:
            self._STOP.get(step.kind, Steps._end_opaque)(self, step, step.body)

    def whole(self, step: Fields) -> None:
        """A step that comes complete."""
        self.begin(None, step)
        self.stop(None)

    def finish(self) -> None:
        """Stop whatever is still open."""
        for index in list(self._open):
            self.stop(index)

    def _part_of(self, step: _Step) -> int:
        if step.part is None:
            step.part = self._teller.next_part()
        return step.part

    # model_output

    def _begin_output(self, step: _Step, body: Fields) -> None:
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
            message = body.obj("error").text("message") or "no reason told"
            self._teller.emit(Warned("upstream_step_error", message))

    def _add_text(self, step: _Step, delta: Fields) -> None:
        text = delta.text("text")
        if text:
            self._teller.emit(TextDelta(self._part_of(step), text))

    def _add_annotations(self, step: _Step, delta: Fields) -> None:
        step.annotations += delta.objs("annotations")

    def _add_image(self, step: _Step, delta: Fields) -> None:
        self._settle_text(step)
        self._teller.emit(PartAdded(self._teller.next_part(), decode_image(delta)))

    def _add_opaque(self, step: _Step, delta: Fields) -> None:
        if not delta.text("type"):
            return
        self._settle_text(step)
        data: JsonObject = {"type": "model_output", "content": [delta.raw]}
        self._teller.emit(PartAdded(self._teller.next_part(), Opaque(NAME, data)))

    def _settle_block(self, step: _Step) -> None:
        """All annotations of the block are there: place them."""
        text, base = "", len(self._teller.text_buffer)
        if step.part is not None:
            whole = self._teller.text_buffer.text(step.part)
            text, base = whole[step.block :], self._teller.text_buffer.start(step.part) + step.block
            step.block = len(whole)
        for event in decode_annotations(step.annotations, text, base) if step.annotations else ():
            self._teller.emit(event)
        step.annotations = []

    def _settle_text(self, step: _Step) -> None:
        self._settle_block(step)
        if step.part is not None:
            self._teller.emit(TextSettled(step.part))
        step.part, step.block = None, 0

    def _end_output(self, step: _Step, _: Fields) -> None:
        self._settle_text(step)

    # thought

    def _begin_thought(self, step: _Step, body: Fields) -> None:
        for item in body.objs("summary"):
            self._think(step, item)
        self._add_signature(step, body)
        rest = body.rest("type", "summary", "signature")
        if any(item.text("type", "text") != "text" for item in body.objs("summary")):
            rest["summary"] = body.get("summary")
        if rest:
            self._teller.emit(ExtrasSeen(self._thought(step), {NAME: rest}))

    def _add_thought(self, step: _Step, delta: Fields) -> None:
        self._think(step, delta.obj("content"))

    def _think(self, step: _Step, item: Fields) -> None:
        text = item.text("text")
        if text:
            self._teller.emit(ReasoningDelta(self._thought(step), text))

    def _add_signature(self, step: _Step, delta: Fields) -> None:
        signature = delta.text("signature")
        if signature:
            self._teller.emit(ExtrasSeen(self._thought(step), {NAME: {"signature": signature}}))

    def _thought(self, step: _Step) -> int:
        """The part of a thought, which bears our mark from its beginning."""
        if step.part is None:
            self._teller.emit(ReasoningDelta(self._part_of(step), ""))
            self._teller.emit(ExtrasSeen(self._part_of(step), MARK))
        return self._part_of(step)

    # function_call

    def _begin_call(self, step: _Step, body: Fields) -> None:
        self.called = True
        part = self._part_of(step)
        name = body.text("name")
        self._teller.emit(ToolCallDelta(part, body.text("id") or f"call_{part}", name))
        self._sign_call(step, body.rest("type", "id", "name", "arguments"))

    def _add_arguments(self, step: _Step, delta: Fields) -> None:
        arguments = delta.text("arguments")
        if arguments:
            step.spoke = True
            self._teller.emit(ToolCallDelta(self._part_of(step), arguments=arguments))
        self._sign_call(step, delta.rest("type", "arguments"))

    def _sign_call(self, step: _Step, rest: JsonObject) -> None:
        extras = marked(rest)
        if extras is not MARK:
            self._teller.emit(ExtrasSeen(self._part_of(step), extras))

    def _end_call(self, step: _Step, body: Fields) -> None:
        arguments = body.obj("arguments").raw
        if arguments and not step.spoke:
            self._teller.emit(ToolCallDelta(self._part_of(step), arguments=dump_json(arguments)))

    # searches

    def _begin_search(self, step: _Step, body: Fields) -> None:
        self._teller.emit(SearchStarted(self._part_of(step), self._call_id(step, body)))

    def _call_id(self, step: _Step, body: Fields) -> str:
        call_id = body.text("id")
        if not call_id:
            call_id = f"search_{self._searches}"
            step.body = Fields(step.body.raw | {"id": call_id}, self._fault)
        self._searches += 1
        self._last_call = call_id
        return call_id

    def _end_search(self, step: _Step, body: Fields) -> None:
        self._tell(step, decode_search_call(body, body.text("id")))

    def _end_open(self, step: _Step, body: Fields) -> None:
        calls = decode_open_call(body, body.text("id"))
        urls = body.obj("arguments").texts("urls")
        self._pages[body.text("id")] = dict(zip(urls, (call.id for call in calls), strict=False))
        self._tell(step, calls)

    def _end_found(self, step: _Step, body: Fields) -> None:
        self._tell(step, decode_search_result(body, body.text("call_id") or self._last_call))

    def _end_opened(self, step: _Step, body: Fields) -> None:
        call_id = body.text("call_id") or self._last_call
        self._tell(step, decode_open_result(body, call_id, self._pages.get(call_id, {})))

    def _tell(self, step: _Step, values: list[SearchCall] | list[SearchResult]) -> None:
        for value in values:
            part, step.part = self._part_of(step), None
            if isinstance(value, SearchCall):
                self._teller.emit(SearchCalled(part, value))
            else:
                self._teller.emit(SearchReturned(part, value))

    # all others

    def _pass_over(self, step: _Step, body: Fields) -> None:
        """What the user said is no part of the answer."""

    def _end_opaque(self, step: _Step, body: Fields) -> None:
        if step.kind:
            self._teller.emit(PartAdded(self._part_of(step), Opaque(NAME, body.raw)))

    _BEGIN: ClassVar[Mapping[str, Callable[[Steps, _Step, Fields], None]]] = {
        "model_output": _begin_output,
        "thought": _begin_thought,
        "function_call": _begin_call,
        "google_search_call": _begin_search,
        "url_context_call": _begin_search,
    }
    _DELTA: ClassVar[Mapping[str, Callable[[Steps, _Step, Fields], None]]] = {
        "text": _add_text,
        "text_annotation_delta": _add_annotations,
        "text_annotation": _add_annotations,
        "image": _add_image,
        "thought_summary": _add_thought,
        "thought_signature": _add_signature,
        "arguments_delta": _add_arguments,
        "arguments": _add_arguments,
    }
    _STOP: ClassVar[Mapping[str, Callable[[Steps, _Step, Fields], None]]] = {
        "model_output": _end_output,
        "thought": _pass_over,
        "function_call": _end_call,
        "google_search_call": _end_search,
        "google_search_result": _end_found,
        "url_context_call": _end_open,
        "url_context_result": _end_opened,
        "user_input": _pass_over,
        "function_result": _pass_over,
    }


_IMPLIED = {
    "text": "model_output",
    "text_annotation_delta": "model_output",
    "text_annotation": "model_output",
    "image": "model_output",
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
    "arguments": "function_call",
}
