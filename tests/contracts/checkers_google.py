"""Strict checkers of Google's two streams."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.model import JsonObject
from tests.contracts.strict_parser import (
    Checker,
    Sent,
    Violation,
    events,
    need,
    number,
    obj,
    objs,
    strict_json,
    text,
)

_PAYLOADS = {
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse"),
}
_PART_KEYS = {*_PAYLOADS, "thought", "thoughtSignature"}
_FINISHES = {
    *("STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT"),
    *("SPII", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "IMAGE_SAFETY"),
    *("MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "CONTINUATION"),
}
_STATUSES = {
    *("INVALID_ARGUMENT", "FAILED_PRECONDITION", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND"),
    *(
        "RESOURCE_EXHAUSTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DEADLINE_EXCEEDED",
        "CANCELLED",
        "ABORTED",
        "UNKNOWN",
    ),
}


class Gemini(Checker):
    """Unnamed chunks, no comments, no sentinel: the chunk with the finish reason is the last."""

    comments = False

    def __init__(self) -> None:
        super().__init__()
        self.sent_text = b""
        self.chunks = 0

    def take(self, event: Sent) -> None:
        need(not event.name, "a named event")
        body = strict_json(event.data)
        if "error" in body:
            self._error(obj(body, "error"))
            return
        text(body, "responseId")
        text(body, "modelVersion")
        for key, value in obj(body, "usageMetadata").items() if "usageMetadata" in body else ():
            if key.endswith("Count"):
                need(isinstance(value, int) and value >= 0, f"{key} is {value}")
        if "candidates" not in body:
            text(obj(body, "promptFeedback"), "blockReason")
            self.end()
            return
        candidates = objs(body, "candidates")
        need(len(candidates) == 1, "one candidate")
        self._candidate(candidates[0])

    def _error(self, problem: JsonObject) -> None:
        number(problem, "code")
        text(problem, "message")
        need(text(problem, "status") in _STATUSES, f"status {problem['status']}")
        self.end(failed=True)

    def _candidate(self, candidate: JsonObject) -> None:
        need(candidate.get("index", 0) == 0, "index of the candidate")
        if "content" in candidate:
            content = obj(candidate, "content")
            need(content["role"] == "model", "role")
            for part in objs(content, "parts") if "parts" in content else ():
                self._part(part)
        if "groundingMetadata" in candidate:
            self._grounding(obj(candidate, "groundingMetadata"))
        if "finishReason" in candidate:
            need(text(candidate, "finishReason") in _FINISHES, f"finishReason {candidate['finishReason']}")
            self.end()

    def _part(self, part: JsonObject) -> None:
        need(set(part) <= _PART_KEYS, f"a part with {sorted(part)}")
        need(len(_PAYLOADS & set(part)) == 1, f"a part with {sorted(part)}")
        if "text" in part and part.get("thought") is not True:
            self.sent_text += text(part, "text").encode()
        if "functionCall" in part:
            call = obj(part, "functionCall")
            need(isinstance(call.get("name"), str) and isinstance(call.get("args", {}), dict), "a call")
        if "inlineData" in part:
            for key in ("mimeType", "data"):
                text(obj(part, "inlineData"), key)

    def _grounding(self, metadata: JsonObject) -> None:
        for chunk in objs(metadata, "groundingChunks") if "groundingChunks" in metadata else ():
            # A page has an address; a document may have only a name.
            web = "retrievedContext" not in chunk
            need(
                bool(
                    text(obj(chunk, "web"), "uri") if web else text(obj(chunk, "retrievedContext"), "title")
                ),
                "a name",
            )
            self.chunks += 1
        for support in objs(metadata, "groundingSupports") if "groundingSupports" in metadata else ():
            self._support(support)
        queries = metadata.get("webSearchQueries", [])
        need(isinstance(queries, list) and all(isinstance(query, str) for query in queries), "queries")

    def _support(self, support: JsonObject) -> None:
        indices = support["groundingChunkIndices"]
        need(isinstance(indices, list) and bool(indices), "indices of a support")
        assert isinstance(indices, list)
        need(all(isinstance(index, int) and 0 <= index < self.chunks for index in indices), "chunk index")
        scores = support.get("confidenceScores", [0] * len(indices))
        need(isinstance(scores, list) and len(scores) == len(indices), "a score for each index")
        segment = obj(support, "segment")
        need(segment.get("startIndex") != 0, "a start of nought is left out")
        start = number(segment, "startIndex") if "startIndex" in segment else 0
        end = number(segment, "endIndex") if "endIndex" in segment else 0
        need(start <= end <= len(self.sent_text), f"{start} to {end} of {len(self.sent_text)}")
        need(self.sent_text[start:end] == text(segment, "text").encode(), "the text of a segment")


_STEP_DELTAS: Mapping[str, tuple[str, ...]] = {
    "thought": ("thought_summary", "thought_signature"),
    "model_output": ("text", "text_annotation_delta", "image"),
    "google_search_call": ("google_search_call",),
    "google_search_result": ("google_search_result",),
    "url_context_call": ("url_context_call",),
    "url_context_result": ("url_context_result",),
    "function_call": ("arguments_delta",),
}
_KNOWN_DELTAS = {kind for kinds in _STEP_DELTAS.values() for kind in kinds}
_ENDS = {
    *("completed", "requires_action", "requires_continuation", "incomplete", "failed", "cancelled"),
    "budget_exceeded",
}


class _Step:
    """A step while it is open."""

    def __init__(self, step: JsonObject) -> None:
        self.kind = text(step, "type")
        self.sent_text = b""


class GeminiInteractions(Checker):
    """Steps under their own index, each opened, filled and closed; a sentinel may close the bytes."""

    type_key = "event_type"
    named = False

    def __init__(self) -> None:
        super().__init__()
        self.id = ""
        self.open: dict[int, _Step] = {}
        self.steps = 0

    def check(self, data: bytes) -> None:
        sent = events(data, comments=True)
        if sent and sent[-1].data == "[DONE]":
            need(sent.pop().name in ("", "done"), "name of the sentinel")
        for event in sent:
            need(not self.ended, f"{event.data[:80]} after the end")
            self.take(event)
        need(self.ended, "no end")

    def take(self, event: Sent) -> None:
        kind = text(strict_json(event.data), "event_type")
        need(event.name in ("", kind), f"event {event.name} has type {kind}")
        need(bool(self.id) or kind in ("interaction.created", "error"), f"{kind} before the start")
        super().take(event)

    def on_interaction_created(self, body: JsonObject) -> None:
        need(not self.id, "two starts")
        interaction = obj(body, "interaction")
        self.id = text(interaction, "id")
        need(interaction["status"] == "in_progress" and interaction["object"] == "interaction", "a start")

    def on_interaction_status_update(self, body: JsonObject) -> None:
        need(text(body, "interaction_id") == self.id, "interaction_id")
        text(body, "status")

    def on_step_start(self, body: JsonObject) -> None:
        need(number(body, "index") == self.steps, f"step {body['index']} is not {self.steps}")
        step = obj(body, "step")
        self.open[self.steps] = opened = _Step(step)
        self.steps += 1
        if opened.kind.endswith("_call"):
            need(bool(text(step, "id")), "id of a call")
        if opened.kind.endswith("_result"):
            need(bool(text(step, "call_id")), "call_id of a result")
        if opened.kind == "function_call":
            text(step, "name")

    def on_step_delta(self, body: JsonObject) -> None:
        step = self.open.get(number(body, "index"))
        if step is None:
            raise Violation("a delta outside its step")
        delta = obj(body, "delta")
        kind = text(delta, "type")
        # Steps and deltas of an unknown type are the provider's, passed on verbatim.
        own = kind not in _KNOWN_DELTAS or step.kind not in _STEP_DELTAS
        need(own or kind in _STEP_DELTAS[step.kind], f"{kind} in {step.kind}")
        match kind:
            case "text":
                step.sent_text += text(delta, "text").encode()
            case "text_annotation_delta":
                for annotation in objs(delta, "annotations"):
                    self._annotation(annotation, step.sent_text)
            case "google_search_call" | "url_context_call":
                obj(delta, "arguments")
            case "google_search_result" | "url_context_result":
                objs(delta, "result")
            case "arguments_delta":
                text(delta, "arguments")

    def _annotation(self, annotation: JsonObject, sent_text: bytes) -> None:
        names = {"url_citation": "url", "file_citation": "file_name"}
        need(text(annotation, "type") in names, "annotation type")
        need(bool(text(annotation, names[text(annotation, "type")])), "a name")
        start = number(annotation, "start_index") if "start_index" in annotation else 0
        end = number(annotation, "end_index") if "end_index" in annotation else 0
        need(start <= end <= len(sent_text), f"{start} to {end} of {len(sent_text)}")
        sent_text[start:end].decode()

    def on_step_stop(self, body: JsonObject) -> None:
        need(self.open.pop(number(body, "index"), None) is not None, "a stop without a start")

    def on_interaction_completed(self, body: JsonObject) -> None:
        interaction = obj(body, "interaction")
        need(not self.open and text(interaction, "id") == self.id, "completed out of place")
        need(text(interaction, "status") in _ENDS, f"status {interaction['status']}")
        self.end()

    def on_error(self, body: JsonObject) -> None:
        problem = obj(body, "error")
        need("code" in problem, "code of an error")
        text(problem, "message")
        self.end(failed=True)
