"""The answers that the upstream gives and the requests that are sent, written by our own codecs."""

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
    """How the upstream tells an answer; it is the first part of the path."""

    deltas: int = 150
    pause: float = 0.0
    """Seconds between two events; without one the stream is a single write."""
    end: str = "closed"
    """`open` falls silent after the first events, `endless` tells them over and over."""
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
"""Models that every gateway knows, so that none pays for looking up one it does not."""

ENDS = {
    "openai_chat": b"data: [DONE]",
    "openai_responses": b"response.completed",
    "anthropic_messages": b"message_stop",
    "gemini": b'"finishReason"',
}
"""What stands in the last bytes of a stream that is complete."""

FIRST_TOKEN = b"Wort0000"
_PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
}
_QUESTION = "Which words are written in many scripts? Name your sources."


class Canned(NamedTuple):
    """One answer in both forms, as the bytes of an HTTP response."""

    whole: bytes
    head: bytes
    frames: tuple[bytes, ...]
    """The chunks of the stream, one for each event; the last ends it."""
    lead: int
    """How many of them there are up to the first token."""


def provider(name: str, variant: str) -> str:
    """How a gateway calls the upstream that speaks a dialect and tells its answer so."""
    return f"{name}_{variant}"


def events(variant: Variant) -> list[Event]:
    """The sample's answer with deltas that differ: LiteLLM breaks off a model that repeats itself."""
    told = sample.events(variant.deltas, variant.citations)
    places = (place for place, event in enumerate(told) if isinstance(event, TextDelta))
    for number, place in enumerate(places):
        text = f"Wort{number:04} – αβγ, 東京! "  # as long as the sample's, where the citations stay
        told[place] = replace(told[place], text=text)
    return told


def canned(name: str, variant: Variant) -> Canned:
    """The answer of a variant in a dialect."""
    form = encode_answer(name, events(variant))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n"
    whole = head % b"application/json" + b"content-length: %d\r\n\r\n" % len(form.whole) + form.whole
    told = [frame + b"\n\n" for frame in form.stream.split(b"\n\n") if frame]
    chunks = [b"%x\r\n%s\r\n" % (len(frame), frame) for frame in told]
    return Canned(
        whole,
        head % form.content_type.encode() + b"transfer-encoding: chunked\r\n\r\n",
        (*chunks[:-1], chunks[-1] + b"0\r\n\r\n"),
        1 + next(place for place, frame in enumerate(told) if FIRST_TOKEN in frame),
    )


def asked(speaks: str, model: str, *, stream: bool) -> bytes:
    """The body of a request for a cited answer."""
    request = Request((Message("user", (Text(_QUESTION),)),), model, search=SearchOptions(), stream=stream)
    return dump_json(dialect(speaks).encode_request(request).body).encode()


def path(speaks: str, model: str, *, stream: bool) -> str:
    """Where a request of a dialect goes."""
    if speaks == "gemini":
        form = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{model}:{form}"
    return _PATHS[speaks]


def heard(speaks: str, body: bytes, *, stream: bool) -> tuple[str, int]:
    """The text of an answer that came, and how many citations it has."""
    language = dialect(speaks)
    if stream:
        decoder = language.decoder()
        told = [*decoder.feed(body), *decoder.close()]
    else:
        told = list(language.decode_response(json.loads(body)))
    answer = assemble(told)
    return answer.text, len(answer.citations)


def whole_text(variant: str) -> str:
    """The text that must come through."""
    return assemble(events(VARIANTS[variant])).text
