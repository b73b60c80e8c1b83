"""The official `openai` client reads what we encode, in process."""

from __future__ import annotations

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from groundwire.dialects.base import Reply
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import AuthRejected, GroundwireError, NotFound, Overloaded, RateLimited, Refused
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    ReasoningDelta,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
    assemble,
)

REPLY = Reply("7", "m", 1790000000)
TEXT = "🌧 Regen in Zürich.\u2028Sun."
EVENTS: list[Event] = [
    Started("x", "y"),
    ReasoningDelta(0, "hm"),
    SearchReturned(1, SearchResult("s", (Source("https://c.example", "C"),))),
    *(TextDelta(2, letter) for letter in TEXT),
    Cited(
        Citation(
            Span(2, 18),
            (Evidence(Source("https://a.example", "A"), "wet"), Evidence(Source("https://b.example"))),
        )
    ),
    TextSettled(2),
    ToolCallDelta(3, "c1", "f"),
    ToolCallDelta(3, arguments='{"a":'),
    ToolCallDelta(3, arguments="1}"),
    ToolCallDelta(4, "c2", "g", "{}"),
    UsageSeen(Usage(3, 4, searches=1)),
    Finished("tool_calls"),
]


def _client(status: int, content_type: str, body: bytes) -> openai.OpenAI:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": content_type}, content=body)

    return openai.OpenAI(
        api_key="k",
        base_url="http://gateway.example/v1",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
    )


def _create(answer: Answer) -> ChatCompletion:
    body = dump_json(DIALECT.encode_response(answer, REPLY)).encode()
    return _client(200, "application/json", body).chat.completions.create(
        model="m", messages=[{"role": "user", "content": "q"}]
    )


def _stream(*events: Event) -> list[ChatCompletionChunk]:
    encoder = DIALECT.encoder(REPLY)
    body = b"".join(encoder.feed(event) + encoder.ping() for event in events) + encoder.close()
    chunks: list[ChatCompletionChunk] = []
    with _client(200, "text/event-stream", body).chat.completions.create(
        model="m", messages=[{"role": "user", "content": "q"}], stream=True
    ) as stream:
        chunks.extend(stream)
    return chunks


def test_create_reads_text_annotations_calls_and_usage() -> None:
    completion = _create(assemble(EVENTS))
    assert (completion.id, completion.model, completion.created) == ("chatcmpl-7", "m", 1790000000)
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == TEXT
    annotations = choice.message.annotations
    assert annotations is not None
    assert [
        (annotation.type, annotation.url_citation.url, annotation.url_citation.title)
        for annotation in annotations
    ] == [
        ("url_citation", "https://a.example", "A"),
        ("url_citation", "https://b.example", ""),
    ]
    cited = annotations[0].url_citation
    assert TEXT[cited.start_index : cited.end_index] == "Regen in Zürich."
    assert choice.message.tool_calls is not None
    assert [
        (call.id, call.function.name, call.function.arguments)
        for call in choice.message.tool_calls
        if call.type == "function"
    ] == [("c1", "f", '{"a":1}'), ("c2", "g", "{}")]
    assert completion.usage is not None
    assert completion.usage.total_tokens == 7


def test_a_plain_answer_has_an_empty_list_of_annotations() -> None:
    completion = _create(assemble([TextDelta(0, "x"), Finished()]))
    assert completion.choices[0].message.annotations == []
    assert completion.choices[0].finish_reason == "stop"


def test_streaming_reads_text_annotations_calls_and_usage() -> None:
    chunks = _stream(*EVENTS)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == TEXT
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "hm"
    annotations = [annotation for delta in deltas for annotation in getattr(delta, "annotations", None) or []]
    cited = annotations[0]["url_citation"]
    assert TEXT[cited["start_index"] : cited["end_index"]] == "Regen in Zürich."
    assert (cited["url"], cited["content"]) == ("https://a.example", "wet")
    arguments: dict[int, str] = {}
    for delta in deltas:
        for call in delta.tool_calls or []:
            assert call.function is not None
            arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
    assert arguments == {0: '{"a":1}', 1: "{}"}
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 4


def test_the_clients_accumulator_assembles_the_stream() -> None:
    encoder = DIALECT.encoder(REPLY)
    body = b"".join(encoder.feed(event) for event in EVENTS)
    client = _client(200, "text/event-stream", body)
    with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "q"}]) as stream:
        completion = stream.get_final_completion()
    message = completion.choices[0].message
    assert message.content == TEXT
    assert [call.function.arguments for call in message.tool_calls or []] == ['{"a":1}', "{}"]


def test_an_error_inside_a_stream_is_raised_after_the_text() -> None:
    with pytest.raises(openai.APIError, match="overloaded today") as caught:
        _stream(TextDelta(0, "Half"), Failed(Overloaded("overloaded today")))
    assert caught.value.code == "server_is_overloaded"


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (AuthRejected("bad"), openai.AuthenticationError),
        (NotFound("bad"), openai.NotFoundError),
        (RateLimited("bad"), openai.RateLimitError),
        (Refused("bad"), openai.BadRequestError),
        (Overloaded("bad"), openai.InternalServerError),
    ],
)
def test_errors_are_raised_as_the_clients_own(
    error: GroundwireError, raised: type[openai.APIStatusError]
) -> None:
    encoded = DIALECT.encode_error(error, REPLY)
    client = _client(encoded.status, "application/json", dump_json(encoded.body).encode())
    with pytest.raises(raised, match="bad") as caught:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}])
    assert caught.value.type
