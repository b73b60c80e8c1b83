"""Whole responses: parts, signatures, calls, server tools, usage and finish reasons."""

from __future__ import annotations

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.dialects.gemini.errors import FINISH_REASONS
from groundwire.errors import Interrupted, Overloaded, UpstreamWireError
from groundwire.model import (
    Answer,
    Failed,
    Finished,
    FinishReason,
    Image,
    Json,
    JsonObject,
    Opaque,
    Reasoning,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Started,
    Text,
    TextDelta,
    ToolCall,
    Usage,
)
from tests.dialects.gemini.bodies import REPLY, at, chunk, events_of, streamed, web, whole

TOOL_CALL: JsonObject = {
    "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "args": {"queries": ["", "nile"]}},
    "thoughtSignature": "c2lnMQ==",
}
TOOL_RESPONSE: JsonObject = {
    "toolResponse": {
        "toolType": "GOOGLE_SEARCH_WEB",
        "id": "t1",
        "response": {"search_suggestions": "<b>nile</b>"},
    },
    "thoughtSignature": "c2lnMg==",
}


def ended(*parts: JsonObject, **candidate: Json) -> JsonObject:
    return chunk(*parts, **{"finishReason": "STOP", **candidate})


def test_an_answer_starts_with_id_and_model_of_the_wire() -> None:
    events = DIALECT.decode_response(ended({"text": "Hi."}))
    assert events[0] == Started("r1", "gemini-2.5-flash")
    assert events[-1] == Finished("stop")


def test_consecutive_pieces_are_one_part_and_other_parts_separate_them() -> None:
    body = ended(
        {"text": "Let me ", "thought": True},
        {"text": "think.", "thought": True},
        {"text": "One "},
        {"text": ""},
        {"text": "two."},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"text": " Three."},
    )
    assert whole(body).parts == (
        Reasoning("Let me think.", {"gemini": {}}),
        Text("One two."),
        Opaque("gemini", {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}),
        Text(" Three."),
    )


def test_a_signature_stays_with_its_part_and_closes_it() -> None:
    body = ended(
        {"text": "Hm.", "thought": True, "thoughtSignature": "YQ=="},
        {"text": "Well.", "thought": True},
        {"text": "One. "},
        {"text": "", "thoughtSignature": "Yg=="},
        {"text": "Two.", "thoughtSignature": "Yw=="},
        {"text": "", "thoughtSignature": "ZA=="},
    )
    answer = whole(body)
    assert answer.parts == (
        Reasoning("Hm.", {"gemini": {"thoughtSignature": "YQ=="}}),
        Reasoning("Well.", {"gemini": {}}),
        Text("One. ", extras={"gemini": {"thoughtSignature": "Yg=="}}),
        Text("Two.", extras={"gemini": {"thoughtSignature": "Yw=="}}),
        Opaque("gemini", {"text": "", "thoughtSignature": "ZA=="}),
    )
    assert whole(DIALECT.encode_response(answer, REPLY)).parts == answer.parts


def test_images_are_images_and_other_data_is_opaque() -> None:
    sound: JsonObject = {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}
    stored: JsonObject = {"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/x.png"}}
    private: JsonObject = {
        "fileData": {
            "mimeType": "image/png",
            "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/1",
        }
    }
    body = ended(
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo=", "displayName": "x"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://a.test/x.png"}},
        sound,
        stored,
        private,
    )
    answer = whole(body)
    assert answer.parts == (
        Image("image/png", "iVBORw0KGgo=", extras={"gemini": {"data": {"displayName": "x"}}}),
        Image("image/png", url="https://a.test/x.png"),
        Opaque("gemini", sound),
        Opaque("gemini", stored),
        Opaque("gemini", private),
    )
    again = DIALECT.encode_response(answer, REPLY)
    assert at(again, "candidates", 0, "content") == at(body, "candidates", 0, "content")


