"""Streams, decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import Interrupted, Overloaded, RateLimited, UpstreamWireError
from groundwire.model import (
    Cited,
    Failed,
    Finished,
    JsonObject,
    Reasoning,
    SearchReturned,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    UsageSeen,
    assemble,
)
from tests.dialects.openai_chat.wire import DONE, A, decode_events, decode_stream, sse_chunk, url_citation
from tests.model.strategies import examples

LAST = {"annotations": [url_citation(A, 0, 4)]}


@pytest.mark.parametrize(
    "chunks",
    [
        (sse_chunk({"content": "Sun"}), sse_chunk({"content": "ny"}), sse_chunk(LAST, "stop")),
        (sse_chunk({**LAST, "content": ""}), sse_chunk({"content": "Sunny"}, "stop")),
        (
            sse_chunk({"content": "Sun", "annotations": None}),
            sse_chunk(LAST),
            sse_chunk({"content": "ny"}, "stop"),
        ),
        (
            sse_chunk({**LAST, "content": "Sun"}),
            sse_chunk({**LAST, "content": "ny"}),
            sse_chunk(LAST, "stop"),
        ),
    ],
)
def test_annotations_may_arrive_at_any_time_and_repeatedly(chunks: tuple[bytes, ...]) -> None:
    answer = decode_stream(*chunks, DONE)
    assert answer.text == "Sunny"
    (citation,) = answer.citations
    assert (citation.span, citation.evidence[0].source.url) == (Span(0, 4), A)
    assert len(citation.evidence) == 1


def test_annotations_one_by_one_keep_their_numbers() -> None:
    urls = [f"https://{name}.example" for name in "abc"]
    answer = decode_stream(
        *(sse_chunk({"content": "", "annotations": [url_citation(url)]}) for url in urls),
        sse_chunk({"content": "Sun[3]."}, "stop"),
        DONE,
    )
    placed = [citation for citation in answer.citations if citation.span]
    assert [item.source.url for citation in placed for item in citation.evidence] == [urls[2]]


def test_the_stream_ends_with_citations_then_settled_text_then_usage() -> None:
    events = decode_events(
        sse_chunk({"role": "assistant", "content": "Sunny"}),
        sse_chunk(LAST, "stop"),
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


def test_the_sentinel_may_be_missing_if_there_was_a_finish_reason() -> None:
    assert decode_stream(sse_chunk({"content": "Sun"}, "length")).finish == "length"


def test_an_interrupted_stream_keeps_its_citations() -> None:
    answer = decode_stream(sse_chunk(LAST), sse_chunk({"content": "Sunny"}))
    assert isinstance(answer.error, Interrupted)
    assert len(answer.citations) == 1


def test_an_early_sentinel_ends_the_answer() -> None:
    answer = decode_stream(sse_chunk({"content": "Sun"}), DONE, sse_chunk({"content": " more"}, "stop"))
    assert (answer.text, answer.finish) == ("Sun", "other")


def test_a_sentinel_alone_is_not_an_answer() -> None:
    assert isinstance(decode_stream(DONE).error, Interrupted)


def test_openrouters_repeated_end_and_comments() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "cost": 0.5}
    answer = decode_stream(
        b": OPENROUTER PROCESSING\n\n",
        sse_chunk({"role": "assistant", "content": "Sun"}),
        sse_chunk({"role": "assistant", "content": ""}, "stop"),
        sse_chunk({"role": "assistant", "content": ""}, "stop", usage=usage),
        DONE,
    )
    assert (answer.text, answer.finish, answer.usage.cost) == ("Sun", "stop", 0.5)


def test_blank_frames_are_skipped() -> None:
    assert (
        decode_stream(sse_chunk({"content": "Sun"}), b"data:\n\n", b"data:  \n\n", sse_chunk({}, "stop")).text
        == "Sun"
    )


def test_calls_are_assembled_by_index() -> None:
    answer = decode_stream(
        sse_chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}),
        sse_chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}]}),
        sse_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"x":'}}]}),
        sse_chunk({"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]}),
        sse_chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
        sse_chunk({}, "tool_calls"),
        DONE,
    )
    assert answer.parts == (ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", "{}"))


def test_calls_without_an_index_are_distinguished_by_id() -> None:
    answer = decode_stream(
        sse_chunk({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}),
        sse_chunk({"tool_calls": [{"id": "a", "function": {"arguments": "}"}}]}),
        sse_chunk({"tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "{}"}}]}, "stop"),
    )
    assert answer.parts == (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))
    assert answer.finish == "tool_calls"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_under_either_name(field: str) -> None:
    answer = decode_stream(
        sse_chunk({field: "h"}), sse_chunk({field: "m"}), sse_chunk({"content": "x"}, "stop")
    )
    assert [part.text for part in answer.parts if isinstance(part, Reasoning)] == ["hm"]


def test_reasoning_under_both_names_is_read_once() -> None:
    answer = decode_stream(
        sse_chunk({"reasoning": "hm", "reasoning_content": "hm"}), sse_chunk({"content": "x"}, "stop")
    )
    assert answer.parts[0].text == "hm" if isinstance(answer.parts[0], Reasoning) else False


def test_fragments_of_reasoning_details_are_joined() -> None:
    def detail(index: int, **fields: object) -> dict[str, object]:
        return {"type": "reasoning.text", "index": index, **fields}

    answer = decode_stream(
        sse_chunk({"reasoning": "h", "reasoning_details": [detail(0, text="h", signature=None)]}),
        sse_chunk({"reasoning": "m", "reasoning_details": [detail(0, text="m")]}),
        sse_chunk({"content": "x"}),
        sse_chunk({"reasoning_details": [detail(0, signature="sig")]}),
        sse_chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "g", "index": 1}]}, "stop"),
    )
    reasoning, text_part = answer.parts
    assert isinstance(text_part, Text)
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "hm"
    assert reasoning.extras["openai_chat"]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "hm", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "g", "index": 1},
    ]


def test_refusals_are_streamed_separately() -> None:
    answer = decode_stream(
        sse_chunk({"refusal": "I "}), sse_chunk({"refusal": "won't."}), sse_chunk({}, "stop")
    )
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
def test_errors_inside_a_stream_keep_the_earlier_events(last: object, error: type[Exception]) -> None:
    answer = decode_stream(
        sse_chunk(LAST), sse_chunk({"content": "Sunny"}), f"data: {json.dumps(last)}\n\n".encode(), DONE
    )
    assert type(answer.error) is error
    assert answer.text == "Sunny"
    assert len(answer.citations) == 1


def test_a_named_error_event_is_an_error() -> None:
    answer = decode_stream(sse_chunk({"content": "x"}), b'event: error\ndata: {"message": "gone"}\n\n')
    assert str(answer.error) == "gone"


def test_a_whole_body_instead_of_a_stream_is_read() -> None:
    body = {"choices": [{"message": {"content": "Sun"}, "finish_reason": "stop"}]}
    assert decode_stream(b"  \n " + json.dumps(body).encode()).text == "Sun"
    assert isinstance(decode_stream(b'{"error": {"code": 500, "message": "x"}}').error, Overloaded)


def test_perplexitys_repeated_lists_and_messages_are_emitted_once() -> None:
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
    events = decode_events(
        chunk("Sun", "Sun"), chunk("[1].", "Sun[1].", "stop"), f"data: {json.dumps(done)}\r\n\r\n".encode()
    )
    answer = assemble(events)
    assert answer.text == "Sun[1]."
    assert [citation.span for citation in answer.citations] == [Span(3, 6)]
    assert [type(event) for event in events[:3]] == [Started, SearchReturned, TextDelta]
    assert sum(isinstance(event, SearchReturned) for event in events) == 1


def test_private_use_characters_cut_by_chunks_are_removed() -> None:
    marker = "\ue200cite\ue202turn0search0\ue201"
    text = f"Sun{marker} today."
    start = text.index("today")
    last = {"annotations": [url_citation(A, start, start + 5)]}
    answer = decode_stream(
        *(sse_chunk({"content": character}) for character in text), sse_chunk(last, "stop"), DONE
    )
    assert answer.text == "Sun today."
    assert answer.citations[0].span == Span(4, 9)


def test_a_stream_and_a_body_are_the_same_answer() -> None:
    message = {
        "content": "Sun[1].",
        "reasoning": "hm",
        "annotations": [url_citation(A)],
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    extra_fields = {
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        "search_results": [{"title": "B", "url": "https://b.example"}],
    }
    body = {
        "id": "c",
        "model": "m",
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        **extra_fields,
    }
    streamed = decode_stream(
        sse_chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}),
        sse_chunk({"content": "Sun[1]."}),
        sse_chunk({"reasoning": "hm"}),
        sse_chunk({"annotations": [url_citation(A)]}, "tool_calls", **extra_fields),
        DONE,
    )
    assert streamed == assemble(DIALECT.decode_response(cast("JsonObject", body)))


def test_recorded_streams_give_the_same_answer_however_they_are_cut(recordings: Path) -> None:
    files = [*recordings.glob("open*-chat/*.sse"), *recordings.glob("synthetic/*chat-stream*.sse")]
    assert len(files) >= 5
    for file in files:
        data = file.read_bytes()
        whole = decode_stream(data)
        assert decode_stream(*(data[at : at + 1] for at in range(len(data)))) == whole
        assert decode_stream(*(data[at : at + 71] for at in range(0, len(data), 71))) == whole
        streamed_text = "".join(
            json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
            for line in data.decode().split("\n")
            if line.startswith('data: {"id"') and '"choices":[{' in line
        )
        assert whole.text == streamed_text


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


@settings(max_examples=examples(200), deadline=None)
@given(JSON, st.integers(1, 40))
def test_any_input_ends_with_one_terminal_event(value: object, size: int) -> None:
    data = sse_chunk({"content": "x"}) + f"data: {json.dumps(value)}\n\n".encode() + DONE
    decode_events(*(data[at : at + size] for at in range(0, len(data), size)))


@settings(max_examples=examples(200), deadline=None)
@given(JSON)
def test_any_body_is_an_answer_or_a_wire_error(value: object) -> None:
    body = {"choices": [{"index": 0, "message": value, "finish_reason": "stop"}], "usage": value}
    try:
        events = DIALECT.decode_response(cast("JsonObject", body))
    except UpstreamWireError:
        return
    assert isinstance(events[-1], Finished | Failed)
