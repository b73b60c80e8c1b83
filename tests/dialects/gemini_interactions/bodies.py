"""Small hand-written interactions, whole and as a stream."""

from __future__ import annotations

import json

from groundwire.dialects.gemini_interactions import DIALECT
from groundwire.model import Answer, Event, Json, JsonObject, assemble


def interaction(*steps: JsonObject, status: str = "completed", **fields: Json) -> JsonObject:
    """A whole interaction."""
    return {"id": "v1_a", "status": status, "model": "m", "steps": list[Json](steps), **fields}


def text_step(text: str, *annotations: JsonObject) -> JsonObject:
    """A step of text."""
    block: JsonObject = {"type": "text", "text": text, "annotations": list[Json](annotations)}
    return {"type": "model_output", "content": [block]}


def cites(url: str, start: int | None, end: int | None, title: str = "") -> JsonObject:
    """An annotation; what is None is left out."""
    offsets: dict[str, int | None] = {"start_index": start, "end_index": end}
    known: JsonObject = {name: offset for name, offset in offsets.items() if offset is not None}
    return {"type": "url_citation", "url": url, "title": title, **known}


def read(body: JsonObject) -> Answer:
    """Decode a body into an answer."""
    return assemble(DIALECT.decode_response(body))


def start(index: int, **step: Json) -> JsonObject:
    """`step.start`"""
    return {"event_type": "step.start", "index": index, "step": step}


def delta(index: int, **delta: Json) -> JsonObject:
    """`step.delta`"""
    return {"event_type": "step.delta", "index": index, "delta": delta}


def stop(index: int) -> JsonObject:
    """`step.stop`"""
    return {"event_type": "step.stop", "index": index}


def completed(status: str = "completed", **fields: Json) -> JsonObject:
    """`interaction.completed`"""
    whole: JsonObject = {"id": "v1_a", "status": status, "model": "m", **fields}
    return {"event_type": "interaction.completed", "interaction": whole}


CREATED: JsonObject = {
    "event_type": "interaction.created",
    "interaction": {"id": "v1_a", "status": "in_progress", "model": "m"},
}


def stream(*frames: JsonObject) -> bytes:
    """Frames as bytes."""
    named = (f"event: {frame['event_type']}\ndata: {json.dumps(frame)}\n\n" for frame in frames)
    return "".join(named).encode() + b"event: done\ndata: [DONE]\n\n"


def decode_events(data: bytes) -> list[Event]:
    """Decode a stream into events."""
    decoder = DIALECT.decoder()
    return [*decoder.feed(data), *decoder.close()]
