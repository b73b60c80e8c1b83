"""Sessions that a provider refuses: renewed once, asked again once, and never after the answer began."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundwire.credentials.lookup import find
from groundwire.credentials.secret import Credential
from groundwire.credentials.session import Refresher
from groundwire.errors import AuthRejected, Interrupted, Overloaded
from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.providers.http import HttpProvider
from groundwire.testing.answers import told
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.credentials.builders import (
    QUICK,
    SESSIONS,
    Rotation,
    jwt,
    lookup_context,
    stored_refresh,
    write_session,
)
from tests.providers.asking import ask, question, world
from tests.providers.speakers import speaker_named
from tests.transport.bounded import run

CODEX = speaker_named("openai_oauth")
EVENTS = told("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
GOOD = answer(CODEX.dialect, EVENTS)
NO = json_response({"detail": "Provided authentication token is expired."}, 401)
NOW = 1_000_000.0
LATER = NOW + 100_000
Wait = Callable[[], Awaitable[object]]


def renewed(number: int) -> str:
    """The access token that a refresh gives."""
    return jwt({"exp": LATER, "number": number})


async def at_once() -> None:
    """Wait for nothing."""


@asynccontextmanager
async def signed_in(
    home: Path, kind: str, script: Script
) -> AsyncIterator[tuple[HttpProvider, Upstream, Rotation, list[Wait]]]:
    """Codex with a session that looks good for hours; what a refresh waits for, and what a request."""
    rotation = Rotation("refresh-first", LATER - NOW, renewed)
    waits: list[Wait] = [at_once, at_once]

    async def send(_url: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        await waits[0]()
        return rotation.answer(body)

    if kind != "inline":
        write_session(home, kind, "access-first", "refresh-first", LATER)
    record = {
        "type": "oauth",
        "refresh": "refresh-first",
        "access": "access-first",
        "expires": int(LATER * 1000),
    }
    inline = {"OPENCODE_AUTH_CONTENT": json.dumps({"openai": record})} if kind == "inline" else {}
    refresher = Refresher(send, lambda: NOW, timeouts=QUICK)

    async def credential() -> Credential | None:
        found = find(SESSIONS["opencode" if kind == "inline" else kind], lookup_context(home, **inline))
        assert found is not None
        fresh = await refresher.fresh(found)
        await waits[1]()
        return fresh

    async with world(CODEX, script) as here:
        row = CODEX.row(here.upstream.url, here.deadlines)
        provider = HttpProvider(row, here.http, credential, here.redactor, renew=refresher.after_refusal)
        yield provider, here.upstream, rotation, waits


def shown(upstream: Upstream) -> list[str]:
    return [request.headers["authorization"] for request in upstream.requests]


@pytest.mark.parametrize("kind", ["opencode", "codex", "inline"])
def test_a_refused_session_is_renewed_once_and_the_request_repeated_once(tmp_path: Path, kind: str) -> None:
    async def main() -> None:
        async with signed_in(tmp_path, kind, Script((NO, GOOD))) as (provider, upstream, rotation, _):
            outcome = await ask(provider, question(stream=True))
            assert outcome.answer.text == "The Nile is 6650 km long."
            assert (rotation.rotations, rotation.reuses) == (1, 0)
            assert shown(upstream)[1] == f"Bearer {renewed(1)}" != shown(upstream)[0]
            first, second = upstream.requests
            assert first.body == second.body
            assert (await ask(provider, question(stream=True))).error is None
            assert shown(upstream)[2] == f"Bearer {renewed(1)}", "what was renewed is used from now on"

    run(main())


@pytest.mark.parametrize("kind", ["opencode", "codex", "inline"])
def test_eight_requests_with_the_same_dead_token_cost_one_refresh(tmp_path: Path, kind: str) -> None:
    async def main() -> None:
        script = Script((*(NO,) * 8, GOOD))
        async with signed_in(tmp_path, kind, script) as (provider, upstream, rotation, waits):
            waits[:] = lambda: upstream.received(8), asyncio.Barrier(8).wait
            outcomes = await asyncio.gather(*(ask(provider, question(stream=True)) for _ in range(8)))
            assert [outcome.error for outcome in outcomes] == [None] * 8
            assert (rotation.rotations, rotation.reuses) == (1, 0)
            assert len(upstream.requests) == 16
            assert set(shown(upstream)[8:]) == {f"Bearer {renewed(1)}"}

    run(main())


def test_a_second_refusal_is_told_with_what_to_do(tmp_path: Path) -> None:
    async def main() -> None:
        async with signed_in(tmp_path, "codex", Script((NO,))) as (provider, upstream, rotation, _):
            outcome = await ask(provider, question(stream=True))
            assert isinstance(outcome.raised, AuthRejected)
            assert "expired" in outcome.raised.message
            assert "Log in with `opencode auth login` or `codex login`." in outcome.raised.message
            assert (len(upstream.requests), rotation.rotations) == (2, 1)

    run(main())


def test_a_session_that_cannot_be_renewed_is_told_as_over_and_not_asked_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with signed_in(tmp_path, "codex", Script((NO,))) as (provider, upstream, rotation, _):
            rotation.revoked = True
            outcome = await ask(provider, question(stream=True))
            assert isinstance(outcome.raised, AuthRejected)
            assert "log in again with `codex login`" in outcome.raised.message
            assert len(upstream.requests) == 1

    run(main())


def test_a_token_that_somebody_else_renewed_meanwhile_is_simply_used(tmp_path: Path) -> None:
    async def main() -> None:
        async with signed_in(tmp_path, "codex", Script((NO, GOOD))) as (provider, upstream, rotation, _):
            reading = asyncio.create_task(ask(provider, question(stream=True)))
            await upstream.received()
            path = write_session(tmp_path, "codex", "access-other", "refresh-other", LATER)
            assert (await reading).error is None
            assert rotation.rotations == 0
            assert stored_refresh(path) == "refresh-other"

    run(main())


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (ScriptedResponse(403), None),
        (ScriptedResponse(503), Overloaded),
        (replace(GOOD, cut_at=60), Interrupted),
    ],
    ids=["403", "503", "cut"],
)
def test_other_troubles_renew_nothing(
    tmp_path: Path, first: ScriptedResponse, error: type[Exception] | None
) -> None:
    async def main() -> None:
        async with signed_in(tmp_path, "codex", Script((first,))) as (provider, upstream, rotation, _):
            outcome = await ask(provider, question(stream=True))
            assert isinstance(outcome.error, error or Exception)
            assert (len(upstream.requests), rotation.rotations) == (1, 0)

    run(main())


def test_a_key_that_is_refused_is_told_at_once() -> None:
    async def main() -> None:
        async with world(speaker_named("openai"), NO) as here:
            outcome = await here.ask()
            assert isinstance(outcome.raised, AuthRejected)
            assert len(here.upstream.requests) == 1

    run(main())
