"""Streams of OpenAI and compatible servers, decoded."""

from __future__ import annotations

import pytest

from groundwire.errors import (
    Interrupted,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    UpstreamWireError,
)
from groundwire.model import (
    Cited,
    Event,
    Failed,
    Finished,
    JsonObject,
    Reasoning,
    SearchCall,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    assemble,
)
from tests.dialects.openai_responses.wire import (
    END,
    LINK,
    PAGE,
    START,
    TEXT,
    call,
    citation,
    completed,
    created,
    decode_events,
    decode_streamed,
    decode_whole,
    message,
    response,
    search,
    search_events,
    sse,
    text_events,
    text_part,
)

DELTAS = [TEXT[:5], TEXT[5:START], LINK, TEXT[END:]]
SEARCHED = search(
    {"type": "search", "queries": ["rain"], "query": "rain", "sources": [{"type": "url", "url": PAGE}]}
)


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def position(events: list[Event], kind: type[Event]) -> int:
    return next(position_fields for position_fields, event in enumerate(events) if isinstance(event, kind))


def test_a_stream_gives_the_same_answer_as_its_final_response() -> None:
    items = (SEARCHED, message(text_part(TEXT, citation())))
    events = [*search_events(SEARCHED), *text_events(DELTAS, [citation()], 1)]
    answer = decode_streamed(*events, completed(*items))
    assert answer == decode_whole(*items)
    assert answer == decode_streamed(completed(*items))
    assert answer == decode_streamed(*events, completed())
    assert answer.citations[0].span == (START, END)


def test_bytes_may_be_cut_anywhere() -> None:
    data = sse([created(), *text_events(DELTAS, [citation()]), completed()])
    assert decode_events(data) == decode_events(data, 1) == decode_events(data.replace(b"\n", b"\r\n"), 7)


def test_a_search_is_emitted_when_it_begins_and_again_when_its_query_is_known() -> None:
    events = decode_events(sse([created(), *search_events(SEARCHED), completed()]))
    found = [event for event in events if isinstance(event, SearchStarted | SearchCalled | SearchReturned)]
    assert kinds(list(found)) == ["SearchStarted", "SearchCalled", "SearchReturned"]
    assert [event.part for event in found] == [0, 0, 1]
    assert isinstance(found[0], SearchStarted)
    assert found[0].id == "ws_1"


def test_a_citation_is_emitted_at_once_if_its_link_is_there() -> None:
    events = text_events(DELTAS, [citation()])
    annotation = next(
        position_fields
        for position_fields, event in enumerate(events)
        if event["type"] == "response.output_text.annotation.added"
    )
    decoded_events = decode_events(sse([created(), *events[: annotation + 1]]))
    assert position(decoded_events, Cited) < position(decoded_events, Failed)
    assert [event.citation.span for event in decoded_events if isinstance(event, Cited)] == [(START, END)]


def test_a_citation_that_runs_ahead_of_its_text_waits_for_it() -> None:
    events = text_events(DELTAS, [citation()])
    early = [events.pop(6), *events]
    head = early[1:3]
    rest = [early[0], *early[3:]]
    decoded_events = decode_events(sse([created(), *head, *rest, completed()]))
    assert position(decoded_events, Cited) > max(
        position_fields
        for position_fields, event in enumerate(decoded_events)
        if isinstance(event, TextDelta)
    )
    assert assemble(decoded_events).citations[0].span == (START, END)


def test_annotations_after_all_text_are_emitted_before_the_part_is_settled() -> None:
    decoded_events = decode_events(sse([created(), *text_events([TEXT], [citation()]), completed()]))
    assert position(decoded_events, Cited) < position(decoded_events, TextSettled)


def test_an_annotation_is_emitted_once_however_often_it_is_repeated() -> None:
    item = message(text_part(TEXT, citation()))
    decoded_events = decode_events(sse([created(), *text_events(DELTAS, [citation()]), completed(item)]))
    assert kinds(decoded_events).count("Cited") == 1


def test_annotations_that_only_the_final_response_has_are_not_lost() -> None:
    item = message(text_part(TEXT, citation()))
    answer = decode_streamed(*text_events(DELTAS), completed(item))
    assert answer.citations[0].span == (START, END)


