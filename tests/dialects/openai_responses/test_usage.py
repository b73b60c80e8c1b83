"""Token usage, decoded and encoded."""

from __future__ import annotations

from groundwire.dialects.openai_responses import DIALECT
from groundwire.model import Answer, JsonObject, Text, Usage, assemble
from tests.dialects.openai_responses.wire import REPLY, decode_whole, value_at


def test_usage_is_read_with_its_details_and_counters() -> None:
    usage: JsonObject = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 4},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 150,
    }
    tool_usage: JsonObject = {"web_search": {"num_requests": 2}}
    expected = Usage(100, 50, 30, 4, 20, searches=2)
    assert decode_whole(usage=usage, tool_usage=tool_usage).usage == expected
    openrouter: JsonObject = {**usage, "cost": 0.25, "server_tool_use_details": {"web_search_requests": 3}}
    assert decode_whole(usage=openrouter).usage == Usage(100, 50, 30, 4, 20, searches=3, cost=0.25)
    assert decode_whole().usage == Usage()


def test_usage_is_encoded_as_it_was_decoded() -> None:
    usage = Usage(100, 50, 30, 4, 20, searches=2, cost=0.25)
    body = DIALECT.encode_response(Answer((Text("Hi."),), usage=usage, finish="stop"), REPLY)
    assert assemble(DIALECT.decode_response(body)).usage == usage
    assert value_at(body, "usage", "total_tokens") == 150
    assert DIALECT.encode_response(Answer(finish="stop"), REPLY)["usage"] is None
