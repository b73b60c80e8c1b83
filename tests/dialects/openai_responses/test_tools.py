"""Tools, tool choice, and the tools that the provider ran itself."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import (
    Answer,
    FunctionTool,
    Json,
    JsonObject,
    Opaque,
    OpaqueTool,
    Request,
    SearchCall,
    SearchOptions,
    ToolCall,
    ToolChoice,
    assemble,
)
from tests.dialects.openai_responses.wire import (
    FUNCTION,
    NATIVE,
    REPLY,
    call,
    citation,
    completed,
    created,
    decode_events,
    decode_request,
    decode_whole,
    encode_request,
    items_of,
    message,
    response,
    round_trip,
    search_events,
    sse,
    text_events,
    text_part,
)


def test_functions_are_flat_and_keep_unknown_fields() -> None:
    tool: JsonObject = {**FUNCTION, "defer_loading": True}
    [found] = decode_request(tools=[tool]).tools
    assert found == FunctionTool(
        "get_weather",
        "The weather.",
        {"type": "object", "properties": {"city": {"type": "string"}}},
        strict=True,
        extras={NATIVE: {"defer_loading": True}},
    )
    assert round_trip(tools=[tool])["tools"] == [tool]


def test_a_missing_strict_stays_missing_and_a_foreign_one_is_false() -> None:
    bare: JsonObject = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    assert round_trip(tools=[bare])["tools"] == [bare]
    foreign = Request((), tools=(FunctionTool("f"),))
    assert encode_request(foreign)["tools"] == [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    ]


def test_tools_specific_to_this_dialect_are_kept_verbatim() -> None:
    tools: list[Json] = [
        {"type": "namespace", "name": "mcp__x", "tools": [FUNCTION]},
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}},
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ]
    request = decode_request(tools=tools)
    assert all(isinstance(tool, OpaqueTool) for tool in request.tools)
    assert round_trip(tools=tools)["tools"] == tools


@pytest.mark.parametrize(
    ("wire", "choice"),
    [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "name": "f"}, ToolChoice("function", "f")),
        ({"type": "web_search"}, ToolChoice("search")),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
            ToolChoice("search"),
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
            ToolChoice("auto"),
        ),
        ({"type": "custom", "name": "x"}, None),
        (None, None),
    ],
)
def test_every_choice_is_decoded_and_encoded(wire: Json, choice: ToolChoice | None) -> None:
    tools: list[Json] = [{"type": "web_search"}]
    assert decode_request(tools=tools, tool_choice=wire).tool_choice == choice
    assert round_trip(tools=tools, tool_choice=wire).get("tool_choice") == wire


def test_a_changed_choice_is_not_encoded_verbatim() -> None:
    wire: JsonObject = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}
    request = decode_request(tool_choice=wire)
    changed = Request((), search=SearchOptions(), tool_choice=ToolChoice("search"), extras=request.extras)
    assert encode_request(changed)["tool_choice"] == {"type": "web_search"}


SERVER_TOOLS: list[Json] = [{"type": "x_search"}]
QUERY = "from:xai filter:media"
ARGUMENTS = json.dumps({"query": QUERY, "limit": 20})


def x_search(name: str = "x_keyword_search", arguments: str = ARGUMENTS, **more: Json) -> JsonObject:
    """A search of X, as xAI sends it."""
    return {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "xs_call_1",
        "name": name,
        "input": arguments,
        **more,
    }


def searches(answer: Answer) -> list[tuple[str, tuple[str, ...], str]]:
    return [(part.kind, part.queries, part.url) for part in answer.parts if isinstance(part, SearchCall)]


def streamed_item(item: JsonObject, **more: Json) -> Answer:
    """The answer of a stream with this item and a message."""
    added: JsonObject = {**item, "status": "in_progress", "input": "", "arguments": ""}
    events: list[JsonObject] = [
        {"type": "response.created", "response": response(status="in_progress", **more)},
        {"type": "response.output_item.added", "output_index": 0, "item": added},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        *text_events(["Hi."], index=1),
        completed(item, message(text_part("Hi.")), **more),
    ]
    return assemble(decode_events(sse(events)))


SEARCH_ITEMS: list[tuple[JsonObject, tuple[str, tuple[str, ...], str]]] = [
    (x_search(), ("search", (QUERY,), "")),
    (x_search("view_x_video", '{"video_url": "https://x.com/v.mp4"}'), ("open", (), "https://x.com/v.mp4")),
    (x_search("x_thread_fetch", '{"post_id": "17"}'), ("open", (), "")),
    (
        {
            "id": "fc_1",
            "type": "x_search_call",
            "status": "completed",
            "call_id": "",
            "name": "x_semantic_search",
            "arguments": ARGUMENTS,
        },
        ("search", (QUERY,), ""),
    ),
    (
        {
            "id": "bg_1",
            "type": "bing_grounding_call",
            "call_id": "call_1",
            "status": "completed",
            "arguments": '{"query": "rain"}',
        },
        ("search", ("rain",), ""),
    ),
    (
        {
            "id": "bg_1",
            "type": "bing_grounding_call",
            "status": "completed",
            "arguments": '{"requesturl": "https://api.bing.microsoft.com/v7.0/search?q=rain%20in+Bern"}',
        },
        ("search", ("rain in Bern",), ""),
    ),
    (
        {
            "id": "bc_1",
            "type": "bing_custom_search_preview_call",
            "status": "completed",
            "arguments": '{"query": "rain"}',
        },
        ("search", ("rain",), ""),
    ),
    (
        {"id": "n_1", "type": "news_search_call", "status": "completed", "action": {"query": "rain"}},
        ("search", ("rain",), ""),
    ),
    (
        {
            "id": "n_1",
            "type": "image_search_call",
            "status": "completed",
            "arguments": {"queries": ["a", "b"]},
        },
        ("search", ("a", "b"), ""),
    ),
]
every_search_item = pytest.mark.parametrize(
    ("item", "expected"),
    SEARCH_ITEMS,
    ids=[str(item.get("name") or item["type"]) for item, _ in SEARCH_ITEMS],
)


@every_search_item
def test_the_search_of_every_server_is_a_search_with_its_queries(
    item: JsonObject, expected: tuple[str, tuple[str, ...], str]
) -> None:
    for answer in (decode_whole(item, message(text_part("Hi."))), streamed_item(item)):
        assert searches(answer) == [expected]
        assert not [part for part in answer.parts if isinstance(part, ToolCall | Opaque)]
        assert answer.finish == "stop"


@every_search_item
def test_a_search_is_sent_back_to_its_server_verbatim(
    item: JsonObject, expected: tuple[str, tuple[str, ...], str]
) -> None:
    question: JsonObject = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "?"}],
    }
    turn = [question, item, message(text_part("Hi."))]
    request = DIALECT.decode_request({"model": "m", "input": list(turn)})
    assert searches(Answer(request.messages[1].parts)) == [expected]
    assert items_of(DIALECT.encode_request(request).body, "input") == turn


def finish_in(name: str, answer: Answer) -> str:
    body = json.dumps(dialect(name).encode_response(answer, REPLY))
    return "tool" if '"tool_use"' in body or '"tool_calls"' in body or "requires_action" in body else "stop"


@pytest.mark.parametrize("name", DIALECTS)
@every_search_item
def test_no_client_has_to_act_on_a_search(
    name: str, item: JsonObject, expected: tuple[str, tuple[str, ...], str]
) -> None:
    assert finish_in(name, decode_whole(item, message(text_part("Hi.")))) == "stop"


SERVER_RUN: list[tuple[JsonObject, dict[str, Json]]] = [
    ({"type": "custom_tool_call", "call_id": "a", "name": "paint", "input": "y", "output": "done"}, {}),
    ({"type": "custom_tool_call", "call_id": "a", "name": "paint", "input": "y"}, {"tools": SERVER_TOOLS}),
    ({"type": "function_call", "call_id": "a", "name": "paint", "arguments": "{}", "output": "done"}, {}),
    ({"type": "custom_tool_call", "call_id": "xs_call_1", "name": "review_code", "input": "y"}, {}),
    ({"type": "custom_tool_call", "call_id": "xs_call_1", "name": "file_search", "input": "y"}, {}),
    ({"type": "weather_call", "call_id": "a", "status": "completed", "output": "rain"}, {}),
    ({"type": "mcp_call", "name": "x", "arguments": "{}", "output": "1", "server_label": "s"}, {}),
    ({"type": "shell_call", "call_id": "a", "environment": {"type": "container_reference"}}, {}),
    ({"type": "tool_search_call", "call_id": "a", "execution": "server", "arguments": {"query": "q"}}, {}),
    ({"type": "file_search_call", "queries": ["q"], "results": None}, {}),
]


@pytest.mark.parametrize(("item", "more"), SERVER_RUN, ids=[str(item["type"]) for item, _ in SERVER_RUN])
def test_other_server_tools_are_kept_and_wait_for_nothing(item: JsonObject, more: dict[str, Json]) -> None:
    item = {"id": "i_1", **item}
    answer = decode_whole(item, message(text_part("Hi.")), **more)
    assert answer.finish == "stop"
    assert [part.data for part in answer.parts if isinstance(part, Opaque)] == [item]
    assert not [part for part in answer.parts if isinstance(part, ToolCall | SearchCall)]
    assert streamed_item(item, **more).finish == "stop" or item["type"] == "function_call"


def test_a_call_that_the_response_itself_answers_was_run_by_the_server() -> None:
    output: JsonObject = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
    answer = decode_whole(call(), output, message(text_part("Hi.")))
    assert answer.finish == "stop"
    assert not [part for part in answer.parts if isinstance(part, ToolCall)]


@pytest.mark.parametrize(
    ("item", "more"),
    [
        ({"type": "custom_tool_call", "call_id": "a", "name": "x", "input": "y", "status": "completed"}, {}),
        (
            {"type": "custom_tool_call", "call_id": "a", "name": "x_search", "input": "y"},
            {"tools": [*SERVER_TOOLS, {"type": "custom", "name": "x_search"}]},
        ),
        ({"type": "local_shell_call", "call_id": "a", "action": {}}, {"tools": SERVER_TOOLS}),
        ({"type": "shell_call", "call_id": "a", "environment": {"type": "local"}}, {}),
        ({"type": "mcp_approval_request", "name": "x", "arguments": "{}"}, {}),
        ({"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {}}, {}),
    ],
    ids=["custom", "declared", "local_shell", "shell", "approval", "tool_search"],
)
def test_a_client_tool_waits_for_the_client(item: JsonObject, more: dict[str, Json]) -> None:
    answer = decode_whole({"id": "i_1", **item}, **more)
    assert answer.finish == "tool_calls"
    assert not [part for part in answer.parts if isinstance(part, SearchCall)]


def test_a_custom_tool_before_an_answer_was_run_by_the_server() -> None:
    item: JsonObject = {"id": "i_1", "type": "custom_tool_call", "call_id": "a", "name": "x", "input": "y"}
    assert decode_whole(item, message(text_part("Hi."))).finish == "stop"
    assert decode_whole(message(text_part("Hi.")), item).finish == "tool_calls"


def test_function_calls_next_to_a_server_search_are_still_for_the_client() -> None:
    answer = decode_whole(
        x_search(), call(), tools=[*SERVER_TOOLS, {"type": "function", "name": "get_weather"}]
    )
    assert [part.name for part in answer.parts if isinstance(part, ToolCall)] == ["get_weather"]
    assert searches(answer) == [("search", (QUERY,), "")]
    assert answer.finish == "tool_calls"


def test_the_call_marker_is_neither_a_query_nor_a_part_of_a_url() -> None:
    page = "https://example.org/a#part"
    actions: list[JsonObject] = [
        {"type": "search", "queries": ["rain", "ws_call_id=call_0"]},
        {"type": "open_page", "url": "https://example.org/a#ws_call_id=call_1"},
        {"type": "open_page", "url": page},
    ]
    items: list[JsonObject] = [
        {"id": f"call_{number}", "type": "web_search_call", "status": "completed", "action": action}
        for number, action in enumerate(actions)
    ]
    answer = decode_whole(*items)
    assert searches(answer) == [
        ("search", ("rain",), ""),
        ("open", (), "https://example.org/a"),
        ("open", (), page),
    ]
    assert items_of(DIALECT.encode_request(Request((answer.message,))).body, "input") == items


def test_citations_without_any_search_item_reach_every_client() -> None:
    part = text_part("It rains. [a](https://example.org/a)", citation(10, 36, "https://example.org/a"))
    answer = decode_whole(message(part))
    assert not searches(answer)
    for name in DIALECTS:
        assert "https://example.org/a" in json.dumps(dialect(name).encode_response(answer, REPLY)), name


def test_a_search_item_of_the_old_format_is_streamed_as_before() -> None:
    item: JsonObject = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "rain"},
    }
    answer = assemble(decode_events(sse([created(), *search_events(item), completed(item)])))
    assert searches(answer) == [("search", ("rain",), "")]


@pytest.mark.parametrize("marker", ["【3:0†source】", "[bing](https://example.org/a)"])
def test_bing_grounding_is_a_search_and_its_marker_a_citation(marker: str) -> None:
    text = f"It rains in Bern.{marker} So it is."
    start = text.index(marker)
    part = text_part(text, citation(start, start + len(marker), "https://example.org/a"))
    grounding: JsonObject = {
        "id": "bg_1",
        "type": "bing_grounding_call",
        "call_id": "call_1",
        "status": "completed",
        "arguments": '{"query": "rain in Bern"}',
    }
    output: JsonObject = {
        "id": "bo_1",
        "type": "bing_grounding_call_output",
        "call_id": "call_1",
        "output": "…",
    }
    answer = decode_whole(grounding, output, message(part))
    assert [search.query for search in answer.searches] == ["rain in Bern"]
    [cited] = answer.citations
    assert cited.span is not None
    assert (answer.text[cited.span.start : cited.span.end], cited.anchor) == (marker, "marker")
    assert answer.finish == "stop"