def test_calls_are_for_the_client_and_end_the_turn() -> None:
    body = ended(
        {
            "functionCall": {"id": "f1", "name": "weather", "args": {"city": "Köln"}},
            "thoughtSignature": "YQ==",
        },
        {"functionCall": {"name": "clock"}},
    )
    answer = whole(body)
    assert answer.finish == "tool_calls"
    assert answer.parts == (
        ToolCall("f1", "weather", '{"city":"Köln"}', {"gemini": {"thoughtSignature": "YQ=="}}),
        ToolCall("call_r1_1", "clock", "{}", {"gemini": {"no_id": True}}),
    )
    parts = at(DIALECT.encode_response(answer, REPLY), "candidates", 0, "content", "parts")
    nameless: JsonObject = {"functionCall": {"name": "clock", "args": {}}}
    assert parts == [at(body, "candidates", 0, "content", "parts", 0), nameless]


def test_calls_without_ids_are_numbered_after_the_response_id() -> None:
    body = ended({"functionCall": {"name": "clock"}}, {"functionCall": {"name": "clock"}})
    ids = [part.id for part in whole(body).parts if isinstance(part, ToolCall)]
    assert ids == ["call_r1_0", "call_r1_1"]
    nameless: JsonObject = {**body, "responseId": None}
    assert [part.id for part in whole(nameless).parts if isinstance(part, ToolCall)] == ["call_0", "call_1"]


def test_a_server_tool_is_a_search_with_its_parts_kept_whole() -> None:
    metadata: JsonObject = {
        "webSearchQueries": ["nile", "another spelling"],
        "groundingChunks": [web("https://a.test", "A")],
        "searchEntryPoint": {"renderedContent": "<b>nile</b>"},
    }
    body = ended(TOOL_CALL, TOOL_RESPONSE, {"text": "Long."}, groundingMetadata=metadata)
    answer = whole(body)
    call, result, text = answer.parts
    assert call == SearchCall("t1", ("nile",), extras={"gemini": {"part": TOOL_CALL}})
    assert isinstance(result, SearchResult)
    assert [source.url for source in result.sources] == ["https://a.test"]
    assert (result.call_id, result.suggestions) == ("t1", "<b>nile</b>")
    assert result.extras == {"gemini": {"part": TOOL_RESPONSE}}
    assert text == Text("Long.")
    again = DIALECT.encode_response(answer, REPLY)
    assert at(again, "candidates", 0, "content") == at(body, "candidates", 0, "content")
    assert whole(again).parts == answer.parts


def test_a_server_tool_call_is_emitted_at_once_and_its_result_when_its_pages_are_known() -> None:
    metadata: JsonObject = {"groundingChunks": [web("https://a.test", "A")]}
    chunks = [
        chunk(TOOL_CALL, {"text": ""}),
        chunk(TOOL_RESPONSE),
        chunk({"text": "Long."}),
        chunk({"text": ""}, finishReason="STOP", groundingMetadata=metadata),
    ]
    events = events_of(*chunks)
    kinds = [type(event) for event in events]
    assert kinds.index(SearchCalled) < kinds.index(TextDelta) < kinds.index(SearchReturned)
    assert [event.part for event in events if isinstance(event, SearchReturned)] == [1]
    body = ended(TOOL_CALL, TOOL_RESPONSE, {"text": "Long."}, groundingMetadata=metadata)
    assert streamed(*chunks) == whole(body)


def test_what_was_found_belongs_to_the_last_of_several_searches() -> None:
    second_call: JsonObject = {
        "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t2", "args": {"queries": ["amazon"]}}
    }
    second: JsonObject = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t2", "response": {}}}
    metadata: JsonObject = {"groundingChunks": [web("https://a.test", "A")]}
    answer = whole(
        ended(TOOL_CALL, TOOL_RESPONSE, second_call, second, {"text": "Long."}, groundingMetadata=metadata)
    )
    results = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert [(result.call_id, len(result.sources)) for result in results] == [("t1", 0), ("t2", 1)]


def test_a_search_whose_response_never_arrived_still_gets_its_pages() -> None:
    metadata: JsonObject = {"groundingChunks": [web("https://a.test", "A")]}
    answer = whole(ended(TOOL_CALL, {"text": "Long."}, groundingMetadata=metadata))
    assert [(search.query, search.state) for search in answer.searches] == [("nile", "done")]
    assert [source.url for source in answer.sources] == ["https://a.test"]


