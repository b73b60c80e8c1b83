"""Answers as Mistral's clients receive them: chunks, references after their text, and searches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groundwire.dialects.base import CitationPolicy, Reply
from groundwire.dialects.registry import dialect
from groundwire.errors import AuthRejected, ClientWireError, NotFound, RateLimited, Refused
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    Usage,
)

CODEC = dialect("mistral_conversations")
NILE = Evidence(Source("https://a.example/nile", "Nile"), "It has 6650 km.")
TEXT = "Der Nil hat 6650 km. Ja."
CITED = Citation(Span(12, 19), (NILE,))


def reply(citations: CitationPolicy = "exact") -> Reply:
    return Reply(id="r1", model="m", created=1_790_000_000, citations=citations)


def frames(events: list[Event], citations: CitationPolicy = "exact") -> list[dict[str, Any]]:
    encoder = CODEC.encoder(reply(citations))
    data = b"".join(map(encoder.feed, events)) + encoder.close()
    return [json.loads(block.partition("data: ")[2]) for block in data.decode().split("\n\n")[:-1]]


def test_a_reference_follows_the_chunk_that_it_supports() -> None:
    found = SearchResult("s1", (Source("https://a.example/nile", "Nile", date="2026-01-01"),))
    answer = Answer(
        (SearchCall("s1", ("nil länge",)), found, Text(TEXT)),
        (Citation(None, (Evidence(Source("https://b.example/", "B")),)), CITED),
        usage=Usage(11, 7, tool_tokens=5, searches=1),
        finish="stop",
    )
    body: Any = CODEC.encode_response(answer, reply())
    execution, message = body["outputs"]
    assert (execution["type"], execution["name"], execution["id"]) == (
        "tool.execution",
        "web_search",
        "gw_s1",
    )
    assert json.loads(execution["arguments"]) == {"query": "nil länge"}
    assert execution["info"] == {
        "results": [{"url": "https://a.example/nile", "title": "Nile", "date": "2026-01-01"}]
    }
    assert [chunk.get("text", chunk.get("url")) for chunk in message["content"]] == [
        "Der Nil hat ",
        "6650 km",
        "https://a.example/nile",
        ". Ja.",
        "",
        "https://b.example/",
    ]
    assert message["content"][2] == {
        "type": "tool_reference",
        "tool": "web_search",
        "title": "Nile",
        "url": "https://a.example/nile",
        "description": "It has 6650 km.",
        "groundwire": {"span": [12, 19]},
    }
    assert message["created_at"] == "2026-09-21T14:13:20Z"
    assert body["usage"] == {
        "prompt_tokens": 6,
        "completion_tokens": 7,
        "total_tokens": 18,
        "connector_tokens": 5,
        "connectors": {"web_search": 1},
    }


EVENTS: list[Event] = [
    Started("i", "m"),
    SearchCalled(0, SearchCall("s1", ("nil",))),
    SearchReturned(1, SearchResult("s1", (NILE.source,))),
    TextDelta(2, TEXT[:15]),
    TextDelta(2, TEXT[15:]),
    Cited(CITED),
    TextSettled(2),
    Finished(),
]


def test_a_stream_numbers_its_entries_and_chunks() -> None:
    sent = [
        (frame.get("output_index"), frame.get("content_index"), frame["type"].rpartition(".")[2])
        for frame in frames(EVENTS)
    ]
    assert sent == [
        (None, None, "started"),
        (0, None, "started"),
        (0, None, "done"),
        (1, 0, "delta"),
        (1, 1, "delta"),
        (1, 1, "delta"),
        (1, 2, "delta"),
        (1, 3, "delta"),
        (None, None, "done"),
    ]


def test_text_that_is_sent_live_is_followed_by_its_references() -> None:
    contents = [frame["content"] for frame in frames(EVENTS, "live") if "content" in frame]
    assert contents[:2] == [TEXT[:15], TEXT[15:]]
    assert contents[2]["groundwire"] == {"span": [12, 19]}


def test_an_error_inside_a_stream_is_its_last_event() -> None:
    *_, last = frames([Started("i", "m"), TextDelta(0, "Half"), Failed(RateLimited("slow down"))])
    assert (last["type"], last["message"], last["code"]) == (
        "conversation.response.error",
        "slow down",
        429,
    )


def test_an_error_response_names_the_field() -> None:
    status, body = CODEC.encode_error(ClientWireError("expected a list", "$.inputs[0]"), reply())
    assert status == 400
    assert (body["object"], body["type"], body["param"]) == ("error", "invalid_request_error", "inputs[0]")


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (401, {"detail": "Unauthorized"}, AuthRejected, "Unauthorized"),
        (
            400,
            {"object": "error", "message": "Invalid model: x", "type": "invalid_model"},
            NotFound,
            "Invalid",
        ),
        (422, {"detail": [{"loc": ["body", "inputs"], "msg": "missing"}]}, Refused, "body.inputs: missing"),
        (429, {"message": "Requests rate limit exceeded"}, RateLimited, "Requests"),
    ],
)
def test_an_error_of_mistral_is_classified(
    status: int, body: dict[str, object], kind: type[Exception], message: str
) -> None:
    found = CODEC.decode_error(status, json.dumps(body).encode(), {})
    assert type(found) is kind
    assert found.message.startswith(message)
