"""Recorded traffic, checked by slicing the raw JSON: every span is the text its segment repeats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.dialects.gemini.decoder import Decoder
from groundwire.model import Answer, Json, JsonObject, SearchCall, SearchResult, assemble
from tests.dialects.gemini.bodies import REPLY, at, sent, streamed, whole

BODIES = ("search-2.5-flash-short.json", "search-confidence-prism.json", "search-2024-confidence.json")
STREAMS = (
    "search-stream-2.5-flash-prism.sse",
    "search-stream-2.5-flash-1chunk.sse",
    "url-context-stream.sse",
    "gemini3-server-tool-parts.sse",
)


def body_of(recordings: Path, name: str) -> JsonObject:
    body: Json = json.loads((recordings / "gemini" / name).read_bytes())
    assert isinstance(body, dict)
    return body


def chunks_of(recordings: Path, name: str) -> list[JsonObject]:
    lines = (recordings / "gemini" / name).read_text("utf-8").splitlines()
    return [json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:")]


def segments(metadata: Json) -> list[str]:
    supports = at(metadata, "groundingSupports")
    assert isinstance(supports, list)
    return sorted(str(at(support, "segment", "text")) for support in supports)


def fragments(answer: Answer) -> list[str]:
    return sorted(
        answer.text[citation.span.start : citation.span.end] for citation in answer.citations if citation.span
    )


@pytest.mark.parametrize("name", BODIES)
def test_every_segment_of_a_body_is_cited_at_its_span(recordings: Path, name: str) -> None:
    body = body_of(recordings, name)
    answer = whole(body)
    assert fragments(answer) == segments(at(body, "candidates", 0, "groundingMetadata"))
    assert answer.warnings == ()


@pytest.mark.parametrize("name", STREAMS)
def test_every_segment_of_a_stream_is_cited_at_its_span(recordings: Path, name: str) -> None:
    chunks = chunks_of(recordings, name)
    answer = streamed(*chunks)
    assert fragments(answer) == segments(at(chunks[-1], "candidates", 0, "groundingMetadata"))
    assert answer.warnings == ()


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_encoded_again_is_the_same_answer(recordings: Path, name: str) -> None:
    decoder = Decoder()
    events = decoder.feed((recordings / "gemini" / name).read_bytes()) + decoder.close()
    answer = assemble(events)
    again = streamed(*sent(events))
    assert (again.parts, again.citations, again.usage) == (answer.parts, answer.citations, answer.usage)
    body = whole(DIALECT.encode_response(answer, REPLY))
    assert (body.parts, body.citations, body.usage) == (answer.parts, answer.citations, answer.usage)


def test_a_server_tool_is_one_search_with_all_that_was_found(recordings: Path) -> None:
    answer = whole(body_of(recordings, "gemini3-server-tool-parts.json"))
    calls = [part for part in answer.parts if isinstance(part, SearchCall)]
    results = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert [call.queries for call in calls] == [("largest city in Mexico",)]
    assert [len(result.sources) for result in results] == [4]
    assert [source.domain for source in results[0].sources] == ["sa.gov", "vynmsa.com", "worldatlas.com", ""]


def test_a_stream_without_sse_is_read_as_it_grows(recordings: Path) -> None:
    data = (recordings / "gemini" / "stream-json-array.json").read_bytes()
    elements: Json = json.loads(data)
    assert isinstance(elements, list)
    decoder = Decoder()
    events = [event for start in range(len(data)) for event in decoder.feed(data[start : start + 1])]
    assert assemble(events + decoder.close()) == streamed(*elements)
    assert assemble(events).text == "Scoop"
