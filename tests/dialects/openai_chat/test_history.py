"""Messages of the conversation, decoded and encoded."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import (
    Citation,
    Evidence,
    Image,
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
from tests.dialects.openai_chat.wire import USER, comes_back, decode_history, encode_messages


def test_system_messages_at_the_beginning_become_the_system_prompt() -> None:
    request = decode_history({"role": "system", "content": "A"}, {"role": "system", "content": "B"}, USER)
    assert request.system == (Text("A"), Text("B"))
    assert [message.role for message in request.messages] == ["user"]
    assert encode_messages(request)[0] == {
        "role": "system",
        "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}],
    }


def test_developer_and_later_system_messages_keep_their_position() -> None:
    messages: tuple[JsonObject, ...] = (
        {"role": "system", "content": "A"},
        {"role": "developer", "content": "B"},
        USER,
        {"role": "system", "content": "C"},
    )
    request = decode_history(*messages)
    assert request.system == (Text("A"),)
    assert [message.role for message in request.messages] == ["developer", "user", "system"]
    assert encode_messages(request) == list(messages)


def test_a_named_system_message_keeps_its_name() -> None:
    assert comes_back({"role": "system", "name": "boss", "content": "A"}, USER)


def test_images_may_be_inline_or_urls() -> None:
    message: JsonObject = {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0=", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://a.example/b.jpg"}},
        ],
    }
    parts = decode_history(message).messages[0].parts
    assert isinstance(parts[1], Image)
    assert (parts[1].media_type, parts[1].data) == ("image/png", "iVBORw0=")
    assert isinstance(parts[2], Image)
    assert parts[2].url == "https://a.example/b.jpg"
    assert comes_back(message)


def test_an_image_url_given_as_plain_text_is_read() -> None:
    parts = decode_history(
        {"role": "user", "content": [{"type": "image_url", "image_url": "https://a.example"}]}
    )
    assert parts.messages[0].parts == (Image(url="https://a.example"),)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f_1"}},
        {"type": "something_new", "x": [1]},
    ],
)
def test_other_content_is_kept_verbatim(part: JsonObject) -> None:
    message: JsonObject = {"role": "user", "content": [{"type": "text", "text": "Hear"}, part]}
    assert decode_history(message).messages[0].parts[1] == Opaque("openai_chat", part)
    assert comes_back(message)


CALLS: JsonObject = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "f", "arguments": '{"a":1}'},
            "extra_content": {"google": {"thought_signature": "sig"}},
        },
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free text"}},
    ],
}


def test_calls_and_results_become_one_turn_each() -> None:
    messages: tuple[JsonObject, ...] = (
        USER,
        CALLS,
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two", "x": 1}]},
        {"role": "user", "content": "go on"},
    )
    request = decode_history(*messages)
    assert [len(message.parts) for message in request.messages] == [1, 2, 2, 1]
    call, custom = request.messages[1].parts
    assert isinstance(call, ToolCall)
    assert (call.id, call.name, call.arguments) == ("c1", "f", '{"a":1}')
    assert isinstance(custom, ToolCall)
    assert custom.arguments == "free text"
    first, second = request.messages[2].parts
    assert first == ToolResult("c1", (Text("one"),))
    assert isinstance(second, ToolResult)
    assert second.call_id == "c2"
    assert encode_messages(request) == list(messages)


def test_legacy_function_calls_are_paired_with_their_results_and_come_back() -> None:
    messages: tuple[JsonObject, ...] = (
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "2"},
    )
    request = decode_history(*messages)
    ids = [part.id for message in request.messages for part in message.parts if isinstance(part, ToolCall)]
    answered = [
        part.call_id for message in request.messages for part in message.parts if isinstance(part, ToolResult)
    ]
    assert ids == answered
    assert len(set(ids)) == 2
    assert encode_messages(request) == list(messages)


def test_refusals_are_text_with_a_phase() -> None:
    message: JsonObject = {"role": "assistant", "content": None, "refusal": "I won't."}
    assert decode_history(USER, message).messages[1].parts == (Text("I won't.", "refusal"),)
    assert comes_back(USER, message)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_back_in_its_field_with_its_details(field: str) -> None:
    message: JsonObject = {
        "role": "assistant",
        "content": "x",
        field: "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA", "index": 0}],
    }
    part = decode_history(USER, message).messages[1].parts[0]
    assert isinstance(part, Reasoning)
    assert part.text == "hm"
    assert comes_back(USER, message)


def test_reasoning_of_another_dialect_is_omitted() -> None:
    encoded = encode_messages(
        Request((Message("assistant", (Reasoning("hm", {"anthropic_messages": {}}), Text("x"))),))
    )
    assert encoded == [{"role": "assistant", "content": "x"}]


TEXT = "Rain. ([a.example](https://a.example/x))"
CITED: JsonObject = {
    "role": "assistant",
    "content": TEXT,
    "annotations": [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": TEXT.index("("),
                "end_index": len(TEXT),
                "title": "A",
                "url": "https://a.example/x",
                "content": "It rains.",
            },
        },
        {"type": "file", "file": {"hash": "h"}},
    ],
}


def test_annotations_of_a_turn_are_its_citations_and_come_back() -> None:
    turn = decode_history(USER, CITED).messages[1]
    (citation,) = turn.citations
    assert citation.span is not None
    assert TEXT[citation.span.start : citation.span.end] == "([a.example](https://a.example/x))"
    assert (citation.evidence[0].source.title, citation.evidence[0].quote) == ("A", "It rains.")
    assert comes_back(USER, CITED)


def test_citations_of_another_dialect_become_text_with_every_url() -> None:
    message = Message(
        "assistant",
        (
            SearchCall("s", ("rain",)),
            SearchResult("s", (Source("https://b.example", "B"),)),
            Text("It rains."),
        ),
        (Citation(Span(0, 9), (Evidence(Source("https://a.example/x", "A"), "wet"),)),),
    )
    (encoded,) = encode_messages(Request((message,)))
    assert "annotations" not in encoded
    assert isinstance(encoded["content"], str)
    for expected in ("It rains.[1]", "https://a.example/x", "https://b.example", "wet", "rain"):
        assert expected in encoded["content"]


def test_images_in_results_follow_in_a_user_message() -> None:
    message = Message("user", (ToolResult("c", (Text("shot"), Image("image/png", "AA=="))), Text("and?")))
    tool, user = encode_messages(Request((message,)))
    assert tool == {"role": "tool", "tool_call_id": "c", "content": "shot"}
    assert user["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "text", "text": "and?"},
    ]


def test_images_of_the_assistant_come_back_only_if_this_dialect_made_them() -> None:
    message: JsonObject = {
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "No."}, {"type": "audio", "audio": {"id": "a"}}],
        "images": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}, "index": 0}],
    }
    request = decode_history(USER, message)
    encoded = encode_messages(request)[1]
    assert encoded["images"] == message["images"]
    assert encoded["content"] == [{"type": "audio", "audio": {"id": "a"}}]
    assert encoded["refusal"] == "No."
    foreign = Request((Message("assistant", (Image(url="https://a.example/b.png"), Text("x"))),))
    assert DIALECT.encode_request(foreign).unsupported == ("images",)


def test_a_failed_result_is_marked_in_its_text() -> None:
    (tool,) = encode_messages(Request((Message("user", (ToolResult("c", (Text("boom"),), is_error=True),)),)))
    assert tool["content"] == "Error: boom"
