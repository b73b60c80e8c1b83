"""Strict stream checker of Bedrock's Converse: the order of events, indices, unions and required fields."""

from __future__ import annotations

from botocore.eventstream import ParserError

from groundwire.model import JsonObject
from tests.contracts.amazon_frames import as_sse
from tests.contracts.strict_parser import (
    Checker,
    Sent,
    Violation,
    events,
    need,
    number,
    obj,
    strict_json,
    text,
)

_STARTS = {"toolUse": ("toolUseId", "name"), "toolResult": ("toolUseId",), "image": ("format",)}
_DELTAS = {"text", "toolUse", "toolResult", "reasoningContent", "citation", "image"}
_STOPS = {
    *("end_turn", "tool_use", "max_tokens", "stop_sequence", "guardrail_intervened", "content_filtered"),
    *("malformed_model_output", "malformed_tool_use", "model_context_window_exceeded"),
}


class BedrockConverse(Checker):
    """Blocks one after the other; the usage comes last."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = self.stopped = False
        self.index = 0
        self.open = ""

    def check(self, data: bytes) -> None:
        try:
            sse = as_sse(data)
        except (ParserError, ValueError) as error:
            raise Violation(f"not an event stream: {error}") from None
        for event in events(sse, comments=False):
            need(not self.ended, f"{event.data[:80]} after the end")
            self.take(event)
        need(self.ended, "no end")

    def take(self, event: Sent) -> None:
        body = strict_json(event.data)
        if event.name.endswith("Exception"):
            text(body, "message")
            self.end(failed=True)
            return
        handler = getattr(self, "on_" + event.name, None)
        if not callable(handler):
            raise Violation(f"unknown event {event.name}")
        handler(body)

    def on_messageStart(self, body: JsonObject) -> None:  # noqa: N802
        need(not self.begun and body["role"] == "assistant", "a start out of place")
        self.begun = True

    def on_contentBlockStart(self, body: JsonObject) -> None:  # noqa: N802
        need(self.begun and not self.stopped and not self.open, "a block out of place")
        need(number(body, "contentBlockIndex") == self.index, "index of a block")
        self.open = self._member(obj(body, "start"), set(_STARTS))
        for key in _STARTS[self.open]:
            text(obj(obj(body, "start"), self.open), key)

    def on_contentBlockDelta(self, body: JsonObject) -> None:  # noqa: N802
        need(self.begun and not self.stopped, "a delta out of place")
        need(number(body, "contentBlockIndex") == self.index, "a delta of another block")
        kind = self._member(obj(body, "delta"), _DELTAS)
        family = "text" if kind == "citation" else kind
        need(self.open in ("", family), f"{kind} in a block of {self.open}")
        need(bool(self.open) or kind not in _STARTS, f"{kind} without a start")
        self.open = family
        if kind == "toolUse":
            text(obj(obj(body, "delta"), kind), "input")

    def on_contentBlockStop(self, body: JsonObject) -> None:  # noqa: N802
        need(bool(self.open) and number(body, "contentBlockIndex") == self.index, "a stop without a block")
        self.open = ""
        self.index += 1

    def on_messageStop(self, body: JsonObject) -> None:  # noqa: N802
        need(self.begun and not self.stopped and not self.open, "the end of a message out of place")
        need(body["stopReason"] in _STOPS, "stopReason")
        self.stopped = True

    def on_metadata(self, body: JsonObject) -> None:
        need(self.stopped, "metadata before the end")
        for key in ("inputTokens", "outputTokens", "totalTokens"):
            number(obj(body, "usage"), key)
        number(obj(body, "metrics"), "latencyMs")
        self.end()

    @staticmethod
    def _member(union: JsonObject, members: set[str]) -> str:
        """The one member of a union."""
        need(len(union) == 1 and set(union) <= members, f"a union of {sorted(union)}")
        return next(iter(union))
