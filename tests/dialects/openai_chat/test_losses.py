"""What chat says it cannot say is exactly what it cannot say."""

from __future__ import annotations

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.features import Feature, project
from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Image,
    JsonObject,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    Usage,
    assemble,
)

FILE: JsonObject = {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf"}
LINK = "([a.example](https://a.example))"
FULL = Answer(
    (
        Reasoning("hm"),
        SearchCall("s1", ("rain", "sun"), caller="code"),
        SearchResult(
            "s1", (Source("https://f.example", "F", date="2026-01-01"), Source("https://a.example", "A"))
        ),
        SearchCall("s2", kind="open", url="https://o.example"),
        SearchCall("s3", kind="find", url="https://o.example", pattern="wet"),
        SearchResult("s3", error="unavailable", suggestions="<b>more</b>"),
        Text("Looking. ", "commentary"),
        Text(f"It rains 🌧 in Rome. {LINK} Sun.", extras={"openai_responses": {"annotations": [FILE]}}),
        Image("image/png", "AA=="),
        ToolCall("c", "f", '{"a": 1}'),
    ),
    (
        Citation(Span(9, 29), (Evidence(Source("https://c.example", "C"), "wet", 0.5),)),
        Citation(Span(29, 29 + len(LINK)), (Evidence(Source("https://a.example", "A")),), "marker"),
        Citation(None, (Evidence(Source("https://u.example", "U")),)),
    ),
    Usage(10, 20, 3, 2, 4, 1, 2, None, 0.5),
    finish="tool_calls",
)
ANSWERS = {
    "full": FULL,
    "paused": Answer((Text("x"),), finish="pause"),
    "refused": Answer((Text("No.", "refusal"),), finish="refused"),
    "refused without words": Answer((Text("Half"),), finish="refused"),
    "filtered": Answer((Text("Half"),), finish="filtered"),
    "other": Answer((Text("Half"),), finish="other"),
    "cut": Answer((Text("Half"),), finish="length"),
}


def _whole(answer: Answer) -> Answer:
    return assemble(DIALECT.decode_response(DIALECT.encode_response(answer, Reply())))


@pytest.mark.parametrize("name", ANSWERS)
def test_everything_else_comes_through(name: str) -> None:
    answer = ANSWERS[name]
    back = _whole(answer)
    for feature in Feature:
        if feature not in DIALECT.losses:
            assert project(back, feature) == project(answer, feature), feature


def test_every_loss_is_one() -> None:
    back = _whole(FULL)
    for feature in DIALECT.losses:
        assert project(back, feature) != project(FULL, feature), feature
