"""Session refresh in a detached process: it outlives its caller, and no kill loses a token."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from groundwire.credentials.refresh_worker import decode_outcome, decode_task, encode_outcome, encode_task
from groundwire.credentials.secret import Credential
from groundwire.credentials.session import RefreshTask, RefreshTimeouts, ensure_fresh
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    ConfigError,
    GroundwireError,
    Interrupted,
    Unreachable,
    UpstreamError,
    UpstreamWireError,
)
from groundwire.providers.openai_session import refresh_process
from tests.credentials.builders import QUICK, Rotation, Service, session, stored_refresh, write_session
from tests.credentials.login_service import LoginService, login_service
from tests.credentials.test_refresh_processes import FIRST, LIFE, STEP, Team, access, always_parses, team

pytestmark = pytest.mark.server

MODULE = "groundwire.providers.openai_session"
TASK = RefreshTask(
    "/s/auth.json",
    "tokens",
    "a test",
    "0" * 64,
    "https://x",
    1.5,
    2.0,
    cut=True,
    timeouts=RefreshTimeouts(1, 2),
)


def never(_: bytes) -> tuple[int, bytes]:
    raise AssertionError("no request may be sent from here")


def refreshed(credential: Credential, url: str) -> Credential:
    """A session refreshed in a subprocess."""
    away = refresh_process({})
    assert away is not None
    renewal = ensure_fresh(credential, Service(never).send, STEP, url=url, timeouts=QUICK, in_worker=away)
    return asyncio.run(renewal)


def children_of(pid: int) -> list[int]:
    """The refresh processes of a process that still run."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            command = (path / "cmdline").read_bytes().split(b"\0")
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid and MODULE.encode() in command:
            found.append(int(path.name))
    return found


