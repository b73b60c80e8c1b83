"""A provider that is down: the next one answers every request, and the outage ends with its cause."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.raw import INBOUND, RawResponse, fetch, request_of
from tests.faces.gateway.serving import provider_at, run, serving
from tests.figures import Figures

pytestmark = pytest.mark.server

GOOD = answer("openai_chat", answer_events("Yes, it does."))
CONCURRENT = 8
DOWN: dict[str, Script | ScriptedResponse] = {
    "refused": Script(port_state="closed"),
    "503": ScriptedResponse(503),
    "reset": ScriptedResponse(raw=b""),
}


async def ask(url: str, model: str, count: int) -> list[RawResponse]:
    """Send requests in all dialects, some at a time."""
    numbers = iter(range(count))
    responses: list[RawResponse] = []

    async def work() -> None:
        for number in numbers:
            data = request_of(INBOUND[number % 5], model, stream=number % 2 == 0, question=f"{number}?")
            responses.append(await fetch(url, data))

    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENT):
            group.create_task(work())
    return responses


async def with_one_down(down: Script | ScriptedResponse, count: int) -> tuple[Counter[str], int]:
    """Which provider answered how many requests, and how many requests the broken one got."""
    async with Upstream(down) as first, Upstream(GOOD) as second:
        providers = {
            "first": provider_at("openai_chat", first.url),
            "second": provider_at("openai_chat", second.url),
        }
        async with serving(providers) as here:
            responses = await ask(here.url, "auto", count)
        answered = Counter(
            response.headers["x-groundwire-provider"]
            for response in responses
            if response.status == 200 and response.complete
        )
        return answered, len(first.requests)


@pytest.mark.parametrize("down", DOWN)
async def test_with_one_of_two_providers_down_every_request_is_answered(down: str) -> None:
    answered, wasted = await with_one_down(DOWN[down], 60)
    assert answered == {"second": 60}
    assert wasted < 30, "the breaker did not open"


@pytest.mark.thorough
@pytest.mark.parametrize("down", DOWN)
def test_with_one_of_two_providers_down_five_thousand_requests_are_answered(
    down: str, figures: Figures
) -> None:
    answered, wasted = run(with_one_down(DOWN[down], 5000), seconds=600)
    figures.add("R10", f"answered of 5,000 requests ({down})", answered["second"])
    figures.add("R10", f"requests to the broken provider ({down})", wasted)
    assert answered["second"] >= 4995, answered
    assert wasted < 500, "the breaker did not open"


async def outage(count: int) -> tuple[int, int, int]:
    """Attempts at the only provider during an outage; how many of ten requests succeed before and after."""
    async with (
        Upstream(GOOD) as upstream,
        serving({"mine": provider_at("openai_chat", upstream.url)}) as here,
    ):
        before = await ask(here.url, "mine/m", 10)
        sent = len(upstream.requests)
        upstream.script = Script((ScriptedResponse(503),))
        during = await ask(here.url, "mine/m", count)
        assert {response.status for response in during} <= {503, 529}
        attempts = len(upstream.requests) - sent
        upstream.script = Script((GOOD,))
        after = await ask(here.url, "mine/m", 10)
        healthy = [sum(response.status == 200 for response in part) for part in (before, after)]
        return attempts, healthy[0], healthy[1]


async def test_the_first_request_after_an_outage_is_answered() -> None:
    attempts, before, after = await outage(20)
    assert (before, after) == (10, 10)
    assert attempts <= 20 * 1.25 + 3


@pytest.mark.thorough
def test_a_thousand_requests_of_an_outage_cost_at_most_a_quarter_more(figures: Figures) -> None:
    attempts, before, after = run(outage(1000), seconds=600)
    figures.add("R7", "attempts for 1,000 requests of an outage", attempts)
    figures.add("R7", "of the first 10 requests after it, answered", after)
    assert (before, after) == (10, 10)
    assert attempts <= 1250 + 3
