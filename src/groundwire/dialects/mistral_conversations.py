"""Mistral's Conversations API, translated into the events of OpenAI Responses.

`POST /v1/conversations` returns entries (`outputs`) or a stream of events with different names. An entry is a
message, the execution of one of Mistral's tools, or a function call. The content of a message is a string or
a list of chunks. A citation is a chunk too: a `tool_reference` after the text that it supports.

A whole response is translated into its stream events, and those into the events of a response, by one table
each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import dump_json
from groundwire.model import JsonObject

BODY = "conversation.response"

EXECUTION = "tool.execution"


def is_conversation(body: Fields) -> bool:
    """Whether a body is a whole response of the Conversations API."""
    return body.get("object") == BODY or body.has("outputs")


def events_of(body: Fields) -> Iterator[JsonObject]:
    """Translate a whole response into stream events."""
    entries = list(body.objs("outputs"))
    model = next((entry.text("model") for entry in entries if entry.text("model")), "")
    yield {"type": f"{BODY}.started", "conversation_id": body.get("conversation_id"), "model": model}
    for number, entry in enumerate(entries):
        named: JsonObject = {**entry.raw, "id": entry.text("id") or f"entry_{number}"}
        match entry.text("type"):
            case "message.output":
                yield {**named, "type": "message.output.delta"}
            case "tool.execution":
                yield {**named, "type": f"{EXECUTION}.started"}
                yield {**named, "type": f"{EXECUTION}.done"}
            case "function.call":
                yield {**named, "type": "function.call.delta"}
            case _:
                yield {"type": "entry", "entry": entry.raw}
    yield {"type": f"{BODY}.done", "usage": body.get("usage")}


class _UncitedText:
    """Text of a message since its last citation, and its position in the content part."""

    __slots__ = ("chunks", "cited", "is_cited", "length", "part")

    def __init__(self) -> None:
        self.part = 0
        self.length = 0
        self.chunks: list[str] = []
        self.is_cited = False
        self.cited: tuple[int, int, int] | None = None

    def add(self, part: int, text: str) -> None:
        if part != self.part or self.is_cited:
            self.chunks.clear()
            self.is_cited = False
        if part != self.part:
            self.part, self.length = part, 0
        self.chunks.append(text)
        self.length += len(text)

    def cite_here(self) -> tuple[int, int, int] | None:
        """Content part, start and end of the text that a citation here supports; None without text."""
        text = "".join(self.chunks)
        if text.strip() and not self.is_cited:
            end = self.length - (len(text) - len(text.rstrip()))
            self.cited = (self.part, self.length - len(text.lstrip()), end)
        self.is_cited = True
        return self.cited


class ConversationTranslator:
    """Translates the events of one streamed response."""

    def __init__(self) -> None:
        self._response: JsonObject = {}
        self._is_started = False
        self._indexes: dict[str, int] = {}
        self._texts: dict[str, _UncitedText] = {}
        self._running_tools: dict[str, JsonObject] = {}

    def translate(self, event: Fields) -> Iterator[JsonObject]:
        """Translate an event into the equivalent events of OpenAI Responses."""
        kind = event.text("type")
        if kind == f"{BODY}.started":
            self._response = {"id": event.get("conversation_id"), "model": event.get("model")}
            return
        if not self._is_started:
            self._is_started = True
            self._response["model"] = self._response.get("model") or event.get("model")
            yield {"type": "response.created", "response": self._response}
        yield from _TRANSLATORS.get(kind, ConversationTranslator._pass_entry)(self, event)

    def _pass_entry(self, event: Fields) -> Iterator[JsonObject]:
        """Pass on an entry that arrives whole."""
        if event.has("entry"):
            yield self._item_done(event.obj("entry").raw)

    def _item_done(self, item: JsonObject) -> JsonObject:
        index = self._index(f"item {len(self._indexes)}")
        return {"type": "response.output_item.done", "output_index": index, "item": item}

    def _index(self, name: str) -> int:
        return self._indexes.setdefault(name, len(self._indexes))

    def _tool_started(self, event: Fields) -> Iterator[JsonObject]:
        item = self._running_tools[event.text("id")] = {**event.raw, "type": EXECUTION}
        index = self._index(event.text("id"))
        added: JsonObject = {**item, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": added}

    def _tool_delta(self, event: Fields) -> Iterator[JsonObject]:
        item = self._running_tools.get(event.text("id"), {})
        earlier = item.get("arguments")
        item["arguments"] = (earlier if isinstance(earlier, str) else "") + event.text("arguments")
        yield from ()

    def _tool_done(self, event: Fields) -> Iterator[JsonObject]:
        running = self._running_tools.pop(event.text("id"), {})
        item: JsonObject = {**running, **event.raw, "type": EXECUTION, "status": "completed"}
        index = self._index(event.text("id"))
        yield {"type": "response.output_item.done", "output_index": index, "item": item}

    def _message_delta(self, event: Fields) -> Iterator[JsonObject]:
        content = event.get("content")
        for number, chunk in enumerate(content if isinstance(content, list) else [content]):
            text: JsonObject = {"type": "text", "text": chunk}
            fields = event.with_raw(text if isinstance(chunk, str) else as_object(chunk))
            yield from self._translate_chunk(event, fields, (event.integer("content_index") or 0) + number)

    def _translate_chunk(self, event: Fields, chunk: Fields, part: int) -> Iterator[JsonObject]:
        name = event.text("id")
        match chunk.text("type", "text"):
            case "text":
                text = chunk.text("text")
                self._texts.setdefault(name, _UncitedText()).add(part, text)
                yield {"type": "response.output_text.delta", **self._position(name, part), "delta": text}
            case "tool_reference":
                yield self._cite(name, chunk)
            case "thinking":
                position = self._position(f"{name} thinking", 0)
                for thinking in chunk.objs("thinking"):
                    yield {
                        "type": "response.reasoning_text.delta",
                        **position,
                        "delta": thinking.text("text"),
                    }
            case _:
                yield self._item_done(chunk.raw)

    def _position(self, name: str, part: int) -> JsonObject:
        return {"item_id": name, "output_index": self._index(name), "content_index": part}

    def _cite(self, name: str, chunk: Fields) -> JsonObject:
        """Translate a reference, which supports the text since the previous one."""
        span = self._texts.setdefault(name, _UncitedText()).cite_here()
        part, start, end = span or (0, 0, 0)
        annotation = dict(chunk.raw)
        if chunk.text("url"):
            annotation |= {"type": "url_citation", "start_index": start, "end_index": end}
            annotation[FIELD] = {"anchor": "claim" if span else "answer"}
        event = "response.output_text.annotation.added"
        return {"type": event, **self._position(name, part), "annotation": annotation}

    def _call_delta(self, event: Fields) -> Iterator[JsonObject]:
        name, arguments = event.text("id") or event.text("tool_call_id"), event.get("arguments")
        if name not in self._indexes:
            item: JsonObject = {"type": "function_call", "id": name, "name": event.get("name")}
            item["call_id"] = event.get("tool_call_id")
            index = self._index(name)
            yield {"type": "response.output_item.added", "output_index": index, "item": item}
        text = arguments if isinstance(arguments, str) else dump_json(arguments) if arguments else ""
        position = self._position(name, 0)
        yield {"type": "response.function_call_arguments.delta", **position, "delta": text}

    def _finish(self, event: Fields) -> Iterator[JsonObject]:
        for item in list(self._running_tools.values()):
            yield from self._tool_done(event.with_raw(item))
        yield {"type": "response.completed", "response": {**self._response, **_usage(event.obj("usage"))}}

    def _fail(self, event: Fields) -> Iterator[JsonObject]:
        yield {**event.raw, "type": "error"}


def _usage(usage: Fields) -> JsonObject:
    """Translate the usage. Tokens that the model read from tools are counted separately from the prompt."""
    if not usage.raw:
        return {}
    read_tokens = [usage.integer(name) for name in ("prompt_tokens", "connector_tokens")]
    counts: JsonObject = {
        "input_tokens": sum(count for count in read_tokens if count is not None),
        "output_tokens": usage.get("completion_tokens"),
        "connector_tokens": read_tokens[1],
    }
    connectors = usage.obj("connectors")
    searches = [connectors.integer(name) or 0 for name in connectors.raw if "search" in name]
    tools: JsonObject = {"web_search": {"num_requests": sum(searches)}}
    return {"usage": counts, "tool_usage": tools} if searches else {"usage": counts}


_TRANSLATORS: dict[str, Callable[[ConversationTranslator, Fields], Iterator[JsonObject]]] = {
    f"{EXECUTION}.started": ConversationTranslator._tool_started,
    f"{EXECUTION}.delta": ConversationTranslator._tool_delta,
    f"{EXECUTION}.done": ConversationTranslator._tool_done,
    "message.output.delta": ConversationTranslator._message_delta,
    "function.call.delta": ConversationTranslator._call_delta,
    f"{BODY}.done": ConversationTranslator._finish,
    f"{BODY}.error": ConversationTranslator._fail,
}

EVENTS = (*_TRANSLATORS, f"{BODY}.started")
