"""Conformance, case by case: blocks and citations of Anthropic."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from groundwire.dialects.registry import dialect
from groundwire.model import (
    Answer,
    Json,
    JsonObject,
    Message,
    Request,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)
from tests.contracts.wire_bodies import answer_of, cited, queries, sse, streamed

A, B = "https://a.example/x", "https://b.example/y"
NAME = "anthropic_messages"


def result(url: str, title: str | None = "T") -> JsonObject:
    return {
        "type": "web_search_result",
        "url": url,
        "title": title,
        "encrypted_content": "c" + url,
        "page_age": None,
    }


def location(url: str, quote: str, title: str | None = "T") -> JsonObject:
    return {
        "type": "web_search_result_location",
        "url": url,
        "title": title,
        "encrypted_index": "i" + quote,
        "cited_text": quote,
    }


CALL: JsonObject = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "q"},
}
RESULT: JsonObject = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [result(A), result(B)],
}


def text(content: str, *citations: JsonObject) -> JsonObject:
    return {"type": "text", "text": content, **({"citations": [*citations]} if citations else {})}


def message(blocks: Sequence[JsonObject], stop: str = "end_turn") -> JsonObject:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [*blocks],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }


def stream(blocks: Sequence[JsonObject], stop: str = "end_turn", *, text_first: bool = False) -> bytes:
    """The events of a message, citations before or after the text of their block."""
    head = {**message([]), "stop_reason": None}
    frames: list[JsonObject] = [{"type": "message_start", "message": head}]
    for index, block in enumerate(blocks):
        start, deltas = _opened(block, text_first=text_first)
        frames.append({"type": "content_block_start", "index": index, "content_block": start})
        frames += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        frames.append({"type": "content_block_stop", "index": index})
    frames += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"input_tokens": 5, "output_tokens": 7},
        },
        {"type": "message_stop"},
    ]
    return sse(frames, named="type")


def _opened(block: JsonObject, *, text_first: bool) -> tuple[JsonObject, list[JsonObject]]:
    if block["type"] == "server_tool_use" and "caller" not in block:
        pieces = ["", '{"que', 'ry": "q"}']
        deltas: list[JsonObject] = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        return {**block, "input": {}}, deltas
    if block["type"] != "text":
        return block, []
    content = str(block["text"])
    text_events: list[JsonObject] = [
        {"type": "text_delta", "text": content[:2]},
        {"type": "text_delta", "text": content[2:]},
    ]
    citations = block.get("citations") or []
    assert isinstance(citations, list)
    sources: list[JsonObject] = [{"type": "citations_delta", "citation": item} for item in citations]
    empty: JsonObject = {"type": "text", "text": "", **({"citations": []} if sources else {})}
    return empty, text_events + sources if text_first else sources + text_events


def decode_both(blocks: Sequence[JsonObject], stop: str = "end_turn") -> Answer:
    """The answer of these blocks, which must be the same in one body and in every stream of them."""
    answer = answer_of(NAME, message(blocks, stop))
    assert streamed(NAME, stream(blocks, stop)) == answer
    assert streamed(NAME, stream(blocks, stop, text_first=True)) == answer
    return answer


def test_citations_delta_before_and_after_text_delta() -> None:
    answer = decode_both(
        [CALL, RESULT, text("Es ist "), text("schön 😀.", location(A, "fine")), text(" Ende.")]
    )
    assert answer.text == "Es ist schön 😀. Ende."
    assert cited(answer) == [("schön 😀.", [A])]
    assert answer.citations[0].evidence[0].quote == "fine"


def test_several_citations_per_block() -> None:
    answer = decode_both([text("Claim.", location(A, "one"), location(B, "two"), location(A, "three"))])
    assert cited(answer) == [("Claim.", [A, B, A])]
    assert [item.quote for item in answer.citations[0].evidence] == ["one", "two", "three"]


def test_blocks_with_equal_text_keep_their_own_citations() -> None:
    answer = decode_both([text("Yes.", location(A, "one")), text(" "), text("Yes.", location(B, "two"))])
    assert [citation.span for citation in answer.citations] == [(0, 4), (5, 9)]


def test_cited_text_is_page_text_and_never_answer_text() -> None:
    answer = decode_both([text("Claim.", location(A, ""))])
    assert answer.citations[0].evidence[0].quote == ""


def test_a_citation_without_a_title_is_kept() -> None:
    answer = decode_both([text("Claim.", location(A, "q", None))])
    assert cited(answer) == [("Claim.", [A])]


def test_citation_block_split_by_pause_turn() -> None:
    first = [CALL, RESULT, text("Half a claim", location(A, "one")), {**CALL, "id": "srvtoolu_2"}]
    paused = decode_both(first, "pause_turn")
    assert paused.finish == "pause"
    assert cited(paused) == [("Half a claim", [A])]
    assert [search.state for search in paused.searches] == ["done", "running"]

    second = [{**RESULT, "tool_use_id": "srvtoolu_2"}, text(" goes on.", location(B, "two"))]
    continued = decode_both(second)
    assert isinstance(continued.parts[0], SearchResult)
    assert continued.parts[0].call_id == "srvtoolu_2"
    assert cited(continued) == [(" goes on.", [B])]
    assert continued.finish == "stop"

    body = dialect(NAME).encode_request(
        Request((Message("user", (Text("go"),)), paused.message), model="claude-sonnet-5")
    )
    messages = body.body["messages"]
    assert isinstance(messages, list)
    assert isinstance(messages[-1], dict)
    assert _without_nothing(messages[-1]["content"]) == _without_nothing([*first])


def _without_nothing(value: Json) -> Json:
    """Absent and null are the same."""
    if isinstance(value, dict):
        return {key: _without_nothing(item) for key, item in value.items() if item is not None}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "code",
    ["too_many_requests", "invalid_tool_input", "max_uses_exceeded", "query_too_long", "unavailable"],
)
def test_web_search_tool_result_error(code: str) -> None:
    error: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "web_search_tool_result_error", "error_code": code},
    }
    answer = decode_both([CALL, error, text("I could not search.")])
    (found,) = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert (found.error, found.sources) == (code, ())
    assert [search.state for search in answer.searches] == ["failed"]
    assert (answer.error, answer.finish, answer.grounded) == (None, "stop", False)


def test_a_search_without_hits_is_not_an_error() -> None:
    answer = decode_both([CALL, {**RESULT, "content": []}, text("Nothing.")])
    assert [search.state for search in answer.searches] == ["done"]
    assert answer.sources == ()


def test_nested_searches_with_caller() -> None:
    caller: JsonObject = {"type": "code_execution_20260120", "tool_id": "srvtoolu_0"}
    blocks: list[JsonObject] = [
        {
            "type": "server_tool_use",
            "id": "srvtoolu_0",
            "name": "code_execution",
            "input": {"code": "search()"},
            "caller": {"type": "direct"},
        },
        {**CALL, "caller": caller},
        {**RESULT, "caller": caller},
        {
            "type": "code_execution_tool_result",
            "tool_use_id": "srvtoolu_0",
            "content": {
                "type": "encrypted_code_execution_result",
                "encrypted_stdout": "x",
                "return_code": 0,
                "stderr": "",
                "content": [],
            },
        },
        text("Claim.", location(B, "two")),
    ]
    answer = decode_both(blocks)
    (call,) = [part for part in answer.parts if isinstance(part, SearchCall)]
    (found,) = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert queries(answer) == ["q"]
    assert call.caller
    assert call.caller == found.caller
    assert [source.url for source in found.sources] == [A, B]
    assert cited(answer) == [("Claim.", [B])]
    assert not any(isinstance(part, ToolCall) for part in answer.parts)


def test_a_server_tool_never_becomes_a_call_for_the_client() -> None:
    client: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"k": 1}}
    answer = decode_both([CALL, client], "tool_use")
    assert [part.name for part in answer.parts if isinstance(part, ToolCall)] == ["lookup"]
    assert answer.finish == "tool_calls"


def test_entities_in_quotes_are_not_lost() -> None:
    answer = decode_both([text("Claim.", location(A, "it&#x27;s"))])
    assert answer.citations[0].evidence[0].quote in ("it&#x27;s", "it's")
