"""A minimal translator: it parses the incoming JSON, writes the outgoing JSON, and validates nothing.

It carries text and citations over, with offsets as they are; the citations follow the text. It needs only the
standard library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any, NamedTuple, TypeAlias

Parsed: TypeAlias = Any  # parsed JSON that is not validated
Fragment: TypeAlias = tuple[str, Parsed]
"""`text` with a string, `citation` with a `PageCitation`, or `end` with None."""


class PageCitation(NamedTuple):
    """A cited page, and the offsets of the claim."""

    start: int
    end: int
    url: str
    title: str


def dump(item: Parsed) -> bytes:
    return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()


def from_gemini(event: Parsed) -> Iterator[Fragment]:
    """Fragments of a Gemini event; a whole answer is one event."""
    for candidate in event.get("candidates", ()):
        for part in candidate.get("content", {}).get("parts", ()):
            if part.get("text"):
                yield "text", part["text"]
        grounding = candidate.get("groundingMetadata") or {}
        pages = [chunk["web"] for chunk in grounding.get("groundingChunks", ())]
        for support in grounding.get("groundingSupports", ()):
            segment = support["segment"]
            for index in support["groundingChunkIndices"]:
                offsets = segment.get("startIndex", 0), segment["endIndex"]
                yield "citation", PageCitation(*offsets, pages[index]["uri"], pages[index]["title"])
        if candidate.get("finishReason"):
            yield "end", None


def from_responses(event: Parsed) -> Iterator[Fragment]:
    """Fragments of a Responses event, or of a whole response."""
    match event.get("type"):
        case "response.output_text.delta":
            yield "text", event["delta"]
        case "response.output_text.annotation.added":
            yield "citation", _from_annotation(event["annotation"])
        case "response.completed":
            yield "end", None
        case None:
            for item in event["output"]:
                for part in item.get("content", ()) if item["type"] == "message" else ():
                    yield "text", part["text"]
                    yield from (
                        ("citation", _from_annotation(annotation)) for annotation in part["annotations"]
                    )
            yield "end", None


def _from_annotation(annotation: Parsed) -> PageCitation:
    return PageCitation(
        annotation["start_index"], annotation["end_index"], annotation["url"], annotation["title"]
    )


_MESSAGES_TEXT = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":%s}}\n\n'
)
_CHAT_TEXT = (
    b'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":0,"model":"bench",'
    b'"choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}\n\n'
)


class ToMessages:
    """Encodes Anthropic Messages."""

    def _frame(self, event: Parsed) -> bytes:
        return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), dump(event))

    def _located(self, page: PageCitation) -> Parsed:
        kind = "web_search_result_location"
        cited = {"url": page.url, "title": page.title, "encrypted_index": "x", "cited_text": ""}
        return {"type": kind, **cited}

    def begin(self) -> bytes:
        message: Parsed = {"id": "msg_0", "type": "message", "role": "assistant", "model": "bench"}
        message |= {"content": [], "stop_reason": None, "usage": {"input_tokens": 0, "output_tokens": 0}}
        block = {"type": "text", "text": ""}
        return self._frame({"type": "message_start", "message": message}) + self._frame(
            {"type": "content_block_start", "index": 0, "content_block": block}
        )

    def event(self, kind: str, item: Parsed) -> bytes:
        if kind == "text":
            return _MESSAGES_TEXT % encode_basestring(item).encode()
        if kind == "citation":
            delta = {"type": "citations_delta", "citation": self._located(item)}
        else:
            closed = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
            closed["usage"] = {"output_tokens": 1}
            return (
                self._frame({"type": "content_block_stop", "index": 0})
                + self._frame(closed)
                + self._frame({"type": "message_stop"})
            )
        return self._frame({"type": "content_block_delta", "index": 0, "delta": delta})

    def whole(self, fragments: Iterable[Fragment]) -> bytes:
        texts, pages = _text_and_citations(fragments)
        block = {"type": "text", "text": texts, "citations": [self._located(page) for page in pages]}
        message = {"id": "msg_0", "type": "message", "role": "assistant", "model": "bench"}
        usage = {"input_tokens": 1, "output_tokens": 1}
        return dump({**message, "content": [block], "stop_reason": "end_turn", "usage": usage})


class ToChat:
    """Encodes Chat Completions."""

    def _frame(self, delta: Parsed, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": "bench"}
        return b"data: %s\n\n" % dump({**chunk, "choices": [choice]})

    def _annotation(self, page: PageCitation) -> Parsed:
        cited = {"start_index": page.start, "end_index": page.end, "url": page.url, "title": page.title}
        return {"type": "url_citation", "url_citation": cited}

    def begin(self) -> bytes:
        return self._frame({"role": "assistant", "content": ""})

    def event(self, kind: str, item: Parsed) -> bytes:
        if kind == "text":
            return _CHAT_TEXT % encode_basestring(item).encode()
        if kind == "citation":
            return self._frame({"annotations": [self._annotation(item)]})
        return self._frame({}, "stop") + b"data: [DONE]\n\n"

    def whole(self, fragments: Iterable[Fragment]) -> bytes:
        texts, pages = _text_and_citations(fragments)
        annotations = [self._annotation(page) for page in pages]
        message = {"role": "assistant", "content": texts, "annotations": annotations}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": "bench"}
        return dump({**body, "choices": [choice]})


def _text_and_citations(fragments: Iterable[Fragment]) -> tuple[str, list[PageCitation]]:
    items = list(fragments)
    texts = "".join(item for kind, item in items if kind == "text")
    return texts, [item for kind, item in items if kind == "citation"]


class DialectPair(NamedTuple):
    """A reader of one dialect and a writer of another."""

    read: Callable[[Parsed], Iterator[Fragment]]
    write: ToMessages | ToChat

    def whole(self, body: bytes) -> bytes:
        return self.write.whole(self.read(json.loads(body)))

    def frames(self, frames: Iterable[bytes]) -> bytes:
        """Translate the frames of a chunk."""
        output = []
        for frame in frames:
            _, found, data = frame.rpartition(b"data: ")
            if found:
                output += [self.write.event(kind, item) for kind, item in self.read(json.loads(data))]
        return b"".join(output)


class TranslationRoute(NamedTuple):
    """A pair of dialects, and the path and body of requests to the upstream."""

    pair: DialectPair
    path: str
    stream_path: str
    request: Parsed


def _gemini_request(text: str) -> Parsed:
    return {"contents": [{"role": "user", "parts": [{"text": text}]}], "tools": [{"googleSearch": {}}]}


def _responses_request(text: str) -> Parsed:
    return {"model": "gpt-4.1", "input": text, "tools": [{"type": "web_search"}]}


_GEMINI = (
    "/v1beta/models/gemini-2.5-flash:generateContent",
    "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    _gemini_request,
)
_RESPONSES = ("/v1/responses", "/v1/responses", _responses_request)
ROUTES = {
    "gemini/v1/messages": TranslationRoute(DialectPair(from_gemini, ToMessages()), *_GEMINI),
    "gemini/v1/chat/completions": TranslationRoute(DialectPair(from_gemini, ToChat()), *_GEMINI),
    "openai_responses/v1/messages": TranslationRoute(DialectPair(from_responses, ToMessages()), *_RESPONSES),
}
"""By the path after the variant."""


def question(body: Parsed) -> str:
    """The text of the last message of a Messages or Chat request."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]
