"""The JSON form of canonical values: lossless, versioned, tolerant of unknown fields."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given

import groundwire
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import (
    AllTargetsFailed,
    ClientWireError,
    GroundwireError,
    InvalidQuery,
    RateLimited,
    Refused,
    UpstreamWireError,
)
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Json,
    JsonObject,
    Limits,
    Message,
    Opaque,
    PartAdded,
    Request,
    SearchOptions,
    Source,
    Span,
    Text,
    TextDelta,
    Usage,
)
from groundwire.model.json import Stored, decode, encode
from tests.model.strategies import answers, cases, events, messages, requests

pytestmark = pytest.mark.server


def through_text(value: Stored) -> Stored:
    return decode(load_json(dump_json(encode(value)), ClientWireError))


@cases(100)
@given(answers())
def test_every_answer_comes_back_equal(answer: Answer) -> None:
    assert decode(encode(answer)) == answer
    assert through_text(answer) == answer


@cases(100)
@given(requests())
def test_every_request_comes_back_equal(request: Request) -> None:
    assert through_text(request) == request


@cases(150)
@given(events())
def test_every_event_comes_back_equal(event: Event) -> None:
    assert through_text(event) == event


@cases(50)
@given(messages())
def test_every_message_comes_back_equal(message: Message) -> None:
    assert through_text(message) == message


def test_the_format_is_the_documented_one() -> None:
    answer = Answer(
        (Text("Hi."),),
        (Citation(Span(0, 3), (Evidence(Source("https://a.example")),)), Citation(None, ())),
        Usage(input_tokens=3),
        finish="stop",
    )
    assert encode(answer) == {
        "version": 1,
        "type": "Answer",
        "parts": [{"type": "Text", "text": "Hi."}],
        "citations": [
            {"span": [0, 3], "evidence": [{"source": {"url": "https://a.example"}}]},
            {"span": None, "evidence": []},
        ],
        "usage": {"input_tokens": 3},
        "finish": "stop",
    }


def test_fields_with_their_default_are_omitted() -> None:
    assert encode(Request(())) == {"version": 1, "type": "Request", "messages": []}
    assert encode(Finished()) == {"version": 1, "type": "Finished"}


def test_falsy_values_that_are_not_the_default_are_kept() -> None:
    request = Request((), search=SearchOptions(live=False, max_uses=0), limits=Limits(temperature=0.0))
    assert through_text(request) == request
    assert through_text(Answer(usage=Usage(input_tokens=0, cost=0.0))) == Answer(
        usage=Usage(input_tokens=0, cost=0.0)
    )


def test_every_stored_type_has_its_own_name() -> None:
    names = [kind.__name__ for kind in get_args(Stored)]
    assert len(names) == len(set(names)) == 19


def test_errors_are_decoded_to_their_class_with_their_message() -> None:
    error = RateLimited("slow down", status=429, upstream_code="rpm", retry_after=2.5, request_id="r1")
    body = encode(Failed(error))
    assert body["error"] == {
        "type": "RateLimited",
        "message": "slow down",
        "status": 429,
        "upstream_code": "rpm",
        "retry_after": 2.5,
        "request_id": "r1",
    }
    restored = through_text(Failed(error))
    assert restored == Failed(error)
    assert isinstance(restored, Failed)
    assert str(restored.error) == "slow down"
    assert restored.error.retryable


def test_wire_errors_keep_path_and_reason() -> None:
    restored = through_text(Failed(UpstreamWireError("expected a string", "$.a[0]")))
    assert isinstance(restored, Failed)
    assert isinstance(restored.error, UpstreamWireError)
    assert (restored.error.path, restored.error.reason) == ("$.a[0]", "expected a string")
    assert str(restored.error) == "$.a[0]: expected a string"


def test_an_error_refined_on_the_instance_stays_refined() -> None:
    error = Refused("no")
    error.code, error.status_hint, error.retryable = "OPENAI_WEB_SEARCH_FAILED", 502, True
    assert through_text(Failed(error)) == Failed(error)


def test_an_error_class_from_elsewhere_is_read_as_the_base_with_its_code() -> None:
    class Meltdown(GroundwireError):
        code = "MELTDOWN"
        status_hint = 502
        retryable = True

    restored = through_text(Failed(Meltdown("none of three")))
    assert isinstance(restored, Failed)
    assert type(restored.error) is GroundwireError
    assert restored.error.message == "none of three"
    assert restored.error.code == "MELTDOWN"
    assert (restored.error.status_hint, restored.error.retryable) == (502, True)


def test_an_error_of_many_attempts_keeps_them_all() -> None:
    error = AllTargetsFailed((("gemini", RateLimited("a", retry_after=1.0)), ("openai", Refused("b"))))
    restored = through_text(Failed(error))
    assert restored == Failed(error)
    assert isinstance(restored, Failed)
    assert isinstance(restored.error, AllTargetsFailed)
    assert restored.error.attempts[0] == ("gemini", RateLimited("a", retry_after=1.0))
    assert (restored.error.status_hint, restored.error.retryable) == (error.status_hint, error.retryable)


def test_unknown_fields_are_ignored() -> None:
    body: JsonObject = {
        "version": 1,
        "type": "Answer",
        "mood": "good",
        "parts": [{"type": "Text", "text": "x", "colour": [1]}],
        "usage": {"input_tokens": 1, "watts": 5},
        "error": {"type": "InvalidQuery", "message": "m", "path": "$", "planet": "Mars"},
    }
    assert decode(body) == Answer((Text("x"),), usage=Usage(input_tokens=1), error=InvalidQuery("m"))


def test_extras_and_opaque_data_are_verbatim() -> None:
    extras: dict[str, JsonObject] = {"gemini": {"type": "x", "version": 9, "deep": [{"a": None}]}}
    event = PartAdded(0, Opaque("gemini", {"type": "Text", "list": [1, [2]]}))
    assert encode(Finished(extras=extras))["extras"] == extras
    assert through_text(event) == event


@pytest.mark.parametrize("version", [None, 0, 2, "1", True, 1.0, [1]])
def test_an_unknown_version_is_refused(version: Json) -> None:
    with pytest.raises(ClientWireError) as caught:
        decode({"version": version, "type": "Finished"})
    assert caught.value.path == "$.version"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], "$"),
        ("Answer", "$"),
        ({"type": "Nothing"}, "$.type"),
        ({}, "$.type"),
        ({"type": ["Answer"]}, "$.type"),
        ({"type": "Text", "text": "not stored alone"}, "$.type"),
        ({"type": "TextDelta", "part": 0}, "$"),
        ({"type": "TextDelta", "part": "0", "text": ""}, "$.part"),
        ({"type": "TextDelta", "part": True, "text": ""}, "$.part"),
        ({"type": "TextDelta", "part": 0, "text": None}, "$.text"),
        ({"type": "TextDelta", "part": 0, "text": "", "phase": "loud"}, "$.phase"),
        ({"type": "TextDelta", "part": 0, "text": "", "phase": []}, "$.phase"),
        ({"type": "Answer", "parts": {}}, "$.parts"),
        ({"type": "Answer", "parts": [{"type": "Text", "text": "a"}, 7]}, "$.parts[1]"),
        ({"type": "Answer", "parts": [{"type": "Text", "text": []}]}, "$.parts[0].text"),
        ({"type": "Answer", "parts": [{"type": "Wand"}]}, "$.parts[0].type"),
        ({"type": "Answer", "usage": {"cost": "1"}}, "$.usage.cost"),
        ({"type": "Answer", "extras": {"gemini": []}}, "$.extras.gemini"),
        ({"type": "Answer", "error": {}}, "$.error.type"),
        ({"type": "Answer", "error": {"type": "Refused", "status": "x"}}, "$.error.status"),
        ({"type": "Failed", "error": {"type": "AllTargetsFailed", "attempts": [[1]]}}, "$.error.attempts[0]"),
        (
            {"type": "Failed", "error": {"type": "AllTargetsFailed", "attempts": [["a", 1]]}},
            "$.error.attempts[0][1]",
        ),
        ({"type": "Cited", "citation": {"span": [1], "evidence": []}}, "$.citation.span"),
        ({"type": "Cited", "citation": {"span": [True, 2], "evidence": []}}, "$.citation.span[0]"),
        ({"type": "Cited", "citation": {"evidence": []}}, "$.citation"),
        ({"type": "Finished", "reason": "bored"}, "$.reason"),
    ],
)
def test_a_malformed_value_is_refused_with_its_path(body: Json, path: str) -> None:
    if isinstance(body, dict):
        body = {"version": 1, **body}
    with pytest.raises(ClientWireError) as caught:
        decode(body)
    assert caught.value.path == path


def test_encoding_returns_copies_of_its_lists() -> None:
    event = Cited(Citation(Span(0, 1), (Evidence(Source("https://a.example", excerpts=("x",))),)))
    first = encode(event)
    first["citation"] = None
    assert encode(event)["citation"] is not None
    assert encode(TextDelta(0, "a")) == encode(TextDelta(0, "a"))


def test_types_are_read_when_first_needed_not_at_import() -> None:
    program = (
        "import typing\n"
        "def refuse(*_, **__): raise SystemExit('types were read at import')\n"
        "typing.get_type_hints = refuse\n"
        "import groundwire.model.json\n"
    )
    environment = {"PYTHONPATH": str(Path(groundwire.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)  # noqa: S603
