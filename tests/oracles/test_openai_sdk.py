"""The official openai client reads what we write, in both of its languages."""

from __future__ import annotations

import json
from collections.abc import Iterable

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_output_text import AnnotationURLCitation

from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature
from groundwire.dialects.registry import dialect
from groundwire.errors import GroundwireError
from groundwire.model import Answer, Json, Text
from tests.contracts.samples import BROKEN, ORDERS, Order, Sample
from tests.oracles.expected import NAMES, Cited, claims, claims_by_part, keeps, named, queries, tool_calls
from tests.oracles.wire import BASE, ERRORS, failing, streamed, whole

RESPONSES, CHAT = dialect("openai_responses"), dialect("openai_chat")
CHAT_ENDS = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "filtered": "content_filter"}


def client(http: httpx2.Client) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=f"{BASE}/v1", max_retries=0, http_client=http)


def ask(http: httpx2.Client) -> Response:
    return client(http).responses.create(model="model-1", input="?")


def ask_streaming(http: httpx2.Client) -> tuple[str, Response]:
    """The text of all deltas, and the response of the last event."""
    text = ""
    with client(http).responses.create(model="model-1", input="?", stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type in ("response.completed", "response.incomplete"):
                return text, event.response
    raise AssertionError("no last event")


def text_of(answer: Answer) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, Text) and part.phase != "refusal")


def check(response: Response, answer: Answer) -> None:
    assert response.output_text == text_of(answer)
    assert _cited(response) == claims_by_part(answer)
    calls = [
        (item.call_id, item.name, json.loads(item.arguments))
        for item in response.output
        if isinstance(item, ResponseFunctionToolCall)
    ]
    assert calls == tool_calls(answer)
    searched = [item.action for item in response.output if isinstance(item, ResponseFunctionWebSearch)]
    searched_for = {query for action in searched if action.type == "search" for query in action.queries or ()}
    assert searched_for == queries(answer)
    cut = answer.finish in ("length", "filtered")
    assert response.status == ("incomplete" if cut else "completed")
    assert not cut or response.incomplete_details is not None
    assert response.usage is not None
    counted = (response.usage.input_tokens, response.usage.output_tokens)
    assert counted == (answer.usage.input_tokens, answer.usage.output_tokens)
    assert response.usage.total_tokens == sum(counted)


