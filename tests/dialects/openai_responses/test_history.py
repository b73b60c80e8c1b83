"""Conversations: items become messages, and go back as they came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.model import (
    Citation,
    Evidence,
    Image,
    Json,
    JsonObject,
    Message,
    Opaque,
    Reasoning,
    Request,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    ToolResult,
)
from tests.dialects.openai_responses.wire import (
    END,
    PAGE,
    START,
    TEXT,
    call,
    citation,
    items_of,
    message,
    search,
    text_part,
    whole,
)

NATIVE = "openai_responses"
REASONING: JsonObject = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA/+=="}
TURN: list[Json] = [
    REASONING,
    search({"type": "search", "query": "rain", "queries": ["rain"]}),
    message(text_part(TEXT, citation()), phase="final_answer"),
    call(),
]


def user(text: str) -> JsonObject:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def messages(*items: Json) -> tuple[Message, ...]:
    return DIALECT.decode_request({"model": "m", "input": list(items)}).messages


def again(*items: Json) -> list[JsonObject]:
    request = DIALECT.decode_request({"model": "m", "input": list(items)})
    return items_of(DIALECT.encode_request(request).body, "input")


def test_the_items_of_a_turn_are_one_message_with_its_citations() -> None:
    question, turn, result = messages(
        user("Rain?"), *TURN, {"type": "function_call_output", "call_id": "call_1", "output": "12"}
    )
    assert question == Message("user", (Text("Rain?"),))
    assert turn.role == "assistant"
    assert [type(part) for part in turn.parts] == [Reasoning, SearchCall, SearchResult, Text, ToolCall]
    assert turn.citations[0].span == (START, END)
    assert turn.text == TEXT
    assert result == Message("user", (ToolResult("call_1", (Text("12"),), "get_weather"),))


def test_a_turn_of_this_dialects_goes_back_word_for_word() -> None:
    assert again(user("Rain?"), *TURN, user("And now?")) == [user("Rain?"), *TURN, user("And now?")]


def test_an_answer_goes_back_word_for_word() -> None:
    items = [item for item in TURN if isinstance(item, dict)]
    request = Request((whole(*items).message,))
    assert DIALECT.encode_request(request).body["input"] == TURN


def test_items_of_other_speakers_go_back_word_for_word() -> None:
    xai = search(None, "fc_1", name="web_search", arguments='{"query":"x"}', call_id="")
    azure = search({"type": "search", "query": "x"}, "ws_2", status="searching")
    opened = search({"type": "open_page", "url": None}, "ws_3")
    router = {**search({"type": "search"}, "ws_4"), "type": "openrouter:web_search"}
    assert again(xai, azure, opened, router) == [xai, azure, opened, router]


@pytest.mark.parametrize(
    "note",
    [citation(), citation(0, 0), citation(START + 2, END + 2), citation(900, 910), citation(0, 3)],
)
def test_annotations_keep_their_offsets_right_or_wrong(note: JsonObject) -> None:
    item = message(text_part(TEXT, note))
    assert again(item) == [item]


def test_what_only_we_understand_does_not_go_to_a_provider() -> None:
    note = citation(0, 3, content="quoted", groundwire={"anchor": "claim"})
    [item] = again(message(text_part(TEXT, note)))
    assert item["content"] == [text_part(TEXT, citation(0, 3))]


def test_citations_that_were_derived_were_never_annotated() -> None:
    searched = search({"type": "search", "query": "rain"})
    answer = whole(searched, message(text_part(TEXT)))
    assert answer.citations
    body = DIALECT.encode_request(Request((answer.message,))).body
    assert body["input"] == [searched, message(text_part(TEXT))]


def test_openai_refuses_the_status_of_a_reasoning() -> None:
    assert again({**REASONING, "status": "completed"}) == [REASONING]


def test_messages_need_neither_type_nor_list() -> None:
    [first, second, third] = messages(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi?"},
        {"role": "assistant", "content": "Hi."},
    )
    assert (first.role, first.text) == ("system", "Be brief.")
    assert second == Message("user", (Text("Hi?"),))
    assert third == Message("assistant", (Text("Hi."),))


def test_results_of_parallel_calls_are_one_message() -> None:
    outputs: list[Json] = [
        {"type": "function_call_output", "call_id": "call_1", "output": "12"},
        {
            "type": "function_call_output",
            "call_id": "call_2",
            "output": [
                {"type": "input_text", "text": "Here:"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
                {"type": "input_file", "file_id": "file_1"},
            ],
        },
    ]
    [turn] = messages(*outputs)
    first, second = turn.parts
    assert isinstance(first, ToolResult)
    assert isinstance(second, ToolResult)
    assert second.content[1] == Image("image/png", "AAAA", extras={NATIVE: {"detail": "low"}})
    assert again(*outputs) == outputs


def test_pictures_come_inline_or_by_address() -> None:
    content: list[Json] = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": "https://example.org/i.png", "detail": "auto"},
        {"type": "input_image", "file_id": "file_1", "detail": "auto"},
    ]
    item: JsonObject = {"type": "message", "role": "user", "content": content}
    [turn] = messages(item)
    assert turn.parts[1] == Image(url="https://example.org/i.png", extras={NATIVE: {"detail": "auto"}})
    assert isinstance(turn.parts[2], Opaque)
    assert again(item) == [item]


def test_items_nobody_knows_stay_where_they_were() -> None:
    items: list[Json] = [
        user("Hi?"),
        {"type": "item_reference", "id": "rs_9"},
        {"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "a"},
        {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True},
        message(text_part("Hm."), {"type": "output_audio", "data": "AA"}),
    ]
    roles = [turn.role for turn in messages(*items)]
    assert roles == ["user", "assistant", "user", "assistant"]
    *first, text, audio = again(*items)
    assert first == items[:-1]
    assert text == message(text_part("Hm."))
    assert audio["content"] == [{"type": "output_audio", "data": "AA"}]


def test_a_reference_needs_no_type() -> None:
    assert again({"id": "rs_9"}) == [{"type": "item_reference", "id": "rs_9"}]


def test_the_fields_of_a_users_message_are_kept() -> None:
    item: JsonObject = {**user("Hi?"), "id": "msg_u", "status": "completed"}
    assert again(item) == [item]


def test_two_messages_in_a_row_stay_two() -> None:
    items = [message(text_part("One.")), message(text_part("Two."), item_id="msg_2")]
    assert len(messages(*items)) == 1
    assert again(*items) == items


def test_a_turn_of_another_dialect_is_told_in_words() -> None:
    source = Source(PAGE, "A page", "cited")
    turn = Message(
        "assistant",
        (
            Reasoning("Hm.", {"anthropic_messages": {"signature": "s"}}),
            SearchCall("srvtoolu_1", ("rain",), extras={"anthropic_messages": {}}),
            SearchResult(
                "srvtoolu_1", (Source(PAGE, "A page"),), extras={"anthropic_messages": {"x": "SECRET"}}
            ),
            Text("It rains."),
            ToolCall("toolu_1", "f", "{}"),
        ),
        (Citation(Span(0, 9), (Evidence(source, "Rain!", extras={"anthropic_messages": {}}),)),),
    )
    first, second = items_of(DIALECT.encode_request(Request((turn,))).body, "input")
    words = json.dumps(first)
    assert first["type"] == "message"
    assert all(expected in words for expected in ("It rains.[1]", "rain", PAGE, "Rain!"))
    assert "SECRET" not in words
    assert second == {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": "{}"}


def test_foreign_parts_that_have_no_words_are_named() -> None:
    turns = (
        Message("user", (Text("Hi?"), Opaque("gemini", {"fileData": {}}))),
        Message("assistant", (Image("image/png", "AAAA"), Text("There."))),
        Message("user", (ToolResult("c", (Text("no"),), is_error=True),)),
    )
    body, unsupported = DIALECT.encode_request(Request(turns))
    assert unsupported == ("images", "is_error", "opaque_parts")
    assert [item["type"] for item in items_of(body, "input")] == [
        "message",
        "message",
        "function_call_output",
    ]


def test_results_and_words_of_one_turn_stand_in_their_order() -> None:
    turn = Message("user", (ToolResult("a", (Text("1"),)), Text("And?"), ToolResult("b", (Text("2"),))))
    items = items_of(DIALECT.encode_request(Request((turn,))).body, "input")
    assert [item["type"] for item in items] == ["function_call_output", "message", "function_call_output"]


def test_recorded_turns_go_back_word_for_word(recordings: Path) -> None:
    for path in sorted((recordings / "openai-responses").glob("*.request.json")):
        body = json.loads(path.read_text())
        if not isinstance(body["input"], list):
            continue
        replayed = items_of(DIALECT.encode_request(DIALECT.decode_request(body)).body, "input")
        said = [item for item in body["input"] if item.get("role") != "assistant" or "id" in item]
        assert [_plain(item) for item in replayed if item.get("role") != "assistant" or "id" in item] == [
            _plain(item) for item in said
        ], path.name


def _plain(item: JsonObject) -> JsonObject:
    """An item without what may be left out: empty lists, its type, and the short form of its content."""
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    parts = [
        {key: value for key, value in part.items() if value != []}
        for part in (content if isinstance(content, list) else [])
        if isinstance(part, dict)
    ]
    plain = {key: value for key, value in item.items() if key not in ("content", "type") or value is None}
    return {**plain, "content": [dict(part) for part in parts]} if "content" in item else plain


def test_annotations_of_files_go_back_too() -> None:
    file: JsonObject = {"type": "file_citation", "file_id": "file_1", "filename": "a.txt", "index": 3}
    item = message(text_part(TEXT, citation(), file))
    assert again(item) == [item]


def test_a_search_without_its_wire_form_is_rebuilt() -> None:
    marks: dict[str, JsonObject] = {NATIVE: {}}
    turn = Message(
        "assistant",
        (
            SearchCall("ws_1", ("rain",), extras=marks),
            SearchResult("ws_1", (Source(PAGE, "A"),), extras=marks),
            SearchResult("ws_2", (Source(PAGE),), extras=marks),
            Image("image/png", "AAAA", extras={NATIVE: {"id": "ig_1"}}),
        ),
    )
    items = items_of(DIALECT.encode_request(Request((turn,))).body, "input")
    action: JsonObject = {"type": "search", "query": "rain", "queries": ["rain"]}
    sources: list[Json] = [{"type": "url", "url": PAGE}]
    assert items[0] == search({**action, "sources": sources})
    assert items[1] == search({"type": "search", "sources": sources}, "ws_2")
    assert (items[2]["type"], items[2]["id"]) == ("image_generation_call", "ig_1")


def test_a_function_may_give_back_nothing() -> None:
    turn = Message("user", (ToolResult("c"),))
    [item] = items_of(DIALECT.encode_request(Request((turn,))).body, "input")
    assert item == {"type": "function_call_output", "call_id": "c", "output": ""}
