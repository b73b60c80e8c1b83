"""Small message streams, and helpers to decode and encode them."""

from __future__ import annotations

from groundwire.dialects.anthropic_messages import DIALECT
from groundwire.dialects.base import Reply
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import UpstreamWireError
from groundwire.model import Event, JsonObject


def sse(*payloads: JsonObject) -> bytes:
    return b"".join(f"event: {p['type']}\ndata: {dump_json(p)}\n\n".encode() for p in payloads)


def start() -> JsonObject:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 3}}}


def block(index: int, content: JsonObject, *deltas: JsonObject) -> list[JsonObject]:
    filling: list[JsonObject] = [
        {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
    ]
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *filling,
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str = "end_turn") -> list[JsonObject]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


def decode(data: bytes) -> list[Event]:
    decoder = DIALECT.decoder()
    return decoder.feed(data) + decoder.close()


def encode(events: list[Event], **reply: str) -> bytes:
    encoder = DIALECT.encoder(Reply(id="r", **reply))  # type: ignore[arg-type]  # only `citations` is given
    return b"".join(encoder.feed(event) for event in events) + encoder.close()


def payloads(data: bytes) -> list[JsonObject]:
    lines = [line[6:] for line in data.split(b"\n") if line.startswith(b"data: ")]
    return [value for line in lines if isinstance(value := load_json(line, UpstreamWireError), dict)]
