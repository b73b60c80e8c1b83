"""Answers as Cohere's clients receive them: blocks, offsets in blocks, and sources as documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.errors import AuthRejected, QuotaExhausted, RateLimited, TimedOut, UnknownModel
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Reasoning,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    Usage,
)

CODEC = dialect("cohere_chat")
REPLY = Reply(id="r1", model="m")
NILE = Evidence(Source("https://a.example/nile", "Nile"), "It has 6650 km.")


def frames(events: list[Event]) -> list[dict[str, Any]]:
    encoder = CODEC.encoder(REPLY)
    data = b"".join(map(encoder.feed, events)) + encoder.close()
    blocks = data.decode().split("\n\n")[:-1]
    assert blocks[-1] == "data: [DONE]"
    return [json.loads(block.partition("data: ")[2]) for block in blocks[:-1]]


def document(number: int, **fields: str) -> dict[str, object]:
    return {"type": "document", "id": f"gw_{number}", "document": {"id": f"gw_{number}", **fields}}


def test_a_whole_answer_has_offsets_in_its_block_of_text() -> None:
    text = "Der Nil 🐊 hat 6650 km."
    start = text.index("6650 km")
    answer = Answer(
        (Reasoning("Hm."), Text(text)),
        (Citation(None, (Evidence(Source("", "Notes")),)), Citation(Span(start, start + 7), (NILE,))),
        usage=Usage(11, 7, searches=2),
        finish="stop",
    )
    body: Any = CODEC.encode_response(answer, REPLY)
    assert body["message"]["content"] == [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": text},
    ]
    whole, placed = body["message"]["citations"]
    assert (whole["start"], whole["end"], whole["sources"]) == (0, 0, [document(0, title="Notes")])
    assert placed == {
        "start": start,
        "end": start + 7,
        "text": "6650 km",
        "sources": [
            document(1, title="Nile", url="https://a.example/nile", snippet="It has 6650 km."),
        ],
        "content_index": 1,
        "type": "TEXT_CONTENT",
    }
    assert body["finish_reason"] == "COMPLETE"
    assert body["usage"] == {
        "billed_units": {"input_tokens": 11, "output_tokens": 7, "search_units": 2},
        "tokens": {"input_tokens": 11, "output_tokens": 7},
    }


def test_a_citation_follows_its_text_at_once_and_an_early_one_at_the_end() -> None:
    cited = [Cited(Citation(Span(0, 5), (NILE,))), Cited(Citation(Span(6, 12), (NILE,)))]
    kinds = [
        frame["type"]
        for frame in frames(
            [Started("i", "m"), TextDelta(0, "First "), *cited, TextDelta(0, "second"), Finished()]
        )
    ]
    cite = ["citation-start", "citation-end"]
    assert kinds == [
        *("message-start", "content-start", "content-delta", *cite),
        *("content-delta", "content-end", *cite, "message-end"),
    ]


def test_a_claim_across_blocks_is_cited_in_each_of_them() -> None:
    answer = Answer((Text("One. "), Text("Two.")), (Citation(Span(0, 9), (NILE,)),), finish="stop")
    body: Any = CODEC.encode_response(answer, REPLY)
    notes = body["message"]["citations"]
    assert [(note["content_index"], note["text"], note["groundwire"]["span"]) for note in notes] == [
        (0, "One. ", [0, 9]),
        (1, "Two.", [0, 9]),
    ]


@pytest.mark.parametrize(
    ("error", "reason"), [(RateLimited("slow down"), "ERROR"), (TimedOut("too slow"), "TIMEOUT")]
)
def test_an_error_inside_a_stream_is_in_its_last_event(error: RateLimited | TimedOut, reason: str) -> None:
    *_, last = frames([Started("i", "m"), TextDelta(0, "Half"), Failed(error)])
    assert (last["delta"]["finish_reason"], last["delta"]["error"]) == (reason, error.message)


def test_an_error_response_has_a_message_and_an_id() -> None:
    assert CODEC.encode_error(UnknownModel("there is no model x"), REPLY) == (
        404,
        {"id": "r1", "message": "there is no model x"},
    )


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (498, "invalid token", AuthRejected),
        (429, "You are limited to 40 API calls / minute", RateLimited),
        (429, "You are limited to 1000 API calls / month", QuotaExhausted),
    ],
)
def test_an_error_of_cohere_is_classified(status: int, message: str, kind: type[Exception]) -> None:
    found = CODEC.decode_error(status, json.dumps({"message": message}).encode(), {})
    assert (type(found), found.message, found.status) == (kind, message, status)
