"""A request body is passed through unless it has blocks that only groundwire can read."""

from __future__ import annotations

import pytest

from groundwire.dialects.anthropic_messages import DIALECT
from groundwire.dialects.base import Reply
from groundwire.dialects.json import dump_json
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    JsonObject,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    Wire,
)
from groundwire.model.value import replace
from groundwire.providers.passthrough.rules import can_forward
from groundwire.providers.policy import Capabilities, prepare

FOUND_NOTHING = (SearchCall("s", ("nile",)), SearchResult("s"), Text("Nothing."))
TWO_QUERIES = (SearchCall("s", ("nile", "amazon")), SearchResult("s"), Text("Nothing."))


def is_passed_through(answer: Answer | None) -> bool:
    turns: list[JsonObject] = [{"role": "user", "content": "Which river?"}]
    if answer is not None:
        turns.append({"role": "assistant", "content": DIALECT.encode_response(answer, Reply())["content"]})
    body: JsonObject = {"model": "m", "max_tokens": 9, "messages": [*turns]}
    request = DIALECT.decode_request(body)
    sent = replace(request, wire=Wire(DIALECT.name, body, dump_json(body).encode(), ()))
    return can_forward(request, sent, prepare(request, Capabilities(), "anthropic"))


def test_history_without_groundwire_blocks_is_passed_through() -> None:
    assert is_passed_through(None)
    assert is_passed_through(Answer((Text("The Nile."),), finish="stop"))


@pytest.mark.parametrize("parts", [FOUND_NOTHING, TWO_QUERIES], ids=["found nothing", "two queries"])
def test_an_empty_search_made_by_groundwire_is_not_passed_through(
    parts: tuple[SearchCall, SearchResult, Text],
) -> None:
    assert not is_passed_through(Answer(parts, finish="stop"))


@pytest.mark.parametrize("url", ["https://a.example/", ""])
def test_a_citation_made_by_groundwire_is_not_passed_through(url: str) -> None:
    citation = Citation(Span(0, 4), (Evidence(Source(url, "The almanac")),))
    assert not is_passed_through(Answer((Text("Nile"),), (citation,), finish="stop"))
