"""Providers with malformed responses of every kind, and what the client gets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import NamedTuple

from groundwire.dialects.registry import dialect
from groundwire.testing.script import Dribble, Script, ScriptedResponse
from groundwire.testing.upstream import Upstream
from tests.contracts.checkers import check_stream
from tests.contracts.mutators import mutate, mutate_json
from tests.contracts.samples import REPLY, SAMPLES
from tests.contracts.strict_parser import strict_json
from tests.contracts.test_dialect_garbage import golden
from tests.faces.gateway.raw import INBOUND, RawResponse, check_error, fetch, request_of
from tests.faces.gateway.serving import provider_at, serving, wait_for_open_requests
from tests.faces.gateway.stream_ends import check_end

CONCURRENCY = 16
_PIECES = (None, None, None, Dribble(1000, 0.0), Dribble(61, 0.0))


class Mutant(NamedTuple):
    """A malformed response, and the dialect of the client."""

    name: str
    inbound: str
    provider: str
    stream: bool
    response: ScriptedResponse


class MutantResult(NamedTuple):
    """The response to the client; None after a timeout."""

    mutant: Mutant
    received: RawResponse | None


def broken_stream(provider: str, seed: int) -> Mutant:
    """A malformed stream of a dialect; half of the clients use the same dialect."""
    random = Random(f"{provider} {seed}")
    data, names = mutate(random, random.choice(golden(provider)))
    inbound = provider if random.random() < 0.5 else random.choice(INBOUND)
    small = len(data) < 100_000
    response = ScriptedResponse(
        headers={"content-type": "text/event-stream"},
        body=data,
        framing=random.choice(("chunked", "close")),
        dribble=random.choice(_PIECES) if small else None,
    )
    return Mutant(f"{provider} {seed} ({', '.join(names)})", inbound, provider, True, response)


def broken_body(provider: str, seed: int) -> Mutant:
    """A malformed body of a dialect; half of the clients use the same dialect."""
    random = Random(f"{provider} body {seed}")
    answer = random.choice(SAMPLES).answer
    data, names = mutate_json(random, dialect(provider).encode_response(answer, REPLY))
    if random.random() < 0.1:
        data = data[: random.randrange(len(data))]
    inbound = provider if random.random() < 0.5 else random.choice(INBOUND)
    name = f"{provider} body {seed} ({', '.join(names)})"
    return Mutant(name, inbound, provider, False, ScriptedResponse(body=data))


async def ask_all(mutants: Sequence[Mutant], *, seconds: float = 20.0) -> list[MutantResult]:
    """Send a request for each through one gateway, each to a provider of its own."""
    async with AsyncExitStack() as stack:
        paths = {f"/m{number}/*": (mutant.response,) for number, mutant in enumerate(mutants)}
        upstream = await stack.enter_async_context(Upstream(Script(paths=paths)))
        providers = {
            f"broken_{number}": provider_at(mutant.provider, f"{upstream.url}/m{number}")
            for number, mutant in enumerate(mutants)
        }
        here = await stack.enter_async_context(serving(providers))
        turns = asyncio.Semaphore(CONCURRENCY)

        async def ask(number: int, mutant: Mutant) -> MutantResult:
            data = request_of(mutant.inbound, f"broken_{number}/m", stream=mutant.stream)
            async with turns:
                try:
                    return MutantResult(mutant, await fetch(here.url, data, seconds=seconds))
                except TimeoutError:
                    return MutantResult(mutant, None)

        found = await asyncio.gather(*(ask(number, mutant) for number, mutant in enumerate(mutants)))
        await wait_for_open_requests(here.gateway, 0)
        return found


def fault_in(outcome: MutantResult) -> str:
    """Why a response is wrong; empty if it is correct."""
    mutant, received = outcome
    if received is None:
        return f"{mutant.name} for {mutant.inbound}: no end in time"
    try:
        _check(mutant, received)
    except (AssertionError, KeyError, UnicodeDecodeError) as problem:
        reason = f"{type(problem).__name__}: {str(problem)[:300]}"
        return f"{mutant.name} for {mutant.inbound}: {received.status}: {reason}: {received.body[-200:]!r}"
    return ""


def _check(mutant: Mutant, received: RawResponse) -> None:
    assert received.complete, "the response does not end"
    assert b"INTERNAL_ERROR" not in received.body, "the gateway failed"
    assert b"the gateway failed" not in received.body, "the gateway failed"
    if received.status != 200:
        check_error(mutant.inbound, received.status, received.body)
    elif not mutant.stream:
        _ = (
            json.loads(received.body)
            if mutant.inbound == mutant.provider
            else strict_json(received.body.decode())
        )
    elif mutant.inbound == mutant.provider:
        check_end(mutant.inbound, received.body)
    else:
        check_stream(mutant.inbound, received.body)
