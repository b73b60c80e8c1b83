"""Strict stream checker of Cohere Chat: blocks, calls and citations with their indices, and one end."""

from __future__ import annotations

from groundwire.model import JsonObject
from tests.contracts.strict_parser import Checker, Sent, need, number, obj, objs, strict_json, text

_REASONS = {"COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL", "ERROR", "TIMEOUT", "ERROR_TOXIC"}
_KINDS = ("text", "thinking")


class CohereChat(Checker):
    """A start, blocks of content and calls one after the other, citations of text that was sent, one end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = self.stopped = False
        self.open = ""
        self.blocks: list[tuple[str, list[str]]] = []
        self.calls = 0
        self.citations = 0
        self.open_citation = False

    def take(self, event: Sent) -> None:
        if event.data == "[DONE]":
            need(self.stopped and not event.name, "[DONE] before the end")
            self.end(failed=self.failed)
            return
        body = strict_json(event.data)
        kind = text(body, "type")
        need(event.name == kind, f"event {event.name} has type {kind}")
        need(self.begun == (kind != "message-start") and not self.stopped, f"{kind} out of place")
        getattr(self, "on_" + kind.replace("-", "_"))(body)

    @staticmethod
    def _message(body: JsonObject, name: str) -> JsonObject:
        return obj(obj(obj(body, "delta"), "message"), name)

    def on_message_start(self, body: JsonObject) -> None:
        text(body, "id")
        need(obj(obj(body, "delta"), "message")["role"] == "assistant", "role")
        self.begun = True

    def on_content_start(self, body: JsonObject) -> None:
        need(not self.open and number(body, "index") == len(self.blocks), "a block out of place")
        content = self._message(body, "content")
        self.open = text(content, "type")
        need(self.open in _KINDS and text(content, self.open) == "", "the start of a block")
        self.blocks.append((self.open, []))

    def on_content_delta(self, body: JsonObject) -> None:
        need(bool(self.open) and number(body, "index") == len(self.blocks) - 1, "a delta of another block")
        content = self._message(body, "content")
        need(set(content) == {self.open}, f"{sorted(content)} in a block of {self.open}")
        self.blocks[-1][1].append(text(content, self.open))

    def on_content_end(self, body: JsonObject) -> None:
        need(self.open in _KINDS and number(body, "index") == len(self.blocks) - 1, "an end without a block")
        self.open = ""

    def on_tool_plan_delta(self, body: JsonObject) -> None:
        text(obj(obj(body, "delta"), "message"), "tool_plan")

    def on_tool_call_start(self, body: JsonObject) -> None:
        need(not self.open and number(body, "index") == self.calls, "a call out of place")
        self.calls += 1
        self.open = "call"
        call = self._message(body, "tool_calls")
        need(bool(text(call, "id")) and text(call, "type") == "function", "a call")
        for key in ("name", "arguments"):
            text(obj(call, "function"), key)

    def on_tool_call_delta(self, body: JsonObject) -> None:
        need(number(body, "index") < self.calls, "a delta of an unknown call")
        text(obj(self._message(body, "tool_calls"), "function"), "arguments")

    def on_tool_call_end(self, body: JsonObject) -> None:
        need(self.open == "call" and number(body, "index") == self.calls - 1, "an end without a call")
        self.open = ""

    def on_citation_start(self, body: JsonObject) -> None:
        need(not self.open_citation and number(body, "index") == self.citations, "a citation out of place")
        self.open_citation = True
        citation = self._message(body, "citations")
        start, end, cited = number(citation, "start"), number(citation, "end"), text(citation, "text")
        need(citation["type"] == "TEXT_CONTENT", "type of a citation")
        if end:
            kind, pieces = self.blocks[number(citation, "content_index")]
            need(kind == "text" and "".join(pieces)[start:end] == cited, f"{start} to {end} is not {cited!r}")
        for source in objs(citation, "sources"):
            need("id" not in source or isinstance(source["id"], str), "id of a source")

    def on_citation_end(self, body: JsonObject) -> None:
        need(self.open_citation and number(body, "index") == self.citations, "an end without a citation")
        self.open_citation = False
        self.citations += 1

    def on_message_end(self, body: JsonObject) -> None:
        need(not self.open and not self.open_citation, "the end of a message out of place")
        delta = obj(body, "delta")
        reason = text(delta, "finish_reason")
        need(reason in _REASONS, f"finish reason {reason}")
        for group in ("tokens", "billed_units"):
            for key in ("input_tokens", "output_tokens"):
                number(obj(obj(delta, "usage"), group), key)
        self.stopped = True
        self.failed = reason in ("ERROR", "TIMEOUT")
        if self.failed:
            text(delta, "error")