def test_text_of_lost_deltas_is_emitted_later() -> None:
    events = text_events(DELTAS, [citation()])
    answer = decode_streamed(*events[:4], *events[7:], completed())
    assert answer.text == TEXT


def test_ids_that_change_within_a_stream_do_not_duplicate_an_item() -> None:
    items = (search({"type": "search", "query": "rain"}, "ws_x"), message(text_part(TEXT), item_id="msg_x"))
    answer = decode_streamed(*search_events(SEARCHED), *text_events(DELTAS, index=1), completed(*items))
    assert answer.text == TEXT
    assert len(answer.searches) == 1


def test_events_of_unannounced_items_are_understood() -> None:
    position_fields: JsonObject = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    answer = decode_streamed(
        {"type": "response.output_text.delta", **position_fields, "delta": "Hi."}, completed()
    )
    assert (answer.text, answer.finish) == ("Hi.", "stop")


def test_a_phase_at_the_end_of_a_message_is_used() -> None:
    events = text_events(["Hi."])
    events[-1] = {**events[-1], "item": message(text_part("Hi."), phase="final_answer")}
    answer = decode_streamed(*events, completed())
    [part] = answer.parts
    assert isinstance(part, Text)
    assert (part.text, part.phase) == ("Hi.", "final_answer")


def test_private_markers_cut_by_a_delta_are_removed() -> None:
    leak = "\ue200cite\ue202turn0search0\ue201"
    raw = f"Rain.{leak} [a]({PAGE})"
    deltas = [raw[:8], raw[8:14], raw[14:]]
    start = raw.index("[a]")
    answer = decode_streamed(*text_events(deltas, [citation(start, len(raw))]), completed())
    assert answer.text == f"Rain. [a]({PAGE})"
    assert answer.citations[0].span == (6, len(answer.text))


def test_reasoning_is_streamed_and_keeps_its_encrypted_content() -> None:
    item: JsonObject = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "gAAA/==",
    }
    position_fields: JsonObject = {"item_id": "rs_1", "output_index": 0}
    answer = decode_streamed(
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "summary": []}},
        {
            "type": "response.reasoning_summary_text.delta",
            **position_fields,
            "summary_index": 0,
            "delta": "One.",
        },
        {
            "type": "response.reasoning_summary_text.delta",
            **position_fields,
            "summary_index": 1,
            "delta": "Tw",
        },
        {
            "type": "response.reasoning_summary_text.delta",
            **position_fields,
            "summary_index": 1,
            "delta": "o.",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        completed(item),
    )
    [part] = answer.parts
    assert isinstance(part, Reasoning)
    assert part.text == "One.\n\nTwo."
    assert part.extras["openai_responses"]["encrypted_content"] == "gAAA/=="
    assert answer == decode_whole(item)


def test_function_calls_arrive_in_fragments() -> None:
    position_fields: JsonObject = {"item_id": "fc_1", "output_index": 0}
    answer = decode_streamed(
        {"type": "response.output_item.added", "output_index": 0, "item": call("", status="in_progress")},
        {"type": "response.function_call_arguments.delta", **position_fields, "delta": '{"city":'},
        {"type": "response.function_call_arguments.delta", **position_fields, "delta": ' "Bern"}'},
        {"type": "response.function_call_arguments.done", **position_fields, "arguments": '{"city": "Bern"}'},
        {"type": "response.output_item.done", "output_index": 0, "item": call()},
        completed(call()),
    )
    [part] = answer.parts
    assert isinstance(part, ToolCall)
    assert (part.id, part.name, part.arguments) == ("call_1", "get_weather", '{"city": "Bern"}')
    assert answer.finish == "tool_calls"


def test_a_refusal_is_streamed_too() -> None:
    position_fields: JsonObject = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    refusal: JsonObject = {"type": "refusal", "refusal": "I cannot."}
    answer = decode_streamed(
        {"type": "response.output_item.added", "output_index": 0, "item": message()},
        {
            "type": "response.content_part.added",
            **position_fields,
            "part": {"type": "refusal", "refusal": ""},
        },
        {"type": "response.refusal.delta", **position_fields, "delta": "I can"},
        {"type": "response.refusal.delta", **position_fields, "delta": "not."},
        {"type": "response.refusal.done", **position_fields, "refusal": "I cannot."},
        {"type": "response.content_part.done", **position_fields, "part": refusal},
        {"type": "response.output_item.done", "output_index": 0, "item": message(refusal)},
        completed(message(refusal)),
    )
    assert answer == decode_whole(message(refusal))
    assert answer.finish == "refused"


