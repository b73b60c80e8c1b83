"""A stream read.

Each event names itself in `event_type`; `event: done` with `[DONE]` ends the bytes. Recorded order: created,
status_update, then start, deltas and stop of each step, then completed, which has the counts and no steps.
All annotations of a text come in one delta after it, and the search steps come after the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.response import read_whole, tell_end, tell_error, tell_start
from groundwire.dialects.gemini_interactions.steps import Steps
from groundwire.dialects.gemini_interactions.usage import decode_usage
from groundwire.dialects.json import load_json
from groundwire.dialects.sse import Frame
from groundwire.errors import UpstreamWireError
from groundwire.model import UsageSeen

_DONE = b"[DONE]"
_GOING_ON = frozenset({"", "in_progress", "queued"})


class Decoder(StreamDecoder):
    """Events of an interaction's stream."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = Steps(self, UpstreamWireError)
        self._started = False
        self._status = Fields({}, UpstreamWireError)

    def on_frame(self, frame: Frame) -> None:
        if frame.data == _DONE:
            return
        body = Fields.of(load_json(frame.data, UpstreamWireError), UpstreamWireError)
        kind = body.text("event_type")
        if not kind:
            self._on_bare(body)
        elif kind in self._EVENTS:
            self._EVENTS[kind](self, body)

    def on_end(self) -> None:
        if self._status.text("status") not in _GOING_ON:
            tell_end(self._status, self, self._steps)

    def _on_bare(self, body: Fields) -> None:
        """A body without event names: an error in the older form, or a whole interaction."""
        if body.has("error"):
            self._on_error(body)
        elif body.has("status"):
            read_whole(body, self, self._steps)

    def _on_created(self, body: Fields) -> None:
        """The start, or the first event of a stream that lacks it."""
        if not self._started:
            self._started = True
            tell_start(body.obj("interaction"), self)

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
        tell_end(body.obj("interaction"), self, self._steps)

    def _on_error(self, body: Fields) -> None:
        self._steps.finish()
        tell_error(body.obj("error"), self)

    _EVENTS: ClassVar[Mapping[str, Callable[[Decoder, Fields], None]]] = {
        "interaction.created": _on_created,
        "interaction.status_update": _on_status,
        "step.start": _on_step,
        "step.delta": _on_delta,
        "step.stop": _on_stop,
        "interaction.completed": _on_completed,
        "error": _on_error,
    }
