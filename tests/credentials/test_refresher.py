"""Sessions that live in memory alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundwire.credentials.lookup import Lookup, find
from groundwire.credentials.refresher import Refresher
from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import TimedOut
from groundwire.model.value import replace
from tests.credentials.builders import (
    QUICK,
    Rotation,
    Service,
    places,
    session,
    stored_refresh,
    write_session,
)

NOW = 1_000_000.0


def inline(home: Path) -> Credential:
    record = {"type": "oauth", "refresh": "r-0", "access": "a-0", "expires": 0}
    where = places(home, OPENCODE_AUTH_CONTENT=json.dumps({"openai": record}))
    found = find((Lookup("opencode", "openai", "oauth"),), where)
    assert found is not None
    return found


def test_an_inline_session_is_refreshed_once_for_each_end_however_many_ask(tmp_path: Path) -> None:
    rotation = Rotation("r-0", life=1000)
    now = NOW
    refresher = Refresher(Service(rotation.answer).send, lambda: now, url="https://x", pace=QUICK)
    for turn in range(1, 4):

        async def main() -> list[Credential]:
            return await asyncio.gather(*(refresher.fresh(inline(tmp_path)) for _ in range(10)))

        assert {item.secret for item in asyncio.run(main())} == {Secret(f"access-{turn:06d}")}
        now += 1000
    assert (rotation.rotations, rotation.reuses) == (3, 0)


def test_a_refused_inline_token_is_renewed_once(tmp_path: Path) -> None:
    rotation = Rotation("r-0", life=1000)
    refresher = Refresher(Service(rotation.answer).send, lambda: NOW, pace=QUICK)

    async def main() -> None:
        first = await refresher.fresh(inline(tmp_path))
        renewed = await asyncio.gather(*(refresher.after_refusal(first) for _ in range(5)))
        assert {item.secret for item in renewed} == {Secret("access-000002")}
        assert (await refresher.fresh(inline(tmp_path))).secret == Secret("access-000002")

    asyncio.run(main())
    assert (rotation.rotations, rotation.reuses) == (2, 0)


def test_a_refresh_token_that_is_not_replaced_serves_again(tmp_path: Path) -> None:
    now = NOW
    answers = iter(("a-1", "a-2", "a-3"))

    def same(_: bytes) -> tuple[int, bytes]:
        return 200, json.dumps({"access_token": next(answers), "expires_in": 1000}).encode()

    refresher = Refresher(Service(same).send, lambda: now, pace=QUICK)
    for access in ("a-1", "a-2", "a-3"):
        for _ in range(2):
            assert asyncio.run(refresher.fresh(inline(tmp_path))).secret == Secret(access)
        now += 1000


def test_a_cancelled_search_does_not_lose_an_inline_session(tmp_path: Path) -> None:
    rotation = Rotation("r-0", life=1000)

    async def main() -> Credential:
        spent, go = asyncio.Event(), asyncio.Event()

        async def send(_: str, __: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
            answer = rotation.answer(body)
            spent.set()
            await go.wait()
            return answer

        refresher = Refresher(send, lambda: NOW, pace=QUICK)
        task = asyncio.ensure_future(refresher.fresh(inline(tmp_path)))
        await asyncio.wait_for(spent.wait(), 5)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await refresher.fresh(inline(tmp_path))

    assert asyncio.run(main()).secret == Secret("access-000001")
    assert rotation.reuses == 0


def test_who_waits_too_long_for_another_task_is_told(tmp_path: Path) -> None:
    async def main() -> None:
        async def send(*_: object) -> tuple[int, bytes]:
            await asyncio.sleep(60)
            return 200, b""

        refresher = Refresher(send, lambda: NOW, pace=replace(QUICK, lock=0.01, grace=0.0))
        stuck = asyncio.ensure_future(refresher.fresh(inline(tmp_path)))
        await asyncio.sleep(0)
        with pytest.raises(TimedOut, match="try again"):
            await refresher.fresh(inline(tmp_path))
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck

    asyncio.run(main())


def test_stored_sessions_and_keys_pass_through(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    rotation = Rotation("r-0", life=5000)
    refresher = Refresher(Service(rotation.answer).send, lambda: NOW, pace=QUICK)
    key = Credential(Secret("k"), "api", "here")

    async def main() -> None:
        assert await refresher.fresh(key) is key
        found = await refresher.fresh(session(tmp_path, "codex"))
        assert found.secret == Secret("access-000001")
        again = await refresher.after_refusal(found)
        assert again.secret == Secret("access-000002")

    asyncio.run(main())
    assert stored_refresh(path) == "refresh-000002"
