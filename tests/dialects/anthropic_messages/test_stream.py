"""Streams of Anthropic Messages decode to the events they describe."""

from __future__ import annotations

from groundwire.dialects.anthropic_messages import DIALECT
from groundwire.dialects.anthropic_messages.errors import decode_stream_error
from groundwire.dialects.base import Reply
from groundwire.errors import Overloaded
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    JsonObject,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    assemble,
)
from tests.dialects.anthropic_messages.bodies import block, decode, encode, end, payloads, sse, start

A = Evidence(Source("https://a.example/", "A", "cited"), "words of page A")
B = Evidence(Source("https://b.example/", "B", "cited"), "words of page B")


def test_a_citation_before_its_text_spans_the_whole_block() -> None:
    citation: JsonObject = {
        "type": "web_search_result_location",
        "url": "https://a.example/",
        "title": "A",
        "encrypted_index": "opaque",
        "cited_text": "It&#x27;s so",
    }
    events = decode(
        sse(
            start(),
            *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Well, "}),
            *block(
                1,
                {"type": "text", "text": "", "citations": []},
                {"type": "citations_delta", "citation": citation},
                {"type": "text_delta", "text": "東京 🏙"},
                {"type": "text_delta", "text": "️ is big"},
            ),
            *end(),
        )
    )
    answer = assemble(events)
    (cited,) = answer.citations
    assert cited.span == Span(6, 6 + len("東京 🏙️ is big"))
    assert cited.evidence[0].quote == "It's so"
    assert cited.evidence[0].extras["anthropic_messages"]["citation"] == citation
    assert events.index(Cited(cited)) < events.index(TextSettled(1))


def test_a_search_becomes_a_call_and_a_result_never_a_tool_call() -> None:
    results: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {
                "type": "web_search_result",
                "url": "https://a.example/",
                "title": "A",
                "encrypted_content": "E",
                "page_age": "3 days ago",
            }
        ],
    }
    call: JsonObject = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    answer = assemble(
        decode(
            sse(
                start(),
                *block(
                    0,
                    call,
                    {"type": "input_json_delta", "partial_json": ""},
                    {"type": "input_json_delta", "partial_json": '{"query": "a\\u00'},
                    {"type": "input_json_delta", "partial_json": '62"}'},
                ),
                *block(1, results),
                *end("pause_turn"),
            )
        )
    )
    assert [search.query for search in answer.searches] == ["ab"]
    assert [(source.url, source.date) for source in answer.sources] == [("https://a.example/", "3 days ago")]
    assert answer.finish == "pause"
    assert answer.usage.output_tokens == 7


def test_a_listed_page_without_a_type_is_encoded_with_one() -> None:
    page: JsonObject = {"url": "https://a.example/", "title": "A", "encrypted_content": "E", "page_age": None}
    call: JsonObject = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    results: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", **page}, page],
    }
    events = decode(sse(start(), *block(0, call), *block(1, results), *end()))
    assert encode(events).count(b'"type":"web_search_result"') == 2


def test_an_error_inside_a_stream_keeps_the_earlier_events() -> None:
    error: JsonObject = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events = decode(
        sse(start(), *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hm"}), error)
    )
    assert assemble(events).text == "Hm"
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, Overloaded)


def late_answer(*citations: Citation) -> list[Event]:
    """Text first, citations last, as Gemini sends them."""
    return [
        Started("x", "m"),
        TextDelta(0, "One claim"),
        TextDelta(0, ". And another."),
        *map(Cited, citations),
        Finished("stop"),
    ]


def test_late_citations_cut_the_text_into_blocks_when_exact() -> None:
    events = late_answer(Citation(Span(4, 9), (A,)), Citation(Span(0, 23), (B,)))
    data = payloads(encode(events))
    texts: dict[object, str] = {}
    cited: dict[object, list[object]] = {}
    for payload in data:
        match payload:
            case {"index": int(index), "content_block": {"type": "text"}}:
                texts[index], cited[index] = "", []
            case {"index": int(index), "delta": {"type": "text_delta", "text": str(text)}}:
                texts[index] += text
            case {"index": int(index), "delta": {"type": "citations_delta", "citation": {"url": url}}}:
                assert texts[index] == "", "citations are sent before the text of their block"
                cited[index].append(url)
    assert list(texts.values()) == ["One ", "claim", ". And another."]
    assert [set(map(str, urls)) for urls in cited.values()] == [
        {"https://b.example/"},
        {"https://a.example/", "https://b.example/"},
        {"https://b.example/"},
    ]


def test_overlapping_citations_come_back_uncut() -> None:
    citations = (Citation(Span(0, 23), (B,)), Citation(Span(4, 9), (A,)))
    for policy in ("exact", "live"):
        answer = assemble(decode(encode(late_answer(*citations), citations=policy)))
        assert answer.citations == citations
        assert answer.text == "One claim. And another."


def test_live_text_is_sent_at_once_and_exact_text_is_held() -> None:
    for policy, shown in (("live", True), ("exact", False)):
        encoder = DIALECT.encoder(Reply(citations=policy))  # type: ignore[arg-type]  # a literal in a tuple
        encoder.feed(Started())
        assert (b"One claim" in encoder.feed(TextDelta(0, "One claim"))) is shown


def test_settled_text_is_not_held_until_the_end() -> None:
    encoder = DIALECT.encoder(Reply())
    encoder.feed(TextDelta(0, "One claim"))
    encoder.feed(Cited(Citation(Span(0, 9), (A,))))
    assert b"One claim" in encoder.feed(TextSettled(0))


def test_blocks_we_made_are_not_taken_for_anthropics() -> None:
    answer: Answer = assemble(decode(encode(late_answer(Citation(Span(4, 9), (A,))))))
    assert "anthropic_messages" not in answer.citations[0].evidence[0].extras


def test_an_error_event_without_type_and_message_still_has_a_message() -> None:
    assert decode_stream_error({}).message
    assert decode_stream_error({"type": "overloaded_error", "message": 7}).message == "overloaded_error"