def test_pages_opened_by_a_server_tool_are_not_emitted_twice() -> None:
    call: JsonObject = {
        "toolCall": {"toolType": "URL_CONTEXT", "id": "u1", "args": {"urls": ["https://a.test"]}}
    }
    response: JsonObject = {"toolResponse": {"toolType": "URL_CONTEXT", "id": "u1", "response": {}}}
    pages: list[Json] = [
        {"retrievedUrl": "https://a.test", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
        {"retrievedUrl": "https://b.test", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_UNSAFE"},
    ]
    answer = whole(ended(call, response, {"text": "x"}, urlContextMetadata={"urlMetadata": pages}))
    assert [(search.query, search.kind, search.state) for search in answer.searches] == [
        ("https://a.test", "open", "done"),
        ("https://b.test", "open", "failed"),
    ]


def test_server_tools_that_do_not_search_are_opaque() -> None:
    call: JsonObject = {"toolCall": {"toolType": "GOOGLE_MAPS", "id": "m1", "args": {}}}
    response: JsonObject = {"toolResponse": {"toolType": "GOOGLE_MAPS", "id": "m1", "response": {}}}
    assert whole(ended(call, response, {"text": "x"})).parts == (
        Opaque("gemini", call),
        Opaque("gemini", response),
        Text("x"),
    )


def test_a_null_is_not_data() -> None:
    body = ended({"text": None, "functionCall": {"name": "clock"}}, {"text": None})
    assert [type(part) for part in whole(body).parts] == [ToolCall]


def test_only_the_first_candidate_is_read() -> None:
    body: JsonObject = {
        "candidates": [
            {"index": 1, "content": {"parts": [{"text": "other"}]}, "finishReason": "STOP"},
            {"content": {"parts": [{"text": "first"}]}, "finishReason": "STOP"},
        ]
    }
    assert whole(body).text == "first"


@pytest.mark.parametrize(("name", "reason"), FINISH_REASONS.items())
def test_every_finish_reason_is_decoded_and_encoded(name: str, reason: FinishReason) -> None:
    answer = whole(chunk({"text": "x"}, finishReason=name, finishMessage="because"))
    assert answer.finish == reason
    assert answer.detail == ("" if name in ("STOP", "MAX_TOKENS") else name)
    again = at(DIALECT.encode_response(answer, REPLY), "candidates", 0)
    assert at(again, "finishReason") == {"CONTINUATION": "MAX_TOKENS"}.get(name, name)
    assert at(again, "finishMessage") == "because"


def test_a_continuation_is_offered_only_with_its_token() -> None:
    answer = whole(chunk({"text": "x"}, finishReason="CONTINUATION", continuationToken="dG9r"))
    again = at(DIALECT.encode_response(answer, REPLY), "candidates", 0)
    assert (at(again, "finishReason"), at(again, "continuationToken")) == ("CONTINUATION", "dG9r")


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("pause", "STOP"),
        ("refused", "SAFETY"),
        ("tool_calls", "STOP"),
        ("other", "OTHER"),
        ("length", "MAX_TOKENS"),
    ],
)
def test_foreign_finish_reasons_become_the_nearest(reason: FinishReason, name: str) -> None:
    body = DIALECT.encode_response(Answer((Text("x"),), finish=reason, detail="own words"), REPLY)
    assert at(body, "candidates", 0, "finishReason") == name
    assert at(body, "candidates", 0, "finishMessage") == "own words"


def test_an_unknown_finish_reason_is_other() -> None:
    answer = whole(chunk({"text": "x"}, finishReason="BAD_MOOD"))
    assert (answer.finish, answer.detail) == ("other", "BAD_MOOD")


@pytest.mark.parametrize("content", [{"content": {"role": "model"}}, {}, {"content": None}])
def test_a_finish_reason_may_arrive_without_parts_or_content(content: JsonObject) -> None:
    answer = whole(chunk(finishReason="MAX_TOKENS", **content))
    assert (answer.parts, answer.finish) == ((), "length")


