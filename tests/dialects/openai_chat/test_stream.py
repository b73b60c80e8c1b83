"""Streams, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.base import Reply
from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import Interrupted, Overloaded, RateLimited, UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    FunctionTool,
    Image,
    JsonObject,
    Message,
    Opaque,
    PartAdded,
    Reasoning,
    ReasoningDelta,
    Request,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)

A = "https://a.example/x"
REPLY = Reply("7", "m", 1790000000)
DONE = b"data: [DONE]\n\n"
END: JsonObject = {"[DONE]": True}


def _chunk(delta: object = None, finish: str | None = None, **fields: object) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    body = {"id": "c", "model": "m", "choices": [choice], **fields}
    return f"data: {json.dumps(body)}\n\n".encode()


def _note(url: str, start: int = 0, end: int = 0) -> JsonObject:
    body: JsonObject = {"url": url, "title": "T", "start_index": start, "end_index": end}
    return {"type": "url_citation", "url_citation": body}


def _events(*chunks: bytes) -> list[Event]:
    decoder = DIALECT.decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events += decoder.close()
    assert [event for event in events if isinstance(event, Finished | Failed)] == events[-1:]
    return events


def _read(*chunks: bytes) -> Answer:
    return assemble(_events(*chunks))


def _write(*events: Event, reply: Reply = REPLY) -> list[JsonObject]:
    """The payloads, the sentinel as `END`."""
    encoder = DIALECT.encoder(reply)
    data = b"".join(encoder.feed(event) for event in events) + encoder.close()
    lines = [line.removeprefix(b"data: ") for line in data.split(b"\n\n") if line]
    return [END if line == b"[DONE]" else json.loads(line) for line in lines]


def _deltas(payloads: list[JsonObject]) -> list[JsonObject]:
    found = []
    for payload in payloads:
        if payload.get("choices"):
            (choice,) = cast("list[JsonObject]", payload["choices"])
            found.append(cast("JsonObject", choice["delta"]))
    return found


LAST = {"annotations": [_note(A, 0, 4)]}


@pytest.mark.parametrize(
    "chunks",
    [
        (_chunk({"content": "Sun"}), _chunk({"content": "ny"}), _chunk(LAST, "stop")),
        (_chunk({**LAST, "content": ""}), _chunk({"content": "Sunny"}, "stop")),
        (_chunk({"content": "Sun", "annotations": None}), _chunk(LAST), _chunk({"content": "ny"}, "stop")),
        (_chunk({**LAST, "content": "Sun"}), _chunk({**LAST, "content": "ny"}), _chunk(LAST, "stop")),
    ],
)
def test_annotations_may_come_at_any_time_and_again(chunks: tuple[bytes, ...]) -> None:
    answer = _read(*chunks, DONE)
    assert answer.text == "Sunny"
    (citation,) = answer.citations
    assert (citation.span, citation.evidence[0].source.url) == (Span(0, 4), A)
    assert len(citation.evidence) == 1


def test_annotations_one_by_one_keep_their_numbers() -> None:
    urls = [f"https://{name}.example" for name in "abc"]
    answer = _read(
        *(_chunk({"content": "", "annotations": [_note(url)]}) for url in urls),
        _chunk({"content": "Sun[3]."}, "stop"),
        DONE,
    )
    placed = [citation for citation in answer.citations if citation.span]
    assert [item.source.url for citation in placed for item in citation.evidence] == [urls[2]]


def test_the_end_tells_citations_then_settles_then_counts() -> None:
    events = _events(
        _chunk({"role": "assistant", "content": "Sunny"}),
        _chunk(LAST, "stop"),
        b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\n',
        DONE,
    )
    assert [type(event) for event in events] == [
        Started,
        TextDelta,
        Cited,
        TextSettled,
        UsageSeen,
        Finished,
    ]


def test_the_sentinel_may_be_missing_if_the_reason_was_told() -> None:
    assert _read(_chunk({"content": "Sun"}, "length")).finish == "length"


def test_a_stream_cut_short_keeps_its_citations_and_says_so() -> None:
    answer = _read(_chunk(LAST), _chunk({"content": "Sunny"}))
    assert isinstance(answer.error, Interrupted)
    assert len(answer.citations) == 1


def test_an_early_sentinel_ends_the_answer() -> None:
    answer = _read(_chunk({"content": "Sun"}), DONE, _chunk({"content": " more"}, "stop"))
    assert (answer.text, answer.finish) == ("Sun", "other")


def test_a_sentinel_alone_is_no_answer() -> None:
    assert isinstance(_read(DONE).error, Interrupted)


def test_openrouters_repeated_end_and_comments() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "cost": 0.5}
    answer = _read(
        b": OPENROUTER PROCESSING\n\n",
        _chunk({"role": "assistant", "content": "Sun"}),
        _chunk({"role": "assistant", "content": ""}, "stop"),
        _chunk({"role": "assistant", "content": ""}, "stop", usage=usage),
        DONE,
    )
    assert (answer.text, answer.finish, answer.usage.cost) == ("Sun", "stop", 0.5)


def test_blank_frames_are_passed_over() -> None:
    assert _read(_chunk({"content": "Sun"}), b"data:\n\n", b"data:  \n\n", _chunk({}, "stop")).text == "Sun"


def test_calls_are_put_together_by_index() -> None:
    answer = _read(
        _chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}),
        _chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}]}),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"x":'}}]}),
        _chunk({"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]}),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
        _chunk({}, "tool_calls"),
        DONE,
    )
    assert answer.parts == (ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", "{}"))


def test_calls_without_an_index_are_told_apart_by_id() -> None:
    answer = _read(
        _chunk({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}),
        _chunk({"tool_calls": [{"id": "a", "function": {"arguments": "}"}}]}),
        _chunk({"tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "{}"}}]}, "stop"),
    )
    assert answer.parts == (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))
    assert answer.finish == "tool_calls"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_under_either_name(field: str) -> None:
    answer = _read(_chunk({field: "h"}), _chunk({field: "m"}), _chunk({"content": "x"}, "stop"))
    assert [part.text for part in answer.parts if isinstance(part, Reasoning)] == ["hm"]


def test_reasoning_told_twice_is_read_once() -> None:
    answer = _read(_chunk({"reasoning": "hm", "reasoning_content": "hm"}), _chunk({"content": "x"}, "stop"))
    assert answer.parts[0].text == "hm" if isinstance(answer.parts[0], Reasoning) else False


def test_pieces_of_reasoning_details_grow_together() -> None:
    def piece(index: int, **fields: object) -> dict[str, object]:
        return {"type": "reasoning.text", "index": index, **fields}

    answer = _read(
        _chunk({"reasoning": "h", "reasoning_details": [piece(0, text="h", signature=None)]}),
        _chunk({"reasoning": "m", "reasoning_details": [piece(0, text="m")]}),
        _chunk({"content": "x"}),
        _chunk({"reasoning_details": [piece(0, signature="sig")]}),
        _chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "g", "index": 1}]}, "stop"),
    )
    thoughts, words = answer.parts
    assert isinstance(words, Text)
    assert isinstance(thoughts, Reasoning)
    assert thoughts.text == "hm"
    assert thoughts.extras["openai_chat"]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "hm", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "g", "index": 1},
    ]


def test_refusals_stream_apart() -> None:
    answer = _read(_chunk({"refusal": "I "}), _chunk({"refusal": "won't."}), _chunk({}, "stop"))
    assert answer.parts == (Text("I won't.", "refusal"),)
    assert answer.finish == "refused"


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ({"error": {"message": "gone", "type": "server_error", "code": None}}, Overloaded),
        ({"error": {"message": "slow", "code": "rate_limit_exceeded"}}, RateLimited),
        ({"error": "model crashed"}, Overloaded),
        ({"object": "error", "message": "bad", "code": 503}, Overloaded),
        ({"error": {"code": 502, "message": "x"}, "choices": [{"finish_reason": "error"}]}, Overloaded),
        ({"choices": [{"delta": {}, "finish_reason": "error"}]}, Overloaded),
        ({"choices": [{"delta": {}, "error": {"code": 429, "message": "x"}}]}, RateLimited),
        ([1], UpstreamWireError),
        ({"choices": [{"delta": {"content": 1}}]}, UpstreamWireError),
    ],
)
def test_errors_inside_a_stream_keep_what_came_before(last: object, error: type[Exception]) -> None:
    answer = _read(_chunk(LAST), _chunk({"content": "Sunny"}), f"data: {json.dumps(last)}\n\n".encode(), DONE)
    assert type(answer.error) is error
    assert answer.text == "Sunny"
    assert len(answer.citations) == 1


def test_a_named_error_event_is_an_error() -> None:
    answer = _read(_chunk({"content": "x"}), b'event: error\ndata: {"message": "gone"}\n\n')
    assert str(answer.error) == "gone"


def test_a_whole_body_in_the_place_of_a_stream_is_read() -> None:
    body = {"choices": [{"message": {"content": "Sun"}, "finish_reason": "stop"}]}
    assert _read(b"  \n " + json.dumps(body).encode()).text == "Sun"
    assert isinstance(_read(b'{"error": {"code": 500, "message": "x"}}').error, Overloaded)


def test_perplexitys_repeated_lists_and_messages_are_told_once() -> None:
    pages = [{"title": "A", "url": A, "date": "2026-01-01"}]

    def chunk(delta: str, so_far: str, finish: str | None = None) -> bytes:
        choice = {
            "index": 0,
            "delta": {"content": delta},
            "message": {"content": so_far},
            "finish_reason": finish,
        }
        body = {"object": "chat.completion", "choices": [choice], "citations": [A], "search_results": pages}
        return f"data: {json.dumps(body)}\r\n\r\n".encode()

    done = {"object": "chat.completion.done", "choices": [{"message": {"content": "Sun[1]."}}]}
    events = _events(
        chunk("Sun", "Sun"), chunk("[1].", "Sun[1].", "stop"), f"data: {json.dumps(done)}\r\n\r\n".encode()
    )
    answer = assemble(events)
    assert answer.text == "Sun[1]."
    assert [citation.span for citation in answer.citations] == [Span(3, 6)]
    assert [type(event) for event in events[:3]] == [Started, SearchReturned, TextDelta]
    assert sum(isinstance(event, SearchReturned) for event in events) == 1


def test_private_signs_cut_by_chunks_are_taken_out() -> None:
    sign = "\ue200cite\ue202turn0search0\ue201"
    text = f"Sun{sign} today."
    start = text.index("today")
    last = {"annotations": [_note(A, start, start + 5)]}
    answer = _read(*(_chunk({"content": sign_}) for sign_ in text), _chunk(last, "stop"), DONE)
    assert answer.text == "Sun today."
    assert answer.citations[0].span == Span(4, 9)


def test_a_stream_and_a_body_are_the_same_answer() -> None:
    message = {
        "content": "Sun[1].",
        "reasoning": "hm",
        "annotations": [_note(A)],
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    beside = {
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        "search_results": [{"title": "B", "url": "https://b.example"}],
    }
    body = {
        "id": "c",
        "model": "m",
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        **beside,
    }
    streamed = _read(
        _chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}),
        _chunk({"content": "Sun[1]."}),
        _chunk({"reasoning": "hm"}),
        _chunk({"annotations": [_note(A)]}, "tool_calls", **beside),
        DONE,
    )
    assert streamed == assemble(DIALECT.decode_response(cast("JsonObject", body)))


def test_recorded_streams_give_the_same_answer_however_they_are_cut(recordings: Path) -> None:
    files = [*recordings.glob("open*-chat/*.sse"), *recordings.glob("synthetic/*chat-stream*.sse")]
    assert len(files) >= 5
    for file in files:
        data = file.read_bytes()
        whole = _read(data)
        assert _read(*(data[at : at + 1] for at in range(len(data)))) == whole
        assert _read(*(data[at : at + 71] for at in range(0, len(data), 71))) == whole
        told = "".join(
            json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
            for line in data.decode().split("\n")
            if line.startswith('data: {"id"') and '"choices":[{' in line
        )
        assert whole.text == told


CITATION = Citation(Span(0, 3), (Evidence(Source(A, "T"), "quote"), Evidence(Source("https://b.example"))))


def test_a_stream_is_written_as_openai_writes_it() -> None:
    payloads = _write(
        Started("x", "y"),
        TextDelta(0, "Sun"),
        TextDelta(0, " ☀"),
        Cited(CITATION),
        UsageSeen(Usage(1, 2)),
        Finished(),
    )
    assert payloads[-1] == END
    assert {(p["id"], p["object"], p["created"], p["model"]) for p in payloads[:-1]} == {
        ("chatcmpl-7", "chat.completion.chunk", 1790000000, "m")
    }
    role, first, second, last = _deltas(payloads)
    assert role == {"role": "assistant", "content": "", "refusal": None}
    assert (first, second) == ({"content": "Sun"}, {"content": " ☀"})
    assert last["annotations"] == [
        {
            "type": "url_citation",
            "url_citation": {"start_index": 0, "end_index": 3, "title": title, "url": url, **rest},
        }
        for url, title, rest in ((A, "T", {"content": "quote"}), ("https://b.example", "", {}))
    ]
    reasons = [cast("list[JsonObject]", p["choices"])[0]["finish_reason"] for p in payloads[:-2]]
    assert reasons == [None, None, None, "stop"]
    assert payloads[-2]["choices"] == []
    assert payloads[-2]["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def test_an_uncited_stream_ends_with_empty_annotations() -> None:
    assert _deltas(_write(TextDelta(0, "x"), Finished()))[-1] == {"annotations": []}


@pytest.mark.parametrize(
    ("extras", "told"),
    [
        ({}, True),
        ({"openai_chat": {}}, False),
        ({"openai_chat": {"stream_options": {"include_usage": True}}}, True),
        ({"openai_chat": {"stream_options": {"include_usage": False}}}, False),
    ],
)
def test_counts_are_sent_to_those_who_ask(extras: dict[str, JsonObject], told: bool) -> None:
    reply = Reply(request=Request((Message("user", (Text("q"),)),), extras=extras))
    payloads = _write(TextDelta(0, "x"), UsageSeen(Usage(1, 2)), Finished(), reply=reply)
    assert any("usage" in payload for payload in payloads[:-1]) is told


def test_reasoning_calls_and_pictures_are_written() -> None:
    deltas = _deltas(
        _write(
            ReasoningDelta(0, "hm"),
            ToolCallDelta(1, "a", "f"),
            ToolCallDelta(1, arguments="{}"),
            ToolCallDelta(2, arguments="x"),
            ToolCallDelta(2, name="late"),
            PartAdded(3, Image("image/png", "AA==")),
            Finished("tool_calls"),
        )
    )
    assert deltas[1:-1] == [
        {"reasoning_content": "hm"},
        {
            "tool_calls": [
                {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
        {
            "tool_calls": [
                {"index": 1, "id": "call_7_1", "type": "function", "function": {"name": "", "arguments": "x"}}
            ]
        },
        {"tool_calls": [{"index": 1, "function": {"arguments": "", "name": "late"}}]},
        {"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
    ]


def test_a_caller_who_declared_functions_is_streamed_a_function_call() -> None:
    tool = FunctionTool("f", extras={"openai_chat": {"legacy": True}})
    reply = Reply(request=Request((Message("user", (Text("q"),)),), tools=(tool,)))
    payloads = _write(
        ToolCallDelta(0, "a", "f"), ToolCallDelta(0, arguments="{}"), Finished("tool_calls"), reply=reply
    )
    assert [delta["function_call"] for delta in _deltas(payloads) if "function_call" in delta] == [
        {"name": "f", "arguments": ""},
        {"arguments": "{}"},
    ]
    assert cast("list[JsonObject]", payloads[-2]["choices"])[0]["finish_reason"] == "function_call"


def test_a_failure_tells_the_citations_then_the_error_and_nothing_more() -> None:
    payloads = _write(TextDelta(0, "Sun"), Cited(CITATION), Failed(RateLimited("slow")))
    assert len(cast("list[JsonObject]", _deltas(payloads)[-1]["annotations"])) == 2
    assert payloads[-1] == {
        "error": {
            "message": "slow",
            "type": "rate_limit_error",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    }


def test_an_answer_that_never_ended_is_told_as_cut() -> None:
    assert cast("JsonObject", _write(TextDelta(0, "x"))[-1]["error"])["code"] == "interrupted"


def test_spans_follow_text_that_was_sent_out_of_order() -> None:
    payloads = _write(
        TextDelta(2, "World"),
        TextDelta(0, "Hello "),
        TextDelta(1, "no", "refusal"),
        Cited(Citation(Span(8, 13), (Evidence(Source(A)),))),
        Cited(Citation(Span(0, 5), (Evidence(Source(A)),))),
        Cited(Citation(Span(6, 8), (Evidence(Source(A)),))),
        Finished(),
    )
    text = "".join(str(delta.get("content") or "") for delta in _deltas(payloads))
    notes = cast("list[dict[str, JsonObject]]", _deltas(payloads)[-1]["annotations"])
    spans = [(note["url_citation"]["start_index"], note["url_citation"]["end_index"]) for note in notes]
    found = [text[cast("int", start) : cast("int", end)] for start, end in spans]
    assert found == ["Hello", "", "World"]


def test_warnings_and_searches_stand_on_the_last_chunk() -> None:
    payloads = _write(
        SearchCalled(0, SearchCall("s", ("q",))),
        SearchReturned(1, SearchResult("s", (Source("https://c.example", "C"),))),
        TextDelta(2, "x"),
        Warned("code", "message"),
        Finished(),
    )
    last = payloads[-2]
    assert last["search_results"] == [{"title": "C", "url": "https://c.example", "date": None, "snippet": ""}]
    extension = cast("JsonObject", last["groundwire"])
    assert extension["warnings"] == [{"code": "code", "message": "message"}]
    assert extension["searches"] == [{"query": "q", "kind": "search", "state": "done"}]


EVIDENCE = st.builds(
    lambda url: Evidence(Source(url, "T"), "q"), st.sampled_from([A, "", "https://b.example"])
)
SPANS = st.none() | st.builds(Span, st.integers(-3, 30), st.integers(-3, 30))
PARTS = st.integers(0, 3)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.just(Started("i", "m")),
    st.builds(TextDelta, PARTS, st.text(max_size=5), st.sampled_from(["", "refusal", "commentary"])),
    st.builds(TextSettled, PARTS),
    st.builds(ReasoningDelta, PARTS, st.text(max_size=5)),
    st.builds(
        ToolCallDelta, PARTS, st.sampled_from(["", "i"]), st.sampled_from(["", "f"]), st.text(max_size=3)
    ),
    st.builds(SearchStarted, PARTS, st.just("s")),
    st.builds(SearchCalled, PARTS, st.just(SearchCall("s", ("q",)))),
    st.builds(SearchReturned, PARTS, st.just(SearchResult("s", (Source(A),)))),
    st.builds(PartAdded, PARTS, st.sampled_from([Image(url=A), Opaque("gemini", {})])),
    st.builds(ExtrasSeen, PARTS, st.just({"openai_chat": {"x": 1}})),
    st.builds(Cited, st.builds(Citation, SPANS, st.tuples(EVIDENCE), st.sampled_from(["claim", "marker"]))),
    st.just(UsageSeen(Usage(searches=1))),
    st.just(Warned("c", "m")),
    st.sampled_from([Finished(), Finished("refused"), Failed(Overloaded("x"))]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(EVENTS, max_size=12))
def test_any_events_make_a_stream_that_can_be_read(events: list[Event]) -> None:
    encoder = DIALECT.encoder(REPLY)
    data = b"".join(encoder.feed(event) for event in events) + encoder.close()
    answer = _read(data)
    assert (answer.finish is None) is isinstance(
        next((event for event in events if isinstance(event, Finished | Failed)), Failed(Overloaded(""))),
        Failed,
    )
    assert not isinstance(answer.error, UpstreamWireError)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            [
                "choices", "delta", "message", "content", "annotations", "url_citation", "url", "index",
                "tool_calls", "function", "usage", "cost", "citations", "search_results", "error", "code",
                "metadata", "reasoning_details", "finish_reason", "images", "image_url", "refusal", "type",
            ]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(JSON, st.integers(1, 40))
def test_whatever_comes_ends_with_one_terminal_event(value: object, size: int) -> None:
    data = _chunk({"content": "x"}) + f"data: {json.dumps(value)}\n\n".encode() + DONE
    _events(*(data[at : at + size] for at in range(0, len(data), size)))


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_whatever_body_comes_is_an_answer_or_a_wire_error(value: object) -> None:
    body = {"choices": [{"index": 0, "message": value, "finish_reason": "stop"}], "usage": value}
    try:
        events = DIALECT.decode_response(cast("JsonObject", body))
    except UpstreamWireError:
        return
    assert isinstance(events[-1], Finished | Failed)
