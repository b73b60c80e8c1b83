"""One JSON body instead of a stream."""

from __future__ import annotations

import json
from collections.abc import Sequence

from groundwire.dialects.base import Reply
from groundwire.dialects.websearch import DIALECT
from groundwire.errors import Interrupted, Overloaded, UpstreamWireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Message,
    Request,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    Warned,
    assemble,
)

REPLY = Reply(request=Request((Message("user", (Text("nile"),)),)))
CITED = Cited(Citation(Span(0, 5), (Evidence(Source("https://a.example/", "A", "cited")),)))
WORDS: list[Event] = [Started("x", "m"), TextDelta(0, "Lo"), TextDelta(0, "ng."), CITED]


def written(events: Sequence[Event]) -> bytes:
    encoder = DIALECT.encoder(REPLY)
    return b"".join(encoder.feed(event) for event in events) + encoder.close()


def decode_events(data: bytes, size: int = 5) -> list[Event]:
    decoder = DIALECT.decoder()
    pieces = (data[start : start + size] for start in range(0, len(data), size))
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def test_nothing_is_sent_until_the_end_and_then_all_at_once() -> None:
    encoder = DIALECT.encoder(REPLY)
    assert encoder.content_type == "application/json"
    assert [encoder.feed(event) for event in WORDS] == [b""] * len(WORDS)
    body = json.loads(encoder.feed(Finished()))
    assert body == DIALECT.encode_response(assemble([*WORDS, Finished()]), REPLY)
    assert encoder.close() == b""


def test_spaces_before_the_body_keep_the_connection_alive() -> None:
    encoder = DIALECT.encoder(REPLY)
    data = encoder.ping() + encoder.feed(Started()) + encoder.ping() + encoder.feed(Finished())
    assert data.startswith(b"  {")
    assert encoder.ping() == b""
    json.loads(data)
    assert decode_events(data)[-1] == Finished()


def test_the_body_gives_the_same_events_however_it_is_split() -> None:
    data = written([*WORDS, Finished()])
    assert decode_events(data, 1) == decode_events(data, 10_000) == DIALECT.decode_response(json.loads(data))


def test_a_failure_after_some_text_is_an_error_and_the_text_is_kept() -> None:
    data = written([*WORDS, Warned("x", "y"), Failed(Overloaded("busy"))])
    body = json.loads(data)
    assert body["llmContent"].startswith("Error: ")
    assert "Long" not in body["llmContent"]
    assert "sources" not in body
    assert body["error"] == {"message": "busy", "type": "UPSTREAM_OVERLOADED"}
    answer = assemble(decode_events(data))
    assert (answer.text, answer.error) == ("Long.", Overloaded("busy"))
    assert answer.citations[0].evidence[0].source.url == "https://a.example/"
    assert DIALECT.encode_response(answer, REPLY) == body


def test_an_answer_without_an_end_was_interrupted() -> None:
    assert json.loads(written(WORDS))["error"]["type"] == Interrupted.code


def test_malformed_json_is_the_providers_fault() -> None:
    for data in (b"{", b"data: x\n\n", b"<html>", b'{"llmContent": "x"'):
        event = decode_events(data)[-1]
        assert isinstance(event, Failed)
        assert isinstance(event.error, UpstreamWireError | Interrupted)
