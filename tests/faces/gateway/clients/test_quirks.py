"""Client quirks: usage of zero in OpenAI Responses, engines as targets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from groundwire.faces.gateway.clients.quirks import ZeroUsage, without_agent_context
from groundwire.faces.gateway.endpoints import is_engine_target
from groundwire.model import (
    Event,
    Finished,
    Message,
    Request,
    Started,
    Text,
    TextDelta,
    Usage,
    UsageSeen,
    Verbatim,
    assemble,
)
from tests.stub_client import StubClient


def events_of(*batches: Sequence[Event]) -> list[Event]:
    zero_usage = ZeroUsage()
    return [event for batch in batches for event in zero_usage.feed(batch)]


def test_an_answer_without_usage_gets_a_usage_of_zero() -> None:
    events = events_of([Started("1", "m")], [TextDelta(0, "Yes."), Finished()])
    assert assemble(events).usage == Usage(input_tokens=0, output_tokens=0)
    assert isinstance(events[-1], Finished)


def test_a_search_count_is_kept_when_usage_is_added() -> None:
    events = events_of([Started("1", "m"), UsageSeen(Usage(searches=2)), Finished()])
    assert assemble(events).usage == Usage(input_tokens=0, output_tokens=0, searches=2)


def test_existing_usage_is_not_changed() -> None:
    events = events_of([Started("1", "m"), UsageSeen(Usage(input_tokens=7, output_tokens=3))], [Finished()])
    assert assemble(events).usage == Usage(input_tokens=7, output_tokens=3)
    assert sum(isinstance(event, UsageSeen) for event in events) == 1


def test_a_passed_through_response_is_not_changed() -> None:
    events: list[Event] = [Verbatim(b"data: {}\n\n"), Finished()]
    assert events_of(events) == events


@pytest.mark.parametrize(
    ("provider", "usable", "answer"),
    [
        ("local", {"local": True, "openai": True}, True),
        ("openai", {"local": True, "openai": True}, False),
        ("auto", {"local": True, "openai": True}, False),
        ("auto", {"local": True, "openai": False}, True),
    ],
)
def test_an_engine_searches_with_or_without_a_search_tool(
    provider: str, usable: dict[str, bool], answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = StubClient()
    monkeypatch.setattr(client, "usable", lambda: usable)
    assert is_engine_target(provider, client) == answer


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (("<system-reminder>\nSkills: <skill>x</skill>\n</system-reminder>", "Who?"), "Who?"),
        (("Who?\n<environment_details>\nTime: 1\n</environment_details>",), "Who?"),
        (("<task>\nWho?\n</task>\n<environment_details>a</environment_details>",), "Who?"),
        (("Who?", "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>x<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"), "Who?"),
        (("[Tue 2026-11-17 08:11 UTC] Who?\n\nRuntime: agent=main | host=vm",), "Who?"),
        (("[Tue 2026-11-17] is a list?",), "[Tue 2026-11-17] is a list?"),
        (("is a < b > c in <html>?",), "is a < b > c in <html>?"),
        (("<system-reminder>only this</system-reminder>",), "<system-reminder>only this</system-reminder>"),
    ],
)
def test_an_engine_gets_the_words_of_the_user(texts: tuple[str, ...], question: str) -> None:
    request = Request((Message("user", tuple(map(Text, texts))),))
    assert without_agent_context(request).query == question
