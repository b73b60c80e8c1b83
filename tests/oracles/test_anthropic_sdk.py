"""The official anthropic client reads what we write."""

from __future__ import annotations

import anthropic
import httpx2
import pytest
from anthropic.types import Message, ServerToolUseBlock, TextBlock, ThinkingBlock, ToolUseBlock

from groundwire.dialects.features import Feature, project
from groundwire.dialects.registry import dialect
from groundwire.model import Answer
from tests.contracts.samples import BROKEN, ORDERS, Order, Sample
from tests.oracles.expected import NAMES, covered, has_points, keeps, named, queries, tool_calls
from tests.oracles.wire import BASE, ERRORS, failing, streamed, whole

SPEAKER = dialect("anthropic_messages")
STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "pause": "pause_turn",
    "refused": "refusal",
}


def client(http: httpx2.Client) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="k", base_url=BASE, max_retries=0, http_client=http)


def ask(http: httpx2.Client) -> Message:
    return client(http).messages.create(
        model="model-1", max_tokens=9, messages=[{"role": "user", "content": "?"}]
    )


def ask_streaming(http: httpx2.Client) -> Message:
    with client(http).messages.stream(
        model="model-1", max_tokens=9, messages=[{"role": "user", "content": "?"}]
    ) as stream:
        return stream.get_final_message()


def check(message: Message, answer: Answer) -> None:
    assert "".join(block.text for block in message.content if isinstance(block, TextBlock)) == answer.text
    assert _covered(message) == covered(answer) or has_points(answer)
    assert "".join(
        block.thinking for block in message.content if isinstance(block, ThinkingBlock)
    ) == project(answer, Feature.REASONING)
    searched = [str(block.input) for block in message.content if isinstance(block, ServerToolUseBlock)]
    assert all(any(query in text for text in searched) for query in queries(answer))
    calls = [
        (block.id, block.name, block.input) for block in message.content if isinstance(block, ToolUseBlock)
    ]
    assert calls == tool_calls(answer)
    assert message.stop_reason == STOPS.get(answer.finish or "", message.stop_reason)
    assert message.usage.output_tokens == answer.usage.output_tokens
    read = message.usage.cache_read_input_tokens or 0
    written = message.usage.cache_creation_input_tokens or 0
    assert message.usage.input_tokens + read + written == answer.usage.input_tokens


def _covered(message: Message) -> dict[str, set[int]]:
    positions: dict[str, set[int]] = {}
    position = 0
    for block in message.content:
        if not isinstance(block, TextBlock):
            continue
        for citation in block.citations or ():
            if citation.type == "char_location":
                continue  # a file, which has no URL
            assert citation.type == "web_search_result_location"
            positions.setdefault(citation.url, set()).update(range(position, position + len(block.text)))
        position += len(block.text)
    return positions


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_answer_is_read(name: str) -> None:
    check(ask(whole(SPEAKER, named(name).answer)), named(name).answer)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_streamed_answer_is_read(name: str, order: Order) -> None:
    check(ask_streaming(streamed(SPEAKER, named(name).answer, order)), named(name).answer)


def test_everything_that_the_dialect_supports_is_encoded() -> None:
    assert keeps(
        SPEAKER, Feature.TEXT, Feature.CITATIONS, Feature.QUERIES, Feature.TOOL_CALLS, Feature.TOKENS
    )


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_raises_the_clients_own_exception(case: str) -> None:
    http, status = failing(SPEAKER, ERRORS[case])
    with pytest.raises(anthropic.APIStatusError) as caught:
        ask(http)
    assert caught.value.status_code == status
    expected = {
        400: anthropic.BadRequestError,
        401: anthropic.AuthenticationError,
        404: anthropic.NotFoundError,
        429: anthropic.RateLimitError,
    }
    assert isinstance(caught.value, expected.get(status, anthropic.APIStatusError))
    assert ERRORS[case].message.rpartition(": ")[2] in caught.value.message


@pytest.mark.parametrize("sample", BROKEN, ids=lambda sample: sample.name)
def test_an_error_inside_a_stream_raises(sample: Sample) -> None:
    with pytest.raises(anthropic.APIStatusError):
        ask_streaming(streamed(SPEAKER, sample.answer))
