"""Google's own client reads encoded responses, and its requests are decoded."""

from __future__ import annotations

import json

import httpx2
from google import genai
from google.genai import interactions, types

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini_interactions import DIALECT
from groundwire.dialects.json import dump_json
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    JsonObject,
    Request,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    assemble,
)

EVENTS: list[Event] = [
    Started("x", "m"),
    SearchCalled(0, SearchCall("s", ("länge",))),
    SearchReturned(1, SearchResult("s", (Source("https://a.example/", "A"),))),
    TextDelta(2, "Öl fließt. "),
    TextDelta(2, "Immer."),
    Cited(Citation(Span(3, 10), (Evidence(Source("https://a.example/", "A", "cited")),))),
    TextSettled(2),
    Finished(),
]
REPLY = Reply("a", "m", created=1_778_871_156)


class FixedServer:
    """Answers every request with one body, and records the requests."""

    def __init__(self, body: bytes, content_type: str) -> None:
        self.requests: list[JsonObject] = []

        def answer(request: httpx2.Request) -> httpx2.Response:
            self.requests.append(json.loads(request.content))
            return httpx2.Response(200, headers={"content-type": content_type}, content=body)

        http = httpx2.Client(transport=httpx2.MockTransport(answer))
        options = types.HttpOptions(base_url="http://groundwire.test", httpx_client=http)
        self.client = genai.Client(api_key="k", http_options=options)


def test_a_whole_answer_is_read_by_the_client() -> None:
    body = dump_json(DIALECT.encode_response(assemble(EVENTS), REPLY)).encode()
    server = FixedServer(body, "application/json")
    answer = server.client.interactions.create(model="m", input="?", tools=[{"type": "google_search"}])
    assert isinstance(answer, interactions.Interaction)
    assert (answer.status, answer.output_text) == ("completed", "Öl fließt. Immer.")
    call, result, output = answer.steps or []
    assert isinstance(call, interactions.GoogleSearchCallStep)
    assert call.arguments.queries == ["länge"]
    assert isinstance(result, interactions.GoogleSearchResultStep)
    assert isinstance(output, interactions.ModelOutputStep)
    (block,) = output.content or []
    assert isinstance(block, interactions.TextContent)
    (note,) = block.annotations or []
    assert isinstance(note, interactions.URLCitation)
    assert block.text.encode()[note.start_index : note.end_index].decode() == "fließt."
    request: Request = DIALECT.decode_request(server.requests[0])
    assert request.search is not None
    assert request.query == "?"


def test_a_stream_is_read_by_the_client() -> None:
    encoder = DIALECT.encoder(REPLY)
    data = b"".join(encoder.feed(event) for event in EVENTS)
    server = FixedServer(data, encoder.content_type)
    text = ""
    kinds = set()
    for event in server.client.interactions.create(model="m", input="?", stream=True):
        kinds.add(type(event).__name__)
        if isinstance(event, interactions.StepDelta) and isinstance(event.delta, interactions.TextDelta):
            text += event.delta.text
    assert text == "Öl fließt. Immer."
    assert kinds == {
        *("InteractionCreatedEvent", "InteractionStatusUpdate", "StepStart", "StepDelta", "StepStop"),
        "InteractionCompletedEvent",
    }
    assert DIALECT.decode_request(server.requests[0]).stream
