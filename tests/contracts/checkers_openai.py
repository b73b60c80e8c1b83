"""Strict checkers of OpenAI's two streams."""

from __future__ import annotations

from groundwire.model import Json, JsonObject
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

_CHAT_ENDS = {"stop", "length", "tool_calls", "content_filter", "function_call", "error"}


def check_annotation(annotation: JsonObject, sent_text: str | None) -> None:
    """A flat url_citation within a text; annotations of other types are passed on verbatim."""
    if text(annotation, "type") != "url_citation":
        return
    text(annotation, "url")
    text(annotation, "title")
    start, end = number(annotation, "start_index"), number(annotation, "end_index")
    need(
        start <= end and (sent_text is None or end <= len(sent_text)), f"{start} to {end} is outside the text"
    )


class OpenaiChat(Checker):
    """Unnamed chunks: a role, text and calls, one finish, perhaps usage, and the sentinel."""

    def __init__(self) -> None:
        super().__init__()
        self.head: tuple[str, Json] | None = None
        self.finished = self.counted = False
        self.sent_text = ""
        self.calls = 0

    def take(self, event: Sent) -> None:
        need(not event.name, "a named event")
        if event.data == "[DONE]":
            need(self.finished or self.failed, "[DONE] before the finish")
            self.end(failed=self.failed)
            return
        body = strict_json(event.data)
        need(not self.failed, "a chunk after the error")
        if "error" in body:
            text(obj(body, "error"), "message")
            need(not self.finished, "an error after the finish")
            self.failed = True
            return
        self._chunk(body)

    def check(self, data: bytes) -> None:
        for event in events(data, comments=True):
            need(not self.ended, "something after [DONE]")
            self.take(event)
        need(self.ended or self.failed, "no end")

    def _chunk(self, body: JsonObject) -> None:
        head = (text(body, "id"), number(body, "created"))
        need(self.head in (None, head) and body["object"] == "chat.completion.chunk", "one chunk is another")
        text(body, "model")
        choices = objs(body, "choices")
        if not choices:
            need(self.finished and not self.counted, "usage out of place")
            self.counted = True
            number(obj(body, "usage"), "total_tokens")
            return
        need(len(choices) == 1 and not self.finished, "a choice after the finish")
        choice = choices[0]
        need(choice["index"] == 0 and "finish_reason" in choice, "a choice")
        delta = obj(choice, "delta")
        need(self.head is not None or delta.get("role") == "assistant", "the first delta has the role")
        self.head = head
        self._delta(delta)
        if choice["finish_reason"] is not None:
            need(choice["finish_reason"] in _CHAT_ENDS, f"finish_reason {choice['finish_reason']}")
            self.finished = True

    def _delta(self, delta: JsonObject) -> None:
        if delta.get("content") is not None:
            self.sent_text += text(delta, "content")
        if delta.get("refusal") is not None:
            self.sent_text += text(delta, "refusal")
        for annotation in objs(delta, "annotations") if "annotations" in delta else ():
            need(annotation["type"] == "url_citation", "annotation type")
            check_annotation({"type": "url_citation", **obj(annotation, "url_citation")}, None)
        for call in objs(delta, "tool_calls") if "tool_calls" in delta else ():
            function = obj(call, "function")
            if number(call, "index") == self.calls:
                self.calls += 1
                need(bool(text(call, "id")) and call["type"] == "function", "the head of a call")
                text(function, "name")
            need(number(call, "index") < self.calls, "a call out of order")
            text(function, "arguments")


_PROGRESS = ("in_progress", "searching", "completed")
_RESPONSE_KEYS = (
    "id",
    "object",
    "created_at",
    "model",
    "parallel_tool_calls",
    "tool_choice",
    "tools",
    "status",
)


class _Item:
    """An output item while it is open."""

    def __init__(self, item: JsonObject) -> None:
        self.id, self.kind = text(item, "id"), text(item, "type")
        self.content: list[JsonObject] = []
        self.sent_text: str | None = None
        self.annotations: list[JsonObject] = []
        self.arguments = ""
        self.progress: list[str] = []


