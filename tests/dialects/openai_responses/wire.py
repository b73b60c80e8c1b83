"""Helpers that build wire objects and decode and encode them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import cast

from groundwire.dialects.base import Reply
from groundwire.dialects.openai_responses import DIALECT
from groundwire.model import Answer, Event, Json, JsonObject, Request, assemble

PAGE = "https://example.org/a?utm_source=openai"
LINK = f"([example.org]({PAGE}))"
TEXT = f"It rains 🌧️ in Zürich. {LINK} So it is."
START = TEXT.index("(")
END = START + len(LINK)


def citation(start: int | None = START, end: int | None = END, url: str = PAGE, **more: Json) -> JsonObject:
    """An annotation; without offsets where they are None."""
    offsets: JsonObject = {}
    if start is not None:
        offsets["start_index"] = start
    if end is not None:
        offsets["end_index"] = end
    return {"type": "url_citation", **offsets, "url": url, "title": "Example A", **more}


def text_part(text: str = TEXT, *annotations: JsonObject, **more: Json) -> JsonObject:
    """A content part."""
    return {"type": "output_text", "text": text, "annotations": list(annotations), "logprobs": [], **more}


def message(*parts: JsonObject, item_id: str = "msg_1", **more: Json) -> JsonObject:
    """A message item."""
    return {
        "id": item_id,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": list(parts),
        **more,
    }


def search(action: JsonObject | None, item_id: str = "ws_1", **more: Json) -> JsonObject:
    """A search item."""
    item: JsonObject = {"id": item_id, "type": "web_search_call", "status": "completed"}
    if action is not None:
        item["action"] = action
    return {**item, **more}


def call(arguments: str = '{"city": "Bern"}', item_id: str = "fc_1", **more: Json) -> JsonObject:
    """A function call item."""
    return {
        "id": item_id,
        "type": "function_call",
        "status": "completed",
        "call_id": "call_1",
        "name": "get_weather",
        "arguments": arguments,
        **more,
    }


def response(*items: JsonObject, **more: Json) -> JsonObject:
    """A whole response."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-5.5",
        "output": list(items),
        **more,
    }


def sse(events: Iterable[JsonObject]) -> bytes:
    """A stream of these events, numbered."""
    frames = (
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(events)
    )
    return "".join(frames).encode()


def created() -> JsonObject:
    """The first event of a stream."""
    return {"type": "response.created", "response": response(status="in_progress")}


def completed(*items: JsonObject, **more: Json) -> JsonObject:
    """The last event of a stream."""
    return {"type": "response.completed", "response": response(*items, **more)}


def text_events(
    deltas: Sequence[str], annotations: Sequence[JsonObject] = (), index: int = 0, item_id: str = "msg_1"
) -> list[JsonObject]:
    """The events of a message with one part, its annotations after the last delta."""
    position: JsonObject = {"item_id": item_id, "output_index": index, "content_index": 0}
    part = text_part("".join(deltas), *annotations)
    done = message(part, item_id=item_id)
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**done, "content": [], "status": "in_progress"},
        },
        {"type": "response.content_part.added", **position, "part": text_part("")},
        *(
            {"type": "response.output_text.delta", **position, "delta": delta, "logprobs": []}
            for delta in deltas
        ),
        *(
            {
                "type": "response.output_text.annotation.added",
                **position,
                "annotation_index": number,
                "annotation": annotation,
            }
            for number, annotation in enumerate(annotations)
        ),
        {"type": "response.output_text.done", **position, "text": "".join(deltas), "logprobs": []},
        {"type": "response.content_part.done", **position, "part": part},
        {"type": "response.output_item.done", "output_index": index, "item": done},
    ]


def search_events(done: JsonObject, index: int = 0) -> list[JsonObject]:
    """The events of a search, whose action is a placeholder at first."""
    position: JsonObject = {"item_id": done["id"], "output_index": index}
    added: JsonObject = {
        "id": done["id"],
        "type": done["type"],
        "status": "in_progress",
        "action": {"type": "search"},
    }
    return [
        {"type": "response.output_item.added", "output_index": index, "item": added},
        {"type": "response.web_search_call.in_progress", **position},
        {"type": "response.web_search_call.searching", **position},
        {"type": "response.web_search_call.completed", **position},
        {"type": "response.output_item.done", "output_index": index, "item": done},
    ]


def decode_events(data: bytes, size: int = 0) -> list[Event]:
    """Decode a stream, fed whole or in chunks of `size` bytes."""
    decoder = DIALECT.decoder()
    chunks = [data[start : start + size] for start in range(0, len(data), size)] if size else [data]
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()


def decode_streamed(*events: JsonObject) -> Answer:
    """Decode a stream into an answer."""
    return assemble(decode_events(sse([created(), *events])))


def decode_whole(*items: JsonObject, **more: Json) -> Answer:
    """Decode a body into an answer."""
    return assemble(DIALECT.decode_response(response(*items, **more)))


def encode_events(events: Iterable[Event], reply: Reply | None = None) -> bytes:
    """Encode events as a stream."""
    encoder = DIALECT.encoder(reply or REPLY)
    return b"".join(map(encoder.feed, events)) + encoder.close()


def payloads(data: bytes) -> list[JsonObject]:
    """The data of each frame of a stream."""
    lines = data.decode().split("\n")
    return [cast("JsonObject", json.loads(line[6:])) for line in lines if line.startswith("data: ")]


def event_types(data: bytes) -> list[str]:
    """The type of each event of a stream, without `response.`."""
    return [str(payload["type"]).removeprefix("response.") for payload in payloads(data)]


def items_of(body: Json, key: str) -> list[JsonObject]:
    """The objects of a list in an object."""
    assert isinstance(body, dict)
    found = body[key]
    assert isinstance(found, list)
    return [item for item in found if isinstance(item, dict)]


def value_at(value: Json, *path: str | int) -> Json:
    """A value inside another."""
    for step in path:
        if isinstance(step, str):
            assert isinstance(value, dict)
            value = value[step]
        else:
            assert isinstance(value, list)
            value = value[step]
    return value


REPLY = Reply(id="9", model="gpt-5.5", created=1_760_000_000)
NATIVE = "openai_responses"
FUNCTION: JsonObject = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": True,
}


def decode_request(**body: Json) -> Request:
    return DIALECT.decode_request({"model": "gpt-5.5", "input": "Hi?", **body})


def encode_request(request: Request) -> JsonObject:
    return DIALECT.encode_request(request).body


def round_trip(**body: Json) -> JsonObject:
    return encode_request(decode_request(**body))
