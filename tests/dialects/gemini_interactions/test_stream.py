"""Streams, decoded and encoded."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini_interactions import DIALECT
from groundwire.errors import Interrupted, Overloaded, TimedOut, UpstreamWireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
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
from tests.dialects.gemini_interactions.bodies import (
    CREATED,
    cites,
    completed,
    decode_events,
    delta,
    interaction,
    read,
    start,
    stop,
    stream,
    text_step,
)

A = "https://a.example/"
CITED = Cited(Citation(Span(0, 4), (Evidence(Source(A, state="cited")),)))


def frames(events: Sequence[Event]) -> list[JsonObject]:
    """What the encoder writes, without the sentinel."""
    encoder = DIALECT.encoder(Reply("a", "m"))
    data = b"".join(encoder.feed(event) for event in events)
    *blocks, done, rest = data.decode().split("\n\n")
    assert (done, rest) == ("event: done\ndata: [DONE]", "")
    written = []
    for block in blocks:
        name, body = block.split("\n")
        frame = json.loads(body.removeprefix("data: "))
        assert name == f"event: {frame['event_type']}"
        written.append(frame)
    return written


def kinds(written: Sequence[JsonObject]) -> list[str]:
    return [str(frame["event_type"]).removeprefix("interaction.") for frame in written]


def test_a_stream_gives_the_same_answer_as_the_whole_body() -> None:
    data = stream(
        CREATED,
        start(0, type="thought"),
        delta(0, type="thought_summary", content={"type": "text", "text": "Hm."}),
        delta(0, type="thought_signature", signature="c2ln"),
        stop(0),
        start(1, type="model_output"),
        delta(1, type="text", text="Wet. "),
        delta(1, type="text", text="Dry."),
        delta(1, type="text_annotation_delta", annotations=[cites(A, 5, 9)]),
        stop(1),
        start(2, type="google_search_call", id="s", signature=""),
        delta(2, type="google_search_call", arguments={"queries": ["nile"]}),
        stop(2),
        start(3, type="google_search_result", call_id="s"),
        delta(3, type="google_search_result", result=[{"search_suggestions": "<b>"}], is_error=False),
        stop(3),
        start(4, type="code_execution_call", id="x"),
        delta(4, type="code_execution_call", arguments={"code": "1"}),
        stop(4),
        start(5, type="function_call", id="c", name="f", arguments={}),
        delta(5, type="arguments_delta", arguments='{"x"'),
        delta(5, type="arguments_delta", arguments=":1}"),
        stop(5),
        completed("requires_action", usage={"total_input_tokens": 3}, service_tier="standard"),
    )
    whole = interaction(
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm."}]},
        text_step("Wet. Dry.", cites(A, 5, 9)),
        {"type": "google_search_call", "id": "s", "arguments": {"queries": ["nile"]}},
        {
            "type": "google_search_result",
            "call_id": "s",
            "result": [{"search_suggestions": "<b>"}],
            "is_error": False,
        },
        {"type": "code_execution_call", "id": "x", "arguments": {"code": "1"}},
        {"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}},
        status="requires_action",
        usage={"total_input_tokens": 3},
        service_tier="standard",
    )
    assert assemble(decode_events(data)) == read(whole)


def test_steps_are_kept_apart_by_their_index() -> None:
    data = stream(
        CREATED,
        start(0, type="model_output"),
        delta(0, type="text", text="One "),
        start(1, type="thought"),
        delta(1, type="thought_summary", content={"type": "text", "text": "Hm."}),
        delta(0, type="text", text="text."),
        stop(1),
        stop(0),
        completed(),
    )
    assert assemble(decode_events(data)).text == "One text."


def test_arguments_may_arrive_whole_with_the_start() -> None:
    data = stream(CREATED, start(0, type="function_call", id="c", name="f", arguments={"x": 1}), stop(0))
    assert assemble(decode_events(data)).parts == (ToolCall("c", "f", '{"x":1}'),)


def test_a_delta_without_a_start_is_not_lost() -> None:
    assert (
        assemble(decode_events(stream(CREATED, delta(7, type="text", text="Hi."), completed()))).text == "Hi."
    )


def test_unknown_events_and_deltas_are_skipped() -> None:
    odd: JsonObject = {"event_type": "interaction.danced", "index": []}
    data = stream(
        CREATED, odd, start(0, type="thought"), delta(0, type="thought_smell", smell=1), stop(0), completed()
    )
    answer = assemble(decode_events(data))
    assert (answer.parts, answer.finish) == ((), "stop")


def test_steps_that_arrive_only_with_the_end_are_emitted() -> None:
    data = stream(CREATED, completed(steps=[text_step("Hi.")]))
    assert assemble(decode_events(data)).text == "Hi."


def test_an_error_event_ends_the_stream_and_earlier_text_is_kept() -> None:
    error: JsonObject = {
        "event_type": "error",
        "error": {"code": "gateway_timeout", "message": "Deadline expired."},
    }
    events = decode_events(stream(CREATED, delta(0, type="text", text="Hi."), error, completed()))
    assert events[-1] == Failed(TimedOut("Deadline expired.", upstream_code="gateway_timeout"))
    assert events[-2] == TextSettled(0)


def test_an_error_event_for_blocked_output_is_a_finish_reason() -> None:
    error: JsonObject = {"event_type": "error", "error": {"code": "safety", "message": "Blocked."}}
    assert decode_events(stream(CREATED, error))[-1] == Finished("filtered", "safety")


def test_a_bare_error_body_is_read() -> None:
    body = b'[{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]'
    assert decode_events(body) == [Failed(Overloaded("busy", upstream_code="unavailable"))]


def test_a_bare_interaction_is_read() -> None:
    events = decode_events(json.dumps(interaction(text_step("Hi."))).encode())
    assert assemble(events) == read(interaction(text_step("Hi.")))


def test_a_stream_that_just_ends_was_cut() -> None:
    events = decode_events(stream(CREATED, delta(0, type="text", text="Hi.")))
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, Interrupted)


def test_the_last_status_replaces_a_missing_end() -> None:
    update: JsonObject = {
        "event_type": "interaction.status_update",
        "interaction_id": "v1_a",
        "status": "cancelled",
    }
    events = decode_events(stream(CREATED, delta(0, type="text", text="Hi."), update))
    assert events[-2:] == [TextSettled(0), Finished("other", "cancelled")]


@pytest.mark.parametrize(
    "frame",
    [
        {"event_type": 3},
        {"event_type": "step.delta", "index": "x"},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": 1}},
        {"event_type": "step.start", "index": 0, "step": []},
        {"event_type": "interaction.completed", "interaction": "done"},
    ],
)
def test_a_known_field_of_the_wrong_type_is_the_providers_fault(frame: JsonObject) -> None:
    data = f"data: {json.dumps(frame)}\n\n".encode()
    events = decode_events(data)
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, UpstreamWireError)


def test_text_is_sent_at_once_and_its_annotations_when_something_else_begins() -> None:
    written = frames(
        [
            Started("x", "m"),
            TextDelta(0, "Wet. "),
            CITED,
            TextSettled(0),
            TextDelta(1, "Dry."),
            TextSettled(1),
            SearchCalled(2, SearchCall("s", ("nile",))),
            SearchReturned(3, SearchResult("s")),
            UsageSeen(Usage(input_tokens=3)),
            Finished(),
        ]
    )
    assert kinds(written) == [
        *("created", "status_update"),
        *("step.start", "step.delta", "step.delta", "step.delta", "step.stop"),
        *("step.start", "step.delta", "step.stop"),
        *("step.start", "step.delta", "step.stop"),
        "completed",
    ]
    assert written[5]["delta"] == {
        "annotations": [
            {"type": "url_citation", "url": A, "start_index": 0, "end_index": 4},
        ],
        "type": "text_annotation_delta",
    }


def test_citations_before_their_text_or_at_the_end_get_spans() -> None:
    before: list[Event] = [Started(), CITED, TextDelta(0, "Wet. Dry."), TextSettled(0), Finished()]
    after: list[Event] = [Started(), TextDelta(0, "Wet. Dry."), CITED, Finished()]
    assert frames(before) == frames(after)


def test_an_unsettled_text_stays_open_while_other_steps_begin_and_end() -> None:
    written = frames(
        [
            Started(),
            TextDelta(0, "Wet."),
            SearchCalled(1, SearchCall("s", ("nile",))),
            CITED,
            Finished(),
        ]
    )
    assert kinds(written)[2:-1] == [
        *("step.start", "step.delta"),
        *("step.start", "step.delta", "step.stop"),
        *("step.delta", "step.stop"),
    ]
    assert [frame.get("index") for frame in written[2:-1]] == [0, 0, 1, 1, 1, 0, 0]


def test_a_citation_that_arrives_too_late_keeps_its_source() -> None:
    events: list[Event] = [
        Started(),
        TextDelta(0, "Wet."),
        TextSettled(0),
        ReasoningDelta(1, "Hm."),
        CITED,
        Finished(),
    ]
    encoder = DIALECT.encoder(Reply("a", "m"))
    answer = assemble(decode_events(b"".join(encoder.feed(event) for event in events)))
    assert answer.text == "Wet."
    assert [(item.span, item.evidence[0].source.url) for item in answer.citations] == [(None, A)]


def test_function_calls_may_be_interleaved_and_named_late() -> None:
    events: list[Event] = [
        Started(),
        ToolCallDelta(0, "c0", "", '{"a"'),
        ToolCallDelta(1, "c1", "g", "{"),
        ToolCallDelta(0, "", "f", ":1}"),
        ToolCallDelta(1, arguments="}"),
        Finished("tool_calls"),
    ]
    encoder = DIALECT.encoder(Reply("a", "m"))
    answer = assemble(decode_events(b"".join(encoder.feed(event) for event in events)))
    assert answer.parts == (ToolCall("c1", "g", "{}"), ToolCall("c0", "f", '{"a":1}'))


def test_signatures_are_sent_back_with_their_steps() -> None:
    events: list[Event] = [
        Started(),
        ReasoningDelta(0, ""),
        ExtrasSeen(0, {"gemini_interactions": {"signature": "c2ln"}}),
        ToolCallDelta(1, "c", "f", "{}"),
        ExtrasSeen(1, {"gemini_interactions": {"signature": "eA=="}}),
        ExtrasSeen(1, {"anthropic_messages": {"signature": "no"}}),
        Finished("tool_calls"),
    ]
    deltas = [frame["delta"] for frame in frames(events) if "delta" in frame]
    assert deltas == [
        {"signature": "c2ln", "type": "thought_signature"},
        {"arguments": "{}", "type": "arguments_delta"},
        {"arguments": "", "signature": "eA==", "type": "arguments_delta"},
    ]


def test_foreign_opaque_parts_are_not_encoded() -> None:
    events: list[Event] = [Started(), PartAdded(0, Opaque("anthropic_messages", {"type": "x"})), Finished()]
    assert kinds(frames(events)) == ["created", "status_update", "completed"]


def test_an_error_closes_what_is_open_and_ends_the_stream() -> None:
    written = frames([Started(), TextDelta(0, "Wet."), Failed(Overloaded("busy"))])
    assert kinds(written)[-2:] == ["step.stop", "error"]
    assert written[-1]["error"] == {"code": "service_unavailable", "message": "busy"}


def test_warnings_are_on_the_last_event() -> None:
    warning = Warned("x", "y")
    expected = {"version": 1, "warnings": [{"code": "x", "message": "y"}]}
    finished = frames([Started(), warning, Finished()])[-1]["interaction"]
    assert isinstance(finished, dict)
    assert finished["groundwire"] == expected
    assert frames([warning, Failed(Overloaded("busy"))])[-1]["groundwire"] == expected


def test_there_is_no_keep_alive() -> None:
    assert DIALECT.encoder(Reply()).ping() == b""
