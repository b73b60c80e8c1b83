"""Asking several providers at once: failures, silence, progress, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from groundwire.client import Groundwire, search_request
from groundwire.compare import run
from groundwire.compare.run import LATE, ComparePolicy, compare_answers
from groundwire.config.schema import Config
from groundwire.errors import Overloaded
from groundwire.model import Event, Failed, Request, SearchOptions, Started, TextDelta
from groundwire.testing.upstream import ScriptedResponse, Upstream, answer
from tests.compare.answers import cited_events
from tests.faces.gateway.serving import provider_at

REQUEST = search_request("How long is the Nile?", SearchOptions())
CLAIM = ("The Nile is 6,650 km long.", "https://a.example/nile")


class Providers:
    """Providers in memory; `closed` lists those whose stream was ended."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    async def stream(self, _: Request, name: str) -> AsyncGenerator[Event, None]:
        try:
            if name == "broken":
                raise Overloaded("is overloaded")
            if name == "silent":
                await asyncio.Event().wait()
            if name == "halting":
                yield Started()
                yield TextDelta(0, "The Nile is")
                yield Failed(Overloaded("broke off"))
                return
            for event in cited_events(CLAIM, provider=name):
                yield event
        finally:
            self.closed.append(name)


async def test_a_failing_and_a_silent_provider_do_not_hold_up_the_others() -> None:
    providers = Providers()
    comparison = await asyncio.wait_for(
        compare_answers(
            REQUEST,
            ["alpha", "broken", "silent", "halting", "beta"],
            providers.stream,
            ComparePolicy(patience=0.01),
        ),
        10,
    )
    outcomes = {item.provider: (item.outcome, item.reason) for item in comparison.contributions}
    assert outcomes == {
        "alpha": ("answered", ""),
        "broken": ("failed", "is overloaded"),
        "silent": ("late", LATE),
        "halting": ("failed", "broke off"),
        "beta": ("answered", ""),
    }
    assert list(outcomes) == ["alpha", "broken", "silent", "halting", "beta"]
    assert comparison.count("agreed") == 1
    assert sorted(providers.closed) == sorted(outcomes)


async def test_a_slow_provider_is_waited_for_until_there_are_two_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "LEAST_PATIENCE", 0.0)
    monkeypatch.setattr(run, "PATIENCE", 0.0)
    providers = Providers()

    async def stream(request: Request, name: str) -> AsyncGenerator[Event, None]:
        if name == "slow":
            while sorted(providers.closed) != ["alpha", "broken"]:
                await asyncio.sleep(0)
            await asyncio.sleep(0.01)
        async for event in providers.stream(request, name):
            yield event

    one = await asyncio.wait_for(compare_answers(REQUEST, ["alpha", "broken", "slow"], stream), 10)
    assert [item.outcome for item in one.contributions] == ["answered", "failed", "answered"]
    two = await asyncio.wait_for(compare_answers(REQUEST, ["alpha", "beta", "silent"], stream), 10)
    assert [item.outcome for item in two.contributions] == ["answered", "answered", "late"]


async def test_two_silent_providers_end_with_the_time_limit() -> None:
    policy = ComparePolicy(seconds=0.05)
    comparison = await asyncio.wait_for(
        compare_answers(REQUEST, ["silent", "alpha", "silent/2"], _silent_but_alpha, policy), 10
    )
    assert [item.outcome for item in comparison.contributions] == ["late", "answered", "late"]
    assert "within 0.05 s" in comparison.contributions[0].reason


async def _silent_but_alpha(request: Request, name: str) -> AsyncGenerator[Event, None]:
    if name != "alpha":
        await asyncio.Event().wait()
    for event in cited_events(CLAIM):
        yield event


async def test_progress_is_reported_and_the_result_does_not_depend_on_who_is_first() -> None:
    steps: list[tuple[str, str]] = []
    gate = asyncio.Event()

    async def stream(_: Request, name: str) -> AsyncGenerator[Event, None]:
        if name == "late":
            await gate.wait()
        for event in cited_events(CLAIM):
            yield event
        gate.set()

    one = await compare_answers(
        REQUEST, ["late", "early"], stream, report=lambda name, step: steps.append((name, step))
    )
    assert steps.index(("early", "done")) < steps.index(("late", "answering"))
    assert [item.provider for item in one.contributions] == ["late", "early"]
    gate.clear()
    other = await compare_answers(REQUEST, ["early", "late"], stream)
    assert one.claims[0].agreement == other.claims[0].agreement == "agreed"
    assert one.sources[0].url == other.sources[0].url


async def test_a_defect_is_raised_and_all_streams_are_closed() -> None:
    providers = Providers()

    async def stream(request: Request, name: str) -> AsyncGenerator[Event, None]:
        if name == "defect":
            raise ZeroDivisionError
        async for event in providers.stream(request, name):
            yield event

    with pytest.raises(ZeroDivisionError):
        await compare_answers(REQUEST, ["silent", "defect"], stream)


async def test_four_dialects_one_stalling_one_failing_on_real_connections() -> None:
    events = {
        "messages": cited_events(CLAIM),
        "responses": cited_events(("The Nile is 6,853 km long.", "https://b.example/nile")),
    }
    stalling = answer("openai_chat", cited_events(CLAIM))
    async with (
        Upstream(answer("anthropic_messages", events["messages"])) as messages,
        Upstream(answer("openai_responses", events["responses"])) as responses,
        Upstream(ScriptedResponse(status=200, delay=float("inf"))) as silent,
        Upstream(ScriptedResponse(status=401, body=b'{"error": {"message": "bad key"}}')) as failing,
        Upstream(stalling) as chat,
    ):
        config = Config(
            providers={
                "messages": provider_at("anthropic_messages", messages.url),
                "responses": provider_at("openai_responses", responses.url),
                "chat": provider_at("openai_chat", chat.url),
                "silent": provider_at("gemini", silent.url),
                "failing": provider_at("openai_chat", failing.url),
            }
        )
        async with Groundwire(config, env={}) as groundwire:
            names = ["messages", "responses", "chat", "silent", "failing"]
            comparison = await asyncio.wait_for(
                groundwire.acompare(REQUEST, names, policy=ComparePolicy(patience=0.05)), 20
            )
        await silent.disconnected()
    assert [item.outcome for item in comparison.contributions] == [
        *("answered", "answered", "answered", "late", "failed")
    ]
    (group,) = comparison.claims
    assert group.agreement == "contradicted"
    assert {side.provider for side in group.sides} == {"messages", "responses", "chat"}
    assert [source.cited_by for source in comparison.sources] == [("messages", "chat"), ("responses",)]
