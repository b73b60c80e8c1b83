"""Streams, encoded as clients of OpenAI expect them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.errors import GroundwireError, Overloaded, RateLimited
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    FinishReason,
    Image,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)
from tests.dialects.openai_responses.wire import (
    PAGE,
    REPLY,
    decode_events,
    encode_events,
    event_types,
    items_of,
    payloads,
    value_at,
)

NATIVE = "openai_responses"


def cited(start: int, end: int, url: str = PAGE) -> Cited:
    return Cited(Citation(Span(start, end), (Evidence(Source(url, "A", "cited")),)))


def events_of(data: bytes, name: str) -> list[JsonObject]:
    return [payload for payload in payloads(data) if payload["type"] == f"response.{name}"]


def final(data: bytes) -> JsonObject:
    response = payloads(data)[-1]["response"]
    assert isinstance(response, dict)
    return response


def test_a_search_and_an_answer_are_sent_in_the_order_of_openai() -> None:
    data = encode_events(
        [
            Started("r", "m"),
            SearchStarted(0, "ws_1"),
            SearchCalled(0, SearchCall("ws_1", ("rain",))),
            SearchReturned(1, SearchResult("ws_1", (Source(PAGE),))),
            TextDelta(2, "It rains"),
            cited(0, 8),
            TextDelta(2, "."),
            TextSettled(2),
            UsageSeen(Usage(1, 2)),
            Finished(),
        ]
    )
    assert event_types(data) == [
        "created",
        "in_progress",
        "output_item.added",
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.annotation.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    sent = payloads(data)
    assert [payload["sequence_number"] for payload in sent] == list(range(len(sent)))
    assert value_at(sent[2], "item", "action") == {"type": "search"}
    assert value_at(sent[6], "item", "action", "sources", 0, "url") == PAGE
    assert [value_at(payload, "logprobs") for payload in sent if "delta" in payload] == [[], []]
    assert value_at(sent[0], "response", "status") == "in_progress"


def test_the_last_event_is_the_whole_response() -> None:
    events: list[Event] = [
        Started("r", "m"),
        ReasoningDelta(0, "Hm."),
        SearchCalled(1, SearchCall("s", ("rain",))),
        SearchReturned(2, SearchResult("s", (Source(PAGE, "A"),))),
        TextDelta(3, "It rains."),
        cited(0, 2),
        cited(3, 8),
        TextSettled(3),
        TextDelta(4, " It pours."),
        cited(9, 19),
        TextSettled(4),
        ToolCallDelta(5, "call_1", "f"),
        ToolCallDelta(5, arguments='{"a":1}'),
        Warned("careful", "Careful."),
        UsageSeen(Usage(3, 4, searches=1)),
        Finished("tool_calls"),
    ]
    data = encode_events(events)
    assert final(data) == DIALECT.encode_response(assemble(events), REPLY)
    assert [item["item"] for item in events_of(data, "output_item.done")] == final(data)["output"]
    assert value_at(final(data), "groundwire", "warnings", 0, "code") == "careful"


@pytest.mark.parametrize(
    ("reason", "name", "why"),
    [
        ("stop", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("filtered", "incomplete", {"reason": "content_filter"}),
        ("tool_calls", "completed", None),
        ("pause", "completed", None),
    ],
)
def test_every_ending_has_its_event(reason: FinishReason, name: str, why: JsonObject | None) -> None:
    data = encode_events([TextDelta(0, "Hi."), Finished(reason)])
    assert event_types(data)[-1] == name
    assert final(data)["incomplete_details"] == why


@pytest.mark.parametrize("before", [[], [Started("r", "m"), TextDelta(0, "It rains."), cited(0, 2)]])
def test_a_failure_is_an_error_and_a_failed_response(before: list[Event]) -> None:
    data = encode_events([*before, Failed(RateLimited("Slow down."))])
    assert event_types(data)[-2:] == ["error", "failed"]
    error = payloads(data)[-2]
    assert error["error"] == {
        "message": "Slow down.",
        "type": "requests",
        "param": None,
        "code": "rate_limit_exceeded",
    }
    assert final(data)["status"] == "failed"
    assert final(data)["error"] == {"code": "rate_limit_exceeded", "message": "Slow down."}
    decoded = assemble(decode_events(data))
    assert isinstance(decoded.error, RateLimited)
    assert (decoded.text, len(decoded.citations)) == (("It rains.", 1) if before else ("", 0))


def test_a_stream_that_is_closed_early_reports_the_interruption() -> None:
    assert event_types(encode_events([TextDelta(0, "Hi.")]))[-1] == "failed"


def test_late_citations_are_sent_in_the_part_of_their_span() -> None:
    data = encode_events(
        [
            TextDelta(0, "One."),
            SearchCalled(1, SearchCall("s", ("x",))),
            SearchReturned(2, SearchResult("s")),
            TextDelta(3, "Two."),
            cited(5, 7),
            cited(0, 3),
            TextSettled(0),
            TextSettled(3),
            Finished(),
        ]
    )
    offsets = [
        (annotation["output_index"], value_at(annotation, "annotation", "start_index"))
        for annotation in _annotations(data)
    ]
    assert offsets == [(0, 0), (2, 1)]
    parts = events_of(data, "content_part.done")
    assert [len(items_of(part["part"], "annotations")) for part in parts] == [1, 1]


def _annotations(data: bytes) -> list[JsonObject]:
    return events_of(data, "output_text.annotation.added")


def test_citations_before_their_text_wait_for_it() -> None:
    data = encode_events(
        [cited(3, 8), TextDelta(0, "It "), TextDelta(0, "rains."), TextSettled(0), Finished()]
    )
    assert event_types(data).index("output_text.annotation.added") == 6
    [annotation] = _annotations(data)
    assert (
        value_at(annotation, "annotation", "start_index"),
        value_at(annotation, "annotation", "end_index"),
    ) == (3, 8)


def test_a_citation_over_two_parts_is_sent_in_both() -> None:
    data = encode_events(
        [cited(2, 6), TextDelta(0, "One."), TextSettled(0), TextDelta(1, "Two."), TextSettled(1), Finished()]
    )
    offsets = [
        (
            annotation["content_index"],
            value_at(annotation, "annotation", "start_index"),
            value_at(annotation, "annotation", "end_index"),
        )
        for annotation in _annotations(data)
    ]
    assert offsets == [(0, 2, 4), (1, 0, 2)]
    assert assemble(decode_events(data)).citations[0].span == (2, 6)


def test_indices_of_annotations_count_within_a_part() -> None:
    data = encode_events(
        [
            TextDelta(0, "One."),
            cited(0, 1),
            cited(1, 2),
            TextSettled(0),
            TextDelta(1, "Two."),
            cited(5, 6),
            TextSettled(1),
            Finished(),
        ]
    )
    assert [
        (annotation["content_index"], annotation["annotation_index"]) for annotation in _annotations(data)
    ] == [
        (0, 0),
        (0, 1),
        (1, 0),
    ]


def test_citations_without_a_span_are_sent_at_the_end_on_the_last_text() -> None:
    loose = Cited(Citation(None, (Evidence(Source(PAGE, "A", "cited")),)))
    data = encode_events(
        [loose, TextDelta(0, "One."), TextSettled(0), TextDelta(1, "Two."), TextSettled(1), Finished()]
    )
    [annotation] = _annotations(data)
    assert (
        value_at(annotation, "annotation", "start_index"),
        value_at(annotation, "annotation", "end_index"),
    ) == (0, 0)
    assert [len(items_of(part["part"], "annotations")) for part in events_of(data, "content_part.done")] == [
        0,
        1,
    ]


def test_the_same_citation_is_sent_once() -> None:
    data = encode_events([TextDelta(0, "One."), cited(0, 3), cited(0, 3), TextSettled(0), Finished()])
    assert len(_annotations(data)) == 1


def test_a_message_is_done_before_a_function_call_begins() -> None:
    data = encode_events(
        [
            TextDelta(0, "Moment."),
            TextSettled(0),
            ToolCallDelta(1, "call_1", "f"),
            ToolCallDelta(2, "call_2", "g"),
            ToolCallDelta(1, arguments="{}"),
            Finished("tool_calls"),
        ]
    )
    sent = event_types(data)
    assert sent.index("output_item.done") < sent.index("function_call_arguments.delta")
    done = [value_at(event, "item") for event in events_of(data, "output_item.done")]
    assert [value_at(item, "type") for item in done] == ["message", "function_call", "function_call"]
    assert [value_at(item, "arguments") for item in done[1:]] == ["{}", "{}"]


def test_reasoning_is_a_summary() -> None:
    data = encode_events([ReasoningDelta(0, "Hm"), ReasoningDelta(0, "."), TextDelta(1, "Hi."), Finished()])
    assert event_types(data)[2:9] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    assert value_at(events_of(data, "output_item.done")[0], "item", "summary", 0, "text") == "Hm."


def test_an_item_keeps_the_id_of_its_provider_if_it_is_known_in_time() -> None:
    data = encode_events(
        [
            ExtrasSeen(0, {NATIVE: {"id": "rs_abc"}}),
            ReasoningDelta(0, "Hm."),
            ExtrasSeen(0, {NATIVE: {"id": "rs_abc", "encrypted_content": "gAAA"}}),
            ReasoningDelta(1, "Late."),
            ExtrasSeen(1, {NATIVE: {"id": "rs_late"}}),
            Finished(),
        ]
    )
    assert [value_at(event, "item", "id") for event in events_of(data, "output_item.done")] == [
        "rs_abc",
        "rs_9_1",
    ]
    assert value_at(final(data), "output", 0, "encrypted_content") == "gAAA"


def test_a_search_that_failed_or_never_returned_has_that_status() -> None:
    data = encode_events(
        [
            SearchCalled(0, SearchCall("a", ("x",))),
            SearchReturned(1, SearchResult("a", error="unavailable")),
            SearchCalled(2, SearchCall("b", kind="open", url=PAGE)),
            Finished("pause"),
        ]
    )
    done = [value_at(event, "item") for event in events_of(data, "output_item.done")]
    assert [value_at(item, "status") for item in done] == ["failed", "in_progress"]
    assert value_at(done[1], "action") == {"type": "open_page", "url": PAGE}
    assert "web_search_call.completed" not in event_types(data)


def test_whole_parts_are_items_and_foreign_ones_are_omitted() -> None:
    item: JsonObject = {"id": "ci_1", "type": "code_interpreter_call", "code": "1+1"}
    data = encode_events(
        [
            PartAdded(0, Opaque(NATIVE, item)),
            PartAdded(1, Opaque("gemini", {"executableCode": {}})),
            PartAdded(2, Image("image/png", "iVBORw0KGgo=")),
            PartAdded(3, Image(url=PAGE)),
            Finished(),
        ]
    )
    output = items_of(final(data), "output")
    assert output[0] == item
    assert [entry["type"] for entry in output] == ["code_interpreter_call", "image_generation_call"]


def test_a_refusal_has_its_own_events() -> None:
    data = encode_events([TextDelta(0, "I cannot.", "refusal"), TextSettled(0), Finished("refused")])
    assert event_types(data)[3:7] == [
        "content_part.added",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
    ]


def test_a_keep_alive_is_a_comment() -> None:
    assert DIALECT.encoder(REPLY).ping().startswith(b":")


def test_nothing_follows_the_end() -> None:
    encoder = DIALECT.encoder(REPLY)
    encoder.feed(Finished())
    assert encoder.feed(TextDelta(0, "more")) == b""
    assert encoder.close() == b""


ODD: Sequence[list[Event]] = (
    [SearchReturned(0, SearchResult("x", (Source(PAGE),))), SearchCalled(1, SearchCall("x", ("q",)))],
    [SearchStarted(0, "x")],
    [ToolCallDelta(0, arguments="{"), ToolCallDelta(0, "late", "f", "}")],
    [TextDelta(5, "b"), TextDelta(3, "a"), cited(0, 1), TextSettled(5), TextSettled(3)],
    [TextDelta(0, "a"), TextSettled(0), TextDelta(1, "b"), cited(0, 1), TextSettled(1)],
    [TextDelta(0, "a"), TextDelta(1, "b"), TextDelta(0, "c"), cited(0, 3)],
    [TextDelta(0, ""), TextSettled(0), ReasoningDelta(0, ""), ReasoningDelta(0, "x"), TextDelta(0, "t")],
    [SearchCalled(0, SearchCall("x", ("q",))), SearchCalled(1, SearchCall("x", ("r",)))],
    [TextDelta(0, "no", "refusal"), cited(0, 2), TextSettled(0)],
    [cited(-5, 2), cited(9, 3), cited(0, 0)],
    [ExtrasSeen(0, {NATIVE: {"id": 7}}), TextDelta(0, "a"), ExtrasSeen(0, {NATIVE: {"id": "msg_late"}})],
)


@pytest.mark.parametrize("events", ODD)
def test_any_order_gives_a_consistent_stream(events: list[Event]) -> None:
    data = encode_events([*events, Finished()])
    sent = payloads(data)
    assert [payload["sequence_number"] for payload in sent] == list(range(len(sent)))
    added = [value_at(event, "item", "id") for event in events_of(data, "output_item.added")]
    done = events_of(data, "output_item.done")
    assert sorted(map(str, added)) == sorted(str(value_at(event, "item", "id")) for event in done)
    in_order = sorted(done, key=lambda event: int(str(event["output_index"])))
    assert [event["item"] for event in in_order] == final(data)["output"]
    assert not isinstance(assemble(decode_events(data)).error, GroundwireError)


def test_a_citation_too_late_for_its_part_is_sent_in_the_extension() -> None:
    data = encode_events(
        [
            TextDelta(0, "One."),
            TextSettled(0),
            ToolCallDelta(1, "c", "f"),
            cited(0, 3),
            Finished("tool_calls"),
        ]
    )
    assert value_at(final(data), "output", 0, "content", 0, "annotations") == []
    assert value_at(final(data), "groundwire", "citations", 0, "end") == 3


def test_errors_of_every_kind_are_encoded() -> None:
    data = encode_events([Failed(Overloaded("Busy.", upstream_code="slow_down"))])
    assert value_at(payloads(data)[-2], "error", "code") == "slow_down"


def test_a_point_at_the_end_of_a_part_belongs_to_it_though_another_citation_continues() -> None:
    data = encode_events(
        [
            cited(0, 6),
            cited(4, 4),
            TextDelta(0, "One."),
            TextSettled(0),
            TextDelta(1, "Two."),
            TextSettled(1),
            Finished(),
        ]
    )
    assert {(found.span, found.anchor) for found in assemble(decode_events(data)).citations} == {
        ((0, 6), "claim"),
        ((4, 4), "claim"),
    }
    assert [annotation["content_index"] for annotation in _annotations(data)] == [0, 0, 1]


def test_a_refusal_without_text_closes_the_message_or_is_one() -> None:
    after_text = encode_events([TextDelta(0, "I stop."), TextSettled(0), Finished("refused")])
    assert value_at(final(after_text), "output", 0, "content", 1) == {"type": "refusal", "refusal": ""}
    alone = encode_events([SearchCalled(0, SearchCall("s", ("x",))), Finished("refused")])
    assert value_at(final(alone), "output", 1, "content") == [{"type": "refusal", "refusal": ""}]
    for data in (after_text, alone):
        assert assemble(decode_events(data)).finish == "refused"
        assert events_of(data, "output_item.done")[-1]["item"] == items_of(final(data), "output")[-1]


def test_text_after_its_part_was_closed_is_not_sent() -> None:
    data = encode_events(
        [TextDelta(0, "One."), TextSettled(0), ToolCallDelta(1, "c", "f"), TextDelta(0, "late"), Finished()]
    )
    assert value_at(final(data), "output", 0, "content", 0, "text") == "One."


def test_two_texts_that_are_not_settled_are_two_messages() -> None:
    data = encode_events([TextDelta(0, "One."), TextDelta(1, "Two."), cited(0, 3), Finished()])
    assert [item["type"] for item in items_of(final(data), "output")] == ["message", "message"]
    assert assemble(decode_events(data)).citations[0].span == (0, 3)


def test_annotations_of_files_are_sent_after_web_citations() -> None:
    file: JsonObject = {"type": "file_citation", "file_id": "file_1", "filename": "a.txt", "index": 3}
    events: list[Event] = [
        TextDelta(0, "One."),
        cited(0, 3),
        ExtrasSeen(0, {NATIVE: {"annotations": [file]}}),
        TextSettled(0),
        Finished(),
    ]
    data = encode_events(events)
    assert [
        (annotation["annotation_index"], value_at(annotation, "annotation", "type"))
        for annotation in _annotations(data)
    ] == [
        (0, "url_citation"),
        (1, "file_citation"),
    ]
    assert final(data) == DIALECT.encode_response(assemble(events), REPLY)
