"""Strict readers of what our encoders write: one state machine for each dialect.

They are written from the wire formats, share nothing with the codecs, and forgive nothing: order of events,
indices, required fields, text that is repeated, valid UTF-8 and JSON, exactly one end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from groundwire.model import JsonObject
from tests.contracts.checkers_google import Gemini, GeminiInteractions
from tests.contracts.checkers_openai import OpenaiChat, OpenaiResponses
from tests.contracts.strictness import Checker, Violation, need, number, obj, objs, strict_json, text

_DELTAS: Mapping[str, tuple[str, ...]] = {
    "text": ("text_delta", "citations_delta"),
    "thinking": ("thinking_delta", "signature_delta"),
    "redacted_thinking": (),
    "tool_use": ("input_json_delta",),
    "server_tool_use": ("input_json_delta",),
    "web_search_tool_result": (),
    "web_fetch_tool_result": (),
    "code_execution_tool_result": (),
}
_STOPS = {
    *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
    "model_context_window_exceeded",
}
_ANTHROPIC_ERRORS = {
    *("invalid_request_error", "authentication_error", "billing_error", "permission_error"),
    *("not_found_error", "conflict_error", "request_too_large", "rate_limit_error", "api_error"),
    *("timeout_error", "overloaded_error"),
}
_OUR_ID = re.compile(r"[A-Za-z0-9_-]+")


class AnthropicMessages(Checker):
    """Blocks one after the other, each opened, filled and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = self.stopped = False
        self.open: JsonObject | None = None
        self.index = -1
        self.pieces: list[str] = []
        self.deltas: list[str] = []

    def on_ping(self, body: JsonObject) -> None:
        need(self.begun, "ping before the start")

    def on_message_start(self, body: JsonObject) -> None:
        need(not self.begun, "two starts")
        self.begun = True
        message = obj(body, "message")
        need(text(message, "id").startswith("msg_"), "id of the message")
        need((message["type"], message["role"]) == ("message", "assistant"), "what a message is")
        need(message["content"] == [] and isinstance(message["model"], str), "an empty message")
        need("stop_reason" in message and message["stop_reason"] is None, "stop_reason at the start")
        need("stop_sequence" in message, "stop_sequence at the start")
        for key in ("input_tokens", "output_tokens"):
            number(obj(message, "usage"), key)

    def on_content_block_start(self, body: JsonObject) -> None:
        need(self.begun and not self.stopped and self.open is None, "a block out of place")
        self.index += 1
        need(number(body, "index") == self.index, f"block {body.get('index')} is not {self.index}")
        self.open = block = obj(body, "content_block")
        self.pieces, self.deltas = [], []
        kind = text(block, "type")
        need(kind in _DELTAS, f"unknown block {kind}")
        if kind in ("text", "thinking"):
            need(text(block, kind) == "", "words in the start of a block")
        elif kind in ("tool_use", "server_tool_use"):
            need(bool(_OUR_ID.fullmatch(text(block, "id"))), f"id of a call: {block['id']!r}")
            need(kind == "tool_use" or text(block, "id").startswith("srvtoolu_"), "id of a server tool")
            need(bool(text(block, "name")) and isinstance(block.get("input"), dict), "a call")
        elif kind == "web_search_tool_result":
            self._result(block)

    def _result(self, block: JsonObject) -> None:
        need(text(block, "tool_use_id").startswith("srvtoolu_"), "id of a result")
        if isinstance(block.get("content"), dict):
            problem = obj(block, "content")
            need(problem["type"] == "web_search_tool_result_error", "an error of a search")
            need(bool(text(problem, "error_code")), "code of an error")
            return
        for item in objs(block, "content"):
            need(item["type"] == "web_search_result", "a result")
            for key in ("url", "title", "encrypted_content"):
                text(item, key)
            need("page_age" in item, "page_age")

    def on_content_block_delta(self, body: JsonObject) -> None:
        if self.open is None or number(body, "index") != self.index:
            raise Violation("a delta outside its block")
        delta = obj(body, "delta")
        kind = text(delta, "type")
        need(kind in _DELTAS[text(self.open, "type")], f"{kind} in {self.open['type']}")
        if kind == "input_json_delta":
            self.pieces.append(text(delta, "partial_json"))
        elif kind == "citations_delta":
            self._citation(obj(delta, "citation"))
        else:
            text(delta, kind.removesuffix("_delta"))
        if not self.deltas or self.deltas[-1] != kind:
            self.deltas.append(kind)

    def _citation(self, citation: JsonObject) -> None:
        if text(citation, "type") == "web_search_result_location":
            for key in ("url", "encrypted_index", "cited_text"):
                text(citation, key)
            need("title" in citation, "title of a citation")

    def on_content_block_stop(self, body: JsonObject) -> None:
        need(self.open is not None and number(body, "index") == self.index, "a stop without a start")
        need(len(self.deltas) <= 2, f"citations amid the words: {self.deltas}")
        self.open = None
        if "".join(self.pieces) and not self.ended:
            self.pieces = [json.dumps(strict_json("".join(self.pieces)))]

    def on_message_delta(self, body: JsonObject) -> None:
        need(self.begun and self.open is None and not self.stopped, "message_delta out of place")
        self.stopped = True
        need(obj(body, "delta")["stop_reason"] in _STOPS, "stop_reason")
        number(obj(body, "usage"), "output_tokens")

    def on_message_stop(self, body: JsonObject) -> None:
        need(self.stopped, "message_stop without message_delta")
        self.end()

    def on_error(self, body: JsonObject) -> None:
        need(not self.stopped, "an error after the end")
        problem = obj(body, "error")
        need(text(problem, "type") in _ANTHROPIC_ERRORS, f"error type {problem['type']}")
        text(problem, "message")
        self.end(failed=True)


CHECKERS: Mapping[str, type[Checker]] = {
    "anthropic_messages": AnthropicMessages,
    "openai_responses": OpenaiResponses,
    "openai_chat": OpenaiChat,
    "gemini": Gemini,
    "gemini_interactions": GeminiInteractions,
}


def check_stream(dialect: str, data: bytes) -> None:
    """Raise `Violation` unless these bytes are one valid stream of the dialect."""
    CHECKERS[dialect]().check(data)
