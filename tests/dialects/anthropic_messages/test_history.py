"""Messages sent back: Anthropic's own blocks verbatim, groundwire's blocks as text."""

from __future__ import annotations

from groundwire.dialects.anthropic_messages import DIALECT
from groundwire.dialects.base import Reply
from groundwire.dialects.json import dump_json
from groundwire.model import Answer, JsonObject, SearchCall, SearchResult, Text


def sent_again(content: list[JsonObject]) -> str:
    messages: list[JsonObject] = [
        {"role": "user", "content": "Search."},
        {"role": "assistant", "content": list(content)},
        {"role": "user", "content": "And?"},
    ]
    request = DIALECT.decode_request({"model": "m", "messages": list(messages)})
    return dump_json(DIALECT.encode_request(request).body)


def test_an_empty_search_made_by_groundwire_is_not_sent_to_the_real_api() -> None:
    answer = Answer((SearchCall("ws_1", ("nothing",)), SearchResult("ws_1"), Text("I found nothing.")))
    content = DIALECT.encode_response(answer, Reply())["content"]
    assert isinstance(content, list)
    body = sent_again([block for block in content if isinstance(block, dict)])
    assert "srvtoolu_" not in body
    assert "Searched for: nothing" in body


def test_an_empty_search_made_by_anthropic_is_sent_back_verbatim() -> None:
    call: JsonObject = {
        "type": "server_tool_use",
        "id": "srvtoolu_01A",
        "name": "web_search",
        "input": {"query": "nothing"},
    }
    result: JsonObject = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01A", "content": []}
    body = sent_again([call, result, {"type": "text", "text": "I found nothing."}])
    assert dump_json(call) in body
    assert dump_json(result) in body
