"""Strict stream checkers: one state machine per dialect that validates what the encoders write.

They are written from the wire formats, share nothing with the codecs, and forgive nothing: order of events,
indices, required fields, text that is repeated, valid UTF-8 and JSON, exactly one end.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.model import JsonObject
from tests.contracts.checkers_amazon import BedrockConverse
from tests.contracts.checkers_cohere import CohereChat
from tests.contracts.checkers_google import Gemini, GeminiInteractions
from tests.contracts.checkers_mistral import MistralConversations
from tests.contracts.checkers_openai import OpenaiChat, OpenaiResponses
from tests.contracts.strict_parser import (
    Checker,
    Violation,
    decoded,
    need,
    number,
    obj,
    objs,
    strict_json,
    text,
)

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
        if kind in ("text", "thinking"):
            need(text(block, kind) == "", "text in the start of a block")
        elif kind in ("tool_use", "server_tool_use"):
            need(isinstance(block.get("id"), str), "id of a call")
            need(isinstance(block.get("name"), str) and isinstance(block.get("input"), dict), "a call")
        elif kind == "web_search_tool_result":
            self._result(block)

    def _result(self, block: JsonObject) -> None:
        text(block, "tool_use_id")
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
        # A block of an unknown type is the provider's, passed on verbatim.
        need(kind in _DELTAS.get(text(self.open, "type"), (kind,)), f"{kind} in {self.open['type']}")
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
        if text(citation, "type") == "char_location":
            for key in ("document_index", "start_char_index", "end_char_index"):
                number(citation, key)
            text(citation, "cited_text")

    def on_content_block_stop(self, body: JsonObject) -> None:
        need(self.open is not None and number(body, "index") == self.index, "a stop without a start")
        late = self.deltas[1:] if self.deltas[:1] == ["citations_delta"] else self.deltas
        need(self.live or "citations_delta" not in late, f"citations after the text: {self.deltas}")
        # Arguments of a client's tool are the model's and may be truncated; those of a search are ours.
        if text(self.open or {}, "type") == "server_tool_use" and any(self.pieces):
            strict_json("".join(self.pieces))
        self.open = None

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


class Websearch(Checker):
    """One object; blanks may precede it."""

    def check(self, data: bytes) -> None:
        body = strict_json(decoded(data).lstrip(" "))
        text(body, "llmContent")
        text(body, "returnDisplay")
        for source in objs(body, "sources") if "sources" in body else ():
            web = obj(source, "web")
            need(set(web) <= {"title", "uri"}, "a source")
            need(all(isinstance(value, str) for value in web.values()), "the fields of a source")
        if "error" in body:
            for key in ("message", "type"):
                text(obj(body, "error"), key)
        self.end(failed="error" in body)


CHECKERS: Mapping[str, type[Checker]] = {
    "anthropic_messages": AnthropicMessages,
    "openai_responses": OpenaiResponses,
    "openai_chat": OpenaiChat,
    "gemini": Gemini,
    "gemini_interactions": GeminiInteractions,
    "bedrock_converse": BedrockConverse,
    "cohere_chat": CohereChat,
    "mistral_conversations": MistralConversations,
    "websearch": Websearch,
}


def check_stream(dialect: str, data: bytes, *, live: bool = False) -> None:
    """Raise `Violation` unless these bytes are one valid stream of the dialect.

    If text was sent live, citations may follow it.
    """
    checker = CHECKERS[dialect]()
    checker.live = live
    checker.check(data)
