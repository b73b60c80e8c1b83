"""`POST /api/chat`: the requests of `useChat`, and the UI message stream that it reads.

`tests/clients/proof_ai_sdk.py` reads the same stream with the AI SDK itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.dialects.base import Reply
from groundwire.errors import RateLimited
from groundwire.faces.gateway.ui_messages.encoder import UiMessageEncoder
from groundwire.faces.gateway.ui_messages.request import decode_request
from groundwire.model import (
    Citation,
    Cited,
    Evidence,
    Finished,
    Image,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
)
from tests.faces.gateway.asgi_client import LOCAL, AsgiResponse, send_request
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for
from tests.growth import LINEAR, growth

PAGE = Source("https://alpha.example/nile", "Nile")
BOOK = Source("", "A book")
EVENTS = (
    Started(model="m-1", provider="gemini"),
    Warned("slow", "this takes a while"),
    ReasoningDelta(0, "Hmm."),
    SearchStarted(1, "s1"),
    SearchCalled(1, SearchCall("s1", ("nile",))),
    SearchReturned(1, SearchResult("s1", (PAGE, Source("javascript:alert(1)")))),
    Cited(Citation(Span(5, 15), (Evidence(PAGE, "6650 km"), Evidence(BOOK)))),
    TextDelta(2, "😀 it is 6650"),
    TextDelta(2, " km."),
    Cited(Citation(None, (Evidence(PAGE),))),
    TextSettled(2),
    PartAdded(3, Image("image/png", "AAAA")),
    ToolCallDelta(4, "c1", "lookup", '{"a"'),
    ToolCallDelta(4, arguments=": 1}"),
    UsageSeen(Usage(3, 4, searches=1)),
    Finished("tool_calls"),
)
MESSAGE = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "How long is the Nile?"}]}


async def post(folder: Path, backend: ScriptedBackend, body: object, **headers: str) -> AsgiResponse:
    sent = {**LOCAL, "content-type": "application/json", **headers}
    return await send_request(app_for(backend, folder), "POST", "/api/chat", sent, json.dumps(body).encode())


def chunks_in(body: bytes) -> list[dict[str, Any]]:
    frames = body.decode().removesuffix("\n\n").split("\n\n")
    assert frames[-1] == "data: [DONE]"
    return [json.loads(frame.removeprefix("data: ")) for frame in frames[:-1] if frame.startswith("data: ")]


async def test_every_part_of_an_answer_is_in_the_stream(tmp_path: Path) -> None:
    backend = ScriptedBackend(*EVENTS)
    response = await post(
        tmp_path, backend, {"id": "chat", "messages": [MESSAGE], "trigger": "submit-message"}
    )
    assert response.status == 200
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert response.headers["content-type"].startswith("text/event-stream")
    chunks = chunks_in(response.body)
    assert [chunk["type"] for chunk in chunks] == [
        *("start", "start-step", "data-warning", "reasoning-start", "reasoning-delta", "reasoning-end"),
        *("tool-input-start", "tool-input-available", "tool-output-available"),
        *("text-start", "text-delta", "text-delta", "source-url", "source-document", "data-citation"),
        *("data-citation", "text-end", "file", "tool-input-start", "tool-input-delta", "tool-input-delta"),
        *("tool-input-available", "finish-step", "finish"),
    ]
    by_type = {chunk["type"]: chunk for chunk in chunks}
    assert by_type["tool-output-available"]["output"] == {"sources": [{"url": PAGE.url, "title": "Nile"}]}
    assert by_type["source-url"] == {
        "type": "source-url",
        "sourceId": "source-1",
        "url": PAGE.url,
        "title": "Nile",
    }
    placed, whole = [chunk["data"] for chunk in chunks if chunk["type"] == "data-citation"]
    units = "😀 it is 6650 km.".encode("utf-16-le")
    assert units[2 * placed["start"] : 2 * placed["end"]].decode("utf-16-le") == "is 6650 km"
    assert placed["sources"] == [{"sourceId": "source-1", "quote": "6650 km"}, {"sourceId": "source-2"}]
    assert whole == {"sources": [{"sourceId": "source-1"}]}
    assert by_type["tool-input-available"]["input"] == {"a": 1}
    assert by_type["finish"]["finishReason"] == "tool-calls"
    assert by_type["finish"]["messageMetadata"]["usage"] == {
        "inputTokens": 3,
        "outputTokens": 4,
        "searches": 1,
    }
    [(provider, _, request)] = backend.calls
    assert (provider, request.query, request.search is not None) == ("auto", "How long is the Nile?", True)


async def test_markers_are_written_into_the_text_if_the_page_wants_them(tmp_path: Path) -> None:
    body = {"messages": [MESSAGE]}
    response = await post(tmp_path, ScriptedBackend(*EVENTS), body, **{"x-groundwire-render": "markers"})
    text = "".join(
        chunk.get("delta", "") for chunk in chunks_in(response.body) if chunk["type"] == "text-delta"
    )
    assert "[1]" in text
    assert PAGE.url in text
    assert b"data-citation" not in response.body


async def test_errors_are_text_for_the_page_before_and_in_the_stream(tmp_path: Path) -> None:
    wrong = await post(tmp_path, ScriptedBackend(), {"messages": [{"role": "user", "parts": []}]})
    assert (wrong.status, "message of the user" in wrong.json["error"]) == (400, True)
    early = await post(tmp_path, ScriptedBackend(RateLimited("too many")), {"messages": [MESSAGE]})
    assert (early.status, early.json) == (429, {"error": "too many"})
    late = await post(
        tmp_path, ScriptedBackend(*EVENTS[:9], RateLimited("too many")), {"messages": [MESSAGE]}
    )
    assert chunks_in(late.body)[-1] == {"type": "error", "errorText": "too many"}


def test_the_next_turn_has_the_citations_and_searches_of_the_last() -> None:
    answer: Any = {
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {
                "type": "tool-web_search",
                "toolCallId": "s1",
                "state": "output-available",
                "input": {"queries": ["nile"]},
                "output": {"sources": [{"url": PAGE.url, "title": "Nile"}]},
            },
            {"type": "text", "text": "😀 it is 6650 km."},
            {"type": "source-url", "sourceId": "source-1", "url": PAGE.url, "title": "Nile"},
            {"type": "data-citation", "data": {"start": 3, "end": 15, "sources": [{"sourceId": "source-1"}]}},
        ],
    }
    photo = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}
    body: Any = {
        "messages": [MESSAGE, answer, {"role": "user", "parts": [{"type": "text", "text": "Why?"}, photo]}],
        "model": "gemini",
        "system": "Be brief.",
        "search": {"allowed_domains": ["alpha.example"], "max_uses": 2},
    }
    request = decode_request(body)
    said = request.messages[1]
    cited = Source(PAGE.url, "Nile", state="cited")
    assert said.parts == (
        SearchCall("s1", ("nile",)),
        SearchResult("s1", (PAGE,)),
        Text("😀 it is 6650 km."),
    )
    assert said.citations == (Citation(Span(2, 14), (Evidence(cited),)),)
    assert request.messages[2].parts == (Text("Why?"), Image("image/png", "AAAA"))
    assert (request.model, request.system) == ("gemini", (Text("Be brief."),))
    assert request.search is not None
    assert (request.search.allowed_domains, request.search.max_uses) == (("alpha.example",), 2)
    assert decode_request({**body, "webSearch": False}).search is None
    del answer["parts"][-1]
    assert decode_request(body).messages[1].citations == (Citation(None, (Evidence(cited),)),)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": "x"},
        {"messages": [{"role": "tool", "parts": []}]},
        {"messages": [{"role": "user", "parts": [{"type": "file", "mediaType": "text/csv", "url": "x"}]}]},
    ],
)
async def test_a_wrong_request_is_refused_with_its_place(body: object, tmp_path: Path) -> None:
    response = await post(tmp_path, ScriptedBackend(), body)
    assert (response.status, "$.messages" in response.json["error"]) == (400, True)


def test_many_citations_are_encoded_at_linear_cost() -> None:
    def encode(size: int) -> None:
        encoder = UiMessageEncoder(Reply())
        for at in range(size):
            encoder.feed(Cited(Citation(Span(0, 10 * at), (Evidence(PAGE, f"quote {at}"),))))
        for at in range(size):
            encoder.feed(TextDelta(0, "some \U0001f600 text"))
            encoder.feed(Cited(Citation(Span(0, 10 * at), (Evidence(PAGE, f"quote {at}"),))))
        encoder.feed(Finished())

    assert growth(encode, 100) < LINEAR