def _cited(response: Response) -> Cited:
    messages = [item for item in response.output if isinstance(item, ResponseOutputMessage)]
    parts = [part for item in messages for part in item.content if isinstance(part, ResponseOutputText)]
    return {
        (part.text[note.start_index : note.end_index], note.url)
        for part in parts
        for note in part.annotations
        if isinstance(note, AnnotationURLCitation) and note.start_index < note.end_index
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_response_is_read(name: str) -> None:
    check(ask(whole(RESPONSES, named(name).answer)), named(name).answer)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_streamed_response_is_read(name: str, order: Order) -> None:
    text, response = ask_streaming(streamed(RESPONSES, named(name).answer, order))
    assert text == text_of(named(name).answer)
    check(response, named(name).answer)


@pytest.mark.parametrize("name", NAMES)
def test_the_clients_own_accumulation_is_the_response(name: str) -> None:
    http = streamed(RESPONSES, named(name).answer)
    with client(http).responses.stream(model="model-1", input="?") as stream:
        ends = [event for event in stream if event.type in ("response.completed", "response.incomplete")]
    assert len(ends) == 1
    assert ends[0].response.output_text == text_of(named(name).answer)


class ChatReply:
    """A chat answer as the client reads it, streamed or whole."""

    def __init__(self) -> None:
        self.text = ""
        self.refusal = ""
        self.annotations: list[Json] = []
        self.calls: dict[int, list[str]] = {}
        self.finish = ""
        self.usage: tuple[int, int] | None = None


def ask_chat(http: httpx2.Client) -> ChatReply:
    completion = client(http).chat.completions.create(
        model="model-1", messages=[{"role": "user", "content": "?"}]
    )
    choice, reply = completion.choices[0], ChatReply()
    reply.text, reply.refusal = choice.message.content or "", choice.message.refusal or ""
    reply.annotations = [note.model_dump() for note in choice.message.annotations or ()]
    for index, call in enumerate(choice.message.tool_calls or ()):
        assert call.type == "function"
        reply.calls[index] = [call.id, call.function.name, call.function.arguments]
    reply.finish = choice.finish_reason
    if completion.usage is not None:
        reply.usage = (completion.usage.prompt_tokens, completion.usage.completion_tokens)
    return reply


def ask_chat_streaming(http: httpx2.Client) -> ChatReply:
    reply = ChatReply()
    with client(http).chat.completions.create(
        model="model-1",
        messages=[{"role": "user", "content": "?"}],
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        for chunk in stream:
            _take(reply, chunk)
    return reply


def _take(reply: ChatReply, chunk: ChatCompletionChunk) -> None:
    if chunk.usage is not None:
        reply.usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
    for choice in chunk.choices:
        reply.text += choice.delta.content or ""
        reply.refusal += choice.delta.refusal or ""
        # The client has no type for these in a stream and keeps them as extra fields.
        reply.annotations += (choice.delta.model_extra or {}).get("annotations") or []
        for call in choice.delta.tool_calls or ():
            known = reply.calls.setdefault(call.index, [call.id or "", "", ""])
            if call.function is not None:
                known[1] += call.function.name or ""
                known[2] += call.function.arguments or ""
        reply.finish = choice.finish_reason or reply.finish


def check_chat(reply: ChatReply, answer: Answer) -> None:
    if keeps(CHAT, Feature.MARKER_TEXT):
        assert reply.text + reply.refusal == answer.text
    assert set(_chat_cited(reply.annotations, answer.text)) == claims(answer)
    calls = [(call, name, json.loads(arguments)) for call, name, arguments in reply.calls.values()]
    assert calls == tool_calls(answer)
    assert reply.finish == CHAT_ENDS.get(answer.finish or "", reply.finish)
    assert reply.usage == (answer.usage.input_tokens, answer.usage.output_tokens)


def _chat_cited(annotations: Iterable[Json], text: str) -> Iterable[tuple[str, str]]:
    for annotation in annotations:
        assert isinstance(annotation, dict)
        note = annotation["url_citation"]
        assert isinstance(note, dict)
        start, end = note["start_index"], note["end_index"]
        assert isinstance(start, int)
        assert isinstance(end, int)
        if start < end:
            yield text[start:end], str(note["url"])


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_completion_is_read(name: str) -> None:
    check_chat(ask_chat(whole(CHAT, named(name).answer)), named(name).answer)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_streamed_completion_is_read(name: str, order: Order) -> None:
    check_chat(ask_chat_streaming(streamed(CHAT, named(name).answer, order)), named(name).answer)


def check_error(codec: Dialect, error: GroundwireError) -> None:
    http, status = failing(codec, error)
    with pytest.raises(openai.APIStatusError) as caught:
        ask(http) if codec is RESPONSES else ask_chat(http)
    expected = {
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
        404: openai.NotFoundError,
        429: openai.RateLimitError,
    }
    assert caught.value.status_code == status
    assert isinstance(caught.value, expected.get(status, openai.InternalServerError))
    assert error.message.rpartition(": ")[2] in caught.value.message


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_raises_the_clients_own_exception(case: str) -> None:
    check_error(RESPONSES, ERRORS[case])
    check_error(CHAT, ERRORS[case])


@pytest.mark.parametrize("sample", BROKEN, ids=lambda sample: sample.name)
def test_an_error_inside_a_stream_raises(sample: Sample) -> None:
    with pytest.raises(openai.APIError):
        ask_streaming(streamed(RESPONSES, sample.answer))
    with pytest.raises(openai.APIError):
        ask_chat_streaming(streamed(CHAT, sample.answer))
