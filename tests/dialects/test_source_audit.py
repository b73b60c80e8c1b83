"""Sources that no codec reads, and answers without content, are reported as warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.dialects.source_audit import SourceAudit
from groundwire.errors import UpstreamError, WireError
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Json,
    JsonObject,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    assemble,
)
from tests.contracts.amazon_frames import BINARY, as_binary, as_sse
from tests.contracts.recorded.catalogue import Recording, answer_of, recordings_of

A, B = "https://a.example/x", "https://b.example/y"
PAGES: list[Json] = [{"title": "A", "url": A}, {"title": "B", "url": B}]

EVENTS: list[Event] = [
    Started("r", "m"),
    SearchCalled(0, SearchCall("s", ("rain",))),
    SearchReturned(1, SearchResult("s", (Source("https://known.example", "K"),))),
    TextDelta(2, "Sun today."),
    Cited(Citation(Span(0, 10), (Evidence(Source("https://cited.example", "C")),))),
    Finished(),
]


def _body(name: str) -> JsonObject:
    return dialect(name).encode_response(assemble(EVENTS), Reply(id="r", model="m"))


def _stream(name: str) -> bytes:
    encoder = dialect(name).encoder(Reply(id="r", model="m"))
    return b"".join(encoder.feed(event) for event in EVENTS) + encoder.close()


def _objects(value: Json) -> Iterator[JsonObject]:
    """Every object of a document but those that repeat the request, and our own extension."""
    if isinstance(value, dict):
        yield value
        for key, item in value.items():
            if key not in ("arguments", "error", "groundwire", "input", "metadata", "tools", "usage"):
                yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _with_field(body: JsonObject, index: int, field: str, value: Json) -> JsonObject | None:
    copy = cast("JsonObject", json.loads(json.dumps(body)))
    holders = list(_objects(copy))
    if index >= len(holders):
        return None
    holders[index][field] = value
    return copy


def _unread(answer: Answer) -> list[str]:
    return [warning.message for warning in answer.warnings if warning.code == "unread_sources"]


def _read(name: str, data: bytes) -> Answer:
    decoder = dialect(name).decoder()
    events = [event for index in range(0, len(data), 7) for event in decoder.feed(data[index : index + 7])]
    return assemble([*events, *decoder.close()])


@pytest.mark.parametrize("name", DIALECTS)
def test_encoded_answers_are_read_in_full(name: str) -> None:
    assert assemble(dialect(name).decode_response(_body(name))).warnings == ()
    assert _read(name, _stream(name)).warnings == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("oracle_pages", PAGES),
        ("oracle", {"deep": {"sources": [{"address": A}]}}),
        ("oracle_references", [A, B]),
        ("oracle", [{"title": "A", "source": A, "favicon": "https://icons.example/a.png"}]),
    ],
    ids=["pages", "addresses in depth", "bare addresses", "another name for the address"],
)
@pytest.mark.parametrize("name", DIALECTS)
def test_an_unknown_source_field_is_warned_of_wherever_it_is(name: str, field: str, value: Json) -> None:
    body = _body(name)
    silent = []
    for index in range(len(list(_objects(body)))):
        changed = _with_field(body, index, field, value)
        assert changed is not None
        answer = assemble(dialect(name).decode_response(changed))
        messages = _unread(answer)
        if len(messages) != 1 or f".{field}" not in messages[0]:
            silent.append((index, list(_objects(body))[index], answer.warnings))
    assert silent == []


@pytest.mark.parametrize("name", DIALECTS)
def test_an_unknown_accent_is_warned_of_once_in_a_stream(name: str) -> None:
    data = as_sse(_stream(name)) if name in BINARY else _stream(name)
    if data.lstrip()[:1] == b"{":
        changed = json.dumps({**json.loads(data), "oracle_pages": PAGES}).encode()
    else:
        lines = data.split(b"\n")
        changed = b"\n".join(
            b"data: " + json.dumps({**json.loads(line[5:]), "oracle_pages": PAGES}).encode()
            if line.startswith(b"data:") and b"[DONE]" not in line
            else line
            for line in lines
        )
    answer = _read(name, as_binary(changed) if name in BINARY else changed)
    assert answer.text == "Sun today."
    (message,) = _unread(answer)
    assert "$.oracle_pages" in message


def test_a_source_with_another_url_of_the_same_page_counts_as_read() -> None:
    audit = SourceAudit()
    audit.audit({"sources": [f"{A}?utm_source=x", {"url": "https://www.b.example/y/"}]})
    audit.add_event(Cited(Citation(None, (Evidence(Source(A)), Evidence(Source(B))))))
    assert audit.warning() is None


@pytest.mark.parametrize(
    "document",
    [
        {"choices": [{"message": {"images": [{"image_url": {"url": A}, "title": "A"}]}}]},
        {"tools": [{"type": "mcp", "server_url": A, "title": "A"}]},
        {"input": [{"title": "A", "url": A}]},
        {"groundwire": {"sources": PAGES}},
        {"next": A, "homepage": B},
        {"sources": [], "citations": None, "results": ["words", 3]},
        {"title": "See https://a.example for more", "results": "https://a.example and more"},
    ],
)
def test_urls_that_are_not_sources_are_not_warned_of(document: JsonObject) -> None:
    audit = SourceAudit()
    audit.audit(document)
    assert audit.warning() is None


def test_the_warning_is_short_and_the_scan_bounded() -> None:
    audit = SourceAudit()
    audit.audit({f"sources_{'x' * 500}_{number}": PAGES for number in range(50_000)})
    warning = audit.warning()
    assert warning is not None
    assert len(warning.message) < 1_000


@pytest.mark.parametrize("recording", recordings_of("body", "stream"), ids=lambda recording: recording.name)
def test_every_source_of_a_recorded_answer_is_read(recording: Recording) -> None:
    assert _unread(answer_of(recording)) == []


# Bodies of others

MISTRAL: JsonObject = {
    "object": "conversation.response",
    "conversation_id": "conv_1",
    "outputs": [
        {"type": "tool.execution", "name": "web_search", "arguments": '{"query": "rain"}'},
        {
            "type": "message.output",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Sun."},
                {"type": "tool_reference", "tool": "web_search", "title": "A", "url": A},
            ],
        },
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
FOREIGN: dict[str, JsonObject] = {
    "mistral conversation": MISTRAL,
    "mistral with a status": {**MISTRAL, "status": "completed"},
    "cohere": {"id": "x", "message": {"role": "assistant", "content": [{"type": "text", "text": "Sun."}]}},
    "ollama": {"model": "m", "message": {"role": "assistant", "content": "Sun."}, "done": True},
    "empty choice": {"choices": [{"index": 0, "message": {"words": "Sun."}, "finish_reason": "stop"}]},
    "empty output": {"status": "completed", "output": [{"type": "oracle", "words": "Sun."}]},
    "empty content": {"type": "message", "content": [], "stop_reason": "end_turn"},
    "empty candidate": {"candidates": [{"content": {"words": "Sun."}, "finishReason": "STOP"}]},
    "empty steps": {"status": "completed", "steps": [{"type": "oracle"}]},
    **{f"{name} of ours": _body(name) for name in DIALECTS},
}


def _whole(name: str, body: JsonObject) -> list[Event]:
    return dialect(name).decode_response(body)


def _as_stream(name: str, body: JsonObject) -> list[Event]:
    decoder = dialect(name).decoder()
    return [*decoder.feed(b"data: " + json.dumps(body).encode() + b"\n\n"), *decoder.close()]


def _as_document(name: str, body: JsonObject) -> list[Event]:
    decoder = dialect(name).decoder()
    return [*decoder.feed(json.dumps(body).encode()), *decoder.close()]


@pytest.mark.parametrize("feed", [_whole, _as_stream, _as_document])
@pytest.mark.parametrize("body", FOREIGN)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_foreign_body_never_becomes_an_empty_answer_without_a_warning(
    name: str, body: str, feed: Callable[[str, JsonObject], list[Event]]
) -> None:
    try:
        answer = assemble(feed(name, FOREIGN[body]))
    except (WireError, UpstreamError):
        return
    assert answer.text or answer.error or answer.warnings
