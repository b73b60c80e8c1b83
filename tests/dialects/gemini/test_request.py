"""Requests: contents, tools, limits and thinking, in both spellings, and what is unsupported."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.dialects.proto_json import snake_case
from groundwire.errors import ClientWireError
from groundwire.model import (
    Citation,
    Evidence,
    Extras,
    FunctionTool,
    Image,
    Json,
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
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from groundwire.model.request import Effort
from groundwire.model.value import replace
from tests.dialects.gemini.bodies import at, chunk, decode, encode, web, whole

QUESTION: JsonObject = {"role": "user", "parts": [{"text": "Which river?"}]}
ASK = Request((Message("user", (Text("Which river?"),)),))
SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = FunctionTool("weather", "Tells it", SCHEMA)

FULL: JsonObject = {
    "contents": [
        QUESTION,
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True, "thoughtSignature": "YQ=="},
                {"functionCall": {"id": "f1", "name": "weather", "args": {"city": "Köln"}}},
                {"functionCall": {"name": "clock", "args": {}}, "thoughtSignature": "Yg=="},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "f1", "name": "weather", "response": {"output": "mild"}}},
                {
                    "functionResponse": {
                        "name": "clock",
                        "response": {"hour": 7, "zone": {"name": "UTC"}},
                        "willContinue": False,
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
                    }
                },
                {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {
                    "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "args": {"queries": ["q"]}},
                    "thoughtSignature": "Yw==",
                },
                {
                    "toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "response": {}},
                    "thoughtSignature": "ZA==",
                },
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"text": "Done.", "thoughtSignature": "ZQ=="},
            ],
        },
        {"role": "user", "parts": [{"text": "And now?"}, {"text": "Here?", "partMetadata": {"x": 1}}]},
    ],
    "systemInstruction": {"parts": [{"text": "Be kind."}, {"text": "Be brief."}]},
    "tools": [
        {"urlContext": {}},
        {
            "googleSearch": {
                "timeRangeFilter": {"startTime": "2026-01-01T00:00:00Z", "endTime": "2026-02-01T00:00:00Z"},
                "searchTypes": {"webSearch": {}},
            }
        },
        {
            "functionDeclarations": [
                {
                    "name": "weather",
                    "description": "Tells it",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {"city": {"type": "STRING", "nullable": True, "maxLength": "9"}},
                        "propertyOrdering": ["city"],
                    },
                    "response": {"type": "STRING"},
                },
                {"name": "clock", "parametersJsonSchema": SCHEMA},
            ]
        },
    ],
    "toolConfig": {
        "functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["weather", "clock"]},
        "retrievalConfig": {"latLng": {"latitude": 50.9, "longitude": 6.9}, "languageCode": "de"},
        "includeServerSideToolInvocations": True,
    },
    "generationConfig": {
        "maxOutputTokens": 100,
        "temperature": 0.5,
        "topP": 0.25,
        "topK": 20,
        "stopSequences": ["END"],
        "seed": 7,
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": -1},
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    },
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    "cachedContent": "cachedContents/1",
}


def snaked(
    value: Json, verbatim: tuple[str, ...] = ("args", "response", "partMetadata", "properties")
) -> Json:
    """The same body in the other spelling, except where names belong to the caller."""
    if isinstance(value, list):
        return [snaked(item) for item in value]
    if isinstance(value, dict):
        return {snake_case(key): item if key in verbatim else snaked(item) for key, item in value.items()}
    return value


def test_a_request_with_every_field_is_decoded() -> None:
    request = DIALECT.decode_request(FULL)
    first, calls, results, searched, last = request.messages
    assert first == Message("user", (Text("Which river?"),))
    assert calls.parts == (
        Reasoning("Hm.", {"gemini": {"thoughtSignature": "YQ=="}}),
        ToolCall("f1", "weather", '{"city":"Köln"}'),
        ToolCall("call_0", "clock", "{}", {"gemini": {"thoughtSignature": "Yg==", "no_id": True}}),
    )
    weather, clock, document = results.parts
    assert weather == ToolResult("f1", (Text("mild"),), "weather", extras={"gemini": {"key": "output"}})
    assert isinstance(clock, ToolResult)
    assert (clock.call_id, clock.name) == ("call_0", "clock")
    assert clock.content == (Text('{"hour":7,"zone":{"name":"UTC"}}'), Image("image/png", "aGk="))
    assert isinstance(document, Opaque)
    assert [type(part) for part in searched.parts] == [SearchCall, SearchResult, Opaque, Opaque, Text]
    assert last.text == "And now?Here?"
    assert [part.text for part in request.system] == ["Be kind.", "Be brief."]
    assert request.limits == Limits(100, ("END",), 0.5, 0.25, 20)
    assert request.reasoning == ReasoningOptions(visible=True)
    assert request.output == OutputFormat(SCHEMA)
    assert request.tool_choice == ToolChoice("auto")
    assert (request.model, request.stream) == ("", False)
    search = request.search
    assert search is not None
    assert (search.since, search.until, search.language) == (
        "2026-01-01T00:00:00Z",
        "2026-02-01T00:00:00Z",
        "de",
    )
    assert search.location is not None
    assert (search.location.latitude, search.location.longitude) == (50.9, 6.9)
    functions = [tool for tool in request.tools if isinstance(tool, FunctionTool)]
    assert functions[0].parameters == {
        "type": "object",
        "properties": {"city": {"type": ["string", "null"], "maxLength": 9}},
    }
    assert [tool for tool in request.tools if isinstance(tool, OpaqueTool)] == [
        OpaqueTool("gemini", {"urlContext": {}})
    ]


def test_a_decoded_request_is_encoded_as_the_same_body() -> None:
    body, unsupported = encode(DIALECT.decode_request(FULL))
    assert unsupported == ()
    tools = body.pop("tools")
    expected = {**FULL}
    declared = expected.pop("tools")
    assert isinstance(tools, list)
    assert isinstance(declared, list)
    assert all(tool in declared for tool in tools)
    assert len(tools) == len(declared)
    assert body == expected


def test_the_other_spelling_means_the_same() -> None:
    camel, snake = DIALECT.decode_request(FULL), DIALECT.decode_request(_object(snaked(FULL)))
    assert replace(snake, extras={}, tools=(), messages=(), search=None) == replace(
        camel, extras={}, tools=(), messages=(), search=None
    )
    assert camel.search is not None
    assert snake.search is not None
    assert replace(snake.search, extras={}) == replace(camel.search, extras={})
    assert [message.text for message in snake.messages] == [message.text for message in camel.messages]
    assert snake.messages[1] == camel.messages[1]
    assert [type(part) for message in snake.messages for part in message.parts] == [
        type(part) for message in camel.messages for part in message.parts
    ]
    assert [tool.parameters for tool in snake.tools if isinstance(tool, FunctionTool)] == [
        tool.parameters for tool in camel.tools if isinstance(tool, FunctionTool)
    ]


def _object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value


def test_both_spellings_may_occur_in_one_body() -> None:
    request = decode(
        tools=[{"googleSearch": {"timeRangeFilter": {"start_time": "a", "endTime": "b"}}}],
        toolConfig={"retrievalConfig": {"lat_lng": {"latitude": 1, "longitude": 2}, "language_code": "de"}},
    )
    search = request.search
    assert search is not None
    assert (search.since, search.until, search.language) == ("a", "b", "de")
    assert search.location is not None
    assert search.location.longitude == 2


@pytest.mark.parametrize(
    "contents",
    [
        [{"parts": [{"text": "Hi"}]}],
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"parts": {"text": "Hi"}},
        [{"role": None, "parts": [None, {"text": "Hi", "thought": None}]}],
    ],
)
def test_loose_forms_of_a_question_are_understood(contents: Json) -> None:
    request = DIALECT.decode_request({"contents": contents})
    assert request.messages == (Message("user", (Text("Hi"),)),)


@pytest.mark.parametrize(
    "system", ["Be kind.", {"parts": [{"text": "Be kind."}], "role": "user"}, {"parts": {"text": "Be kind."}}]
)
def test_instructions_come_in_several_forms(system: Json) -> None:
    assert decode(systemInstruction=system).system == (Text("Be kind."),)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.contents"),
        ({"contents": []}, "$.contents"),
        ({"contents": "hi"}, "$.contents"),
        ({"contents": [{"role": "narrator", "parts": []}]}, "$.contents[0].role"),
        ({"contents": [{"parts": [{"text": 7}]}]}, "$.contents[0].parts[0].text"),
        (
            {"contents": [QUESTION], "tools": [{"functionDeclarations": [{}]}]},
            "$.tools[0].functionDeclarations[0].name",
        ),
        ({"contents": [QUESTION], "generationConfig": {"topK": "x"}}, "$.generationConfig.topK"),
        (
            {"contents": [QUESTION], "systemInstruction": {"parts": [{"inlineData": {}}]}},
            "$.systemInstruction.parts[0]",
        ),
    ],
)
def test_an_error_names_the_json_path(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        DIALECT.decode_request(body)
    assert caught.value.path == path


def test_the_model_name_stays_in_the_url() -> None:
    request = decode(model="models/gemini-x")
    assert (request.model, request.extras) == ("", {})
    body, _ = encode(replace(ASK, model="gemini-x", stream=True))
    assert body == {"contents": [QUESTION]}


def test_results_without_ids_answer_the_open_call_of_their_name() -> None:
    turns: list[Json] = [
        QUESTION,
        {"role": "model", "parts": [{"functionCall": {"name": name}} for name in ("a", "b", "a")]},
        {
            "role": "function",
            "parts": [{"functionResponse": {"name": name, "response": {}}} for name in ("b", "a", "a", "z")],
        },
        {"role": "model", "parts": [{"functionCall": {"name": "a"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]},
    ]
    request = DIALECT.decode_request({"contents": turns})
    ids = [
        part.id if isinstance(part, ToolCall) else part.call_id
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolCall | ToolResult)
    ]
    assert ids == ["call_0", "call_1", "call_2", "call_1", "call_0", "call_2", "call_3", "call_4", "call_4"]
    body, _ = encode(request)
    assert "call_" not in json.dumps(body)


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"output": "mild"}, "mild", False),
        ({"result": "mild"}, "mild", False),
        ({"error": "no such city"}, "no such city", True),
        ({"error": {"code": 5}}, '{"error":{"code":5}}', True),
        ({"output": {"a": 1}}, '{"output":{"a":1}}', False),
        ({"a": "1", "b": 2}, '{"a":"1","b":2}', False),
        ({"output": '{"a": 1}'}, '{"a": 1}', False),
        ({}, "", False),
    ],
)
def test_a_function_result_is_text_and_is_encoded_unchanged(
    response: JsonObject, text: str, is_error: bool
) -> None:
    part: JsonObject = {"functionResponse": {"id": "f", "name": "n", "response": response}}
    request = DIALECT.decode_request({"contents": [QUESTION, {"role": "user", "parts": [part]}]})
    result = request.messages[1].parts[0]
    assert isinstance(result, ToolResult)
    assert ("".join(item.text for item in result.content if isinstance(item, Text)), result.is_error) == (
        text,
        is_error,
    )
    body, _ = encode(request)
    assert at(body, "contents", 1, "parts", 0) == part


def history(*messages: Message, model: str = "") -> JsonObject:
    body, _ = encode(Request((*ASK.messages, *messages), model=model))
    return body


def test_foreign_results_are_named_after_their_call_and_are_in_one_turn() -> None:
    calls = Message("assistant", (ToolCall("x1", "weather", '{"city":"Köln"}'), ToolCall("x2", "clock")))
    body = history(
        calls,
        Message("user", (ToolResult("x1", (Text("mild"),)),)),
        Message("user", (ToolResult("x2", (Text("late"), Image("image/png", "aGk=")), is_error=True),)),
        Message("user", (Text("So?"),)),
    )
    contents = at(body, "contents")
    assert isinstance(contents, list)
    assert contents[1:] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "x1", "name": "weather", "args": {"city": "Köln"}}},
                {"functionCall": {"id": "x2", "name": "clock", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "x1", "name": "weather", "response": {"output": "mild"}}},
                {
                    "functionResponse": {
                        "id": "x2",
                        "name": "clock",
                        "response": {"error": "late"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
                    }
                },
            ],
        },
        {"role": "user", "parts": [{"text": "So?"}]},
    ]


@pytest.mark.parametrize(
    ("model", "is_signed"), [("gemini-2.5-flash", False), ("gemini-3-pro-preview", True), ("", False)]
)
def test_unsigned_calls_get_a_signature_where_one_is_required(model: str, is_signed: bool) -> None:
    calls = Message("assistant", (ToolCall("x1", "a"), ToolCall("x2", "b")))
    parts = at(history(calls, model=model), "contents", 1, "parts")
    assert isinstance(parts, list)
    signed = ["thoughtSignature" in part for part in parts if isinstance(part, dict)]
    assert signed == [is_signed, False]


def test_a_signed_call_keeps_its_own_signature() -> None:
    own: Extras = {"gemini": {"thoughtSignature": "YQ=="}}
    calls = Message("assistant", (ToolCall("x1", "a", extras=own), ToolCall("x2", "b")))
    parts = at(history(calls, model="gemini-3-flash"), "contents", 1, "parts")
    assert at(parts, 0, "thoughtSignature") == "YQ=="
    assert "thoughtSignature" not in _object(at(parts, 1))


def test_an_answer_of_the_dialect_is_sent_back_verbatim() -> None:
    parts: list[JsonObject] = [
        {"text": "Hm.", "thought": True},
        {
            "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "args": {"queries": ["q"]}},
            "thoughtSignature": "YQ==",
        },
        {
            "toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "response": {}},
            "thoughtSignature": "Yg==",
        },
        {"text": "Long.", "thoughtSignature": "Yw=="},
    ]
    metadata: JsonObject = {"groundingChunks": [web("https://a.test", "A")]}
    answer = whole(chunk(*parts, finishReason="STOP", groundingMetadata=metadata))
    body = history(answer.message)
    assert at(body, "contents", 1) == {"role": "model", "parts": parts}
    assert at(body, "toolConfig") == {"includeServerSideToolInvocations": True}


def test_an_answer_of_another_provider_is_sent_back_with_readable_sources() -> None:
    page = Source("https://a.test/nile", "Nile")
    message = Message(
        "assistant",
        (
            Reasoning("secret", {"anthropic_messages": {"signature": "s"}}),
            SearchCall("s", ("nile",), extras={"anthropic_messages": {}}),
            SearchResult("s", (page,), extras={"anthropic_messages": {"encrypted_content": "e"}}),
            Text("The Nile is long."),
        ),
        (Citation(Span(0, 17), (Evidence(page, "6650 km", extras={"anthropic_messages": {}}),)),),
    )
    parts = at(history(message), "contents", 1, "parts")
    assert isinstance(parts, list)
    assert len(parts) == 1
    text = at(parts[0], "text")
    assert isinstance(text, str)
    assert "The Nile is long.[1]" in text
    assert "https://a.test/nile" in text
    assert "6650 km" in text
    assert "secret" not in json.dumps(parts)


def test_early_instructions_are_the_system_and_later_ones_stay_in_order() -> None:
    request = Request(
        (
            Message("developer", (Text("Be kind."),)),
            *ASK.messages,
            Message("system", (Text("Now be brief."),)),
        ),
        system=(Text("You are."),),
    )
    body, _ = encode(request)
    assert at(body, "systemInstruction") == {"parts": [{"text": "You are."}, {"text": "Be kind."}]}
    assert at(body, "contents", 1) == {"role": "user", "parts": [{"text": "Now be brief."}]}


def test_foreign_parts_are_omitted_and_named() -> None:
    request = Request(
        (
            Message("user", (Text("Hi"), Opaque("anthropic_messages", {"type": "document"}))),
            Message("assistant", (Opaque("openai_responses", {"type": "x"}),)),
        ),
        tools=(OpaqueTool("openai_responses", {"type": "file_search"}),),
        previous_id="r0",
    )
    body, unsupported = encode(request)
    assert body == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    assert unsupported == ("opaque_tools", "opaque_parts", "previous_id")


def test_only_instructions_are_still_a_request() -> None:
    body, _ = encode(Request((Message("system", (Text("Be kind."),)),)))
    assert body == {"contents": [], "systemInstruction": {"parts": [{"text": "Be kind."}]}}


def test_what_a_user_sends_is_read_part_by_part() -> None:
    thought: JsonObject = {"text": "Hm.", "thought": True}
    clip: JsonObject = {"mediaProcessing": {"x": 1}}
    file: JsonObject = {"fileData": {"mimeType": "image/png", "fileUri": "https://a.test/x.png"}}
    result: JsonObject = {"functionResponse": {"id": "f", "name": "n", "response": {}, "parts": [clip, file]}}
    contents: list[Json] = [{"role": "user", "parts": [thought, file, result]}]
    request = DIALECT.decode_request({"contents": contents})
    picture = Image("image/png", url="https://a.test/x.png")
    assert request.messages[0].parts == (
        Opaque("gemini", thought),
        picture,
        ToolResult("f", (Opaque("gemini", clip), picture), "n"),
    )
    assert at(encode(request)[0], "contents") == contents


def test_images_are_sent_inline_or_by_url() -> None:
    request = Request(
        (Message("user", (Image("image/png", "aGk="), Image(url="https://a.test/x.webp?s=1"))),)
    )
    body, _ = encode(request)
    assert at(body, "contents", 0, "parts") == [
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "image/webp", "fileUri": "https://a.test/x.webp?s=1"}},
    ]


EFFORTS: tuple[tuple[str, Effort, JsonObject, bool], ...] = (
    ("gemini-2.5-flash", "none", {"thinkingBudget": 0}, True),
    ("gemini-2.5-pro", "none", {"thinkingBudget": 128}, False),
    ("gemini-2.5-flash", "low", {"thinkingBudget": 1024}, True),
    ("gemini-3-flash", "none", {"thinkingLevel": "MINIMAL"}, False),
    ("gemini-3-pro", "minimal", {"thinkingLevel": "LOW"}, False),
    ("gemini-3-flash", "medium", {"thinkingLevel": "MEDIUM"}, True),
    ("models/gemini-3.5-flash", "max", {"thinkingLevel": "HIGH"}, False),
    ("", "high", {"thinkingLevel": "HIGH"}, True),
)


@pytest.mark.parametrize(("model", "effort", "config", "is_exact"), EFFORTS)
def test_effort_is_encoded_as_the_model_expects(
    model: str, effort: Effort, config: JsonObject, is_exact: bool
) -> None:
    body, unsupported = encode(replace(ASK, model=model, reasoning=ReasoningOptions(effort)))
    assert at(body, "generationConfig", "thinkingConfig") == config
    assert unsupported == (() if is_exact else ("reasoning",))


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({"thinkingBudget": 0}, ReasoningOptions("none")),
        ({"thinkingBudget": "512"}, ReasoningOptions(budget_tokens=512)),
        ({"thinkingBudget": -1}, None),
        ({"thinkingLevel": "low", "includeThoughts": False}, ReasoningOptions("low", visible=False)),
        ({"thinkingLevel": "ULTRA"}, None),
        ({}, None),
    ],
)
def test_thinking_is_read(config: JsonObject, options: ReasoningOptions | None) -> None:
    request = decode(generationConfig={"thinkingConfig": config})
    assert request.reasoning == options
    body, _ = encode(replace(request, model="gemini-2.5-flash" if "thinkingBudget" in config else ""))
    if config:
        again = DIALECT.decode_request(body)
        assert (again.reasoning, again.extras) == (request.reasoning, request.extras)


def test_a_native_schema_is_kept_and_decoded() -> None:
    schema: JsonObject = {"type": "ARRAY", "items": {"type": "INTEGER"}, "min_items": "2"}
    config: JsonObject = {"responseMimeType": "application/json", "responseSchema": schema}
    request = decode(generationConfig=config)
    assert request.output == OutputFormat({"type": "array", "items": {"type": "integer"}, "minItems": 2})
    body, _ = encode(request)
    assert at(body, "generationConfig") == config


def test_output_that_is_not_json_is_kept_for_its_own_dialect() -> None:
    config: JsonObject = {
        "responseMimeType": "text/x.enum",
        "responseSchema": {"type": "STRING", "enum": ["a"]},
    }
    request = decode(generationConfig=config)
    assert request.output is None
    body, _ = encode(request)
    assert at(body, "generationConfig") == config
