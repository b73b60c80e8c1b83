"""Whole responses, decoded and encoded."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.dialects.openai_responses.response import encode_head
from groundwire.errors import NotFound, Overloaded, QuotaExhausted, UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Failed,
    Finished,
    FunctionTool,
    Image,
    Json,
    JsonObject,
    Limits,
    Opaque,
    Reasoning,
    Request,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
    Span,
    Started,
    Text,
    ToolCall,
    assemble,
)
from groundwire.model.value import replace
from tests.dialects.openai_responses.wire import (
    END,
    PAGE,
    REPLY,
    START,
    TEXT,
    call,
    citation,
    decode_whole,
    items_of,
    message,
    response,
    search,
    text_part,
    value_at,
)


def encode_items(answer: Answer) -> list[JsonObject]:
    return items_of(DIALECT.encode_response(answer, REPLY), "output")


NATIVE = "openai_responses"


def test_a_response_starts_with_its_id_and_ends_once() -> None:
    events = DIALECT.decode_response(response(message(text_part())))
    assert events[0] == Started("resp_1", "gpt-5.5")
    assert [event for event in events if isinstance(event, Finished | Failed)] == [Finished("stop")]


def test_a_citation_has_the_span_of_its_link() -> None:
    answer = decode_whole(message(text_part(TEXT, citation())))
    assert answer.text == TEXT
    [cited] = answer.citations
    assert cited.span == (START, END)
    assert cited.anchor == "marker"
    assert cited.evidence[0].source == Source(PAGE, "Example A", "cited")
    assert NATIVE in cited.evidence[0].extras


def test_several_messages_are_one_text_with_their_phases() -> None:
    answer = decode_whole(
        message(text_part("Let me look. "), phase="commentary"),
        search({"type": "search", "query": "rain"}),
        message(text_part(TEXT, citation()), item_id="msg_2", phase="final_answer"),
    )
    texts = [part for part in answer.parts if isinstance(part, Text)]
    assert [(part.text, part.phase) for part in texts] == [
        ("Let me look. ", "commentary"),
        (TEXT, "final_answer"),
    ]
    first = len("Let me look. ")
    assert answer.citations[0].span == (first + START, first + END)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"type": "search", "query": "a"}, SearchCall("ws_1", ("a",))),
        ({"type": "search", "queries": ["a", "b"], "query": "a"}, SearchCall("ws_1", ("a", "b"))),
        ({"type": "search", "queries": ["", "b"]}, SearchCall("ws_1", ("b",))),
        ({"type": "search"}, SearchCall("ws_1")),
        (None, SearchCall("ws_1")),
        ({"type": "open_page", "url": PAGE}, SearchCall("ws_1", kind="open", url=PAGE)),
        ({"type": "open_page", "url": None}, SearchCall("ws_1", kind="open")),
        (
            {"type": "find_in_page", "url": PAGE, "pattern": "rain"},
            SearchCall("ws_1", kind="find", url=PAGE, pattern="rain"),
        ),
        (
            {"type": "find", "url": PAGE, "pattern": "x"},
            SearchCall("ws_1", kind="find", url=PAGE, pattern="x"),
        ),
    ],
)
def test_every_action_is_a_search_a_page_or_a_pattern(
    action: JsonObject | None, expected: SearchCall
) -> None:
    parts = decode_whole(search(action)).parts
    found = parts[0]
    assert isinstance(found, SearchCall)
    assert (found.id, found.queries, found.kind, found.url, found.pattern) == (
        expected.id,
        expected.queries,
        expected.kind,
        expected.url,
        expected.pattern,
    )
    assert isinstance(parts[1], SearchResult)


def test_sources_have_a_url_or_a_name() -> None:
    sources: list[Json] = [
        {"type": "url", "url": PAGE},
        {"type": "api", "name": "oai-weather"},
        {"type": "url", "url": "javascript:alert(1)"},
    ]
    answer = decode_whole(search({"type": "search", "query": "a", "sources": sources}))
    assert answer.sources == (Source(PAGE), Source("", "oai-weather"))


def test_results_have_titles_and_snippets_and_are_otherwise_kept() -> None:
    results: list[Json] = [
        {"type": "text_result", "url": PAGE, "title": "A", "snippet": "It rains."},
        {"type": "image_result", "image_url": "https://example.org/i.png"},
    ]
    action: JsonObject = {"type": "search", "query": "a", "sources": [{"type": "url", "url": PAGE}]}
    answer = decode_whole(search(action, results=results))
    assert answer.sources == (Source(PAGE, "A", excerpts=("It rains.",)),)
    [item] = encode_items(answer)
    assert item["results"] == results


def test_a_failed_search_has_an_error_and_azures_searching_has_none() -> None:
    failed = decode_whole(search({"type": "search", "query": "a"}, status="failed"))
    azure = decode_whole(search({"type": "search", "query": "a"}, status="searching"))
    assert [search.state for search in failed.searches] == ["failed"]
    assert [search.state for search in azure.searches] == ["done"]


def test_xais_search_has_its_query_in_the_arguments() -> None:
    item = search(
        None, "fc_7", name="web_search", arguments='{"query":"what is xAI","num_results":5}', call_id=""
    )
    assert decode_whole(item).searches[0].query == "what is xAI"
    assert decode_whole(search(None, arguments="{broken")).searches == ()


def test_openrouters_own_search_is_a_search() -> None:
    item = {**search({"type": "search", "query": "a"}, "ws_tmp_1"), "type": "openrouter:web_search"}
    assert decode_whole(item).searches[0].query == "a"


def test_reasoning_keeps_its_encrypted_form_and_shows_its_summaries() -> None:
    summary: list[Json] = [{"type": "summary_text", "text": text} for text in ("One.", "Two.")]
    item: JsonObject = {"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": "gAAA/=="}
    answer = decode_whole(item)
    [part] = answer.parts
    assert isinstance(part, Reasoning)
    assert part.text == "One.\n\nTwo."
    assert encode_items(answer) == [item]


def test_reasoning_without_text_is_kept_for_its_id() -> None:
    item: JsonObject = {"id": "rs_1", "type": "reasoning", "summary": []}
    assert encode_items(decode_whole(item)) == [item]


def test_a_function_call_ends_the_turn() -> None:
    answer = decode_whole(call(namespace="mcp__x"))
    [part] = answer.parts
    assert isinstance(part, ToolCall)
    assert (part.id, part.name, part.arguments) == ("call_1", "get_weather", '{"city": "Bern"}')
    assert answer.finish == "tool_calls"
    assert encode_items(answer) == [call(namespace="mcp__x")]


def test_a_search_is_never_a_call_for_the_client() -> None:
    answer = decode_whole(search({"type": "search", "query": "a"}))
    assert not [part for part in answer.parts if isinstance(part, ToolCall)]
    assert answer.finish == "stop"


def test_a_refusal_is_a_text_and_a_finish_reason() -> None:
    answer = decode_whole(message({"type": "refusal", "refusal": "I cannot."}))
    [part] = answer.parts
    assert isinstance(part, Text)
    assert (part.text, part.phase, answer.finish) == ("I cannot.", "refusal", "refused")
    assert encode_items(answer)[0]["content"] == [{"type": "refusal", "refusal": "I cannot."}]


def test_unknown_items_come_back_verbatim() -> None:
    item: JsonObject = {"id": "ci_1", "type": "code_interpreter_call", "code": "1+1"}
    custom: JsonObject = {"id": "c_1", "type": "custom_tool_call", "call_id": "c", "name": "x", "input": "y"}
    answer = decode_whole(item, custom, {"no": "type"})
    assert next(part for part in answer.parts if isinstance(part, Opaque)).data == item
    assert answer.finish == "tool_calls"
    assert encode_items(answer) == [item, custom]


def test_unknown_content_is_its_text_or_kept_for_the_history() -> None:
    audio: JsonObject = {"type": "output_audio", "data": "AAAA"}
    answer = decode_whole(message({"type": "output_poem", "text": "Rain."}, audio))
    assert answer.text == "Rain."
    assert len(encode_items(answer)) == 1
    replayed = items_of(DIALECT.encode_request(Request((answer.message,))).body, "input")
    assert replayed[1]["content"] == [audio]


def test_a_generated_image_is_an_image() -> None:
    item: JsonObject = {
        "id": "ig_1",
        "type": "image_generation_call",
        "status": "completed",
        "result": "iVBORw0KGgo=",
        "output_format": "webp",
    }
    answer = decode_whole(item)
    [part] = answer.parts
    assert isinstance(part, Image)
    assert (part.media_type, part.data) == ("image/webp", "iVBORw0KGgo=")
    assert encode_items(answer) == [item]


def test_annotations_that_cite_nothing_stay_with_their_text() -> None:
    file: JsonObject = {"type": "file_path", "file_id": "file_1", "index": 3}
    answer = decode_whole(message(text_part(TEXT, file, citation())))
    assert len(answer.citations) == 1
    assert value_at(encode_items(answer)[0], "content", 0, "annotations") == [citation(), file]


def test_leaked_private_markers_are_removed_and_offsets_shifted() -> None:
    leak = "\ue200cite\ue202turn0search0\ue201"
    raw = f"Rain. {leak}Sun. [a]({PAGE}) End{leak}."
    start = raw.index("[a]")
    answer = decode_whole(message(text_part(raw, citation(start, start + len(f"[a]({PAGE})")))))
    assert answer.text == f"Rain. Sun. [a]({PAGE}) End."
    [cited] = answer.citations
    assert cited.span is not None
    assert answer.text[cited.span.start : cited.span.end] == f"[a]({PAGE})"


@pytest.mark.parametrize(
    ("status", "details", "finish", "detail"),
    [
        ("completed", None, "stop", ""),
        ("incomplete", {"reason": "max_output_tokens"}, "length", ""),
        ("incomplete", {"reason": "content_filter"}, "filtered", ""),
        ("incomplete", {"reason": "max_messages"}, "length", "max_messages"),
        ("incomplete", {"reason": "steered"}, "other", "steered"),
        ("incomplete", None, "other", ""),
        ("cancelled", None, "other", "cancelled"),
    ],
)
def test_every_status_has_a_finish_reason(status: str, details: Json, finish: str, detail: str) -> None:
    answer = decode_whole(message(text_part()), status=status, incomplete_details=details)
    assert (answer.finish, answer.detail) == (finish, detail)
    assert answer.text == TEXT


def test_a_failed_response_keeps_its_text() -> None:
    error: JsonObject = {"code": "server_error", "message": "Broken."}
    answer = decode_whole(message(text_part(TEXT, citation())), status="failed", error=error)
    assert answer.error == Overloaded("Broken.", upstream_code="server_error")
    assert answer.text == TEXT
    assert answer.citations[0].span == (START, END)


def test_an_error_with_status_200_is_an_error() -> None:
    [*_, last] = DIALECT.decode_response({"error": {"code": 402, "message": "No credits."}, "user_id": "u"})
    assert last == Failed(QuotaExhausted("No credits.", status=402, upstream_code="402"))


def test_a_body_that_is_not_a_response_is_an_upstream_error() -> None:
    with pytest.raises(UpstreamWireError, match=r"\$\.output"):
        DIALECT.decode_response({"hello": 1})
    with pytest.raises(UpstreamWireError, match=r"output\[0\]\.content"):
        DIALECT.decode_response(response({"type": "message", "content": 7}))


def test_a_search_and_its_result_are_one_item() -> None:
    found = (Source(PAGE, "A"), Source("", "oai-weather"))
    parts = (SearchCall("search_0", ("rain", "regen")), Text("Hm."), SearchResult("search_0", found))
    first, second = encode_items(Answer(parts, finish="stop"))
    assert first["id"] == "ws_9_0"
    assert first["status"] == "completed"
    assert first["action"] == {
        "type": "search",
        "query": "rain",
        "queries": ["rain", "regen"],
        "sources": [{"type": "url", "url": PAGE}, {"type": "api", "name": "oai-weather"}],
    }
    assert second["type"] == "message"


def test_a_search_keeps_an_id_of_this_dialect_and_has_its_status() -> None:
    parts = (
        SearchCall("ws_abc", ("rain",)),
        SearchResult("ws_abc", error="max_uses_exceeded"),
        SearchCall("x", ("sun",)),
    )
    assert [(item["id"], item["status"]) for item in encode_items(Answer(parts))] == [
        ("ws_abc", "failed"),
        ("ws_9_1", "in_progress"),
    ]


def test_texts_are_parts_of_one_message_unless_another_item_or_phase_separates_them() -> None:
    parts = (
        Text("a"),
        Text("b"),
        ToolCall("1", "f"),
        Text("c"),
        Text("d", "commentary"),
        Text("e", "refusal"),
    )
    items = encode_items(Answer(parts))
    assert [item["type"] for item in items] == ["message", "function_call", "message", "message"]
    assert [len(items_of(item, "content")) for item in items if "content" in item] == [2, 1, 2]
    assert [item.get("phase") for item in items] == [None, None, None, "commentary"]


def test_a_span_over_several_parts_is_one_annotation_in_each() -> None:
    cited = Citation(Span(2, 9), (Evidence(Source(PAGE, "A", "cited"), "quoted"),))
    body = DIALECT.encode_response(Answer((Text("Hello"), Text(" world")), (cited,)), REPLY)
    content = items_of(value_at(body, "output", 0), "content")
    offsets = [
        (annotation["start_index"], annotation["end_index"])
        for part in content
        for annotation in items_of(part, "annotations")
    ]
    assert offsets == [(2, 5), (0, 4)]
    assert assemble(DIALECT.decode_response(body)).citations[0].span == (2, 9)


def test_a_citation_without_a_span_is_on_the_last_text() -> None:
    cited = Citation(None, (Evidence(Source(PAGE, "A", "cited"), "quoted"),))
    body = DIALECT.encode_response(Answer((Text("Hello"), Text(" world")), (cited,)), REPLY)
    assert value_at(body, "output", 0, "content", 0, "annotations") == []
    [annotation] = items_of(value_at(body, "output", 0, "content", 1), "annotations")
    assert (annotation["start_index"], annotation["end_index"], annotation["content"]) == (0, 0, "quoted")


def test_a_citation_of_an_answer_without_text_is_in_the_extension() -> None:
    cited = Citation(None, (Evidence(Source(PAGE, "A", "cited")),))
    body = DIALECT.encode_response(Answer(citations=(cited,)), REPLY)
    assert value_at(body, "groundwire", "sources", 0, "url") == PAGE


def test_a_refusal_without_text_is_still_a_refusal() -> None:
    body = DIALECT.encode_response(Answer((Text("I must stop."),), finish="refused"), REPLY)
    assert value_at(body, "output", 0, "content", 1) == {"type": "refusal", "refusal": ""}
    decoded = assemble(DIALECT.decode_response(body))
    assert (decoded.text, decoded.finish, len(decoded.parts)) == ("I must stop.", "refused", 1)


def test_a_truncated_answer_has_a_reason() -> None:
    body = DIALECT.encode_response(Answer((Text("Hel"),), finish="length"), REPLY)
    assert body["status"] == "incomplete"
    assert body["incomplete_details"] == {"reason": "max_output_tokens"}
    assert value_at(body, "output", 0, "status") == "incomplete"


def test_a_failed_answer_has_an_error() -> None:
    body = DIALECT.encode_response(Answer(error=NotFound("no such model")), REPLY)
    assert body["status"] == "failed"
    assert body["error"] == {"code": "model_not_found", "message": "no such model"}


def test_a_response_echoes_the_request_with_defaults() -> None:
    request = Request(
        (),
        system=(Text("Be brief."),),
        tools=(FunctionTool("f", parameters={"type": "object"}),),
        search=SearchOptions(allowed_domains=("example.org",)),
        limits=Limits(max_output_tokens=7),
        previous_id="resp_0",
        extras={NATIVE: {"metadata": {"a": "b"}, "store": False}},
    )
    body = DIALECT.encode_response(Answer(), type(REPLY)(id="9", model="m", request=request))
    assert value_at(body, "tools", 0) == {
        "type": "web_search",
        "filters": {"allowed_domains": ["example.org"]},
        "search_context_size": "medium",
        "user_location": {
            "type": "approximate",
            "country": "US",
            "region": None,
            "city": None,
            "timezone": None,
        },
    }
    assert value_at(body, "tools", 1, "name") == "f"
    items = {
        key: body[key] for key in ("instructions", "max_output_tokens", "previous_response_id", "metadata")
    }
    assert items == {
        "instructions": "Be brief.",
        "max_output_tokens": 7,
        "previous_response_id": "resp_0",
        "metadata": {"a": "b"},
    }
    assert (body["store"], body["tool_choice"], body["parallel_tool_calls"]) == (False, "auto", True)


def test_an_incomplete_reason_of_openai_is_encoded_again() -> None:
    body = DIALECT.encode_response(Answer((Text("Hel"),), finish="other", detail="steered"), REPLY)
    assert body["incomplete_details"] == {"reason": "steered"}


def test_results_without_a_search_call_stay_results() -> None:
    found = SearchResult("x", (Source(PAGE, "A", date="July 14, 2026", excerpts=("One.", "Two.")),))
    body = DIALECT.encode_response(Answer((found, Text("Hm.")), finish="stop"), REPLY)
    decoded = assemble(DIALECT.decode_response(body))
    assert decoded.searches == ()
    assert decoded.sources == found.sources


def test_pages_that_were_opened_keep_their_titles() -> None:
    parts = (
        SearchCall("o", kind="open", url=PAGE),
        SearchResult("o", (Source(PAGE, "A", "opened"),)),
    )
    body = DIALECT.encode_response(Answer(parts, finish="stop"), REPLY)
    assert assemble(DIALECT.decode_response(body)).sources == (Source(PAGE, "A", "opened"),)


def test_xai_opens_pages_by_arguments() -> None:
    [opened] = [
        part
        for part in decode_whole(search(None, name="browse_page", arguments=f'{{"url":"{PAGE}"}}')).parts
        if isinstance(part, SearchCall)
    ]
    assert (opened.kind, opened.url) == ("open", PAGE)


def test_unknown_fields_of_a_message_and_its_text_come_back() -> None:
    part = text_part("Hi.", content_filters=[1], logprobs=[{"token": "Hi", "logprob": -0.5}])
    item = message(part, agent="a")
    [decoded] = encode_items(decode_whole(item))
    assert decoded == item


def test_an_id_is_given_to_one_item_only() -> None:
    item: JsonObject = {"id": "msg_9_0", "type": "x_call"}
    answer = Answer((Opaque(NATIVE, item), Text("Hi."), Reasoning(""), Text("Ho.")), finish="stop")
    ids = [entry["id"] for entry in encode_items(answer)]
    assert ids == ["msg_9_0", "msg_9_1", "rs_9_0", "msg_9_2"]


def test_sampling_that_was_not_requested_is_echoed_as_the_default() -> None:
    head = encode_head(Answer(), REPLY)
    assert (head["temperature"], head["top_p"]) == (1.0, 1.0)  # Open Responses accepts no null
    limits = Limits(temperature=0.0, top_p=0.5)
    chosen = encode_head(Answer(), replace(REPLY, request=replace(REPLY.request, limits=limits)))
    assert (chosen["temperature"], chosen["top_p"]) == (0.0, 0.5)