class OpenaiResponses(Checker):
    """Numbered events; items opened and closed in order; the last event repeats the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.sequence = 0
        self.created = self.warned = False
        self.open: dict[int, _Item] = {}
        self.done: dict[int, JsonObject] = {}
        self.ids: set[str] = set()

    def check(self, data: bytes) -> None:
        # `error` alone is an end too, if a poor one; OpenAI lets `response.failed` follow it.
        for event in events(data, comments=True):
            need(not self.ended, f"{event.data[:80]} after the end")
            self.take(event)
        need(self.ended or self.warned, "no end")

    def take(self, event: Sent) -> None:
        body = strict_json(event.data)
        need(body.get("sequence_number") == self.sequence, f"sequence_number is not {self.sequence}")
        self.sequence += 1
        kind = text(body, "type")
        need(event.name == kind, f"event {event.name} has type {kind}")
        head = ("response.created", "response.failed", "error")
        need(self.created or kind in head, f"{kind} before response.created")
        need(not self.warned or kind == "response.failed", f"{kind} after error")
        if kind.startswith("response.web_search_call."):
            self._item(body, "web_search_call").progress.append(kind.rpartition(".")[2])
        elif kind.startswith("response.reasoning_"):
            self._item(body, "reasoning")
        else:
            super().take(event)

    def _item(self, body: JsonObject, *kinds: str) -> _Item:
        item = self.open.get(number(body, "output_index"))
        if item is None:
            raise Violation(f"no open item at {body['output_index']}")
        need(text(body, "item_id") == item.id, "item_id")
        need(item.kind in kinds, f"{body['type']} in {item.kind}")
        return item

    def on_response_created(self, body: JsonObject) -> None:
        need(not self.created, "created twice")
        self.created = True
        response = self._response(body)
        need((response["status"], response["output"]) == ("in_progress", []), "a response at its start")

    def on_response_in_progress(self, body: JsonObject) -> None:
        need(not self.open and not self.done, "in_progress after the first item")
        self._response(body)

    def _response(self, body: JsonObject) -> JsonObject:
        response = obj(body, "response")
        missing = [key for key in _RESPONSE_KEYS if response.get(key) is None]
        need(not missing, f"the response has no {missing}")
        need(text(response, "id").startswith("resp_") and response["object"] == "response", "a response")
        objs(response, "output")
        return response

    def on_response_output_item_added(self, body: JsonObject) -> None:
        index = number(body, "output_index")
        need(index == len(self.open) + len(self.done), f"item {index} out of order")
        item = obj(body, "item")
        self.open[index] = opened = _Item(item)
        need(opened.id not in self.ids, f"id {opened.id} twice")
        self.ids.add(opened.id)
        if opened.kind == "message":
            need(item["role"] == "assistant" and item["content"] == [], "a message at its start")
        if opened.kind == "web_search_call":
            obj(item, "action")
        if opened.kind == "function_call":
            need(bool(text(item, "call_id")) and isinstance(item["name"], str), "a call at its start")

    def on_response_content_part_added(self, body: JsonObject) -> None:
        item = self._item(body, "message")
        need(item.sent_text is None, "a part in a part")
        need(number(body, "content_index") == len(item.content), "content_index")
        part = obj(body, "part")
        need(text(part, "type") in ("output_text", "refusal"), "a part")
        item.sent_text, item.annotations = "", []

    def on_response_output_text_delta(self, body: JsonObject) -> None:
        item = self._item(body, "message")
        need(body.get("logprobs") == [], "logprobs")
        self._add(item, body)

    def on_response_refusal_delta(self, body: JsonObject) -> None:
        self._add(self._item(body, "message"), body)

    def _add(self, item: _Item, body: JsonObject) -> None:
        if item.sent_text is None or number(body, "content_index") != len(item.content):
            raise Violation("text outside a part")
        item.sent_text += text(body, "delta")

    def on_response_output_text_annotation_added(self, body: JsonObject) -> None:
        item = self._item(body, "message")
        need(item.sent_text is not None, "an annotation outside a part")
        need(number(body, "annotation_index") == len(item.annotations), "annotation_index")
        item.annotations.append(obj(body, "annotation"))

    def on_response_output_text_done(self, body: JsonObject) -> None:
        need(self._item(body, "message").sent_text == text(body, "text"), "done differs from the deltas")

    def on_response_refusal_done(self, body: JsonObject) -> None:
        need(
            self._item(body, "message").sent_text == text(body, "refusal"),
            "done differs from the refusal deltas",
        )

    def on_response_content_part_done(self, body: JsonObject) -> None:
        item = self._item(body, "message")
        part = obj(body, "part")
        content = text(part, "refusal" if part["type"] == "refusal" else "text")
        need(content == item.sent_text, "a part differs from its deltas")
        if part["type"] == "output_text":
            need(part["annotations"] == item.annotations, "annotations differ")
            for annotation in item.annotations:
                check_annotation(annotation, content)
        item.content.append(part)
        item.sent_text = None

    def on_response_function_call_arguments_delta(self, body: JsonObject) -> None:
        self._item(body, "function_call").arguments += text(body, "delta")

    def on_response_function_call_arguments_done(self, body: JsonObject) -> None:
        item = self._item(body, "function_call")
        need(item.arguments in ("", text(body, "arguments")), "arguments differ")
        item.arguments = text(body, "arguments")

    def on_response_output_item_done(self, body: JsonObject) -> None:
        index = number(body, "output_index")
        opened, item = self.open.pop(index, None), obj(body, "item")
        if opened is None:
            raise Violation("an item done twice")
        need((text(item, "id"), item["type"]) == (opened.id, opened.kind), "another item is done")
        need(opened.sent_text is None, "an item done before its text")
        # Items other than messages have their own content, or are passed on verbatim.
        need(opened.kind != "message" or item["content"] == opened.content, "content differs")
        if opened.kind == "function_call":
            need(text(item, "arguments") == opened.arguments, "arguments of the call")
        if opened.kind == "web_search_call":
            need(opened.progress == [state for state in _PROGRESS if state in opened.progress], "progress")
            need(bool(text(obj(item, "action"), "type")), "action of a search")
        self.done[index] = item

    def _finish(self, body: JsonObject, status: str) -> None:
        response = self._response(body)
        need(response["status"] == status and not self.open, f"{status} with open items")
        need(response["output"] == [self.done[index] for index in sorted(self.done)], "output differs")
        for key in ("input_tokens", "output_tokens", "total_tokens") if response["usage"] is not None else ():
            number(obj(response, "usage"), key)
        self.end()

    def on_response_completed(self, body: JsonObject) -> None:
        self._finish(body, "completed")

    def on_response_incomplete(self, body: JsonObject) -> None:
        text(obj(self._response(body), "incomplete_details"), "reason")
        self._finish(body, "incomplete")

    def on_response_failed(self, body: JsonObject) -> None:
        response = self._response(body)
        need(response["status"] == "failed", "status of a failure")
        for key in ("code", "message"):
            text(obj(response, "error"), key)
        self.end(failed=True)

    def on_error(self, body: JsonObject) -> None:
        text(obj(body, "error") if "error" in body else body, "message")
        self.warned = True
