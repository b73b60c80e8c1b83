"""Brave's answers: citations, list entries and usage as tags in the text, whole, streamed and split."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.brave_tags import is_brave
from groundwire.dialects.registry import dialect
from groundwire.model import Answer, JsonObject, Usage, assemble

CODEC = dialect("openai_chat")
NILE: JsonObject = {
    "start_index": 26,
    "end_index": 29,
    "number": 1,
    "url": "https://a.example/nile",
    "favicon": "https://icons.example/a.png",
    "snippet": "The Nile has 6650 km.",
}
AMAZON: JsonObject = {"number": 2, "url": "https://b.example/amazon", "snippet": "It is wide."}
ITEM: JsonObject = {
    "uuid": "u1",
    "name": "Amazon",
    "original_tokens": "The Amazon is wider.",
    "citations": [AMAZON],
}
USAGE: JsonObject = {
    "X-Request-Requests": 1,
    "X-Request-Queries": 2,
    "X-Request-Tokens-In": 1200,
    "X-Request-Tokens-Out": 90,
    "X-Request-Total-Cost": 0.0135,
}
CHUNKS = (
    "The Nile is ",
    "6650 km long.",
    f"<citation>{json.dumps(NILE)}</citation>",
    " ",
    f"<enum_item>{json.dumps(ITEM)}</enum_item>",
    " a < b",
    f"<usage>{json.dumps(USAGE)}</usage>",
)
TEXT = "The Nile is 6650 km long. The Amazon is wider. a < b"


def chunk(content: str, model: str = "brave", finish: str | None = None) -> JsonObject:
    choice: JsonObject = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    head: JsonObject = {"id": "b1", "object": "chat.completion.chunk", "created": 1, "model": model}
    return {**head, "choices": [choice]}


def streamed(contents: tuple[str, ...] | list[str], model: str = "brave") -> Answer:
    decoder = CODEC.decoder()
    frames = [chunk(content, model) for content in contents] + [chunk("", model, "stop")]
    data = b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames)
    return assemble([*decoder.feed(data + b"data: [DONE]\n\n"), *decoder.close()])


def whole(content: str, model: str = "brave-pro") -> Answer:
    message: JsonObject = {"role": "assistant", "content": content}
    choice: JsonObject = {"index": 0, "message": message, "finish_reason": "stop"}
    return assemble(CODEC.decode_response({"id": "b1", "model": model, "choices": [choice]}))


FORMS = {
    "whole": lambda: whole("".join(CHUNKS)),
    "streamed": lambda: streamed(CHUNKS),
    "split": lambda: streamed(list("".join(CHUNKS))),
}


@pytest.mark.parametrize("form", FORMS)
def test_tags_become_citations_of_the_text_before_them(form: str) -> None:
    answer = FORMS[form]()
    assert answer.text == TEXT
    cited = {
        (answer.text[: citation.span.end].rstrip(), item.source.url, item.quote)
        for citation in answer.citations
        if citation.span is not None
        for item in citation.evidence
    }
    assert cited == {
        ("The Nile is 6650 km long.", "https://a.example/nile", "The Nile has 6650 km."),
        ("The Nile is 6650 km long. The Amazon is wider.", "https://b.example/amazon", "It is wide."),
    }
    assert answer.usage == Usage(1200, 90, searches=2, cost=0.0135)
    assert answer.finish == "stop"
    assert answer.warnings == ()


def test_the_progress_of_a_research_is_left_out() -> None:
    research = (
        '<queries>{"queries": ["nile"]}</queries><progress>{"number_of_iterations": 2}</progress>',
        "<answer>It is long.</answer>",
    )
    assert streamed(research).text == "It is long."


@pytest.mark.parametrize(
    "content", ["a <citation>", "<citation>{broken</citation>x", "<usage", "1 <", "</answer"]
)
def test_a_tag_that_is_not_complete_or_not_json_does_not_break_the_answer(content: str) -> None:
    answer = streamed([*content])
    assert answer.error is None
    assert answer.citations == ()


def test_the_same_words_of_another_model_are_text() -> None:
    content = f"Write <citation>{json.dumps(NILE)}</citation> to cite."
    assert whole(content, "gpt-5.5").text == content
    assert not is_brave("bravery-1")
