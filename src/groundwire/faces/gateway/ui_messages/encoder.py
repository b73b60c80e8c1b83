"""Encodes an answer as the AI SDK's UI message stream, version 1.

Every source that is cited is a `source-url` part, or a `source-document` part if it has no URL. The SDK has
no field for where a source is cited, so a `data-citation` part has the span and the quotes. Its offsets count
UTF-16 units of all text parts together, as JavaScript does.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from heapq import heappop, heappush

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.extras import FIELD, VERIFICATION
from groundwire.faces.gateway.ui_messages.request import CITATION, TOOL
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Image,
    Json,
    JsonObject,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
)
from groundwire.model.events import FinishReason
from groundwire.server.asgi import Headers
from groundwire.text.urls import safe_url

HEADER = "x-vercel-ai-ui-message-stream"
_REASONS: dict[FinishReason, str] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    "pause": "other",
    "filtered": "content-filter",
    "refused": "content-filter",
    "other": "other",
}


class UiMessageEncoder(StreamEncoder):
    """Events in, server-sent events with one JSON object each out; `[DONE]` is the last."""

    extra_headers: Headers = ((HEADER, "v1"),)

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._begun = False
        self._open: tuple[str, int] | None = None
        """The kind and the number of the part that is being written."""
        self._length = 0
        self._astral: list[int] = []
        """Where characters of two UTF-16 units are: JavaScript counts units."""
        self._sources: dict[tuple[str, str], str] = {}
        self._waiting: list[tuple[int, int, Citation]] = []
        """Heap of citations whose text has not arrived: the end of the span, and the order of arrival."""
        self._received = 0
        self._citations = 0
        self._calls: dict[str, bool] = {}
        """Searches by their ids, and whether their result was sent."""
        self._functions: dict[int, ToolCallDelta] = {}
        self._usage = Usage()

    def on_event(self, event: Event) -> None:
        """Encode one event."""
        match event:
            case TextDelta(part, text):
                self._write("text", part, text)
                self._count(text)
                self._send_ready(self._length)
            case ReasoningDelta(part, text):
                self._write("reasoning", part, text)
            case TextSettled():
                self._end_part()
            case Cited(citation):
                end = citation.span.end if citation.span else 0
                heappush(self._waiting, (end, self._received, citation))
                self._received += 1
                self._send_ready(self._length)
            case ToolCallDelta():
                self._call_function(event)
            case PartAdded(value=Image() as image):
                self._send_image(image)
            case SearchStarted() | SearchCalled() | SearchReturned():
                self._on_search(event)
            case _:
                self._on_progress(event)

    def _on_search(self, event: SearchStarted | SearchCalled | SearchReturned) -> None:
        match event:
            case SearchStarted(id=call_id):
                self._start_search(call_id)
            case SearchCalled(call=call):
                self._call_search(call)
            case SearchReturned(result=result):
                self._return_search(result)

    def _on_progress(self, event: Event) -> None:
        """Beginning, usage, warnings and end."""
        match event:
            case Started(model=model, provider=provider):
                self._begin({"model": model, "provider": provider})
            case UsageSeen(usage):
                self._usage = usage
            case Warned(code, message):
                warning: JsonObject = {"code": code, "message": message}
                self._part({"type": "data-warning", "data": warning, "transient": True})
            case Finished():
                self._finish(event)
            case Failed(error):
                self._part({"type": "error", "errorText": error.message})
                self.send_raw(b"data: [DONE]\n\n")

    def _chunk(self, chunk: JsonObject) -> None:
        self.send("", chunk)

    def _begin(self, metadata: JsonObject) -> None:
        if self._begun:
            return
        self._begun = True
        known: JsonObject = {name: value for name, value in metadata.items() if value}
        self._chunk({"type": "start", "messageId": self.reply.id, "messageMetadata": known})
        self._chunk({"type": "start-step"})

    def _part(self, chunk: JsonObject) -> None:
        """Send a part of its own."""
        self._begin({})
        self._end_part()
        self._chunk(chunk)

    def _write(self, kind: str, part: int, delta: str) -> None:
        self._begin({})
        if self._open != (kind, part):
            self._end_part()
            self._open = (kind, part)
            self._chunk({"type": f"{kind}-start", "id": str(part)})
        self._chunk({"type": f"{kind}-delta", "id": str(part), "delta": delta})

    def _end_part(self) -> None:
        if self._open is not None:
            kind, part = self._open
            self._open = None
            self._chunk({"type": f"{kind}-end", "id": str(part)})

    def _start_search(self, call_id: str) -> None:
        if call_id not in self._calls:
            self._calls[call_id] = False
            self._part({"type": "tool-input-start", "toolCallId": call_id, "toolName": TOOL, **_BY_PROVIDER})

    def _call_search(self, call: SearchCall) -> None:
        self._start_search(call.id)
        self._part(
            {
                "type": "tool-input-available",
                "toolCallId": call.id,
                "toolName": TOOL,
                "input": _encode_call(call),
                **_BY_PROVIDER,
            }
        )

    def _return_search(self, result: SearchResult) -> None:
        if result.call_id not in self._calls:
            self._call_search(SearchCall(result.call_id))
        self._calls[result.call_id] = True
        chunk: JsonObject = {"toolCallId": result.call_id, **_BY_PROVIDER}
        if result.error:
            self._part({"type": "tool-output-error", "errorText": result.error, **chunk})
            return
        sources: list[Json] = [_encode_source(source) for source in result.sources if safe_url(source.url)]
        self._part({"type": "tool-output-available", "output": {"sources": sources}, **chunk})

    def _call_function(self, delta: ToolCallDelta) -> None:
        known = self._functions.get(delta.part)
        if known is None:
            self._part({"type": "tool-input-start", "toolCallId": delta.id, "toolName": delta.name})
            self._functions[delta.part] = delta
        else:
            self._functions[delta.part] = ToolCallDelta(
                delta.part, known.id, known.name, known.arguments + delta.arguments
            )
        if delta.arguments:
            call_id = self._functions[delta.part].id
            self._chunk(
                {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": delta.arguments}
            )

    def _send_image(self, image: Image) -> None:
        media_type = image.media_type or "image/png"
        url = f"data:{media_type};base64,{image.data}" if image.data else image.url
        self._part({"type": "file", "url": url, "mediaType": media_type})

    def _count(self, text: str) -> None:
        if max(text, default="") > "\uffff":
            self._astral += [self._length + at for at, one in enumerate(text) if one > "\uffff"]
        self._length += len(text)

    def _send_ready(self, length: int | None) -> None:
        """Send the citations whose text has arrived, or all. A part of text goes on after them."""
        while self._waiting and (length is None or self._waiting[0][0] <= length):
            self._begin({})
            self._send_citation(heappop(self._waiting)[-1])

    def _send_citation(self, citation: Citation) -> None:
        sources: list[Json] = []
        for evidence in citation.evidence:
            if source_id := self._source_id(evidence):
                quoted: JsonObject = {"quote": evidence.quote} if evidence.quote else {}
                sources.append({"sourceId": source_id, **quoted})
        if not sources:
            return
        data: JsonObject = {"sources": sources}
        if citation.span is not None:
            data["start"], data["end"] = (self._units(point) for point in citation.span)
        self._citations += 1
        self._chunk({"type": CITATION, "id": f"citation-{self._citations}", "data": data})

    def _units(self, point: int) -> int:
        point = min(point, self._length)
        return point + bisect_left(self._astral, point)

    def _source_id(self, evidence: Evidence) -> str:
        """The id of a source, which is sent when it is cited first; empty if it has no name."""
        source = evidence.source
        url = source.url if safe_url(source.url) else ""
        key = (url, "" if url else source.title)
        if key == ("", ""):
            return ""
        if key not in self._sources:
            source_id = self._sources[key] = f"source-{len(self._sources) + 1}"
            titled: JsonObject = {"title": source.title} if source.title else {}
            if url:
                self._chunk({"type": "source-url", "sourceId": source_id, "url": url, **titled})
            else:
                document: JsonObject = {"mediaType": "text/plain", "title": source.title}
                self._chunk({"type": "source-document", "sourceId": source_id, **document})
        return self._sources[key]

    def _finish(self, event: Finished) -> None:
        self._begin({})
        self._end_part()
        self._send_ready(None)
        for call in self._functions.values():
            available: JsonObject = {"toolCallId": call.id, "toolName": call.name, "input": _parsed(call)}
            self._chunk({"type": "tool-input-available", **available})
        for call_id, is_returned in self._calls.items():
            if not is_returned:
                self._return_search(SearchResult(call_id))
        metadata: JsonObject = {"usage": _encode_usage(self._usage)}
        if verification := event.extras.get(FIELD, {}).get(VERIFICATION):
            metadata[VERIFICATION] = verification
        self._chunk({"type": "finish-step"})
        self._chunk({"type": "finish", "finishReason": _REASONS[event.reason], "messageMetadata": metadata})
        self.send_raw(b"data: [DONE]\n\n")


_BY_PROVIDER: JsonObject = {"providerExecuted": True}


def _encode_call(call: SearchCall) -> JsonObject:
    encoded: JsonObject = {"queries": list(call.queries)}
    if call.kind != "search":
        encoded["kind"] = call.kind
    if call.url:
        encoded["url"] = call.url
    return encoded


def _encode_source(source: Source) -> JsonObject:
    dated: JsonObject = {"date": source.date} if source.date else {}
    return {"url": source.url, "title": source.title, **dated}


def _encode_usage(usage: Usage) -> JsonObject:
    counts: JsonObject = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "searches": usage.searches,
        "cost": usage.cost,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _parsed(call: ToolCallDelta) -> Json:
    try:
        parsed: Json = json.loads(call.arguments or "{}")
    except ValueError:
        return call.arguments
    return parsed
