"""Requests: what a caller's body means, and that it comes back with the same meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import ClientWireError
from groundwire.model import (
    Citation,
    Evidence,
    FunctionTool,
    Image,
    JsonObject,
    Limits,
    Message,
    Opaque,
    OpaqueTool,
    OutputFormat,
    Reasoning,
    ReasoningOptions,
    Request,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
)

USER: JsonObject = {"role": "user", "content": "Hi"}


def _body(**fields: object) -> JsonObject:
    return cast("JsonObject", {"model": "m", "messages": [USER], **fields})


def _history(*messages: object) -> Request:
    return DIALECT.decode_request(_body(messages=list(messages)))


def _messages(request: Request) -> list[JsonObject]:
    return cast("list[JsonObject]", DIALECT.encode_request(request).body["messages"])


def _comes_back(*messages: JsonObject) -> bool:
    return _messages(_history(*messages)) == list(messages)


def test_system_messages_at_the_head_become_the_system_prompt() -> None:
    request = _history({"role": "system", "content": "A"}, {"role": "system", "content": "B"}, USER)
    assert request.system == (Text("A"), Text("B"))
    assert [message.role for message in request.messages] == ["user"]
    assert _messages(request)[0] == {
        "role": "system",
        "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}],
    }


def test_developer_and_later_system_messages_stay_where_they_are() -> None:
    messages: tuple[JsonObject, ...] = (
        {"role": "system", "content": "A"},
        {"role": "developer", "content": "B"},
        USER,
        {"role": "system", "content": "C"},
    )
    request = _history(*messages)
    assert request.system == (Text("A"),)
    assert [message.role for message in request.messages] == ["developer", "user", "system"]
    assert _messages(request) == list(messages)


def test_a_named_system_message_keeps_its_name() -> None:
    assert _comes_back({"role": "system", "name": "boss", "content": "A"}, USER)


def test_pictures_come_inline_and_by_address() -> None:
    message: JsonObject = {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0=", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://a.example/b.jpg"}},
        ],
    }
    parts = _history(message).messages[0].parts
    assert isinstance(parts[1], Image)
    assert (parts[1].media_type, parts[1].data) == ("image/png", "iVBORw0=")
    assert isinstance(parts[2], Image)
    assert parts[2].url == "https://a.example/b.jpg"
    assert _comes_back(message)


def test_an_image_url_given_as_plain_text_is_read() -> None:
    parts = _history({"role": "user", "content": [{"type": "image_url", "image_url": "https://a.example"}]})
    assert parts.messages[0].parts == (Image(url="https://a.example"),)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f_1"}},
        {"type": "something_new", "x": [1]},
    ],
)
def test_other_content_is_kept_whole(part: JsonObject) -> None:
    message: JsonObject = {"role": "user", "content": [{"type": "text", "text": "Hear"}, part]}
    assert _history(message).messages[0].parts[1] == Opaque("openai_chat", part)
    assert _comes_back(message)


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
    request = _history(*messages)
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
    assert _messages(request) == list(messages)


def test_function_calls_of_old_are_paired_with_their_results_and_come_back() -> None:
    messages: tuple[JsonObject, ...] = (
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "2"},
    )
    request = _history(*messages)
    ids = [part.id for message in request.messages for part in message.parts if isinstance(part, ToolCall)]
    answered = [
        part.call_id for message in request.messages for part in message.parts if isinstance(part, ToolResult)
    ]
    assert ids == answered
    assert len(set(ids)) == 2
    assert _messages(request) == list(messages)


def test_refusals_are_text_with_a_phase() -> None:
    message: JsonObject = {"role": "assistant", "content": None, "refusal": "I won't."}
    assert _history(USER, message).messages[1].parts == (Text("I won't.", "refusal"),)
    assert _comes_back(USER, message)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_back_in_its_field_with_its_details(field: str) -> None:
    message: JsonObject = {
        "role": "assistant",
        "content": "x",
        field: "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA", "index": 0}],
    }
    part = _history(USER, message).messages[1].parts[0]
    assert isinstance(part, Reasoning)
    assert part.text == "hm"
    assert _comes_back(USER, message)


def test_reasoning_of_another_dialect_is_not_said() -> None:
    said = _messages(
        Request((Message("assistant", (Reasoning("hm", {"anthropic_messages": {}}), Text("x"))),))
    )
    assert said == [{"role": "assistant", "content": "x"}]


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
    turn = _history(USER, CITED).messages[1]
    (citation,) = turn.citations
    assert citation.span is not None
    assert TEXT[citation.span.start : citation.span.end] == "([a.example](https://a.example/x))"
    assert (citation.evidence[0].source.title, citation.evidence[0].quote) == ("A", "It rains.")
    assert _comes_back(USER, CITED)


def test_citations_of_another_dialect_become_words_with_every_address() -> None:
    message = Message(
        "assistant",
        (
            SearchCall("s", ("rain",)),
            SearchResult("s", (Source("https://b.example", "B"),)),
            Text("It rains."),
        ),
        (Citation(Span(0, 9), (Evidence(Source("https://a.example/x", "A"), "wet"),)),),
    )
    (said,) = _messages(Request((message,)))
    assert "annotations" not in said
    assert isinstance(said["content"], str)
    for word in ("It rains.[1]", "https://a.example/x", "https://b.example", "wet", "rain"):
        assert word in said["content"]


def test_pictures_in_results_follow_in_a_user_message() -> None:
    message = Message("user", (ToolResult("c", (Text("shot"), Image("image/png", "AA=="))), Text("and?")))
    tool, user = _messages(Request((message,)))
    assert tool == {"role": "tool", "tool_call_id": "c", "content": "shot"}
    assert user["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "text", "text": "and?"},
    ]


def test_pictures_of_the_assistant_come_back_only_if_they_were_told_here() -> None:
    message: JsonObject = {
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "No."}, {"type": "audio", "audio": {"id": "a"}}],
        "images": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}, "index": 0}],
    }
    request = _history(USER, message)
    said = _messages(request)[1]
    assert said["images"] == message["images"]
    assert said["content"] == [{"type": "audio", "audio": {"id": "a"}}]
    assert said["refusal"] == "No."
    foreign = Request((Message("assistant", (Image(url="https://a.example/b.png"), Text("x"))),))
    assert DIALECT.encode_request(foreign).unsupported == ("images",)


def test_openrouter_is_asked_to_reason_with_an_object() -> None:
    search = SearchOptions(extras={"openai_chat": {"form": "openrouter"}})
    options = ReasoningOptions("low", 100, visible=True)
    request = Request((Message("user", (Text("q"),)),), "m", search=search, reasoning=options)
    body, unsupported = DIALECT.encode_request(request)
    assert body["reasoning"] == {"effort": "low", "max_tokens": 100, "exclude": False}
    assert unsupported == ()


def test_json_without_a_schema_is_any_object() -> None:
    request = DIALECT.decode_request(_body(response_format={"type": "json_object"}))
    assert request.output == OutputFormat()
    assert DIALECT.encode_request(request).body["response_format"] == {"type": "json_object"}


def test_a_failed_result_says_so_in_words() -> None:
    (tool,) = _messages(Request((Message("user", (ToolResult("c", (Text("boom"),), is_error=True),)),)))
    assert tool["content"] == "Error: boom"


def test_functions_keep_everything() -> None:
    tools = [
        {
            "type": "function",
            "function": {
                "name": "f",
                "description": "d",
                "parameters": {"type": "object"},
                "strict": True,
                "returns": {"x": 1},
            },
            "cache_control": {"type": "ephemeral"},
        },
        {"type": "function", "function": {"name": "g"}},
        {"type": "custom", "custom": {"name": "h"}},
    ]
    request = DIALECT.decode_request(_body(tools=tools))
    first, second, third = request.tools
    assert isinstance(first, FunctionTool)
    assert (first.name, first.description, first.parameters, first.strict) == (
        "f",
        "d",
        {"type": "object"},
        True,
    )
    assert second == FunctionTool("g")
    assert isinstance(third, OpaqueTool)
    assert DIALECT.encode_request(request).body["tools"] == tools


def test_functions_of_old_come_back_as_functions() -> None:
    body = _body(functions=[{"name": "f", "parameters": {}}], function_call={"name": "f"})
    request = DIALECT.decode_request(body)
    assert request.tool_choice == ToolChoice("function", "f")
    assert DIALECT.encode_request(request).body == body


@pytest.mark.parametrize(
    ("wire", "choice"),
    [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "function": {"name": "f"}}, ToolChoice("function", "f")),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}},
            ToolChoice("required"),
        ),
        ({"type": "custom", "custom": {"name": "f"}}, None),
        (None, None),
    ],
)
def test_tool_choice_in_all_forms(wire: object, choice: ToolChoice | None) -> None:
    request = DIALECT.decode_request(_body(tool_choice=wire))
    assert request.tool_choice == choice
    assert DIALECT.encode_request(request).body.get("tool_choice") == wire


def test_a_forced_search_is_a_choice() -> None:
    body = _body(tools=[{"type": "openrouter:web_search"}], tool_choice={"type": "openrouter:web_search"})
    request = DIALECT.decode_request(body)
    assert request.tool_choice == ToolChoice("search")
    assert DIALECT.encode_request(request).body == body


def test_a_search_that_is_no_tool_cannot_be_forced() -> None:
    request = Request((Message("user", (Text("q"),)),), "m", (), (), ToolChoice("search"), SearchOptions())
    body, unsupported = DIALECT.encode_request(request)
    assert "tool_choice" not in body
    assert unsupported == ("tool_choice",)


def test_limits_and_everything_else_come_back() -> None:
    body = _body(
        max_tokens=5,
        stop=["a", "b"],
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        n=2,
        seed=7,
        user="u",
        metadata={"a": "b"},
        stream=True,
        stream_options={"include_usage": True},
        reasoning_effort="high",
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True, "description": "d"},
        },
        plugins=[{"id": "file-parser"}],
    )
    request = DIALECT.decode_request(body)
    assert request.limits == Limits(5, ("a", "b"), 0.5, 0.9, 3)
    assert request.reasoning == ReasoningOptions("high")
    assert request.output == OutputFormat({"type": "object"}, "n", strict=True)
    assert request.stream
    assert request.search is None
    encoded = DIALECT.encode_request(request)
    assert encoded.body == body
    assert encoded.unsupported == ()


def test_one_stop_word_may_stand_alone() -> None:
    assert DIALECT.decode_request(_body(stop="x")).limits.stop == ("x",)


@pytest.mark.parametrize(
    ("reasoning", "options"),
    [
        ({"effort": "low"}, ReasoningOptions("low")),
        ({"max_tokens": 100, "exclude": True}, ReasoningOptions(None, 100, visible=False)),
        ({"enabled": False}, ReasoningOptions("none")),
        ({"enabled": True}, None),
    ],
)
def test_openrouters_reasoning_object(reasoning: JsonObject, options: ReasoningOptions | None) -> None:
    request = DIALECT.decode_request(_body(reasoning=reasoning))
    assert request.reasoning == options
    written = DIALECT.encode_request(request).body["reasoning"]
    assert DIALECT.decode_request(_body(reasoning=written)).reasoning == options


def test_an_effort_nobody_knows_is_passed_on() -> None:
    request = DIALECT.decode_request(_body(reasoning_effort="heroic"))
    assert request.reasoning is None
    assert DIALECT.encode_request(request).body["reasoning_effort"] == "heroic"


@pytest.mark.parametrize("form", [{"type": "text"}, {"type": "grammar", "grammar": "x"}])
def test_other_output_formats_come_back(form: JsonObject) -> None:
    body = _body(response_format=form)
    request = DIALECT.decode_request(body)
    assert request.output is None
    assert DIALECT.encode_request(request).body == body


def test_what_another_dialect_asked_for_is_named_when_it_cannot_be_said() -> None:
    request = Request(
        (Message("user", (Text("q"), Opaque("gemini", {"x": 1}))),),
        tools=(OpaqueTool("anthropic_messages", {"type": "code_execution"}),),
        limits=Limits(top_k=5, max_output_tokens=9),
        reasoning=ReasoningOptions(budget_tokens=1000),
        previous_id="resp_1",
        stream=True,
        extras={"gemini": {"cachedContent": "c"}},
    )
    body, unsupported = DIALECT.encode_request(request)
    assert set(unsupported) == {"opaque_parts", "opaque_tools", "top_k", "reasoning", "previous_id"}
    assert body["messages"] == [{"role": "user", "content": "q"}]
    assert body["max_completion_tokens"] == 9
    assert body["stream_options"] == {"include_usage": True}
    assert "cachedContent" not in body


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.messages"),
        ({"messages": []}, "$.messages"),
        ({"messages": "hi"}, "$.messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "$.messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "$.messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]},
            "$.messages[0].content[0].text",
        ),
        ({"messages": [USER], "tools": [{"type": "function"}]}, "$.tools[0].function"),
        ({"messages": [USER], "tools": [{"type": "function", "function": {}}]}, "$.tools[0].function.name"),
        ({"messages": [USER], "temperature": "hot"}, "$.temperature"),
        ({"messages": [USER], "search_after_date_filter": "soon"}, "$.search_after_date_filter"),
        ([], "$"),
    ],
)
def test_mistakes_of_the_caller_name_their_place(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        DIALECT.decode_request(body)
    assert caught.value.path == path


def test_recorded_requests_come_back_unchanged(recordings: Path) -> None:
    files = [
        *recordings.glob("openai-chat/*.request.json"),
        *recordings.glob("openrouter-chat/*.request.json"),
    ]
    bodies = [json.loads(file.read_text()) for file in files if "empty-messages" not in file.name]
    assert len(bodies) > 10
    for body in bodies:
        expected = {key: value for key, value in body.items() if (key, value) != ("stream", False)}
        assert DIALECT.encode_request(DIALECT.decode_request(body)) == (expected, ())
