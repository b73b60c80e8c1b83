"""The official `openai` client reads what we encode, in process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import httpx2
import openai
import pytest
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseStreamEvent,
)
from openai.types.responses.response_output_text import AnnotationURLCitation

from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_responses import DIALECT
from groundwire.errors import AuthRejected, GroundwireError, NotFound, Overloaded, RateLimited, Refused
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
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
from tests.dialects.openai_responses.wire import PAGE, REPLY, encode_events

TEXT = "🌧 Regen in Zürich.\u2028Sun."


def cited(start: int, end: int, url: str = PAGE) -> Cited:
    return Cited(Citation(Span(start, end), (Evidence(Source(url, "A", "cited"), "wet"),)))


EVENTS: list[Event] = [
    Started("x", "y"),
    ReasoningDelta(0, "Hm."),
    SearchStarted(1, "s"),
    SearchCalled(1, SearchCall("s", ("rain", "regen"))),
    SearchReturned(2, SearchResult("s", (Source(PAGE, "A"), Source("https://b.example/")))),
    SearchCalled(3, SearchCall("o", kind="open", url=PAGE)),
    SearchReturned(4, SearchResult("o")),
    *(TextDelta(5, letter, "final_answer") for letter in TEXT),
    cited(2, 18),
    TextSettled(5),
    TextDelta(6, " More.", "final_answer"),
    cited(24, 28, "https://b.example/"),
    TextSettled(6),
    ToolCallDelta(7, "call_1", "get_weather"),
    ToolCallDelta(7, arguments='{"city":'),
    ToolCallDelta(7, arguments='"Bern"}'),
    ToolCallDelta(8, "call_2", "now"),
    UsageSeen(Usage(3, 4, searches=1)),
    Finished("tool_calls"),
]


def client(status: int, content_type: str, body: bytes) -> openai.OpenAI:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": content_type}, content=body)

    return openai.OpenAI(
        api_key="k",
        base_url="http://gateway.example/v1",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
    )


def create() -> Response:
    body = dump_json(DIALECT.encode_response(assemble(EVENTS), REPLY)).encode()
    return client(200, "application/json", body).responses.create(model="m", input="q")


def raw_stream(*events: Event) -> Iterator[ResponseStreamEvent]:
    body = encode_events(events)
    return iter(client(200, "text/event-stream", body).responses.create(model="m", input="q", stream=True))


def messages(output: Iterable[object]) -> list[ResponseOutputMessage]:
    return [item for item in output if isinstance(item, ResponseOutputMessage)]


def texts(item: ResponseOutputMessage) -> list[ResponseOutputText]:
    return [part for part in item.content if isinstance(part, ResponseOutputText)]


def check(response: Response) -> None:
    assert response.status == "completed"
    assert response.output_text == TEXT + " More."
    kinds = ["reasoning", "web_search_call", "web_search_call", "message", "function_call", "function_call"]
    assert [item.type for item in response.output] == kinds
    [message] = messages(response.output)
    assert message.phase == "final_answer"
    annotations = [annotation for part in texts(message) for annotation in part.annotations]
    assert all(isinstance(annotation, AnnotationURLCitation) for annotation in annotations)
    cited = [(n.url, n.start_index, n.end_index) for n in annotations if isinstance(n, AnnotationURLCitation)]
    assert cited == [(PAGE, 2, 18), ("https://b.example/", 1, 5)]
    assert texts(message)[0].text[2:18] == TEXT[2:18]
    searches = [item for item in response.output if isinstance(item, ResponseFunctionWebSearch)]
    assert [item.status for item in searches] == ["completed", "completed"]
    assert searches[0].action.type == "search"
    assert searches[0].action.queries == ["rain", "regen"]
    assert [source.url for source in searches[0].action.sources or ()] == [PAGE, "https://b.example/"]
    assert searches[1].action.type == "open_page"
    calls = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
    assert [(item.call_id, item.name, item.arguments) for item in calls] == [
        ("call_1", "get_weather", '{"city":"Bern"}'),
        ("call_2", "now", "{}"),
    ]
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.total_tokens) == (3, 7)
    assert response.tool_usage is not None
    assert response.tool_usage.web_search.num_requests == 1
    assert response.tool_usage.image_gen.total_tokens == 0


def test_a_whole_response_is_read() -> None:
    check(create())


def test_every_event_of_a_stream_is_read() -> None:
    events = list(raw_stream(*EVENTS))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    check(last.response)
    streamed_text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert streamed_text == TEXT + " More."
    assert len([event for event in events if event.type == "response.output_text.annotation.added"]) == 2


def test_the_helper_for_streams_accepts_every_step() -> None:
    body = encode_events(EVENTS)
    with client(200, "text/event-stream", body).responses.stream(model="m", input="q") as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        check(stream.get_final_response())
    assert snapshots[len(TEXT) - 1] == TEXT


def test_the_helper_accepts_late_citations_and_interleaved_parts() -> None:
    events: list[Event] = [
        Started("x", "y"),
        TextDelta(0, "One."),
        ToolCallDelta(1, "a", "f"),
        ToolCallDelta(2, "b", "g"),
        ToolCallDelta(1, arguments="{}"),
        TextDelta(3, "Two."),
        cited(5, 7),
        cited(0, 3),
        Finished("tool_calls"),
    ]
    with client(200, "text/event-stream", encode_events(events)).responses.stream(
        model="m", input="q"
    ) as stream:
        response = stream.get_final_response()
    assert response.output_text == "One.Two."
    assert [len(texts(message)[0].annotations) for message in messages(response.output)] == [1, 1]


def test_a_truncated_answer_is_incomplete() -> None:
    *_, last = raw_stream(TextDelta(0, "Hel"), Finished("length"))
    assert last.type == "response.incomplete"
    assert last.response.incomplete_details is not None
    assert last.response.incomplete_details.reason == "max_output_tokens"


def test_an_error_in_a_stream_is_raised_with_its_message() -> None:
    events = raw_stream(TextDelta(0, "Hel"), Failed(RateLimited("Slow down.")))
    with pytest.raises(openai.APIError, match=r"Slow down\.") as caught:
        list(events)
    assert caught.value.code == "rate_limit_exceeded"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AuthRejected("No."), openai.AuthenticationError),
        (RateLimited("No."), openai.RateLimitError),
        (NotFound("No."), openai.NotFoundError),
        (Refused("No."), openai.BadRequestError),
        (Overloaded("No."), openai.InternalServerError),
    ],
)
def test_errors_are_raised_as_the_client_names_them(
    error: GroundwireError, expected: type[openai.APIStatusError]
) -> None:
    status, body = DIALECT.encode_error(error, REPLY)
    with pytest.raises(expected, match=r"No\."):
        client(status, "application/json", json.dumps(body).encode()).responses.create(model="m", input="q")
