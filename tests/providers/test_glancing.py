"""An answer that is passed on is watched by glances: its end and its cost are seen, nothing else is read."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.model import Event, Failed, Finished, Source, TextDelta, Usage, UsageSeen
from groundwire.providers.glancing import GLANCES, glance_at_body, glance_at_frames
from groundwire.testing.answers import told, written

EVENTS = told('He said {"type": "message_stop", "error": {}} [DONE].', Source("https://a.example/", "A"))


def usage(events: list[Event] | None) -> Usage:
    return next(event.usage for event in events or () if isinstance(event, UsageSeen))


@pytest.mark.parametrize("name", GLANCES)
def test_the_cost_of_a_whole_answer_is_seen(name: str) -> None:
    body = json.loads(written(name, EVENTS).whole)
    seen = glance_at_body(dialect(name), body)
    whole = dialect(name).decode_response(body)
    assert usage(seen).output_tokens == usage(whole).output_tokens == 34
    assert isinstance((seen or [])[-1], Finished)
    assert not any(isinstance(event, TextDelta) for event in seen or ())


@pytest.mark.parametrize("name", GLANCES)
def test_a_body_without_an_answer_is_read_instead(name: str) -> None:
    assert glance_at_body(dialect(name), {"error": {"message": "no"}}) is None


@pytest.mark.parametrize("name", GLANCES)
def test_the_end_of_a_stream_is_seen_once_and_not_before(name: str) -> None:
    stream = written(name, EVENTS).stream
    frames = [frame + b"\n\n" for frame in stream.split(b"\n\n") if frame]
    ends = [
        number
        for number, frame in enumerate(frames)
        if any(isinstance(event, Finished | Failed) for event in glance_at_frames(dialect(name), frame))
    ]
    assert ends == [ends[0]]
    assert ends[0] >= len(frames) - 2


@pytest.mark.parametrize("name", GLANCES)
def test_the_cost_of_a_stream_is_seen_in_its_last_frames(name: str) -> None:
    seen = glance_at_frames(dialect(name), written(name, EVENTS).stream)
    assert usage(seen).output_tokens == 34


@pytest.mark.parametrize("name", GLANCES)
def test_an_error_inside_a_stream_is_its_end(name: str) -> None:
    encoder = dialect(name).encoder(Reply())
    stream = b"".join(encoder.feed(event) for event in EVENTS[:-3])
    error = encoder.close()
    assert not any(isinstance(event, Failed) for event in glance_at_frames(dialect(name), stream))
    assert any(isinstance(event, Failed) for event in glance_at_frames(dialect(name), error))
