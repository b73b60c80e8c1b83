"""The official client reads encoded responses, and its requests are decoded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import httpx2
import pytest
from google import genai
from google.genai import errors, types

from groundwire.dialects.gemini import DIALECT
from groundwire.dialects.gemini.encoder import Encoder
from groundwire.dialects.json import dump_json
from groundwire.errors import Overloaded, RateLimited
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    FunctionTool,
    ReasoningDelta,
    Request,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageSeen,
    assemble,
)
from tests.dialects.gemini.bodies import REPLY, at

TEXT = "Köln hat 1,1 Mio. Einwohner 🏙️. Tokio mehr."
CLAIM = "Tokio mehr."
PAGE = Source("https://a.test/tokio", "Tokio")


def sample_events() -> list[Event]:
    start = TEXT.index(CLAIM)
    return [
        Started("x", "m"),
        SearchCalled(0, SearchCall("s", ("tokio",))),
        SearchReturned(1, SearchResult("s", (PAGE, Source("https://b.test", "B")), suggestions="<b>t</b>")),
        ReasoningDelta(2, "Hm."),
        TextDelta(3, TEXT[:9]),
        TextDelta(3, TEXT[9:]),
        Cited(Citation(Span(start, start + len(CLAIM)), (Evidence(PAGE),))),
        UsageSeen(Usage(12, 34, reasoning_tokens=4)),
        Finished(),
    ]


def client(answer: Callable[[httpx2.Request], httpx2.Response]) -> genai.Client:
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    retry = types.HttpRetryOptions(attempts=1)
    return genai.Client(
        api_key="key",
        http_options=types.HttpOptions(
            base_url="http://gateway.test", httpx_client=http, retry_options=retry
        ),
    )


def client_for(status: int, body: bytes, kind: str = "application/json") -> genai.Client:
    return client(lambda _: httpx2.Response(status, content=body, headers={"content-type": kind}))


def stream_of(events: Iterable[Event]) -> genai.Client:
    encoder = Encoder(REPLY)
    data = b"".join(encoder.feed(event) for event in events) + encoder.ping() + encoder.close()
    return client_for(200, data, encoder.content_type)


def whole_of(answer: Answer) -> genai.Client:
    return client_for(200, dump_json(DIALECT.encode_response(answer, REPLY)).encode())


def check_grounding(metadata: types.GroundingMetadata | None) -> None:
    assert metadata is not None
    assert metadata.web_search_queries == ["tokio"]
    assert metadata.search_entry_point is not None
    assert metadata.search_entry_point.rendered_content == "<b>t</b>"
    pages = [chunk.web for chunk in metadata.grounding_chunks or []]
    assert [(page.uri, page.title) for page in pages if page] == [
        ("https://a.test/tokio", "Tokio"),
        ("https://b.test", "B"),
    ]
    [support] = metadata.grounding_supports or []
    assert support.grounding_chunk_indices == [0]
    segment = support.segment
    assert segment is not None
    assert segment.text == CLAIM
    assert TEXT.encode()[segment.start_index or 0 : segment.end_index] == CLAIM.encode()


def test_a_whole_answer_is_read_with_its_grounding() -> None:
    response = whole_of(assemble(sample_events())).models.generate_content(model="gemini-x", contents="q")
    assert response.text == TEXT
    assert response.candidates is not None
    check_grounding(response.candidates[0].grounding_metadata)
    assert response.candidates[0].finish_reason is types.FinishReason.STOP
    assert response.usage_metadata is not None
    assert response.usage_metadata.prompt_token_count == 12
    assert response.usage_metadata.total_token_count == 46
    assert (response.model_version, response.response_id) == ("gemini-x", "abc")


def test_a_stream_is_read_word_by_word_with_its_grounding_at_the_end() -> None:
    chunks = list(stream_of(sample_events()).models.generate_content_stream(model="gemini-x", contents="q"))
    assert "".join(chunk.text or "" for chunk in chunks) == TEXT
    thoughts = [
        part.text
        for chunk in chunks
        for candidate in chunk.candidates or []
        for part in (candidate.content.parts if candidate.content else None) or []
        if part.thought
    ]
    assert thoughts == ["Hm."]
    last = chunks[-1].candidates
    assert last is not None
    check_grounding(last[0].grounding_metadata)
    assert last[0].finish_reason is types.FinishReason.STOP


@pytest.mark.parametrize("is_stream", [False, True])
def test_function_calls_are_read(is_stream: bool) -> None:
    events: list[Event] = [
        ToolCallDelta(0, "c1", "weather", '{"city":'),
        ToolCallDelta(0, arguments='"Köln"}'),
        Finished("tool_calls"),
    ]
    if is_stream:
        found = list(stream_of(events).models.generate_content_stream(model="gemini-x", contents="q"))
        calls = [call for response in found for call in response.function_calls or []]
    else:
        whole = whole_of(assemble(events)).models.generate_content(model="gemini-x", contents="q")
        calls = whole.function_calls or []
    assert [(call.id, call.name, call.args) for call in calls] == [("c1", "weather", {"city": "Köln"})]


def test_an_error_answer_is_an_error_of_the_client() -> None:
    encoded = DIALECT.encode_error(RateLimited("slow down", retry_after=2.0), REPLY)
    with pytest.raises(errors.ClientError) as caught:
        client_for(encoded.status, dump_json(encoded.body).encode()).models.generate_content(
            model="gemini-x", contents="q"
        )
    assert (caught.value.code, caught.value.status, caught.value.message) == (
        429,
        "RESOURCE_EXHAUSTED",
        "slow down",
    )


def test_an_error_inside_a_stream_is_an_error_of_the_client() -> None:
    broken = stream_of([TextDelta(0, "Köln "), Failed(Overloaded("busy"))])
    seen: list[str] = []
    with pytest.raises(errors.ServerError) as caught:
        seen.extend(
            chunk.text or ""
            for chunk in broken.models.generate_content_stream(model="gemini-x", contents="q")
        )
    assert seen == ["Köln "]
    assert (caught.value.code, caught.value.message) == (503, "busy")


def test_the_request_of_the_official_client_is_decoded() -> None:
    requests: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        body = DIALECT.encode_response(assemble([TextDelta(0, "x"), Finished()]), REPLY)
        return httpx2.Response(200, json=body)

    config = types.GenerateContentConfig(
        system_instruction="Be kind.",
        max_output_tokens=100,
        tools=[
            types.Tool(
                google_search=types.GoogleSearch(
                    time_range_filter=types.Interval.model_validate(
                        {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-02-01T00:00:00Z"}
                    )
                )
            ),
            types.Tool(
                function_declarations=[
                    types.FunctionDeclaration(
                        name="weather",
                        parameters=types.Schema(
                            type=types.Type.OBJECT, properties={"city": types.Schema(type=types.Type.STRING)}
                        ),
                    )
                ]
            ),
        ],
        tool_config=types.ToolConfig(
            retrieval_config=types.RetrievalConfig(
                lat_lng=types.LatLng(latitude=50.9, longitude=6.9), language_code="de"
            ),
            include_server_side_tool_invocations=True,
        ),
        thinking_config=types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW),
    )
    client(answer).models.generate_content(model="gemini-x", contents="Which river?", config=config)
    request = DIALECT.decode_request(json.loads(requests[0].content))
    check_request(request)
    assert at(DIALECT.encode_request(request).body, "toolConfig", "includeServerSideToolInvocations") is True


def check_request(request: Request) -> None:
    assert request.query == "Which river?"
    assert [part.text for part in request.system] == ["Be kind."]
    assert request.limits.max_output_tokens == 100
    search = request.search
    assert search is not None
    assert search.since.startswith("2026-01-01T00:00:00")
    assert search.until.startswith("2026-02-01T00:00:00")
    assert search.language == "de"
    assert search.location is not None
    assert (search.location.latitude, search.location.longitude) == (50.9, 6.9)
    [tool] = request.tools
    assert isinstance(tool, FunctionTool)
    assert tool.parameters == {"type": "object", "properties": {"city": {"type": "string"}}}
    assert request.reasoning is not None
    assert request.reasoning.effort == "low"
