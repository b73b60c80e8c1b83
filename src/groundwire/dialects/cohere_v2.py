"""Cohere's Chat API, version 2, translated into the responses of OpenAI Chat.

`POST /v2/chat` returns a message, or a stream of events with the same content. A citation has the offsets of
the cited text in a block of content, in code points, repeats that text, and lists its sources: documents that
the request contained, or outputs of tools. A source is cited by the address in it, or by its title. The
output of a tool that has neither is the client's own, and is not cited.

A whole response is translated into its stream events, and those into chunks, by one table each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from groundwire.dialects.fields import Fields, as_object
from groundwire.model import Json, JsonObject
from groundwire.text.spans import QuoteLocator
from groundwire.text.urls import safe_url

_FINISH_REASONS: Mapping[str, str] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "TIMEOUT": "error",
}
_URL_FIELDS = ("url", "link", "uri", "source")
_TITLE_FIELDS = ("title", "name")
_QUOTE_FIELDS = ("snippet", "text", "excerpt")


def is_cohere(body: Fields) -> bool:
    """Whether a body is a whole response of this API."""
    return isinstance(body.get("message"), dict) and body.has("finish_reason") and not body.has("choices")


def is_cohere_event(value: Json) -> bool:
    """Whether a value is an event of a stream of this API."""
    kind = as_object(value).get("type")
    return isinstance(kind, str) and kind in _TRANSLATORS


def translated(body: Fields) -> JsonObject:
    """Translate a whole response."""
    translator = CohereTranslator()
    message: JsonObject = {"role": "assistant"}
    whole: JsonObject = {}
    choice: JsonObject = {"index": 0}
    for event in _events_of(body):
        for chunk in translator.translate(body.with_raw(event)):
            delta = as_object(chunk.pop("delta", None))
            for name, item in delta.items():
                earlier = message.get(name)
                joined = isinstance(item, str) and isinstance(earlier, str)
                message[name] = f"{earlier}{item}" if joined else _extended(earlier, item)
            if reason := chunk.pop("finish_reason", None):
                choice["finish_reason"] = reason
            whole.update(chunk)
    return {**whole, "choices": [{**choice, "message": message}]}


def _extended(earlier: Json, item: Json) -> Json:
    return [*earlier, *item] if isinstance(earlier, list) and isinstance(item, list) else item


def _events_of(body: Fields) -> Iterator[JsonObject]:
    message = body.obj("message")
    yield {"type": "message-start", "id": body.get("id")}
    if message.text("tool_plan"):
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": message.get("tool_plan")}}}
    for index, content in enumerate(message.objs("content")):
        yield {"type": "content-delta", "index": index, "delta": {"message": {"content": content.raw}}}
    for index, call in enumerate(message.objs("tool_calls")):
        yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call.raw}}}
    for citation in message.objs("citations"):
        yield {"type": "citation-start", "delta": {"message": {"citations": citation.raw}}}
    ending: JsonObject = {"finish_reason": body.get("finish_reason"), "usage": body.get("usage")}
    yield {"type": "message-end", "delta": ending}


class CohereTranslator:
    """Translates the events of one response into chunks.

    A chunk has `delta` and `finish_reason` at its top level; `as_chunk` puts them into a choice.
    """

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}

    def translate(self, event: Fields) -> Iterator[JsonObject]:
        """Translate an event."""
        yield from _TRANSLATORS[event.text("type")](self, event)

    def _start(self, event: Fields) -> Iterator[JsonObject]:
        yield {"id": event.get("id")}

    def _content(self, event: Fields) -> Iterator[JsonObject]:
        content = event.obj("delta").obj("message").obj("content")
        if content.text("thinking"):
            yield {"delta": {"reasoning_content": content.text("thinking")}}
        if text := content.text("text"):
            self._texts.setdefault(event.integer("index") or 0, []).append(text)
            yield {"delta": {"content": text}}

    def _plan(self, event: Fields) -> Iterator[JsonObject]:
        yield {"delta": {"reasoning_content": event.obj("delta").obj("message").text("tool_plan")}}

    def _call(self, event: Fields) -> Iterator[JsonObject]:
        call = event.obj("delta").obj("message").obj("tool_calls")
        yield {"delta": {"tool_calls": [{**call.raw, "index": event.integer("index") or 0}]}}

    def _cite(self, event: Fields) -> Iterator[JsonObject]:
        citation = event.obj("delta").obj("message").obj("citations")
        if citation.text("type", "TEXT_CONTENT") != "TEXT_CONTENT":
            return  # citations of a plan or of reasoning
        start, end = self._span(citation)
        place: JsonObject = {"start_index": start, "end_index": end}
        annotations: list[Json] = [
            {"type": "url_citation", "url_citation": {**place, **source}}
            for item in citation.objs("sources")
            if (source := _source(item))
        ]
        if annotations:
            yield {"delta": {"annotations": annotations}}

    def _span(self, citation: Fields) -> tuple[int, int]:
        """The span in the whole text; 0, 0 if the repeated text is elsewhere and not unique."""
        index = citation.integer("content_index") or 0
        offset = sum(len("".join(texts)) for number, texts in self._texts.items() if number < index)
        start, end = citation.offset("start") or 0, citation.offset("end") or 0
        text, quote = "".join(self._texts.get(index, [])), citation.text("text")
        if quote and quote in text:
            located = QuoteLocator(text).locate(start, end, quote)
            return (located.start + offset, located.end + offset) if located else (0, 0)
        return (start + offset, end + offset) if 0 <= start < end else (0, 0)

    def _finish(self, event: Fields) -> Iterator[JsonObject]:
        delta = event.obj("delta")
        reason = delta.text("finish_reason")
        chunk: JsonObject = {
            "finish_reason": _FINISH_REASONS.get(reason, reason),
            **_usage(delta.obj("usage")),
        }
        if chunk["finish_reason"] == "error":
            message = delta.get("error") or f"the answer ended with {reason}"
            chunk["error"] = {"message": message}
        yield chunk

    def _ignore(self, _: Fields) -> Iterator[JsonObject]:
        yield from ()


def as_chunk(translated_event: JsonObject) -> JsonObject:
    """A chunk of a stream, with its choice."""
    chunk = dict(translated_event)
    choice: JsonObject = {"index": 0, "delta": chunk.pop("delta", {})}
    if reason := chunk.pop("finish_reason", None):
        choice["finish_reason"] = reason
    return {**chunk, "choices": [choice]}


def _source(source: Fields) -> JsonObject:
    """The fields of an annotation; empty for a source that cannot be named."""
    is_document = source.text("type") == "document"
    fields = as_object(source.get("document" if is_document else "tool_output"))
    url = next((found for name in _URL_FIELDS if (found := safe_url(_text(fields.get(name))))), "")
    title = _first(fields, _TITLE_FIELDS)
    if not url and not title:
        if not is_document:
            return {}
        title = source.text("id") or "Document"
    named: JsonObject = {"url": url, "title": title}
    quote = _first(fields, _QUOTE_FIELDS)
    return {**named, "content": quote} if quote else named


def _first(fields: JsonObject, names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := _text(fields.get(name)))), "")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _usage(usage: Fields) -> JsonObject:
    """Translate the usage: what was processed, which is more than what is billed."""
    tokens = usage.obj("tokens" if usage.has("tokens") else "billed_units")
    if not tokens.raw:
        return {}
    counts: JsonObject = {
        "prompt_tokens": tokens.count("input_tokens"),
        "completion_tokens": tokens.count("output_tokens"),
    }
    if usage.has("cached_tokens"):
        counts["prompt_tokens_details"] = {"cached_tokens": usage.count("cached_tokens")}
    return {"usage": counts}


_TRANSLATORS: dict[str, Callable[[CohereTranslator, Fields], Iterator[JsonObject]]] = {
    "message-start": CohereTranslator._start,
    "content-start": CohereTranslator._content,
    "content-delta": CohereTranslator._content,
    "content-end": CohereTranslator._ignore,
    "tool-plan-delta": CohereTranslator._plan,
    "tool-call-start": CohereTranslator._call,
    "tool-call-delta": CohereTranslator._call,
    "tool-call-end": CohereTranslator._ignore,
    "citation-start": CohereTranslator._cite,
    "citation-end": CohereTranslator._ignore,
    "message-end": CohereTranslator._finish,
    "debug": CohereTranslator._ignore,
}
