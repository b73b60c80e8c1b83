"""Token usage, decoded and encoded."""

from __future__ import annotations

import pytest

from groundwire.dialects.fields import as_object
from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import Answer, JsonObject, Text, Usage
from tests.dialects.openai_chat.test_response import REPLY
from tests.dialects.openai_chat.wire import decode_body, response_body


def test_usage_counts_everything_once() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 5},
        "server_tool_use_details": {"web_search_requests": 3},
        "cost": 0.25,
    }
    expected = Usage(10, 20, 4, 2, 5, None, 3, None, 0.25)
    assert decode_body(response_body({"content": "x"}, usage=usage)).usage == expected
    output_tokens = as_object(DIALECT.encode_response(Answer(usage=expected), REPLY)["usage"])
    assert output_tokens == usage


@pytest.mark.parametrize(
    ("usage", "output_tokens"),
    [
        ({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 8, "reasoning_tokens": 5}, 7),
        ({"prompt_tokens": 1, "completion_tokens": 9, "total_tokens": 10, "reasoning_tokens": 5}, 9),
        ({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "reasoning_tokens": 50}, 52),
    ],
)
def test_reasoning_that_was_counted_separately_is_added(usage: JsonObject, output_tokens: int) -> None:
    assert decode_body(response_body({"content": "x"}, usage=usage)).usage.output_tokens == output_tokens


def test_perplexitys_usage() -> None:
    usage = {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "total_tokens": 7,
        "citation_tokens": 100,
        "num_search_queries": 2,
        "cost": {"total_cost": 0.5, "request_cost": 0.4},
    }
    decoded = decode_body(response_body({"content": "x"}, usage=usage)).usage
    assert (decoded.input_tokens, decoded.tool_tokens, decoded.searches, decoded.cost) == (103, 100, 2, 0.5)


def test_an_answer_without_usage_has_no_usage_field() -> None:
    assert "usage" not in DIALECT.encode_response(Answer((Text("x"),), finish="stop"), REPLY)
