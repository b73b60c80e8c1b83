"""Searches of any provider as content blocks of the Anthropic dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
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

PAGE = Source("https://a.example/x", "A", "cited")
OTHER = Source("https://b.example/", "B")
TEXT = "Yes 【3:2†source】."
EVENTS: tuple[Event, ...] = (
    Started(),
    SearchCalled(0, SearchCall("s1", ("how many?",))),
    SearchReturned(1, SearchResult("s1", (PAGE, OTHER))),
    TextDelta(2, TEXT),
    Cited(Citation(Span(4, 16), (Evidence(PAGE),), "marker")),
    TextSettled(2),
    Finished(),
)
"""As from Copilot: the citation spans a marker in Copilot's own format."""


def whole() -> list[Any]:
    body: Any = dialect("anthropic_messages").encode_response(assemble(EVENTS), Reply(id="1"))
    return list(body["content"])


def streamed() -> list[Any]:
    """The blocks, assembled from their start and delta events."""
    encoder = dialect("anthropic_messages").encoder(Reply(id="1"))
    data = b"".join([*(encoder.feed(event) for event in EVENTS), encoder.close()]).decode()
    blocks: list[Any] = []
    for line in data.splitlines():
        event: Any = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
        if event.get("type") == "content_block_start":
            blocks.append(event["content_block"])
        elif event.get("type") == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "text_delta":
                blocks[-1]["text"] += delta["text"]
            elif delta["type"] == "input_json_delta" and delta["partial_json"]:
                blocks[-1]["input"] = json.loads(delta["partial_json"])
    return blocks


@pytest.fixture(params=[whole, streamed])
def blocks(request: pytest.FixtureRequest) -> list[Any]:
    found: list[Any] = request.param()
    return found


def test_the_query_is_first_as_a_server_tool_use(blocks: list[Any]) -> None:
    assert (blocks[0]["type"], blocks[0]["name"]) == ("server_tool_use", "web_search")
    assert blocks[0]["input"] == {"query": "how many?"}


def test_the_results_follow_with_title_and_url(blocks: list[Any]) -> None:
    assert blocks[1]["type"] == "web_search_tool_result"
    assert blocks[1]["tool_use_id"] == blocks[0]["id"]
    assert [(item["type"], item["title"], item["url"]) for item in blocks[1]["content"]] == [
        ("web_search_result", "A", "https://a.example/x"),
        ("web_search_result", "B", "https://b.example/"),
    ]


def test_the_text_is_last(blocks: list[Any]) -> None:
    assert {block["type"] for block in blocks[2:]} == {"text"}
    assert "".join(block["text"] for block in blocks[2:]).startswith("Yes")


def test_each_search_is_counted_once(blocks: list[Any]) -> None:
    kinds = [block["type"] for block in blocks]
    assert kinds.count("server_tool_use") == kinds.count("web_search_tool_result") == 1
