"""Answers in the client's own dialect are passed on as they came, but for addresses nobody may follow."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Request,
    Source,
    Span,
    Started,
    TextDelta,
    Verbatim,
    Warned,
    Wire,
    assemble,
)
from groundwire.model.value import replace
from groundwire.providers.passthrough.scan import SCAN_RULES
from groundwire.providers.spec import flatten
from groundwire.testing.script import ScriptedResponse
from tests.providers.asking import question, world
from tests.providers.speakers import STREAMING, Speaker
from tests.transport.bounded import run

SAFE, UNSAFE = b"https://evil.example/x", b"javascript:alert(1)"
# The search is spelt another way for OpenRouter, so that nothing is passed on.
PASSED = [speaker for speaker in STREAMING if speaker.dialect in SCAN_RULES and str(speaker) != "openrouter"]
WHOLE = [speaker for speaker in PASSED if str(speaker) != "openai_oauth"]  # which always streams
EVENTS: list[Event] = [
    Started("id", "model"),
    TextDelta(0, "Words. "),
    TextDelta(0, "Claim."),
    Cited(Citation(Span(7, 13), (Evidence(Source(SAFE.decode(), "Title", "cited")),))),
    Finished(),
]


def asked(speaker: Speaker, *, stream: bool) -> Request:
    request = question(stream=stream)
    body = dialect(speaker.dialect).encode_request(request).body
    return replace(request, wire=Wire(speaker.dialect, body, json.dumps(body).encode()))


def passed(speaker: Speaker, response: ScriptedResponse, *, stream: bool) -> tuple[bytes, list[Event]]:
    async def main() -> list[Event]:
        async with world(speaker, response) as here:
            return [event async for event in flatten(here.provider().batches(asked(speaker, stream=stream)))]

    events = run(main())
    return b"".join(event.data for event in events if isinstance(event, Verbatim)), events


@pytest.mark.parametrize("speaker", PASSED, ids=str)
def test_a_stream_is_passed_on_without_them(speaker: Speaker) -> None:
    encoder = dialect(speaker.dialect).encoder(Reply())
    stream = b"".join(encoder.feed(event) for event in EVENTS).replace(SAFE, UNSAFE)
    assert UNSAFE in stream
    headers = {"content-type": "text/event-stream"}
    data, events = passed(speaker, ScriptedResponse(stream=stream, headers=headers), stream=True)
    assert b"Claim." in data
    assert UNSAFE not in data
    assert data.count(b'""') > stream.count(b'""')
    assert "address_removed" in {event.code for event in events if isinstance(event, Warned)}


@pytest.mark.parametrize("speaker", WHOLE, ids=str)
def test_a_whole_answer_is_passed_on_without_them(speaker: Speaker) -> None:
    body = dialect(speaker.dialect).encode_response(assemble(EVENTS), Reply())
    whole = json.dumps(body).encode().replace(SAFE, UNSAFE)
    headers = {"content-type": "application/json"}
    data, events = passed(speaker, ScriptedResponse(body=whole, headers=headers), stream=False)
    assert b"Claim." in data
    assert UNSAFE not in data
    assert isinstance(json.loads(data), dict)
    assert "address_removed" in {event.code for event in events if isinstance(event, Warned)}
