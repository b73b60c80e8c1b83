"""Whole responses, decoded and encoded, and the losses of the dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.features import Feature, project
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import Overloaded, RateLimited, UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    FunctionTool,
    Image,
    JsonObject,
    Message,
    Reasoning,
    Request,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    Usage,
    Warned,
    assemble,
)
from tests.dialects.openai_chat.wire import decode_body, response_body

REPLY = Reply("7", "m", 1790000000)


def _message(answer: Answer, reply: Reply = REPLY) -> JsonObject:
    (choice,) = cast("list[JsonObject]", DIALECT.encode_response(answer, reply)["choices"])
    return as_object(choice["message"])


def test_an_answer_with_everything_is_read() -> None:
    answer = decode_body(
        response_body(
            {
                "content": "Hello",
                "reasoning": "hm",
                "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}],
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "c2", "type": "function", "function": {"name": "g", "arguments": '{"a":1}'}},
                ],
            },
            "tool_calls",
        )
    )
    kinds = [type(part) for part in answer.parts]
    assert kinds == [Reasoning, Text, Image, ToolCall, ToolCall]
    assert (answer.text, answer.finish, answer.id, answer.model) == ("Hello", "tool_calls", "c", "m")


@pytest.mark.parametrize(
    ("wire", "native", "finish"),
    [
        ("stop", "", "stop"),
        ("length", "MAX_TOKENS", "length"),
        ("tool_calls", "", "tool_calls"),
        ("function_call", "", "tool_calls"),
        ("content_filter", "", "filtered"),
        ("content_filter", "refusal", "refused"),
        ("stop", "pause_turn", "pause"),
        ("eos", "", "other"),
        (None, "", "other"),
    ],
)
def test_finish_reasons(wire: str | None, native: str, finish: str) -> None:
    body = response_body({"content": "x"}, wire)
    as_object(cast("list[JsonObject]", body["choices"])[0])["native_finish_reason"] = native or None
    assert decode_body(body).finish == finish


def test_calls_that_end_with_stop_are_for_the_client_to_run() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert decode_body(response_body({"content": None, "tool_calls": [call]})).finish == "tool_calls"


def test_a_refusal_is_a_text_and_a_reason() -> None:
    answer = decode_body(response_body({"content": None, "refusal": "No."}))
    assert answer.parts == (Text("No.", "refusal"),)
    assert answer.finish == "refused"


def test_a_legacy_function_call_is_a_call() -> None:
    answer = decode_body(
        response_body({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call")
    )
    (call,) = answer.parts
    assert isinstance(call, ToolCall)
    assert (call.name, call.id) == ("f", "call_0")


def test_arguments_sent_as_an_object_become_text() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}
    (part,) = decode_body(response_body({"tool_calls": [call]})).parts
    assert isinstance(part, ToolCall)
    assert json.loads(part.arguments) == {"a": 1}


def test_content_may_be_a_list() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "b"},
    ]
    assert decode_body(response_body({"content": parts})).text == "ab"


def test_only_the_first_choice_is_read() -> None:
    choices = [
        {"index": 1, "message": {"content": "other"}, "finish_reason": "length"},
        {"index": 0, "message": {"content": "this"}, "finish_reason": "stop"},
    ]
    answer = decode_body(cast("JsonObject", {"choices": choices}))
    assert (answer.text, answer.finish) == ("this", "stop")


def test_an_error_with_status_200_is_a_failure() -> None:
    answer = decode_body({"error": {"code": 429, "message": "slow"}, "user_id": "u"})
    assert answer.error == RateLimited("slow", upstream_code="429")


def test_an_error_next_to_an_answer_keeps_the_answer() -> None:
    answer = decode_body(response_body({"content": "Part"}, "error", error={"code": 502, "message": "gone"}))
    assert answer.text == "Part"
    assert isinstance(answer.error, Overloaded)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"choices": []},
        {"choices": {}},
        {"choices": [5]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"content": "x", "annotations": [{"url_citation": 1}]}}]},
        {"choices": [{"message": {"content": "x"}, "finish_reason": 1}]},
        {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}},
    ],
)
def test_a_malformed_answer_is_a_wire_error(body: JsonObject) -> None:
    with pytest.raises(UpstreamWireError):
        DIALECT.decode_response(body)


CITED = Answer(
    (
        Reasoning("hm"),
        SearchCall("s", ("rain",)),
        SearchResult("s", (Source("https://c.example", "C", date="2026-01-01"),)),
        Text("It rains. Or not."),
    ),
    (
        Citation(
            Span(0, 9),
            (
                Evidence(Source("https://a.example", "A"), "wet", 0.5),
                Evidence(Source("https://b.example")),
            ),
        ),
        Citation(None, (Evidence(Source("https://d.example", "D")),)),
    ),
    finish="stop",
    warnings=(Warned("code", "message"),),
)


def test_a_cited_answer_is_encoded_with_nested_annotations() -> None:
    body = DIALECT.encode_response(CITED, REPLY)
    assert (body["id"], body["object"], body["created"], body["model"]) == (
        "chatcmpl-7",
        "chat.completion",
        1790000000,
        "m",
    )
    message = _message(CITED)
    assert message["content"] == "It rains. Or not."
    assert message["reasoning_content"] == "hm"
    assert message["annotations"] == [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": start,
                "end_index": end,
                "title": title,
                "url": f"https://{host}.example",
                **rest,
            },
        }
        for host, title, start, end, rest in (
            ("a", "A", 0, 9, {"content": "wet"}),
            ("b", "", 0, 9, {}),
            ("d", "D", 0, 0, {}),
        )
    ]
    assert body["search_results"] == [
        {"title": "C", "url": "https://c.example", "date": "2026-01-01", "snippet": ""}
    ]
    extension = as_object(body["groundwire"])
    assert extension["warnings"] == [{"code": "code", "message": "message"}]
    assert extension["searches"] == [{"query": "rain", "kind": "search", "state": "done"}]
    assert "citations" in extension


def test_a_cited_answer_comes_back() -> None:
    answer = decode_body(DIALECT.encode_response(CITED, REPLY))
    assert answer.text == CITED.text
    assert [
        (citation.span, [(item.source.url, item.source.title, item.quote) for item in citation.evidence])
        for citation in answer.citations
    ] == [
        (citation.span, [(item.source.url, item.source.title, item.quote) for item in citation.evidence])
        for citation in CITED.citations
    ]
    (result,) = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert [(source.url, source.title, source.date) for source in result.sources] == [
        ("https://c.example", "C", "2026-01-01")
    ]


def test_annotations_and_nothing_else_are_always_there() -> None:
    body = DIALECT.encode_response(Answer((Text("x"),), finish="stop"), REPLY)
    assert _message(Answer((Text("x"),)))["annotations"] == []
    assert "search_results" not in body
    assert "groundwire" not in body


def test_spans_count_over_content_without_the_refusal() -> None:
    answer = Answer(
        (Text("No. ", "refusal"), Text("It rains.")),
        (Citation(Span(4, 13), (Evidence(Source("https://a.example")),)),),
        finish="refused",
    )
    message = _message(answer)
    assert (message["refusal"], message["content"]) == ("No. ", "It rains.")
    (annotation,) = cast("list[JsonObject]", message["annotations"])
    indices = as_object(annotation["url_citation"])
    assert (indices["start_index"], indices["end_index"]) == (0, 9)


def test_calls_are_encoded_with_null_content() -> None:
    message = _message(Answer((ToolCall("c", "f", '{"a":1}'),), finish="tool_calls"))
    assert message["content"] is None
    assert message["tool_calls"] == [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    ]


def test_a_caller_who_declared_functions_reads_a_function_call() -> None:
    tool = FunctionTool("f", extras={"openai_chat": {"legacy": True}})
    reply = Reply(request=Request((Message("user", (Text("q"),)),), tools=(tool,)))
    answer = Answer((ToolCall("c", "f", "{}"),), finish="tool_calls")
    (choice,) = cast("list[JsonObject]", DIALECT.encode_response(answer, reply)["choices"])
    assert choice["finish_reason"] == "function_call"
    assert as_object(choice["message"])["function_call"] == {"name": "f", "arguments": "{}"}
    assert "tool_calls" not in as_object(choice["message"])


def test_a_failed_answer_keeps_its_text_and_has_the_error() -> None:
    answer = decode_body(DIALECT.encode_response(Answer((Text("Half"),), error=RateLimited("slow")), REPLY))
    assert answer.text == "Half"
    assert isinstance(answer.error, RateLimited)


def test_parsed_files_are_given_back() -> None:
    other = {"type": "file", "file": {"hash": "h"}}
    message = {"content": "x", "annotations": [other, {"type": "odd"}]}
    answer = decode_body(response_body(message))
    assert answer.citations == ()
    assert _message(answer)["annotations"] == [other]


def test_recorded_annotations_have_correct_spans(recordings: Path) -> None:
    seen = 0
    for name in (
        "openai-chat/json-2026-08-4o-mini-search-preview",
        "openrouter-chat/json-2026-08-servertool-gpt52",
    ):
        body = json.loads((recordings / f"{name}.json").read_text())
        message = body["choices"][0]["message"]
        answer = decode_body(body)
        assert answer.text == message["content"]
        expected = [annotation["url_citation"] for annotation in message["annotations"]]
        assert [
            (
                citation.span,
                citation.evidence[0].source.url,
                citation.evidence[0].source.title,
                citation.anchor,
            )
            for citation in answer.citations
        ] == [
            (
                Span(annotation["start_index"], annotation["end_index"]),
                annotation["url"],
                annotation["title"],
                "marker",
            )
            for annotation in expected
        ]
        seen += len(expected)
    assert seen == 4


def test_a_recorded_body_after_whitespace_is_read(recordings: Path) -> None:
    name = "openrouter-chat/json-2026-08-servertool-gpt52"
    data = (recordings / f"{name}.raw.txt").read_bytes()
    assert data[:1].isspace()
    body = load_json(data, UpstreamWireError)
    decoder = DIALECT.decoder()
    streamed = assemble([*decoder.feed(data), *decoder.close()])
    assert streamed == decode_body(as_object(body))
    assert (
        streamed.text
        == json.loads((recordings / f"{name}.json").read_text())["choices"][0]["message"]["content"]
    )


def test_recorded_reasoning_details_come_back_byte_for_byte(recordings: Path) -> None:
    body = json.loads((recordings / "openrouter-chat/json-2026-08-servertool-gpt52.json").read_text())
    expected = body["choices"][0]["message"]["reasoning_details"]
    answer = decode_body(body)
    (reasoning,) = [part for part in answer.parts if isinstance(part, Reasoning)]
    assert reasoning.text == "".join(detail.get("summary", "") for detail in expected)
    request = Request((Message("user", (Text("q"),)), answer.message))
    encoded = cast("list[JsonObject]", DIALECT.encode_request(request).body["messages"])[1]
    assert encoded["reasoning_details"] == expected
    assert encoded["annotations"]


def test_recorded_lists_without_spans_are_cited_for_the_whole_answer(recordings: Path) -> None:
    body = json.loads((recordings / "openrouter-chat/json-servertool-exa-annotations.json").read_text())
    expected = [annotation["url_citation"] for annotation in body["choices"][0]["message"]["annotations"]]
    answer = decode_body(body)
    (citation,) = answer.citations
    assert citation.span is None
    assert [(item.source.url, item.quote) for item in citation.evidence] == [
        (annotation["url"], annotation["content"]) for annotation in expected
    ]
    assert answer.warnings == ()
    assert answer.usage.searches == body["usage"]["server_tool_use_details"]["web_search_requests"]


FILE: JsonObject = {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf"}
LINK = "([a.example](https://a.example))"
FULL = Answer(
    (
        Reasoning("hm"),
        SearchCall("s1", ("rain", "sun"), caller="code"),
        SearchResult(
            "s1", (Source("https://f.example", "F", date="2026-01-01"), Source("https://a.example", "A"))
        ),
        SearchCall("s2", kind="open", url="https://o.example"),
        SearchCall("s3", kind="find", url="https://o.example", pattern="wet"),
        SearchResult("s3", error="unavailable", suggestions="<b>more</b>"),
        Text("Looking. ", "commentary"),
        Text(f"It rains 🌧 in Rome. {LINK} Sun.", extras={"openai_responses": {"annotations": [FILE]}}),
        Image("image/png", "AA=="),
        ToolCall("c", "f", '{"a": 1}'),
    ),
    (
        Citation(Span(9, 29), (Evidence(Source("https://c.example", "C"), "wet", 0.5),)),
        Citation(Span(29, 29 + len(LINK)), (Evidence(Source("https://a.example", "A")),), "marker"),
        Citation(None, (Evidence(Source("https://u.example", "U")),)),
    ),
    Usage(10, 20, 3, 2, 4, 1, 2, None, 0.5),
    finish="tool_calls",
)
ANSWERS = {
    "full": FULL,
    "paused": Answer((Text("x"),), finish="pause"),
    "refused": Answer((Text("No.", "refusal"),), finish="refused"),
    "refused without text": Answer((Text("Half"),), finish="refused"),
    "filtered": Answer((Text("Half"),), finish="filtered"),
    "other": Answer((Text("Half"),), finish="other"),
    "cut": Answer((Text("Half"),), finish="length"),
}


def _round_trip(answer: Answer) -> Answer:
    return assemble(DIALECT.decode_response(DIALECT.encode_response(answer, Reply())))


@pytest.mark.parametrize("name", ANSWERS)
def test_everything_that_is_not_a_listed_loss_survives(name: str) -> None:
    answer = ANSWERS[name]
    back = _round_trip(answer)
    for feature in Feature:
        if feature not in DIALECT.losses:
            assert project(back, feature) == project(answer, feature), feature


def test_every_listed_loss_is_a_loss() -> None:
    back = _round_trip(FULL)
    for feature in DIALECT.losses:
        assert project(back, feature) != project(FULL, feature), feature
