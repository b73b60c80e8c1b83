"""Refreshing a session in one process: success, failure, cancellation."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from groundwire.credentials.lookup import Lookup, find
from groundwire.credentials.secret import Credential, Secret
from groundwire.credentials.session import Refresher, ensure_fresh, renew_refused, uninterrupted
from groundwire.errors import AuthRejected, ConfigError, Overloaded, TimedOut, Unreachable, UpstreamWireError
from groundwire.model.value import replace
from tests.credentials.builders import (
    QUICK,
    Rotation,
    Service,
    jwt,
    lookup_context,
    session,
    stored_refresh,
    write_opencode,
    write_session,
)

NOW = 1_000_000.0
KINDS = pytest.mark.parametrize("kind", ["opencode", "codex"])
LOGIN = {"opencode": "opencode auth login", "codex": "codex login"}


def fresh(credential: Credential, service: Service, now: float = NOW) -> Credential:
    return asyncio.run(ensure_fresh(credential, service.send, now, timeouts=QUICK))


def never(_: bytes) -> tuple[int, bytes]:
    raise AssertionError("no request may be sent")


def others(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name not in ("auth.json", "auth.json.lock"))


@KINDS
def test_a_valid_session_is_not_refreshed(tmp_path: Path, kind: str) -> None:
    path = write_session(tmp_path, kind, "a-0", "r-0", NOW + 301)
    before = path.read_bytes()
    stored_session = session(tmp_path, kind)
    assert fresh(stored_session, Service(never)) is stored_session
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["auth.json"]


@KINDS
@pytest.mark.parametrize("left", [300.0, 0.0, -1e6])
def test_a_session_that_is_about_to_expire_is_refreshed_and_stored(
    tmp_path: Path, kind: str, left: float
) -> None:
    path = write_session(tmp_path, kind, "a-0", "r-0", NOW + left)
    service = Service(Rotation("r-0", life=5000).answer)
    found = fresh(session(tmp_path, kind), service)
    assert (found.secret, found.refresh, found.expires) == (
        Secret("access-000001"),
        Secret("refresh-000001"),
        NOW + 5000,
    )
    assert len(service.requests) == 1
    assert service.requests[0][0] == "https://auth.openai.com/oauth/token"
    assert stored_refresh(path) == "refresh-000001"
    assert others(path.parent) == []
    again = session(tmp_path, kind)
    assert (again.secret, again.refresh) == (found.secret, found.refresh)


def test_other_records_and_unknown_fields_of_opencodes_file_stay_byte_for_byte(tmp_path: Path) -> None:
    text = (
        '{"zeta" : {"type":"api","key":"k\\u00e4\\/"},\n\t"openai":{"new":[1.0, {}],"type":"oauth",'
        '"refresh":"r-0","access":"a-0",  "expires":1}, "bad":null\n}'
    )
    path = write_opencode(tmp_path, {})
    path.write_text(text)
    service = Service(Rotation("r-0", life=5000.5).answer)
    fresh(session(tmp_path, "opencode"), service)
    assert path.read_text() == (
        text.replace('"r-0"', '"refresh-000001"')
        .replace('"a-0"', '"access-000001"')
        .replace('"expires":1}', f'"expires":{int((NOW + 5000.5) * 1000)}}}')
    )


def test_codex_file_gets_tokens_and_the_time_of_the_refresh(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", 0)
    access = jwt({"exp": NOW + 9000})
    answer = {"access_token": access, "refresh_token": "r-1", "id_token": "id-1"}
    found = fresh(session(tmp_path, "codex"), Service(lambda _: (200, json.dumps(answer).encode())))
    assert found.expires == NOW + 9000
    assert json.loads(path.read_text()) == {
        "OPENAI_API_KEY": None,
        "tokens": {"id_token": "id-1", "access_token": access, "refresh_token": "r-1", "account_id": "acc"},
        "last_refresh": "1970-01-12T13:46:40Z",
    }


def test_opencodes_record_learns_the_account(tmp_path: Path) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", 0)
    access = jwt({"chatgpt_account_id": "acc-9"})
    body = json.dumps({"access_token": access, "expires_in": 60}).encode()
    found = fresh(session(tmp_path, "opencode"), Service(lambda _: (200, body)))
    record = json.loads(path.read_text())["openai"]
    assert record["accountId"] == found.account_id == "acc-9"
    assert record["refresh"] == "r-0" == found.refresh.reveal()


def test_keys_and_other_peoples_sessions_are_never_sent(tmp_path: Path) -> None:
    record = {"type": "oauth", "refresh": "r-0", "access": "a-0", "expires": 0}
    write_opencode(tmp_path, {"anthropic": record, "openai": {"type": "api", "key": "k"}})
    for name in ("anthropic", "openai"):
        found = find((Lookup("opencode", name),), lookup_context(tmp_path))
        assert found is not None
        assert fresh(found, Service(never)) is found
        with pytest.raises(AuthRejected, match="was refused"):
            asyncio.run(renew_refused(found, Service(never).send, NOW))


@KINDS
def test_tokens_that_another_process_stored_are_used(tmp_path: Path, kind: str) -> None:
    write_session(tmp_path, kind, "a-0", "r-0", NOW)
    stored_session = session(tmp_path, kind)
    write_session(tmp_path, kind, "a-1", "r-1", NOW + 5000)
    found = fresh(stored_session, Service(never))
    assert found == session(tmp_path, kind)
    assert found.refresh == Secret("r-1")


async def test_many_tasks_of_one_process_refresh_once(tmp_path: Path) -> None:
    write_session(tmp_path, "opencode", "a-0", "r-0", NOW)
    rotation = Rotation("r-0", life=5000)
    service = Service(rotation.answer)
    stored_session = session(tmp_path, "opencode")

    async def main() -> list[Credential]:
        tasks = (ensure_fresh(stored_session, service.send, NOW, timeouts=QUICK) for _ in range(50))
        return await asyncio.wait_for(asyncio.gather(*tasks), 20)

    found = await main()
    assert {item.secret for item in found} == {Secret("access-000001")}
    assert (len(service.requests), rotation.reuses) == (1, 0)


@KINDS
def test_a_final_rejection_explains_how_to_log_in_and_is_not_requested_twice(
    tmp_path: Path, kind: str
) -> None:
    path = write_session(tmp_path, kind, "a-0", "r-0", NOW + 100)
    before = path.read_bytes()
    service = Service(lambda _: (400, b'{"error":"invalid_grant"}'))
    stored_session = session(tmp_path, kind)
    for _ in range(3):
        with pytest.raises(AuthRejected, match="invalid_grant") as caught:
            fresh(stored_session, service)
        assert f"log in again with `{LOGIN[kind]}`" in caught.value.message
        assert caught.value.upstream_code == "invalid_grant"
    assert len(service.requests) == 1
    assert path.read_bytes() == before
    write_session(tmp_path, kind, "a-1", "r-1", NOW)  # the user has logged in again
    assert fresh(stored_session, Service(Rotation("r-1").answer)).secret == Secret("access-000001")
    assert others(path.parent) == []


def test_a_refusal_is_tried_again_after_a_while(tmp_path: Path) -> None:
    write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    service = Service(lambda _: (401, b""))
    for now in (NOW, NOW + 3600):
        with pytest.raises(AuthRejected):
            fresh(session(tmp_path, "codex"), service, now)
    assert len(service.requests) == 2


@KINDS
def test_tokens_that_another_program_stored_first_are_used(tmp_path: Path, kind: str) -> None:
    path = write_session(tmp_path, kind, "a-0", "r-0", NOW)

    def beaten(_: bytes) -> tuple[int, bytes]:
        write_session(tmp_path, kind, "a-1", "r-1", NOW + 5000)
        return 401, b'{"error":{"code":"refresh_token_reused"}}'

    found = fresh(session(tmp_path, kind), Service(beaten))
    assert found == session(tmp_path, kind)
    assert stored_refresh(path) == "r-1"
    assert others(path.parent) == []


async def test_the_winner_may_store_its_tokens_shortly_after_we_were_rejected(tmp_path: Path) -> None:
    write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    stored_session = session(tmp_path, "codex")

    async def main() -> Credential:
        async def send(*_: object) -> tuple[int, bytes]:
            loop = asyncio.get_running_loop()
            loop.call_later(0.02, write_session, tmp_path, "codex", "a-1", "r-1", NOW + 5000)
            return 401, b'{"error":{"code":"refresh_token_reused"}}'

        return await ensure_fresh(stored_session, send, NOW, timeouts=replace(QUICK, rival=5.0))

    assert (await main()).refresh == Secret("r-1")


@KINDS
def test_a_late_winner_never_overwrites_a_newer_session(tmp_path: Path, kind: str) -> None:
    path = write_session(tmp_path, kind, "a-0", "r-0", NOW)
    rotation = Rotation("r-0")

    def slow(body: bytes) -> tuple[int, bytes]:
        write_session(tmp_path, kind, "a-9", "r-9", NOW + 5000)  # the user logged in meanwhile
        return rotation.answer(body)

    found = fresh(session(tmp_path, kind), Service(slow))
    assert (found.refresh, stored_refresh(path)) == (Secret("r-9"), "r-9")
    assert others(path.parent) == []


def test_a_user_who_logged_out_during_a_refresh_stays_logged_out(tmp_path: Path) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", NOW)
    rotation = Rotation("r-0")

    def logout(body: bytes) -> tuple[int, bytes]:
        path.write_text("{}")
        return rotation.answer(body)

    assert fresh(session(tmp_path, "opencode"), Service(logout)).secret == Secret("access-000001")
    assert path.read_text() == "{}"
    assert others(path.parent) == []


@pytest.mark.parametrize("gone", ["{}", None])
def test_a_missing_session_requires_a_login(tmp_path: Path, gone: str | None) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", NOW)
    stored_session = session(tmp_path, "opencode")
    if gone is None:
        path.unlink()
    else:
        path.write_text(gone)
    with pytest.raises(AuthRejected, match="logged_out"):
        fresh(stored_session, Service(never))


async def test_a_store_that_is_being_written_is_read_again(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    stored_session = session(tmp_path, "codex")
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])

    async def main() -> Credential:
        asyncio.get_running_loop().call_later(0.02, path.write_text, whole)
        send = Service(Rotation("r-0").answer).send
        return await ensure_fresh(stored_session, send, NOW, timeouts=replace(QUICK, rival=5.0))

    assert (await main()).secret == Secret("access-000001")
    assert stored_refresh(path) == "refresh-000001"


def test_a_store_that_stays_broken_is_an_error_before_anything_is_spent(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    stored_session = session(tmp_path, "codex")
    path.write_text("{")
    with pytest.raises(ConfigError, match="is not a JSON object"):
        fresh(stored_session, Service(never))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((503, b""), Overloaded),
        ((200, b"{}"), UpstreamWireError),
        ((200, b"<html>"), UpstreamWireError),
    ],
)
def test_a_temporary_error_is_a_warning_while_the_session_lasts(
    tmp_path: Path, answer: tuple[int, bytes], kind: type[Exception]
) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW + 100)
    stored_session = session(tmp_path, "codex")
    found = fresh(stored_session, Service(lambda _: answer))
    assert found == replace(stored_session, warnings=found.warnings)
    assert found.warnings[0].startswith("Codex CLI's auth.json is about to end: ")
    with pytest.raises(kind):
        fresh(stored_session, Service(lambda _: answer), NOW + 100)
    assert others(path.parent) == []


def test_a_broken_connection_leaves_no_journal_entry(tmp_path: Path) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", NOW)

    def broken(_: bytes) -> tuple[int, bytes]:
        raise Unreachable("no route")

    with pytest.raises(Unreachable):
        fresh(session(tmp_path, "opencode"), Service(broken))
    assert others(path.parent) == []


async def test_a_response_that_never_arrives_times_out(tmp_path: Path) -> None:
    write_session(tmp_path, "opencode", "a-0", "r-0", NOW)

    async def send(*_: object) -> tuple[int, bytes]:
        await asyncio.sleep(60)
        return 200, b""

    with pytest.raises(TimedOut, match="login service"):
        await ensure_fresh(session(tmp_path, "opencode"), send, NOW, timeouts=replace(QUICK, answer=0.01))


@pytest.mark.parametrize("blocked", ["auth.json.lock", "auth.json.groundwire-pending"])
def test_nothing_is_spent_when_nothing_can_be_written(tmp_path: Path, blocked: str) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", NOW)
    (path.parent / blocked).mkdir()
    with pytest.raises(ConfigError, match="writable"):
        fresh(session(tmp_path, "opencode"), Service(never))


def test_tokens_that_could_not_be_stored_are_journalled_and_stored_by_the_next_process(
    tmp_path: Path,
) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", NOW)
    before = path.read_bytes()
    obstacle = path.parent / "auth.json.groundwire-tmp"
    obstacle.mkdir()
    rotation = Rotation("r-0", life=5000)
    found = fresh(session(tmp_path, "opencode"), Service(rotation.answer))
    assert found.secret == Secret("access-000001")
    assert "cannot be written" in found.warnings[0]
    assert path.read_bytes() == before
    # Still not writable: the tokens of the journal are used, and no second refresh token is spent.
    assert fresh(session(tmp_path, "opencode"), Service(never)).secret == Secret("access-000001")
    with pytest.raises(ConfigError, match="cannot be written"):
        fresh(session(tmp_path, "opencode"), Service(never), NOW + 5000)
    obstacle.rmdir()
    found = fresh(session(tmp_path, "opencode"), Service(never))
    assert found.warnings == ()
    assert stored_refresh(path) == "refresh-000001"
    assert others(path.parent) == []


def test_a_journalled_session_that_has_expired_is_refreshed_again(tmp_path: Path) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", NOW)
    obstacle = path.parent / "auth.json.groundwire-tmp"
    obstacle.mkdir()
    rotation = Rotation("r-0", life=1000)
    fresh(session(tmp_path, "opencode"), Service(rotation.answer))
    obstacle.rmdir()
    found = fresh(session(tmp_path, "opencode"), Service(rotation.answer), NOW + 5000)
    assert (found.refresh, stored_refresh(path)) == (Secret("refresh-000002"), "refresh-000002")
    assert rotation.reuses == 0


def test_a_store_damaged_during_the_refresh_loses_no_tokens(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    whole = path.read_text()
    rotation = Rotation("r-0", life=5000)

    def torn(body: bytes) -> tuple[int, bytes]:
        path.write_text(whole[:50])
        return rotation.answer(body)

    found = fresh(session(tmp_path, "codex"), Service(torn))
    assert "is not a JSON object" in found.warnings[0]
    path.write_text(whole)
    assert fresh(session(tmp_path, "codex"), Service(never)).refresh == found.refresh
    assert stored_refresh(path) == "refresh-000001"


def test_a_store_replaced_by_a_directory_during_the_refresh_loses_no_tokens(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    rotation = Rotation("r-0", life=5000)

    def moved(body: bytes) -> tuple[int, bytes]:
        path.unlink()
        path.mkdir()
        return rotation.answer(body)

    found = fresh(session(tmp_path, "codex"), Service(moved))
    assert found.secret == Secret("access-000001")
    assert "is not a file" in found.warnings[0]
    path.rmdir()
    write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    assert fresh(session(tmp_path, "codex"), Service(never)).refresh == found.refresh


async def test_a_cancelled_search_does_not_lose_the_answer(tmp_path: Path) -> None:
    path = write_session(tmp_path, "opencode", "a-0", "r-0", NOW)
    rotation = Rotation("r-0")
    stored_session = session(tmp_path, "opencode")

    async def main() -> None:
        spent = asyncio.Event()
        go = asyncio.Event()

        async def send(_: str, __: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
            answer = rotation.answer(body)
            spent.set()
            await go.wait()
            return answer

        task = asyncio.ensure_future(ensure_fresh(stored_session, send, NOW, timeouts=QUICK))
        await asyncio.wait_for(spent.wait(), 5)
        task.cancel()
        asyncio.get_running_loop().call_later(0.01, go.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    await main()
    assert stored_refresh(path) == "refresh-000001"
    assert others(path.parent) == []


def test_a_session_without_a_refresh_token_can_only_be_logged_in_again(tmp_path: Path) -> None:
    write_session(tmp_path, "codex", "a-0", "", NOW)
    with pytest.raises(AuthRejected, match="no_refresh_token"):
        fresh(session(tmp_path, "codex"), Service(never))


def test_a_linked_store_stays_a_link_and_all_files_are_private(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    real = tmp_path / "dotfiles" / "auth.json"
    real.parent.mkdir()
    path.rename(real)
    real.chmod(0o666)
    path.symlink_to(real)
    before = os.umask(0)
    try:
        found = fresh(session(tmp_path, "codex"), Service(Rotation("r-0").answer))
    finally:
        os.umask(before)
    assert path.is_symlink()
    assert stored_refresh(real) == "refresh-000001"
    assert "open to other users (mode 0666)" in found.warnings[0]
    for item in real.parent.iterdir():
        assert stat.S_IMODE(item.stat().st_mode) == 0o600, item


def test_an_inline_session_is_refreshed_in_memory_with_a_warning(tmp_path: Path) -> None:
    record = {"type": "oauth", "refresh": "r-0", "access": "a-0", "expires": 0}
    where = lookup_context(tmp_path, OPENCODE_AUTH_CONTENT=json.dumps({"openai": record}))
    stored_session = find((Lookup("opencode", "openai", "oauth"),), where)
    assert stored_session is not None
    found = fresh(stored_session, Service(Rotation("r-0").answer))
    assert (found.secret, found.refresh) == (Secret("access-000001"), Secret("refresh-000001"))
    assert "OPENCODE_AUTH_CONTENT (openai) cannot be written back" in found.warnings[0]
    with pytest.raises(AuthRejected, match="opencode auth login"):
        fresh(stored_session, Service(lambda _: (401, b"")))
    assert os.listdir(tmp_path) == []


@KINDS
async def test_a_refused_token_is_replaced_by_what_is_stored_or_by_a_fresh_one(
    tmp_path: Path, kind: str
) -> None:
    write_session(tmp_path, kind, "a-0", "r-0", NOW + 5000)
    stored_session = session(tmp_path, kind)

    def renew(answer: Callable[[bytes], tuple[int, bytes]]) -> Awaitable[Credential]:
        return renew_refused(stored_session, Service(answer).send, NOW, timeouts=QUICK)

    found = await renew(Rotation("r-0").answer)
    assert found.secret == Secret("access-000001")
    write_session(tmp_path, kind, "a-7", "r-7", NOW + 9000)
    found = await renew(never)
    assert found.refresh == Secret("r-7")


def test_no_message_shows_a_token(tmp_path: Path) -> None:
    secrets = ("access-canary-0000", "refresh-canary-000")
    write_session(tmp_path, "codex", secrets[0], secrets[1], NOW)
    echo = json.dumps({"error": "invalid_grant", "error_description": f"bad {secrets[1]}"}).encode()
    with pytest.raises(AuthRejected) as caught:
        fresh(session(tmp_path, "codex"), Service(lambda _: (400, echo)))
    shown = f"{caught.value!r} {caught.value.__cause__!r} {vars(caught.value)}"
    assert not any(secret[at : at + 8] in shown for secret in secrets for at in range(len(secret) - 7))


def inline(home: Path) -> Credential:
    record = {"type": "oauth", "refresh": "r-0", "access": "a-0", "expires": 0}
    where = lookup_context(home, OPENCODE_AUTH_CONTENT=json.dumps({"openai": record}))
    found = find((Lookup("opencode", "openai", "oauth"),), where)
    assert found is not None
    return found


def test_concurrent_requests_refresh_an_inline_session_once_per_expiry(tmp_path: Path) -> None:
    rotation = Rotation("r-0", life=1000)
    now = NOW
    refresher = Refresher(Service(rotation.answer).send, lambda: now, url="https://x", timeouts=QUICK)
    for turn in range(1, 4):

        async def main() -> list[Credential]:
            return await asyncio.gather(*(refresher.fresh(inline(tmp_path)) for _ in range(10)))

        assert {item.secret for item in asyncio.run(main())} == {Secret(f"access-{turn:06d}")}
        now += 1000
    assert (rotation.rotations, rotation.reuses) == (3, 0)


async def test_a_refused_inline_token_is_renewed_once(tmp_path: Path) -> None:
    rotation = Rotation("r-0", life=1000)
    refresher = Refresher(Service(rotation.answer).send, lambda: NOW, timeouts=QUICK)

    async def main() -> None:
        first = await refresher.fresh(inline(tmp_path))
        renewed = await asyncio.gather(*(refresher.after_refusal(first) for _ in range(5)))
        assert {item.secret for item in renewed} == {Secret("access-000002")}
        assert (await refresher.fresh(inline(tmp_path))).secret == Secret("access-000002")

    await main()
    assert (rotation.rotations, rotation.reuses) == (2, 0)


async def test_a_refresh_token_that_is_not_replaced_serves_again(tmp_path: Path) -> None:
    now = NOW
    answers = iter(("a-1", "a-2", "a-3"))

    def same(_: bytes) -> tuple[int, bytes]:
        return 200, json.dumps({"access_token": next(answers), "expires_in": 1000}).encode()

    refresher = Refresher(Service(same).send, lambda: now, timeouts=QUICK)
    for access in ("a-1", "a-2", "a-3"):
        for _ in range(2):
            assert (await refresher.fresh(inline(tmp_path))).secret == Secret(access)
        now += 1000


async def test_a_cancelled_search_does_not_lose_an_inline_session(tmp_path: Path) -> None:
    rotation = Rotation("r-0", life=1000)

    async def main() -> Credential:
        spent, go = asyncio.Event(), asyncio.Event()

        async def send(_: str, __: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
            answer = rotation.answer(body)
            spent.set()
            await go.wait()
            return answer

        refresher = Refresher(send, lambda: NOW, timeouts=QUICK)
        task = asyncio.ensure_future(refresher.fresh(inline(tmp_path)))
        await asyncio.wait_for(spent.wait(), 5)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await refresher.fresh(inline(tmp_path))

    assert (await main()).secret == Secret("access-000001")
    assert rotation.reuses == 0


async def test_waiting_too_long_for_another_task_is_an_error(tmp_path: Path) -> None:
    async def send(*_: object) -> tuple[int, bytes]:
        await asyncio.sleep(60)
        return 200, b""

    refresher = Refresher(send, lambda: NOW, timeouts=replace(QUICK, lock=0.01, grace=0.0))
    stuck = asyncio.ensure_future(refresher.fresh(inline(tmp_path)))
    await asyncio.sleep(0)
    with pytest.raises(TimedOut, match="try again"):
        await refresher.fresh(inline(tmp_path))
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck


async def test_stored_sessions_and_keys_pass_through(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "a-0", "r-0", NOW)
    rotation = Rotation("r-0", life=5000)
    refresher = Refresher(Service(rotation.answer).send, lambda: NOW, timeouts=QUICK)
    key = Credential(Secret("k"), "api", "here")

    async def main() -> None:
        assert await refresher.fresh(key) is key
        found = await refresher.fresh(session(tmp_path, "codex"))
        assert found.secret == Secret("access-000001")
        again = await refresher.after_refusal(found)
        assert again.secret == Secret("access-000002")

    await main()
    assert stored_refresh(path) == "refresh-000002"


async def test_a_cancelled_caller_waits_for_the_work_to_finish() -> None:
    done = []

    async def main() -> None:
        go = asyncio.Event()

        async def work() -> None:
            await go.wait()
            done.append("work")

        task = asyncio.ensure_future(uninterrupted(work(), 5))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        asyncio.get_running_loop().call_later(0.01, go.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        done.append("left")

    await main()
    assert done == ["work", "left"]


async def test_a_cancelled_caller_stops_waiting_after_a_grace_period() -> None:
    task = asyncio.ensure_future(uninterrupted(asyncio.sleep(60), 0.01))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


async def test_an_error_after_the_caller_was_cancelled_is_retrieved(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async def work() -> None:
            await asyncio.sleep(0.01)
            raise ValueError("not retrieved")

        task = asyncio.ensure_future(uninterrupted(work(), 5))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    await main()
    assert caplog.text == ""


async def test_the_result_and_the_error_of_the_work_are_its_callers() -> None:
    async def fail() -> None:
        raise ValueError("raised")

    assert await uninterrupted(asyncio.sleep(0, "result"), 1) == "result"
    with pytest.raises(ValueError, match="raised"):
        await uninterrupted(fail(), 1)
