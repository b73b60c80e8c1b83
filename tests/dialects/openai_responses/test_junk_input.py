"""Junk in any field of a response: the stream ends once, and nothing else is raised."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.errors import UpstreamWireError
from groundwire.model import Failed, Finished, Json, JsonObject, assemble
from tests.dialects import test_mistral_reader as mistral
from tests.dialects.openai_responses import test_perplexity as perplexity
from tests.dialects.openai_responses.wire import decode_events, payloads, sse

JUNK: tuple[Json, ...] = (None, -1, 1.5, True, "x", [], [None], ["a"], [{}], {}, {"type": "x"}, 10**20)
STREAMS = {
    "mistral": payloads(mistral.stream(*mistral.fragments(counted=True))),
    "perplexity": perplexity.events_of(*perplexity.ANNOTATIONS),
}
BODY = mistral.body(
    mistral.entry("tool.execution", **mistral.EXECUTION),
    mistral.entry("message.output", **mistral.MESSAGE, content=list(mistral.CHUNKS)),
    mistral.entry("function.call", id="f", tool_call_id="t", name="now", arguments={}),
)


def spoiled(value: Json) -> Iterator[Json]:
    """Copies of the value, each with junk in place of one of its parts."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from ({**value, key: junk} for junk in JUNK)
            yield from ({**value, key: inner} for inner in spoiled(item))
    elif isinstance(value, list):
        for index, item in enumerate(value[:2]):
            for inner in (*JUNK, *spoiled(item)):
                yield [*value[:index], inner, *value[index + 1 :]]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_with_junk_ends_once(name: str) -> None:
    events = STREAMS[name]
    for index, event in enumerate(events):
        for changed in spoiled(event):
            assert isinstance(changed, dict)
            data = sse(
                [*events[:index], {"type": event["type"], **changed}, *events[index + 1 :]][: index + 3]
            )
            decoded_events = decode_events(data.replace(b'"type": null', b'"kind": null'))
            assert [type(event) in (Finished, Failed) for event in decoded_events].count(True) == 1
            assemble(decoded_events)


def test_a_body_with_junk_is_read_or_rejected() -> None:
    read = 0
    for body in spoiled(BODY):
        assert isinstance(body, dict)
        try:
            assemble(DIALECT.decode_response(body))
        except UpstreamWireError:
            continue
        read += 1
    assert read


def test_the_order_of_events_does_not_matter_to_safety() -> None:
    for events in STREAMS.values():
        for start in range(len(events)):
            decoded_events = decode_events(sse([*events[start:], *events[:start]]))
            assert isinstance(decoded_events[-1], Finished | Failed)


def test_junk_is_junk() -> None:
    sample: JsonObject = {"a": [{"b": 1}]}
    assert len(list(spoiled(sample))) > len(JUNK) * 2