def test_the_codex_backend_links_without_annotating() -> None:
    decoded_events = decode_events(
        sse(
            [
                created(),
                {"type": "codex.rate_limits", "plan_type": "plus"},
                *search_events(SEARCHED),
                *text_events(DELTAS, index=1),
                {
                    "type": "response.done",
                    "response": response(usage={"input_tokens": 1, "output_tokens": 2}),
                },
            ]
        )
    )
    assert position(decoded_events, Cited) < position(decoded_events, TextSettled)
    answer = assemble(decoded_events)
    assert answer.citations[0].span == (START, END)
    assert answer.finish == "stop"
    assert [source.url for source in answer.sources] == [PAGE]


def test_openrouter_sends_comments_and_a_sentinel() -> None:
    item = {**SEARCHED, "type": "openrouter:web_search"}
    annotation = citation(0, 0, content="It rains in Zürich.")
    data = sse([created(), *search_events(item), *text_events(["It rains."], [annotation], 1), completed()])
    answer = assemble(decode_events(b": OPENROUTER PROCESSING\n\n" + data + b"data: [DONE]\n\n"))
    assert answer.citations[0].span is None
    assert answer.citations[0].evidence[0].quote == "It rains in Zürich."
    assert answer.searches[0].query == "rain"


def test_azures_finished_search_keeps_the_status_searching() -> None:
    item = {**SEARCHED, "status": "searching"}
    events = [event for event in search_events(item) if event["type"] != "response.web_search_call.completed"]
    answer = decode_streamed(*events, completed())
    assert [found.state for found in answer.searches] == ["done"]


@pytest.mark.parametrize(
    "error",
    [
        {
            "type": "error",
            "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "No."},
        },
        {"type": "error", "code": "insufficient_quota", "message": "No.", "param": None},
    ],
)
def test_an_error_is_emitted_once_in_any_format(error: JsonObject) -> None:
    failed: JsonObject = {
        "type": "response.failed",
        "response": response(status="failed", error={"code": "insufficient_quota", "message": "No."}),
    }
    for events in ([error], [failed], [error, failed]):
        decoded_events = decode_events(sse([created(), *events]))
        assert decoded_events == [
            Started("resp_1", "gpt-5.5"),
            Failed(QuotaExhausted("No.", upstream_code="insufficient_quota")),
        ]


def test_a_rate_limit_has_a_retry_delay() -> None:
    error: JsonObject = {"code": "rate_limit_exceeded", "message": "Slow. Please try again in 1.5s."}
    answer = decode_streamed({"type": "response.failed", "response": response(status="failed", error=error)})
    assert isinstance(answer.error, RateLimited)
    assert answer.error.retry_after == 1.5


def test_codex_sends_a_limit_in_the_stream() -> None:
    error: JsonObject = {"type": "usage_limit_reached", "message": "Used up.", "resets_in_seconds": 60}
    answer = decode_streamed({"type": "error", "error": error, "status_code": 429})
    assert answer.error == QuotaExhausted(
        "Used up.", status=429, upstream_code="usage_limit_reached", retry_after=60.0
    )


def test_an_incomplete_answer_keeps_its_text_and_citations() -> None:
    end: JsonObject = {
        "type": "response.incomplete",
        "response": response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    }
    answer = decode_streamed(*text_events(DELTAS, [citation()]), end)
    assert (answer.text, answer.finish) == (TEXT, "length")
    assert answer.citations[0].span == (START, END)


def test_text_before_an_error_keeps_its_citations() -> None:
    late = text_events(DELTAS, [citation(START + 1, END + 1)])
    searching = search_events(SEARCHED, 1)[0]
    known = {**searching, "item": {**SEARCHED, "status": "in_progress"}}
    for end in (
        b"",
        b"data: {broken\n\n",
        sse([{"type": "error", "code": "server_error", "message": "No."}]),
    ):
        answer = assemble(decode_events(sse([created(), *late[:7], known]) + end))
        assert answer.text == TEXT
        assert answer.citations[0].span == (START, END)
        assert answer.searches[0].query == "rain"
        assert answer.error is not None


