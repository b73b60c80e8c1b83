"""The cost of many citations grows linearly, whatever they have in common.

Quadratic cost would block a gateway: a megabyte has room for ten thousand citations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.citation_splitter import MAX_REPEATS
from groundwire.dialects.foreign_history import readable_text
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Json,
    JsonObject,
    Message,
    Request,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    assemble,
)
from groundwire.model.source import MAX_EVIDENCE
from groundwire.text.markdown import render_answer
from tests.growth import LINEAR, growth

WIDTH = 7
SIZE = 40


def evidence(number: int, *, page: str = "") -> tuple[Evidence, ...]:
    url = f"https://a.test/{page or number}"
    return (Evidence(Source(url, f"Title {number}", "cited", (f"excerpt {number}",)), f"quote {number}"),)


SHAPES: dict[str, Callable[[int, int], Citation]] = {
    "same span": lambda at, _: Citation(Span(0, WIDTH), evidence(at)),
    "same address": lambda at, _: Citation(Span(WIDTH * at, WIDTH * at + 6), evidence(at, page="one")),
    "same start": lambda at, _: Citation(Span(0, WIDTH * at + 6), evidence(at)),
    "same end": lambda at, size: Citation(Span(WIDTH * at, WIDTH * size), evidence(at)),
    "no span": lambda at, _: Citation(None, evidence(at)),
    "nested": lambda at, size: Citation(Span(3 * at, WIDTH * size - 3 * at), evidence(at)),
    "beyond the text": lambda at, _: Citation(Span(WIDTH * at, 10**9 + at), evidence(at)),
    "points": lambda at, _: Citation(Span(WIDTH * at + 6, WIDTH * at + 6), evidence(at)),
    "one point": lambda at, size: Citation(Span(WIDTH * size, WIDTH * size), evidence(at)),
    "overlapping": lambda at, size: Citation(
        Span(WIDTH * at, min(WIDTH * size, WIDTH * at + 10 * WIDTH)), evidence(at)
    ),
}


WORST = ("same span", "nested", "same address", "no span")
"""The shapes that have been most costly, the worst first."""
WORST_FIRST = [
    *WORST[:2],
    *(pytest.param(shape, marks=pytest.mark.thorough) for shape in SHAPES if shape not in WORST[:2]),
]


def cited_events(shape: str, size: int, *, parts: bool) -> Iterator[Event]:
    """Text and citations in turns, in one part or in many."""
    yield Started("id", "model")
    for at in range(size):
        yield TextDelta(at if parts else 0, f"w{at:05d} ")
        yield Cited(SHAPES[shape](at, size))
    yield Finished()


def answer_of(shape: str, size: int) -> Answer:
    return assemble(cited_events(shape, size, parts=False))


def stream_through(name: str, events: list[Event]) -> Answer:
    codec = dialect(name)
    encoder = codec.encoder(Reply())
    decoder = codec.decoder()
    read: list[Event] = []
    for event in events:
        read += decoder.feed(encoder.feed(event))
    read += decoder.feed(encoder.close())
    return assemble([*read, *decoder.close()])


@pytest.mark.parametrize("shape", WORST_FIRST)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_stream_with_many_citations_is_encoded_and_decoded_at_linear_cost(name: str, shape: str) -> None:
    def carry(size: int) -> None:
        stream_through(name, list(cited_events(shape, size, parts=False)))

    assert growth(carry, SIZE) < LINEAR


@pytest.mark.parametrize(
    "shape", [WORST[0], *(pytest.param(shape, marks=pytest.mark.thorough) for shape in WORST[1:])]
)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_whole_answer_with_many_citations_is_encoded_and_decoded_at_linear_cost(
    name: str, shape: str
) -> None:
    codec = dialect(name)

    def carry(size: int) -> None:
        assemble(codec.decode_response(codec.encode_response(answer_of(shape, size), Reply())))

    assert growth(carry, SIZE) < LINEAR


@pytest.mark.parametrize(
    "shape", [*WORST[:2], *(pytest.param(shape, marks=pytest.mark.thorough) for shape in WORST[2:])]
)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_history_with_many_citations_is_encoded_and_decoded_at_linear_cost(name: str, shape: str) -> None:
    codec = dialect(name)
    question = Message("user", (Text("And?"),))

    def carry(size: int) -> None:
        body = codec.encode_response(answer_of(shape, size), Reply())
        own = assemble(codec.decode_response(body)).message
        for turn in (own, answer_of(shape, size).message):
            codec.decode_request(codec.encode_request(Request((question, turn, question), model="m")).body)

    assert growth(carry, SIZE) < LINEAR


@pytest.mark.parametrize("shape", SHAPES)
def test_many_citations_become_text_at_linear_cost(shape: str) -> None:
    def render(size: int) -> None:
        answer = answer_of(shape, size)
        render_answer(answer)
        readable_text(answer.message)

    assert growth(render, 4 * SIZE) < LINEAR


@pytest.mark.parametrize("name", DIALECTS)
def test_citations_of_many_parts_cost_as_much_as_those_of_one(name: str) -> None:
    def carry(size: int) -> None:
        stream_through(name, list(cited_events("beyond the text", size, parts=True)))

    assert growth(carry, SIZE) < LINEAR


def annotation(start: int, end: int, number: int) -> JsonObject:
    body: JsonObject = {
        "start_index": start,
        "end_index": end,
        "url": f"https://a.test/{number % 7}",
        "title": str(number),
    }
    return {"type": "url_citation", **body}


def wrong_spans(size: int, text: str) -> list[Json]:
    """Spans that no link confirms, though the text has many links."""
    return [annotation(at, len(text) - at, at) for at in range(1, size + 1)]


def links(size: int) -> str:
    return "".join(f"Fact [label](https://a.test/{at % 5}). " for at in range(size))


def test_citations_that_the_text_does_not_confirm_cost_one_scan_of_the_text() -> None:
    def chat(size: int) -> None:
        text = links(size)
        message: JsonObject = {"role": "assistant", "content": text, "annotations": wrong_spans(size, text)}
        dialect("openai_chat").decode_response({"choices": [{"message": message, "finish_reason": "stop"}]})

    def responses(size: int) -> None:
        text = links(size)
        content: JsonObject = {"type": "output_text", "text": text, "annotations": wrong_spans(size, text)}
        item: JsonObject = {"type": "message", "role": "assistant", "id": "m", "content": [content]}
        dialect("openai_responses").decode_response({"id": "r", "status": "completed", "output": [item]})

    assert growth(chat, SIZE) < LINEAR
    assert growth(responses, SIZE) < LINEAR


def test_quotes_with_wrong_offsets_do_not_cost_a_search_each() -> None:
    def gemini(size: int) -> None:
        text = "word " * (200 * size)
        supports: list[Json] = [
            {
                "segment": {"startIndex": 3, "endIndex": 9, "text": f"never written {at}", "partIndex": 1},
                "groundingChunkIndices": [0] * 20,
            }
            for at in range(size)
        ]
        metadata: JsonObject = {
            "groundingChunks": [{"web": {"uri": "https://a.test/", "title": "a"}}],
            "groundingSupports": supports,
        }
        content: JsonObject = {"role": "model", "parts": [{"text": "A. "}, {"text": text}]}
        candidate: JsonObject = {"content": content, "groundingMetadata": metadata, "finishReason": "STOP"}
        assemble(dialect("gemini").decode_response({"candidates": [candidate]}))

    assert growth(gemini, SIZE) < 2 * LINEAR


@pytest.fixture(params=[500, pytest.param(MAX_EVIDENCE, marks=pytest.mark.thorough)])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How much evidence an answer may have: less than the real limit, or the real one."""
    most: int = request.param
    for name, module in list(sys.modules.items()):
        if name.startswith("groundwire.") and hasattr(module, "MAX_EVIDENCE"):
            monkeypatch.setattr(module, "MAX_EVIDENCE", most)
    return most


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "websearch"])
def test_citations_beyond_the_limit_are_dropped_with_a_warning(name: str, limit: int) -> None:
    codec = dialect(name)
    encoder = codec.encoder(Reply(citations="live"))
    count = limit + 10
    events: list[Event] = [Started("id", "model"), TextDelta(0, "word " * count)]
    events += (Cited(Citation(Span(5 * at, 5 * at + 4), evidence(at))) for at in range(count))
    wire = b"".join(map(encoder.feed, [*events, Finished()]))
    decoder = codec.decoder()
    answer = assemble([*decoder.feed(wire), *decoder.close()])
    assert answer.finish == "stop"
    assert 0 < sum(len(citation.evidence) for citation in answer.citations) <= limit
    codes = {warning.code for warning in answer.warnings}
    assert "citations_cut" in codes or b"citations_cut" in wire  # the encoder may be the first to count


def test_a_claim_split_by_other_claims_is_cited_on_each_piece_up_to_a_limit() -> None:
    def blocks(count: int) -> int:
        text = Text("word " * count)
        inner = (Citation(Span(5 * at, 5 * at + 4), evidence(at + 1)) for at in range(count))
        outer = Citation(Span(0, 5 * count), evidence(0))
        body = dialect("anthropic_messages").encode_response(Answer((text,), (outer, *inner)), Reply())
        return str(body).count("quote 0'")

    assert blocks(10) == 20
    assert MAX_REPEATS <= blocks(MAX_REPEATS) <= MAX_REPEATS + 1


def test_evidence_is_merged_by_value_and_kept_in_order_of_arrival() -> None:
    one, two = evidence(1)[0], evidence(2)[0]
    other = Evidence(one.source, one.quote, extras={"x": {"list": [1, {"a": None}]}})
    again = Evidence(one.source, one.quote, extras={"x": {"list": [1, {"a": None}]}})
    span = Span(0, 4)
    cited = (Cited(Citation(span, (item,))) for item in (two, one, other, again, two))
    answer = assemble([TextDelta(0, "word"), *cited, Finished()])
    assert answer.citations == (Citation(span, (two, one, other)),)
    assert answer.warnings == ()
