"""The answers of the upstream and the requests to it, encoded by groundwire's codecs."""

from __future__ import annotations

import json
from typing import NamedTuple

import sample

from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.model import Event, Message, Request, SearchOptions, Text, TextDelta, assemble
from groundwire.model.value import replace
from groundwire.testing.answers import encode_answer

PACE = 0.02


class Variant(NamedTuple):
    """How the upstream sends an answer; its name is the first part of the path."""

    deltas: int = 150
    pause: float = 0.0
    """Seconds between two events; 0 sends the stream in a single write."""
    end: str = "closed"
    """`open` sends nothing after the first events, `endless` repeats them."""
    citations: int = 8


VARIANTS = {
    "plain": Variant(),
    "paced": Variant(pause=PACE),
    "brief": Variant(deltas=3, pause=PACE / 4, citations=1),
    "hold": Variant(deltas=10, end="open"),
    "flood": Variant(end="endless"),
    "n10": Variant(10),
    "n100": Variant(100),
    "n1000": Variant(1000),
    "n10000": Variant(10_000),
}

MODELS = {
    "openai_chat": "gpt-4o-search-preview",
    "openai_responses": "gpt-4.1",
    "anthropic_messages": "claude-sonnet-4-5-20250929",
    "gemini": "gemini-2.5-flash",
}
"""Models that every gateway knows, so that none looks up an unknown one."""

ENDS = {
    "openai_chat": b"data: [DONE]",
    "openai_responses": b"response.completed",
    "anthropic_messages": b"message_stop",
    "gemini": b'"finishReason"',
}
"""Bytes near the end of a complete stream."""

FIRST_TOKEN = b"Wort0000"
_PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
}
_QUESTION = "Which words are written in many scripts? Name your sources."


class Canned(NamedTuple):
    """One answer as the bytes of an HTTP response, whole and streamed."""

    whole: bytes
    head: bytes
    frames: tuple[bytes, ...]
    """The chunks of the stream, one per event; the last one ends it."""
    lead: int
    """The number of chunks up to and including the first token."""


def provider(name: str, variant: str) -> str:
    """The name that gateways have for the upstream of a dialect and a variant."""
    return f"{name}_{variant}"


def events(variant: Variant) -> list[Event]:
    """The sample answer with distinct deltas: LiteLLM stops a model that repeats itself."""
    answer = sample.events(variant.deltas, variant.citations)
    deltas = (index for index, event in enumerate(answer) if isinstance(event, TextDelta))
    for number, index in enumerate(deltas):
        text = f"Wort{number:04} – αβγ, 東京! "  # the sample's length, so that citation offsets stay valid
        answer[index] = replace(answer[index], text=text)
    return answer


def canned(name: str, variant: Variant) -> Canned:
    """The answer of a variant in a dialect."""
    form = encode_answer(name, events(variant))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n"
    whole = head % b"application/json" + b"content-length: %d\r\n\r\n" % len(form.whole) + form.whole
    frames = [frame + b"\n\n" for frame in form.stream.split(b"\n\n") if frame]
    chunks = [b"%x\r\n%s\r\n" % (len(frame), frame) for frame in frames]
    return Canned(
        whole,
        head % form.content_type.encode() + b"transfer-encoding: chunked\r\n\r\n",
        (*chunks[:-1], chunks[-1] + b"0\r\n\r\n"),
        1 + next(index for index, frame in enumerate(frames) if FIRST_TOKEN in frame),
    )


def request_body(dialect_name: str, model: str, *, stream: bool) -> bytes:
    """The body of a request for a cited answer."""
    request = Request((Message("user", (Text(_QUESTION),)),), model, search=SearchOptions(), stream=stream)
    return dump_json(dialect(dialect_name).encode_request(request).body).encode()


def request_path(dialect_name: str, model: str, *, stream: bool) -> str:
    """The path of a request in a dialect."""
    if dialect_name == "gemini":
        form = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{model}:{form}"
    return _PATHS[dialect_name]


def read_answer(dialect_name: str, body: bytes, *, stream: bool) -> tuple[str, int]:
    """Decode an answer; return its text and the number of its citations."""
    codec = dialect(dialect_name)
    if stream:
        decoder = codec.decoder()
        received = [*decoder.feed(body), *decoder.close()]
    else:
        received = list(codec.decode_response(json.loads(body)))
    answer = assemble(received)
    return answer.text, len(answer.citations)


def whole_text(variant: str) -> str:
    """The text that a complete answer has."""
    return assemble(events(VARIANTS[variant])).text