def test_a_stream_that_just_ends_was_interrupted() -> None:
    decoded_events = decode_events(sse([created(), *text_events(DELTAS)[:4]]))
    assert isinstance(decoded_events[-1], Failed)
    assert isinstance(decoded_events[-1].error, Interrupted)
    assert isinstance(decoded_events[-2], TextSettled)


def test_a_wrong_type_is_an_error_with_its_path() -> None:
    answer = decode_streamed({"type": "response.output_text.delta", "output_index": 0, "delta": 7})
    assert isinstance(answer.error, UpstreamWireError)
    assert answer.error.path == "$.delta"


def test_unknown_events_items_and_fields_are_skipped() -> None:
    item: JsonObject = {"id": "x_1", "type": "x_call", "data": 1}
    answer = decode_streamed(
        {"type": "response.debug", "x": 1},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.x_call.delta", "output_index": 0},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        completed(item, novelty=[1]),
    )
    assert answer.finish == "stop"
    assert len(answer.parts) == 1


def test_a_body_instead_of_a_stream_is_read() -> None:
    body = b'{"object":"response","id":"r","model":"m","status":"completed","output":[]}'
    events = decode_events(body)
    assert (events[0], events[-1]) == (Started("r", "m"), Finished("stop"))
    assert kinds(events) == ["Started", "Warned", "Finished"]
    decoded_events = decode_events(b'{"error":{"message":"Down.","code":502}}')
    assert decoded_events[-1] == Failed(Overloaded("Down.", status=502, upstream_code="502"))


def test_a_search_that_never_returned_is_still_running() -> None:
    answer = decode_whole(search({"type": "search", "query": "rain"}, status="in_progress"))
    [part] = answer.parts
    assert isinstance(part, SearchCall)
    assert answer.searches[0].state == "running"


def test_unannounced_reasoning_and_calls_are_understood() -> None:
    open_text: JsonObject = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    }
    answer = decode_streamed(
        {
            "type": "response.reasoning_text.delta",
            "item_id": "rs_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hm.",
        },
        {"type": "response.content_part.added", "output_index": 0, "part": {"type": "reasoning_text"}},
        {"type": "response.content_part.done", "output_index": 0, "part": {"type": "reasoning_text"}},
        {"type": "response.output_item.done", "output_index": 0, "item": open_text},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"city": "Bern"}'},
        {"type": "response.output_item.done", "output_index": 1, "item": call()},
        completed(),
    )
    assert answer == decode_whole(open_text, call())


def test_events_without_an_index_refer_to_the_last_item() -> None:
    events = [
        {key: value for key, value in event.items() if key != "output_index"}
        for event in text_events(["Hi."])
    ]
    assert decode_streamed(*search_events(SEARCHED), *events, completed()).text == "Hi."


def test_an_item_that_turns_out_to_be_another_is_the_other() -> None:
    added: JsonObject = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "x"}}
    done: JsonObject = {"type": "response.output_item.done", "output_index": 0, "item": call()}
    assert decode_streamed(added, done, completed()).finish == "tool_calls"


def test_a_null_annotation_and_an_empty_frame_are_skipped() -> None:
    annotation: JsonObject = {"type": "response.output_text.annotation.added", "annotation": None}
    events = decode_events(sse([created(), annotation]) + b"data: {}\n\n" + sse([completed()]))
    assert kinds(events) == ["Started", "Warned", "Finished"]


def test_text_that_contradicts_its_deltas_is_not_emitted_again() -> None:
    events = text_events(["Hello."])
    events[3] = {**events[3], "text": "Other."}
    assert decode_streamed(*events, completed()).text == "Hello."


def test_an_empty_text_is_a_part_only_if_it_cites_a_file() -> None:
    file: JsonObject = {"type": "file_path", "file_id": "file_1", "index": 0}
    assert decode_whole(message(text_part(""))).parts == ()
    [part] = decode_whole(message(text_part("", file))).parts
    assert isinstance(part, Text)
    assert part.extras["openai_responses"]["annotations"] == [file]


def test_errors_of_a_stream_blame_the_request_or_the_provider() -> None:
    for code, expected in (("invalid_prompt", Refused), ("cyber_policy", Refused), ("mystery", Overloaded)):
        answer = decode_streamed({"type": "error", "code": code, "message": "No."})
        assert type(answer.error) is expected