@pytest.mark.parametrize("kind", ["opencode", "codex"])
def test_a_subprocess_refreshes_and_stores_the_session(tmp_path: Path, kind: str) -> None:
    path = write_session(tmp_path, kind, "access-first", FIRST, 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    with login_service(rotation) as service:
        found = refreshed(session(tmp_path, kind), service.url)
    assert found.secret.reveal() == access(1)
    assert stored_refresh(path) == rotation.current
    assert (service.posts, rotation.reuses) == (1, 0)
    assert sorted(os.listdir(path.parent)) == ["auth.json", "auth.json.lock"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_errors_of_the_login_service_are_the_same_as_in_process(tmp_path: Path) -> None:
    write_session(tmp_path, "codex", "access-first", "spent", 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    with login_service(rotation) as service:
        for _ in range(2):
            with pytest.raises(AuthRejected, match=r"invalid_grant.*`codex login`"):
                refreshed(session(tmp_path, "codex"), service.url)
        assert service.posts == 1, "a refusal is remembered"


def test_an_unreachable_login_service_is_an_error_and_uses_no_token(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    before = path.read_bytes()
    with pytest.raises(Unreachable):
        refreshed(session(tmp_path, "codex"), "http://127.0.0.1:1/oauth/token")
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == ["auth.json", "auth.json.lock"]


def test_tokens_that_the_store_does_not_take_are_used_and_kept(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    (path.parent / "auth.json.groundwire-tmp").mkdir()  # where the new file would be written
    with login_service(rotation) as service:
        found = refreshed(session(tmp_path, "codex"), service.url)
        assert found.secret.reveal() == access(1)
        assert any("cannot be written" in warning for warning in found.warnings)
        (path.parent / "auth.json.groundwire-tmp").rmdir()
        assert refreshed(session(tmp_path, "codex"), service.url).secret.reveal() == access(1)
    assert stored_refresh(path) == rotation.current
    assert (service.posts, rotation.reuses) == (1, 0)


def test_no_secret_is_visible_to_other_users(tmp_path: Path) -> None:
    write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    seen: list[bytes] = []

    def look() -> None:
        (pid,) = children_of(os.getpid())
        seen.extend(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))

    with login_service(Rotation(FIRST, LIFE, access)) as service:
        service.spent = look
        refreshed(session(tmp_path, "codex"), service.url)
    command, environment = seen
    assert MODULE.encode() in command
    assert b"PYTHONPATH" in environment
    for secret in (FIRST, access(1), "old-id"):
        assert secret.encode() not in command + environment


def test_the_refresh_continues_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    hurried = RefreshTimeouts(grace=0.0, poll=0.005)

    async def main(service: LoginService) -> None:
        loop, requested = asyncio.get_running_loop(), asyncio.Event()

        def spent() -> None:
            loop.call_soon_threadsafe(requested.set)
            time.sleep(0.1)  # the caller is gone before the answer arrives

        service.spent = spent
        held = session(tmp_path, "codex")
        renewal = ensure_fresh(
            held, Service(never).send, STEP, url=service.url, timeouts=hurried, in_worker=refresh_process({})
        )
        task = asyncio.create_task(renewal)
        async with asyncio.timeout(20):
            await requested.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with login_service(rotation) as service:
        asyncio.run(main(service))
        assert stored_refresh(path) == FIRST
        assert refreshed(session(tmp_path, "codex"), service.url).secret.reveal() == access(1)
    assert stored_refresh(path) == rotation.current
    assert (service.posts, rotation.reuses) == (1, 0)


def kill(member: subprocess.Popen[str]) -> Callable[[], None]:
    return lambda: os.kill(member.pid, signal.SIGKILL)


def signal_refresh(number: signal.Signals) -> Callable[[], None]:
    """Send a signal to the process that refreshes."""

    def send() -> None:
        (pid,) = children_of(os.getpid())
        os.kill(pid, number)

    return send


def kill_worker(workers: Team, service: LoginService, number: int, chance: random.Random) -> None:
    """Kill the process that needed the refresh, at a random time or just after its token was used."""
    victim = chance.randrange(len(workers.members))
    member = workers.members[victim]
    if chance.random() < 0.3:
        service.spent = kill(member)
        workers.send(victim, number * STEP)
    else:
        workers.send(victim, number * STEP)
        time.sleep(chance.uniform(0.0, 0.35))  # a random time, not a wait for a condition
        kill(member)()
    while workers.receive(victim) is not None:
        pass  # it exited before the signal


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_process_killed_during_a_refresh_loses_nothing(tmp_path: Path, kills: int) -> None:
    path = write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    chance = random.Random(kills)
    with (
        login_service(rotation) as service,
        always_parses(path),
        team(2, tmp_path, "codex", service, "apart") as workers,
    ):
        for number in range(1, kills + 1):
            kill_worker(workers, service, number, chance)
            service.spent = lambda: None
            assert workers.round(number * STEP) == [{"access": access(number)}] * 2
            assert (service.posts, rotation.rotations, rotation.reuses) == (number, number, 0)
            assert stored_refresh(path) == rotation.current


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_that_can_be_ignored_do_not_stop_it(tmp_path: Path, number: signal.Signals) -> None:
    write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    with login_service(rotation) as service:
        service.spent = signal_refresh(number)
        assert refreshed(session(tmp_path, "codex"), service.url).secret.reveal() == access(1)
    assert (service.posts, rotation.reuses) == (1, 0)


def test_a_refresh_process_killed_after_sending_costs_a_login_and_is_reported(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    before = path.read_bytes()
    rotation = Rotation(FIRST, LIFE, access)
    with login_service(rotation) as service:
        service.spent = signal_refresh(signal.SIGKILL)
        with pytest.raises(Interrupted):
            refreshed(session(tmp_path, "codex"), service.url)
        with pytest.raises(AuthRejected, match=r"an earlier refresh was cut off.*`codex login`"):
            refreshed(session(tmp_path, "codex"), service.url)
    assert (service.posts, rotation.reuses) == (2, 1)
    assert path.read_bytes() == before


def test_a_refresh_task_survives_encoding_and_decoding() -> None:
    assert decode_task(encode_task(TASK)) == TASK


def test_a_truncated_refresh_task_is_refused(tmp_path: Path) -> None:
    whole = encode_task(TASK)
    for end in range(len(whole)):
        with pytest.raises(ClientWireError):
            decode_task(whole[:end])
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", MODULE], input=whole[:-9], capture_output=True, timeout=20, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.parametrize(
    "error",
    [
        AuthRejected("over; log in", status=401, upstream_code="invalid_grant"),
        Unreachable("cannot reach x"),
        UpstreamError("odd", status=418),
        UpstreamWireError("expected an object"),
        ConfigError("cannot be written"),
        None,
    ],
)
def test_the_outcome_of_a_refresh_survives_encoding_and_decoding(error: GroundwireError | None) -> None:
    assert decode_outcome(encode_outcome(error)) == error


def test_a_process_without_output_was_killed() -> None:
    assert isinstance(decode_outcome(b""), Interrupted)
    assert isinstance(decode_outcome(b'{"kind'), Interrupted)


def test_a_program_without_an_interpreter_refreshes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert refresh_process({}) is None
