"""Small generateContent bodies, and helpers to decode and encode them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini import DIALECT
from groundwire.dialects.gemini.encoder import Encoder
from groundwire.model import Answer, Event, Json, JsonObject, Request, assemble

REPLY = Reply(id="abc", model="gemini-x", created=1_700_000_000)


def chunk(*parts: JsonObject, **candidate: Json) -> JsonObject:
    """One chunk, or a whole body, with these parts; keywords are fields of the candidate."""
    content: JsonObject = {"content": {"role": "model", "parts": [*parts]}} if parts else {}
    return {
        "candidates": [{**content, **candidate}],
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r1",
    }


def web(uri: str, title: str = "", **more: Json) -> JsonObject:
    return {"web": {"uri": uri, **({"title": title} if title else {}), **more}}


def support(text: str, fragment: str, *chunks: int, **more: Json) -> JsonObject:
    """A support with right byte offsets, its start left out when it is zero."""
    start = len(text[: text.index(fragment)].encode())
    segment: JsonObject = {"endIndex": start + len(fragment.encode()), "text": fragment}
    if start:
        segment["startIndex"] = start
    return {"segment": segment, "groundingChunkIndices": [*chunks], **more}


def whole(body: JsonObject) -> Answer:
    """The answer of a whole body."""
    return assemble(DIALECT.decode_response(body))


def events_of(*chunks: Json, end: str = "\r\n") -> list[Event]:
    """The events of a stream of chunks."""
    data = "".join(f"data: {json.dumps(item)}{end}{end}" for item in chunks)
    decoder = DIALECT.decoder()
    return [*decoder.feed(data.encode()), *decoder.close()]


def streamed(*chunks: Json) -> Answer:
    """The answer of a stream of chunks."""
    return assemble(events_of(*chunks))


def sent(events: Iterable[Event], reply: Reply = REPLY) -> list[JsonObject]:
    """The chunks that an encoder makes of events, read as Google's clients read them."""
    encoder = Encoder(reply)
    data = b"".join(encoder.feed(event) for event in events) + encoder.close()
    blocks = data.decode().split("\n\n")
    assert blocks.pop() == ""
    assert all(block.startswith("data: {") and "\n" not in block for block in blocks)
    return [json.loads(block.removeprefix("data: ")) for block in blocks]


def decode(**fields: Json) -> Request:
    """The request of a body with a question and these fields."""
    question: JsonObject = {"role": "user", "parts": [{"text": "Which river?"}]}
    return DIALECT.decode_request({"contents": [question], **fields})


def encode(request: Request) -> tuple[JsonObject, tuple[str, ...]]:
    """The encoded body, and the names of what is unsupported."""
    encoded = DIALECT.encode_request(request)
    body = json.loads(json.dumps(encoded.body))
    assert isinstance(body, dict)
    return body, encoded.unsupported


def at(value: Json, *path: str | int) -> Json:
    """The value at a path."""
    for step in path:
        if isinstance(step, str):
            assert isinstance(value, dict), f"no object at {step}"
            value = value[step]
        else:
            assert isinstance(value, list), f"no list at {step}"
            value = value[step]
    return value


def parts_of(chunks: Iterable[JsonObject]) -> list[JsonObject]:
    """All parts of all chunks."""
    found: list[JsonObject] = []
    for item in chunks:
        parts = at(item, "candidates", 0, "content", "parts")
        assert isinstance(parts, list)
        found += [part for part in parts if isinstance(part, dict)]
    return found