def test_a_blocked_prompt_is_a_filter() -> None:
    body: JsonObject = {
        "promptFeedback": {"blockReason": "MODEL_ARMOR", "blockReasonMessage": "no"},
        "usageMetadata": {"trafficType": "ON_DEMAND"},
        "modelVersion": "m",
    }
    events = DIALECT.decode_response(body)
    assert events == streamed_events(body)
    answer = whole(body)
    assert (answer.finish, answer.detail, answer.parts) == ("filtered", "MODEL_ARMOR", ())
    again = DIALECT.encode_response(answer, REPLY)
    assert again["promptFeedback"] == body["promptFeedback"]
    assert "candidates" not in again


def streamed_events(*chunks: Json) -> list[object]:
    return [*events_of(*chunks)]


@pytest.mark.parametrize("body", [{}, {"candidates": []}, {"candidates": None, "promptFeedback": {}}])
def test_an_answer_without_candidates_is_interrupted(body: JsonObject) -> None:
    events = DIALECT.decode_response(body)
    last = events[-1]
    assert isinstance(last, Failed)
    assert isinstance(last.error, Interrupted)


def test_a_whole_body_without_a_finish_reason_is_complete() -> None:
    answer = whole(chunk({"text": "x"}))
    assert (answer.text, answer.finish, answer.error) == ("x", "other", None)


def test_an_error_instead_of_an_answer_is_an_error() -> None:
    events = DIALECT.decode_response({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})
    assert events == [Failed(Overloaded("busy", upstream_code="UNAVAILABLE"))]


def test_token_counts_are_sums_of_the_wire_and_are_encoded_again() -> None:
    counts: JsonObject = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 5,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 25,
    }
    answer = whole({**ended({"text": "x"}), "usageMetadata": counts})
    assert answer.usage == Usage(15, 10, 4, None, 3, 5)
    assert DIALECT.encode_response(answer, REPLY)["usageMetadata"] == counts


def test_the_last_counts_are_final_even_if_they_are_lower() -> None:
    answer = streamed(
        {**chunk({"text": "x"}), "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 15}},
        {**chunk(finishReason="STOP"), "usageMetadata": {"promptTokenCount": "9", "thoughtsTokenCount": 2}},
    )
    assert answer.usage == Usage(input_tokens=9, output_tokens=2, reasoning_tokens=2)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"candidates": {}}, "$.candidates"),
        ({"candidates": [7]}, "$.candidates[0]"),
        (chunk({"text": 7}), "$.candidates[0].content.parts[0].text"),
        (chunk({"text": "x"}, finishReason=3), "$.candidates[0].finishReason"),
        (
            chunk({"text": "x"}, groundingMetadata={"groundingSupports": [{"groundingChunkIndices": ["0"]}]}),
            "$.candidates[0].groundingMetadata.groundingSupports[0].groundingChunkIndices[0]",
        ),
        (
            chunk({"text": "x"}, groundingMetadata={"groundingChunks": [{"web": {"uri": []}}]}),
            "$.candidates[0].groundingMetadata.groundingChunks[0].web.uri",
        ),
        (
            {**chunk({"text": "x"}), "usageMetadata": {"promptTokenCount": "many"}},
            "$.usageMetadata.promptTokenCount",
        ),
    ],
)
def test_a_field_of_the_wrong_type_is_named(body: JsonObject, path: str) -> None:
    with pytest.raises(UpstreamWireError) as caught:
        DIALECT.decode_response(body)
    assert caught.value.path == path


def test_arguments_that_are_not_an_object_are_passed_on() -> None:
    calls = (ToolCall("1", "f", "[1]"), ToolCall("2", "f", '{"a": '), ToolCall("3", "f", " "))
    parts = at(DIALECT.encode_response(Answer(calls), REPLY), "candidates", 0, "content", "parts")
    assert isinstance(parts, list)
    assert [at(part, "functionCall", "args") for part in parts] == [
        {"arguments": "[1]"},
        {"arguments": '{"a": '},
        {},
    ]


def test_an_encoded_body_names_the_answer_and_the_requested_model() -> None:
    body = DIALECT.encode_response(Answer((Text("x"),), finish="stop", model="other"), REPLY)
    assert (body["responseId"], body["modelVersion"]) == ("abc", "gemini-x")
    assert at(body, "candidates", 0) == {
        "content": {"parts": [{"text": "x"}], "role": "model"},
        "finishReason": "STOP",
        "index": 0,
    }
