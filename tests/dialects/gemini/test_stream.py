"""Streams in both directions: framing, order, errors midway, and what clients must never receive."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.dialects.gemini.encoder import Encoder, JsonArrayEncoder
from groundwire.errors import AuthRejected, Interrupted, Overloaded, RateLimited, UpstreamWireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)
from groundwire.model.value import replace
from tests.dialects.gemini.bodies import REPLY, at, chunk, events_of, parts_of, sent, streamed, support, web

ONE, TWO = chunk({"text": "Köln "}), chunk({"text": "liegt am Rhein."}, finishReason="STOP")
TEXT = "Köln liegt am Rhein."
PAGE = Source("https://a.test", "A", "cited")


def decoded(data: bytes, size: int = 1 << 20) -> list[Event]:
    decoder = DIALECT.decoder()
    events: list[Event] = []
    for start in range(0, len(data), size):
        events += decoder.feed(data[start : start + size])
    return events + decoder.close()


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_may_be_lf_or_crlf(end: str) -> None:
    assert assemble(events_of(ONE, TWO, end=end)).text == TEXT


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_json_array_is_the_same_stream(size: int) -> None:
    array = f"[{json.dumps(ONE, indent=2)}\r\n,\r\n{json.dumps(TWO, indent=2)}\r\n]".encode()
    assert decoded(array, size) == events_of(ONE, TWO)


def test_a_json_body_instead_of_a_stream_is_an_answer() -> None:
    assert assemble(decoded(json.dumps(TWO).encode())).text == "liegt am Rhein."


def test_the_end_is_emitted_when_nothing_more_can_follow() -> None:
    decoder = DIALECT.decoder()
    events = decoder.feed(f"data: {json.dumps(TWO)}\n\n".encode())
    assert not any(isinstance(event, Finished) for event in events)
    late: JsonObject = {"usageMetadata": {"promptTokenCount": 1}}
    events += decoder.feed(f"data: {json.dumps(late)}\n\ndata: [DONE]\n\n".encode())
    assert decoder.close() == [TextSettled(0), UsageSeen(Usage(1)), Finished("stop")]


def test_a_stream_without_an_end_is_interrupted_and_keeps_its_text() -> None:
    metadata: JsonObject = {
        "groundingChunks": [web("https://a.test", "A")],
        "groundingSupports": [support("Köln ", "Köln", 0)],
    }
    answer = streamed(chunk({"text": "Köln "}, groundingMetadata=metadata))
    assert (answer.text, answer.finish) == ("Köln ", None)
    assert isinstance(answer.error, Interrupted)
    assert [citation.span for citation in answer.citations] == [(0, 4)]


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_error_inside_a_stream_ends_it(wrapped: bool) -> None:
    error: JsonObject = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}
    events = events_of(ONE, [error] if wrapped else error, TWO)
    assert events[-1] == Failed(RateLimited("slow down", upstream_code="RESOURCE_EXHAUSTED"))
    assert [type(event) for event in events].count(Failed) == 1
    assert assemble(events).text == "Köln "


def test_an_error_in_an_array_is_one_failure() -> None:
    error = {"error": {"code": 400, "message": "bad key", "details": [{"reason": "API_KEY_INVALID"}]}}
    events = decoded(json.dumps([error]).encode(), 3)
    assert events == [Failed(AuthRejected("bad key", upstream_code="API_KEY_INVALID"))]


def test_a_broken_chunk_keeps_earlier_text() -> None:
    metadata: JsonObject = {
        "groundingChunks": [web("https://a.test", "A")],
        "groundingSupports": [support("Köln ", "Köln", 0)],
    }
    first = json.dumps(chunk({"text": "Köln "}, groundingMetadata=metadata))
    events = decoded(f"data: {first}\n\ndata: {{\n\ndata: {json.dumps(TWO)}\n\n".encode())
    last = events[-1]
    assert isinstance(last, Failed)
    assert isinstance(last.error, UpstreamWireError)
    answer = assemble(events)
    assert (answer.text, len(answer.citations)) == ("Köln ", 1)


def test_chunks_of_other_candidates_are_skipped() -> None:
    assert (
        streamed(
            chunk({"text": "no"}, index=1), chunk({"text": "yes"}, index=0), chunk(finishReason="STOP")
        ).text
        == "yes"
    )


def test_text_is_sent_as_it_arrives_and_the_rest_at_the_end() -> None:
    encoder = Encoder(REPLY)
    assert encoder.feed(Started("x", "m")) == b""
    first = encoder.feed(TextDelta(0, "Köln "))
    assert first.startswith(b'data: {"candidates":')
    assert first.endswith(b"\n\n")
    assert "Köln" in first.decode()
    assert encoder.feed(Cited(Citation(Span(0, 4), (Evidence(PAGE),)))) == b""
    last = encoder.feed(Finished())
    assert at(json.loads(last.removeprefix(b"data: ")), "candidates", 0) == {
        "content": {"parts": [{"text": ""}], "role": "model"},
        "finishReason": "STOP",
        "index": 0,
        "groundingMetadata": {
            "groundingChunks": [web("https://a.test", "A")],
            "groundingSupports": [support(TEXT, "Köln", 0)],
        },
    }
    assert encoder.close() == b""


def test_no_keep_alive_is_sent_because_clients_break_on_it() -> None:
    assert Encoder(REPLY).ping() == b""


def test_thoughts_images_and_native_parts_are_parts() -> None:
    code: JsonObject = {"executableCode": {"language": "PYTHON", "code": "1"}}
    events: list[Event] = [
        ReasoningDelta(0, "Hm."),
        PartAdded(1, Image("image/png", "iVBORw0KGgo=")),
        PartAdded(2, Opaque("gemini", code)),
        PartAdded(3, Opaque("anthropic_messages", {"type": "secret"})),
        TextDelta(4, "x"),
        Finished(),
    ]
    assert parts_of(sent(events)) == [
        {"text": "Hm.", "thought": True},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        code,
        {"text": "x"},
        {"text": ""},
    ]


def test_a_call_is_sent_whole_and_in_order() -> None:
    events: list[Event] = [
        TextDelta(0, "Moment."),
        ToolCallDelta(1, "a", "weather"),
        ToolCallDelta(2, "b", "clock"),
        ToolCallDelta(1, arguments='{"city":'),
        ToolCallDelta(2, arguments="{}"),
        ToolCallDelta(1, arguments='"Köln"}'),
        TextDelta(3, "Done."),
        Finished("tool_calls"),
    ]
    assert parts_of(sent(events)) == [
        {"text": "Moment."},
        {"functionCall": {"id": "a", "name": "weather", "args": {"city": "Köln"}}},
        {"functionCall": {"id": "b", "name": "clock", "args": {}}},
        {"text": "Done."},
        {"text": ""},
    ]


def test_a_call_is_not_split_by_text_between_its_fragments() -> None:
    events: list[Event] = [
        ToolCallDelta(0, "a", "weather", '{"city":'),
        TextDelta(1, "Moment."),
        ToolCallDelta(0, arguments='"Köln"}'),
        Finished("tool_calls"),
    ]
    call, *others = [part for part in parts_of(sent(events)) if "functionCall" in part]
    assert (call, others) == ({"functionCall": {"id": "a", "name": "weather", "args": {"city": "Köln"}}}, [])


def test_a_call_cut_short_by_an_error_is_never_emitted() -> None:
    chunks = sent([ToolCallDelta(0, "a", "rm", '{"path": "/'), Failed(Overloaded("gone"))])
    assert [list(item) for item in chunks] == [["error"]]


@pytest.mark.parametrize("is_first", [True, False], ids=["before the text", "after the text"])
def test_a_signature_is_sent_with_its_part(is_first: bool) -> None:
    seen = ExtrasSeen(0, {"gemini": {"thoughtSignature": "YQ=="}})
    text = TextDelta(0, "x")
    parts = parts_of(sent([seen, text, Finished()] if is_first else [text, seen, Finished()]))
    expected: list[JsonObject] = [{"text": "x"}, {"text": "", "thoughtSignature": "YQ=="}, {"text": ""}]
    if is_first:
        expected = [{"text": "x", "thoughtSignature": "YQ=="}, {"text": ""}]
    assert parts == expected


def test_signed_parts_of_a_server_tool_are_sent_verbatim() -> None:
    call: JsonObject = {
        "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "args": {"queries": ["q"]}},
        "thoughtSignature": "YQ==",
    }
    response: JsonObject = {
        "toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "response": {}},
        "thoughtSignature": "Yg==",
    }
    metadata: JsonObject = {"groundingChunks": [web("https://a.test", "A")], "webSearchQueries": ["q"]}
    chunks = [
        chunk(call),
        chunk(response),
        chunk({"text": "x"}),
        chunk({"text": ""}, finishReason="STOP", groundingMetadata=metadata),
    ]
    again = sent(events_of(*chunks))
    assert parts_of(again) == [call, response, {"text": "x"}, {"text": ""}]
    assert streamed(*again).parts == streamed(*chunks).parts


def test_no_server_tool_part_is_invented_for_a_foreign_search() -> None:
    events: list[Event] = [
        SearchCalled(0, SearchCall("s", ("nile",), extras={"anthropic_messages": {}})),
        SearchReturned(1, SearchResult("s", (PAGE,), extras={"anthropic_messages": {}})),
        TextDelta(2, "x"),
        Finished(),
    ]
    chunks = sent(events)
    assert parts_of(chunks) == [{"text": "x"}, {"text": ""}]
    assert at(chunks[-1], "candidates", 0, "groundingMetadata") == {
        "webSearchQueries": ["nile"],
        "groundingChunks": [web("https://a.test", "A")],
    }


def test_citations_keep_their_text_though_parts_arrived_out_of_order() -> None:
    events: list[Event] = [
        TextDelta(1, "liegt am Rhein."),
        TextDelta(0, "Köln "),
        Cited(Citation(Span(5, 10), (Evidence(PAGE),))),
        Cited(Citation(Span(2, 8), (Evidence(PAGE),))),
        Finished(),
    ]
    metadata = at(sent(events)[-1], "candidates", 0, "groundingMetadata")
    assert at(metadata, "groundingSupports") == [support("liegt am Rhein.Köln ", "liegt", 0)]


@pytest.mark.parametrize("span", [Span(-1, 3), Span(3, 1), Span(0, 999), Span(999, 1000)])
def test_impossible_offsets_give_no_span(span: Span) -> None:
    chunks = sent([TextDelta(0, "x y z"), Cited(Citation(span, (Evidence(PAGE),))), Finished()])
    metadata = at(chunks[-1], "candidates", 0, "groundingMetadata")
    assert metadata == {"groundingChunks": [web("https://a.test", "A")]}


def test_an_error_is_sent_after_the_citations_so_far() -> None:
    chunks = sent(
        [
            TextDelta(0, "Köln "),
            Cited(Citation(Span(0, 4), (Evidence(PAGE),))),
            Warned("w", "careful"),
            Failed(RateLimited("slow down", retry_after=1.5)),
        ]
    )
    assert at(chunks[1], "candidates", 0, "groundingMetadata", "groundingSupports") == [
        support("Köln ", "Köln", 0)
    ]
    assert next(iter(chunks[2])) == "error"
    assert at(chunks[2], "error", "status") == "RESOURCE_EXHAUSTED"
    assert at(chunks[2], "groundwire", "warnings") == [{"code": "w", "message": "careful"}]


def test_a_stream_without_an_end_is_closed_with_an_error() -> None:
    encoder = Encoder(REPLY)
    encoder.feed(TextDelta(0, "x"))
    assert b'data: {"error":{"code":502,' in encoder.close()
    assert encoder.feed(TextDelta(0, "y")) == b""


def test_the_last_chunk_has_counts_and_names() -> None:
    last = sent([TextDelta(0, "x"), UsageSeen(Usage(5, 7)), Finished("length")])[-1]
    assert at(last, "candidates", 0, "finishReason") == "MAX_TOKENS"
    assert last["usageMetadata"] == {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}
    assert (last["modelVersion"], last["responseId"]) == ("gemini-x", "abc")


def test_the_array_form_is_one_json_array_that_grows() -> None:
    encoder = JsonArrayEncoder(REPLY)
    assert encoder.content_type == "application/json"
    pieces = [encoder.ping(), encoder.feed(TextDelta(0, "Köln ")), encoder.ping()]
    assert pieces[1].startswith(b"[{")
    pieces += [encoder.feed(TextDelta(0, "liegt am Rhein.")), encoder.feed(Finished()), encoder.close()]
    data = b"".join(pieces)
    assert data.count(b"\r\n,\r\n") == 2
    assert data.endswith(b"}\r\n]")
    assert [type(item) for item in json.loads(data)] == [dict, dict, dict]
    assert assemble(decoded(data, 5)).text == TEXT


def test_the_array_form_of_a_failure_is_an_array_too() -> None:
    data = JsonArrayEncoder(REPLY).feed(Failed(Overloaded("busy")))
    assert at(json.loads(data), 0, "error", "message") == "busy"


def test_calls_of_a_stream_equal_those_of_the_whole_body() -> None:
    chunks = [
        chunk({"text": "Moment. "}),
        chunk({"functionCall": {"name": "clock", "args": {"zone": "UTC"}}, "thoughtSignature": "YQ=="}),
        chunk({"text": ""}, finishReason="STOP"),
    ]
    answer = streamed(*chunks)
    assert answer.parts[1] == ToolCall(
        "call_r1_0", "clock", '{"zone":"UTC"}', {"gemini": {"thoughtSignature": "YQ==", "no_id": True}}
    )
    again = sent(events_of(*chunks), replace(REPLY, id="r1"))
    assert parts_of(again) == parts_of(chunks)
    assert streamed(*again).parts == answer.parts
