"""Recorded traffic: the decoded answer matches the raw JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini_interactions import DIALECT
from groundwire.model import (
    Answer,
    JsonObject,
    Reasoning,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchStarted,
    Text,
    TextSettled,
    assemble,
)
from tests.dialects.gemini_interactions.bodies import decode_events, read


@pytest.fixture(scope="module")
def whole(recordings: Path) -> JsonObject:
    body: JsonObject = json.loads((recordings / "gemini/interactions-google-search.json").read_text())
    return body


@pytest.fixture(scope="module")
def lines(recordings: Path) -> list[str]:
    return (recordings / "gemini/interactions-google-search.events.jsonl").read_text().splitlines()


def as_stream(lines: list[str]) -> bytes:
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def raw_claims(text: str, annotations: list[dict[str, str | int]]) -> set[tuple[str, str, str]]:
    """Words, address and title of each annotation, cut out of the bytes."""
    data = text.encode()
    return {
        (
            data[int(item.get("start_index", 0)) : int(item["end_index"])].decode(),
            str(item["url"]),
            str(item["title"]),
        )
        for item in annotations
    }


def claims(answer: Answer) -> set[tuple[str, str, str]]:
    return {
        (answer.text[citation.span.start : citation.span.end], item.source.url, item.source.title)
        for citation in answer.citations
        if citation.span
        for item in citation.evidence
    }


def test_a_whole_answer_has_its_steps_in_order(whole: JsonObject) -> None:
    answer = read(whole)
    assert [type(part) for part in answer.parts] == [Reasoning, Text, SearchCall, SearchResult]
    steps = json.loads(json.dumps(whole["steps"]))
    assert answer.text == steps[1]["content"][0]["text"]
    assert isinstance(answer.parts[0], Reasoning)
    assert answer.parts[0].extras["gemini_interactions"]["signature"] == steps[0]["signature"]
    assert isinstance(answer.parts[2], SearchCall)
    assert list(answer.parts[2].queries) == steps[2]["arguments"]["queries"]
    assert answer.parts[2].id == steps[2]["id"]


def test_every_citation_covers_the_text_of_its_byte_range(whole: JsonObject) -> None:
    block = json.loads(json.dumps(whole["steps"]))[1]["content"][0]
    answer = read(whole)
    assert claims(answer) == raw_claims(block["text"], block["annotations"])
    assert not answer.warnings


def test_equal_suggestions_are_emitted_once(whole: JsonObject) -> None:
    result = read(whole).parts[3]
    raw = json.loads(json.dumps(whole["steps"]))[3]["result"]
    assert isinstance(result, SearchResult)
    assert len(raw) > 1
    assert result.suggestions == raw[0]["search_suggestions"]


def test_the_counts_add_up(whole: JsonObject) -> None:
    usage = read(whole).usage
    raw = json.loads(json.dumps(whole["usage"]))
    assert (usage.input_tokens or 0) + (usage.output_tokens or 0) == raw["total_tokens"]
    assert usage.reasoning_tokens == raw["total_thought_tokens"]
    assert usage.tool_tokens == raw["total_tool_use_tokens"]


def test_a_stream_has_all_its_text_and_citations(lines: list[str]) -> None:
    frames = [json.loads(line) for line in lines]
    deltas = [frame["delta"] for frame in frames if frame["event_type"] == "step.delta"]
    text = "".join(item["text"] for item in deltas if item["type"] == "text")
    notes = next(item["annotations"] for item in deltas if item["type"] == "text_annotation_delta")
    answer = assemble(decode_events(as_stream(lines)))
    assert answer.text == text
    assert claims(answer) == raw_claims(text, notes)
    assert answer.finish == "stop"
    assert answer.id == frames[0]["interaction"]["id"]


def test_a_stream_emits_a_search_when_it_begins_and_settles_text_before_it(lines: list[str]) -> None:
    kinds = [type(event) for event in decode_events(as_stream(lines))]
    assert kinds.index(TextSettled) < kinds.index(SearchStarted) < kinds.index(SearchCalled)


def test_a_stream_split_anywhere_gives_the_same_events(lines: list[str]) -> None:
    data = as_stream(lines)
    whole_events = decode_events(data)
    for size in (1, 7, 1000):
        decoder = DIALECT.decoder()
        pieces = (data[start : start + size] for start in range(0, len(data), size))
        events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()
        assert events == whole_events


def test_history_returns_every_step_verbatim(whole: JsonObject) -> None:
    question: JsonObject = {"type": "user_input", "content": [{"type": "text", "text": "?"}]}
    steps = json.loads(json.dumps(whole["steps"]))
    body: JsonObject = {"model": "m", "input": [question, *steps, question]}
    again = json.loads(json.dumps(DIALECT.encode_request(DIALECT.decode_request(body)).body))
    assert again["input"] == [question, *steps, question]


def test_a_stream_encoded_again_has_the_same_shape(lines: list[str]) -> None:
    encoder = DIALECT.encoder(Reply("a", "gemini-2.5-flash"))
    data = b"".join(encoder.feed(event) for event in decode_events(as_stream(lines))) + encoder.close()
    written = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
    recorded = [json.loads(line) for line in lines]

    def shape(frame: dict[str, dict[str, str] | str | int]) -> tuple[object, ...]:
        inner = frame.get("delta") or frame.get("step") or {}
        assert isinstance(inner, dict)
        return frame["event_type"], frame.get("index"), inner.get("type")

    assert list(map(shape, written)) == list(map(shape, recorded))
