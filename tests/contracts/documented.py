"""Answers of vendors of which there are no recordings, in the shapes that their SDKs document.

Texts, pages and citations are invented. What is expected of each answer is written next to it by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.contracts.amazon_frames import as_binary
from tests.contracts.recorded.catalogue import Recording

NILE, AMAZON, RHINE = "https://a.example/nile", "https://b.example/amazon?x=1", "https://c.example/rhine"
TEXT = "Der Nil 🐊 ist 6650 km lang. Der Amazonas führt mehr Wasser."
LONG, WIDE = "Der Nil 🐊 ist 6650 km lang.", "Der Amazonas führt mehr Wasser."
QUERY = "longest river"
Body = dict[str, Any]


class DocumentedAnswer(NamedTuple):
    """An answer as a body and as a stream, and the words that each page is cited for."""

    vendor: str
    dialect: str
    body: bytes
    stream: bytes
    text: str
    cited: frozenset[tuple[str, str]]
    """Pairs of words and URL; no words for a citation without a place."""
    queries: tuple[str, ...] = ()

    def recordings(self) -> tuple[Recording, Recording]:
        """The two forms, as if they had been recorded."""
        return (
            Recording(f"{self.vendor}/documented.json", self.dialect, "body", self.vendor, self.body),
            Recording(f"{self.vendor}/documented.stream", self.dialect, "stream", self.vendor, self.stream),
        )


def _dump(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _sse(events: Iterable[Mapping[str, Any]], *, named: bool = True, done: bool = False) -> bytes:
    blocks = [
        (f"event: {event['type']}\n".encode() if named else b"") + b"data: " + _dump(event) + b"\n\n"
        for event in events
    ]
    return b"".join(blocks) + (b"data: [DONE]\n\n" if done else b"")


# Amazon Bedrock: a block of citations follows the text that it supports


def _bedrock() -> DocumentedAnswer:
    usage = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
    search = {"toolUseId": "tooluse_1", "name": "nova_grounding", "type": "server_tool_use"}
    found = {
        "toolUseId": "tooluse_1",
        "content": [{"text": "[HIDDEN]"}],
        "status": "success",
        "type": "nova_grounding_result",
    }

    def citation(url: str) -> Body:
        return {"location": {"web": {"url": url, "domain": url.split("/")[2]}}}

    content: list[Body] = [
        {"toolUse": {**search, "input": {"query": QUERY}}},
        {"toolResult": found},
        {"text": LONG},
        {"citationsContent": {"citations": [citation(NILE), citation(RHINE)]}},
        {"text": " " + WIDE},
        {"citationsContent": {"citations": [citation(AMAZON)]}},
    ]
    events: list[tuple[str, Body]] = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockStart", {"start": {"toolUse": search}, "contentBlockIndex": 0}),
        (
            "contentBlockDelta",
            {"delta": {"toolUse": {"input": _dump({"query": QUERY}).decode()}}, "contentBlockIndex": 0},
        ),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        (
            "contentBlockStart",
            {
                "start": {"toolResult": {name: found[name] for name in ("toolUseId", "type", "status")}},
                "contentBlockIndex": 1,
            },
        ),
        ("contentBlockDelta", {"delta": {"toolResult": found["content"]}, "contentBlockIndex": 1}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("contentBlockDelta", {"delta": {"text": LONG}, "contentBlockIndex": 2}),
        ("contentBlockStop", {"contentBlockIndex": 2}),
        ("contentBlockDelta", {"delta": {"citation": citation(NILE)}, "contentBlockIndex": 3}),
        ("contentBlockDelta", {"delta": {"citation": citation(RHINE)}, "contentBlockIndex": 3}),
        ("contentBlockStop", {"contentBlockIndex": 3}),
        ("contentBlockDelta", {"delta": {"text": " " + WIDE}, "contentBlockIndex": 4}),
        ("contentBlockStop", {"contentBlockIndex": 4}),
        ("contentBlockDelta", {"delta": {"citation": citation(AMAZON)}, "contentBlockIndex": 5}),
        ("contentBlockStop", {"contentBlockIndex": 5}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {"usage": usage, "metrics": {"latencyMs": 3}}),
    ]
    blocks = b"".join(
        b"event: " + name.encode() + b"\ndata: " + _dump(event) + b"\n\n" for name, event in events
    )
    body = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "end_turn",
        "usage": usage,
        "metrics": {"latencyMs": 3},
    }
    cited = frozenset({(LONG, NILE), (LONG, RHINE), (WIDE, AMAZON)})
    return DocumentedAnswer(
        "bedrock", "bedrock_converse", _dump(body), as_binary(blocks), TEXT, cited, (QUERY,)
    )


# Cohere: offsets in code points, and the documents of the request as sources


def _cohere() -> DocumentedAnswer:
    def citation(words: str, *sources: tuple[str, str]) -> Body:
        start = TEXT.index(words)
        listed = [
            {"type": "document", "id": name, "document": {"id": name, "title": name, "url": url}}
            for name, url in sources
        ]
        return {
            "start": start,
            "end": start + len(words),
            "text": words,
            "sources": listed,
            "content_index": 0,
            "type": "TEXT_CONTENT",
        }

    citations = [
        citation("6650 km", ("nile", NILE), ("rhine", RHINE)),
        citation("mehr Wasser", ("amazon", AMAZON)),
    ]
    usage = {
        "billed_units": {"input_tokens": 3, "output_tokens": 7},
        "tokens": {"input_tokens": 11, "output_tokens": 7},
    }
    message = {"role": "assistant", "content": [{"type": "text", "text": TEXT}], "citations": citations}
    body = {"id": "c1", "finish_reason": "COMPLETE", "message": message, "usage": usage}
    events: list[Body] = [
        {"type": "message-start", "id": "c1", "delta": {"message": {"role": "assistant"}}},
        {
            "type": "content-start",
            "index": 0,
            "delta": {"message": {"content": {"type": "text", "text": ""}}},
        },
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": LONG}}}},
        {"type": "citation-start", "index": 0, "delta": {"message": {"citations": citations[0]}}},
        {"type": "citation-end", "index": 0},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": " " + WIDE}}}},
        {"type": "citation-start", "index": 1, "delta": {"message": {"citations": citations[1]}}},
        {"type": "citation-end", "index": 1},
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": usage}},
    ]
    cited = frozenset({("6650 km", NILE), ("6650 km", RHINE), ("mehr Wasser", AMAZON)})
    return DocumentedAnswer("cohere", "cohere_chat", _dump(body), _sse(events), TEXT, cited)


# Mistral Conversations: a reference follows the text that it supports


def _mistral() -> DocumentedAnswer:
    def reference(url: str) -> Body:
        return {"type": "tool_reference", "tool": "web_search", "title": "A page", "url": url}

    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, "connectors": {"web_search": 1}}
    head = {"id": "msg_1", "model": "mistral-medium-2505", "role": "assistant"}
    search = {"id": "tool_1", "name": "web_search", "arguments": json.dumps({"query": QUERY})}
    chunks = [
        {"type": "text", "text": LONG},
        reference(NILE),
        reference(RHINE),
        {"type": "text", "text": " " + WIDE},
        reference(AMAZON),
    ]
    body = {
        "object": "conversation.response",
        "conversation_id": "conv_1",
        "outputs": [
            {"type": "tool.execution", **search},
            {"type": "message.output", **head, "content": chunks},
        ],
        "usage": usage,
    }
    events: list[Body] = [
        {"type": "conversation.response.started", "conversation_id": "conv_1"},
        {"type": "tool.execution.started", "output_index": 0, **search},
        {"type": "tool.execution.done", "output_index": 0, "id": "tool_1", "name": "web_search"},
        *(
            {
                "type": "message.output.delta",
                "output_index": 1,
                "content_index": number,
                **head,
                "content": chunk,
            }
            for number, chunk in enumerate(chunks)
        ),
        {"type": "conversation.response.done", "usage": usage},
    ]
    cited = frozenset({(LONG, NILE), (LONG, RHINE), (WIDE, AMAZON)})
    return DocumentedAnswer(
        "mistral_conversations", "mistral_conversations", _dump(body), _sse(events), TEXT, cited, (QUERY,)
    )


# Chat Completions of Qwen, Z.ai and Groq: a list of pages next to the answer


def _chat(
    vendor: str,
    text: str,
    cited: Iterable[tuple[str, str]],
    top: Body,
    queries: tuple[str, ...] = (),
    **message: Any,
) -> DocumentedAnswer:
    head = {"id": "r1", "object": "chat.completion", "created": 1, "model": "model-1"}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    whole = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": "stop",
    }
    body = {**head, "choices": [whole], "usage": usage, **top}
    chunk = {**head, "object": "chat.completion.chunk"}
    deltas = [
        {"role": "assistant", "content": "", **message},
        *({"content": text[at : at + 9]} for at in range(0, len(text), 9)),
    ]
    events = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage, **top}
    return DocumentedAnswer(
        vendor,
        "openai_chat",
        _dump(body),
        _sse([*events, end], named=False, done=True),
        text,
        frozenset(cited),
        queries,
    )


def _qwen() -> DocumentedAnswer:
    pages = [
        {"index": number, "title": "A page", "url": url, "site_name": "Example"}
        for number, url in enumerate((NILE, AMAZON), 1)
    ]
    text = f"{LONG}[ref_1] {WIDE}[ref_2]"
    return _chat(
        "qwen", text, (("[ref_1]", NILE), ("[ref_2]", AMAZON)), {"search_info": {"search_results": pages}}
    )


def _zai() -> DocumentedAnswer:
    pages = [
        {"title": "A page", "link": url, "content": "words", "media": "Example", "refer": f"ref_{number}"}
        for number, url in enumerate((NILE, AMAZON), 1)
    ]
    text = f"{LONG}[ref_1] {WIDE}[ref_2]"
    return _chat("zai", text, (("[ref_1]", NILE), ("[ref_2]", AMAZON)), {"web_search": pages})


def _groq() -> DocumentedAnswer:
    pages = [{"title": "A page", "url": url, "content": "words", "score": 0.9} for url in (NILE, AMAZON)]
    tool = {
        "index": 0,
        "type": "search",
        "arguments": json.dumps({"query": QUERY}),
        "output": "words",
        "search_results": {"results": pages},
    }
    return _chat("groq", TEXT, (), {}, (QUERY,), executed_tools=[tool])


# Perplexity Responses: pages in items of their own, and annotations on the text


def _perplexity() -> DocumentedAnswer:
    def annotation(words: str, url: str) -> Body:
        start = TEXT.index(words)
        return {
            "type": "url_citation",
            "start_index": start,
            "end_index": start + len(words),
            "title": "A page",
            "url": url,
        }

    notes = [annotation(LONG, NILE), annotation(WIDE, AMAZON)]
    pages = [
        {"id": number, "url": url, "title": "A page", "snippet": "words", "source": "web"}
        for number, url in enumerate((NILE, AMAZON), 1)
    ]
    found = {"type": "search_results", "queries": [QUERY], "results": pages}
    part = {"type": "output_text", "text": TEXT, "annotations": notes}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "perplexity/sonar"}
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    body = {**head, "status": "completed", "output": [found, message], "usage": usage}
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    events: list[Body] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}},
        {"type": "response.reasoning.search_queries", "queries": [QUERY], "thought": ""},
        {"type": "response.reasoning.search_results", "results": pages, "thought": ""},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**message, "status": "in_progress", "content": []},
        },
        {"type": "response.output_text.delta", **place, "delta": LONG},
        {"type": "response.output_text.delta", **place, "delta": " " + WIDE},
        {"type": "response.output_item.done", "output_index": 1, "item": message},
        {"type": "response.completed", "response": body},
    ]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    cited = frozenset({(LONG, NILE), (WIDE, AMAZON)})
    return DocumentedAnswer(
        "perplexity_responses", "openai_responses", _dump(body), _sse(numbered), TEXT, cited, (QUERY,)
    )


DOCUMENTED = (_bedrock(), _cohere(), _mistral(), _qwen(), _zai(), _groq(), _perplexity())


def documented() -> list[Recording]:
    """All of them, in both forms."""
    return [recording for answer in DOCUMENTED for recording in answer.recordings()]
