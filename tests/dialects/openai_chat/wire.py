"""Helpers that decode and encode chat requests, bodies and streams."""

from __future__ import annotations

import json
from typing import cast

from groundwire.dialects.base import Reply
from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import Answer, Event, Failed, Finished, JsonObject, Request, Started, assemble

A = "https://a.example/x"
REPLY = Reply("7", "m", 1790000000)
DONE = b"data: [DONE]\n\n"
USER: JsonObject = {"role": "user", "content": "Hi"}


def sse_chunk(delta: object = None, finish: str | None = None, **fields: object) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    body = {"id": "c", "model": "m", "choices": [choice], **fields}
    return f"data: {json.dumps(body)}\n\n".encode()


def url_citation(url: str, start: int = 0, end: int = 0) -> JsonObject:
    body: JsonObject = {"url": url, "title": "T", "start_index": start, "end_index": end}
    return {"type": "url_citation", "url_citation": body}


def decode_events(*chunks: bytes) -> list[Event]:
    decoder = DIALECT.decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events += decoder.close()
    assert [event for event in events if isinstance(event, Finished | Failed)] == events[-1:]
    return events


def decode_stream(*chunks: bytes) -> Answer:
    return assemble(decode_events(*chunks))


def response_body(message: object, finish: str | None = "stop", **fields: object) -> JsonObject:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return cast("JsonObject", {"id": "c", "model": "m", "choices": [choice], **fields})


def decode_body(body: JsonObject) -> Answer:
    events = DIALECT.decode_response(body)
    assert isinstance(events[0], Started)
    assert [event for event in events if isinstance(event, Finished | Failed)] == events[-1:]
    return assemble(events)


def request_body(**fields: object) -> JsonObject:
    return cast("JsonObject", {"model": "m", "messages": [USER], **fields})


def decode_history(*messages: object) -> Request:
    return DIALECT.decode_request(request_body(messages=list(messages)))


def encode_messages(request: Request) -> list[JsonObject]:
    return cast("list[JsonObject]", DIALECT.encode_request(request).body["messages"])


def comes_back(*messages: JsonObject) -> bool:
    return encode_messages(decode_history(*messages)) == list(messages)
