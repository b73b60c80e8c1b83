"""Strict stream checker of Mistral Conversations: entries and chunks in order, and one end."""

from __future__ import annotations

from groundwire.model import Json, JsonObject
from tests.contracts.strict_parser import Checker, need, number, obj, text


class MistralConversations(Checker):
    """A start, entries one after the other with their chunks, one end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = False
        self.entries: list[str] = []
        self.message = ""
        self.content = -1
        self.running: set[str] = set()

    def _entry(self, body: JsonObject) -> None:
        """The next entry, or the one that is open."""
        need(self.begun, "an entry before the start")
        index, name = number(body, "output_index"), text(body, "id")
        if index == len(self.entries):
            self.entries.append(name)
        need(index < len(self.entries) and self.entries[index] == name, f"entry {index} is not {name}")

    def on_conversation_response_started(self, body: JsonObject) -> None:
        need(not self.begun and bool(text(body, "conversation_id")), "a start out of place")
        self.begun = True

    def on_message_output_delta(self, body: JsonObject) -> None:
        self._entry(body)
        need(text(body, "role") == "assistant", "role")
        if self.message != body["id"]:
            self.message, self.content = text(body, "id"), -1
        index = number(body, "content_index")
        need(index in (self.content, self.content + 1), f"chunk {index} after {self.content}")
        self.content = index
        self._chunk(body["content"])

    @staticmethod
    def _chunk(content: Json) -> None:
        if isinstance(content, str):
            return
        if not isinstance(content, dict):
            need(condition=False, message="content")
            return
        kind = text(content, "type")  # a chunk of an unknown type is Mistral's, passed on verbatim
        if kind == "tool_reference":
            text(content, "tool")
            text(content, "title")
        if kind == "thinking":
            need(isinstance(content["thinking"], list), "thinking")

    def on_tool_execution_started(self, body: JsonObject) -> None:
        self._entry(body)
        self.message = ""
        for key in ("name", "arguments"):
            text(body, key)
        self.running.add(text(body, "id"))

    def on_tool_execution_done(self, body: JsonObject) -> None:
        self._entry(body)
        need(text(body, "id") in self.running and isinstance(body["name"], str), "an end without a start")
        if "info" in body:
            obj(body, "info")

    def on_function_call_delta(self, body: JsonObject) -> None:
        self._entry(body)
        for key in ("name", "tool_call_id", "arguments"):
            text(body, key)

    def on_conversation_response_done(self, body: JsonObject) -> None:
        need(self.begun, "an end before the start")
        for key in ("prompt_tokens", "completion_tokens", "total_tokens"):
            number(obj(body, "usage"), key)
        self.end()

    def on_conversation_response_error(self, body: JsonObject) -> None:
        need(self.begun and number(body, "code") >= 400, "an error")
        text(body, "message")
        self.end(failed=True)
