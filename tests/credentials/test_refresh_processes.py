"""Several processes share one session: exactly one refresh per expiry, whichever process is killed.

The test gives the same time to all processes, so every expiry is one round. If a process is killed inside the
refresh, the others continue the round, which must still cost one refresh. The session is lost only if the
process is killed between the response of the service and its first write; then the error asks for a new
login. Here every process refreshes by itself; `tests/providers/test_openai_session.py` uses a separate
process for it.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.credentials.builders import Rotation, jwt, stored_refresh, write_session
from tests.credentials.login_service import LoginService, login_service
from tests.figures import Figures

pytestmark = pytest.mark.server

WORKER = Path(__file__).with_name("worker.py")
STEP = 10_000.0
LIFE = 1_000.0
FIRST = "refresh-first"

# Every system call of a refresh before which a process can be killed without losing anything: the journal
# entry of the request (write, sync, sync of the directory), [the request], the entry of the response (sync),
# the new file (sync), the rename, the sync of the directory, the removal of the journal. Only the write of
# the response is missing.
HARMLESS = [
    ("pwrite", 1),
    ("fsync", 1),
    ("fsync", 2),
    ("fsync", 3),
    ("fsync", 4),
    ("replace", 1),
    ("fsync", 5),
    ("unlink", 1),
]


def access(number: int) -> str:
    """The access token of a round; it contains its expiry, which Codex CLI's file has no field for."""
    return jwt({"exp": number * STEP + LIFE, "number": number})


class Team:
    """Processes that share a session."""

    def __init__(self, size: int, home: Path, kind: str, service: LoginService, *more: str) -> None:
        self._command = [sys.executable, str(WORKER), str(home), kind, service.url, *more]
        self._service = service
        self.members = [self._start() for _ in range(size)]

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603

    def send(self, number: int, now: float, die: tuple[str, int] | None = None) -> None:
        pipe = self.members[number].stdin
        assert pipe is not None
        pipe.write(json.dumps({"now": now, "die": die}) + "\n")
        pipe.flush()

    def receive(self, number: int) -> dict[str, str] | None:
        """The response of a member; None if it was killed, and then it is replaced."""
        member = self.members[number]
        assert member.stdout is not None
        line = member.stdout.readline()
        if line:
            answer: dict[str, str] = json.loads(line)
            return answer
        self._dismiss(member)
        self.members[number] = self._start()
        return None

    def round(self, now: float) -> list[dict[str, str] | None]:
        """All members at the same time."""
        numbers = range(len(self.members))
        for number in numbers:
            self.send(number, now)
        return [self.receive(number) for number in numbers]

    def close(self) -> None:
        for member in self.members:
            self._dismiss(member)

    @staticmethod
    def _dismiss(member: subprocess.Popen[str]) -> None:
        assert member.stdin is not None
        assert member.stdout is not None
        member.stdin.close()
        try:
            member.wait(20)
        except subprocess.TimeoutExpired:
            member.kill()
            member.wait(20)
        member.stdout.close()


@contextmanager
def team(size: int, home: Path, kind: str, service: LoginService, *more: str) -> Iterator[Team]:
    made = Team(size, home, kind, service, *more)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def always_parses(path: Path) -> Iterator[None]:
    """Read the file all the time, and check that it is never half written."""
    done = threading.Event()
    broken: list[str] = []

    def read() -> None:
        while not done.wait(0.001):
            text = path.read_text("utf-8")
            try:
                json.loads(text)
            except ValueError:
                broken.append(text)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join(5)
    assert broken == []


def expire(rounds: int, size: int, home: Path, kind: str, kills: int = 0) -> Rotation:
    """Let a session expire repeatedly, in some rounds with a kill inside the refresh."""
    path = write_session(home, kind, "access-first", FIRST, 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    rng = random.Random(rounds)
    deadly = set(rng.sample(range(1, rounds + 1), kills))
    with login_service(rotation) as service, always_parses(path), team(size, home, kind, service) as workers:
        for number in range(1, rounds + 1):
            if number in deadly:
                murder(workers, service, number, rng)
            answers = workers.round(number * STEP)
            alive = [answer for answer in answers if answer is not None]
            assert alive == [{"access": access(number)}] * len(alive)
            assert len(alive) >= size - (number in deadly)
            assert (rotation.rotations, rotation.reuses) == (number, 0)
            assert stored_refresh(path) == rotation.current
        assert service.posts <= rounds + kills
    return rotation


def murder(workers: Team, service: LoginService, number: int, rng: random.Random) -> None:
    """Kill a process inside the refresh of a round."""
    kill_point = rng.choice([*HARMLESS, None])
    if kill_point is None:
        service.kill = "before"  # the first process that sends a request
        return
    victim = rng.randrange(len(workers.members))
    workers.send(victim, number * STEP, kill_point)
    assert workers.receive(victim) is None


@pytest.mark.parametrize("kind", ["opencode", "codex"])
def test_each_expiry_of_a_session_costs_one_refresh(tmp_path: Path, kind: str) -> None:
    expire(20, 4, tmp_path, kind)


def test_a_process_killed_inside_a_refresh_loses_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    rotation = Rotation(FIRST, LIFE, access)
    with (
        login_service(rotation) as service,
        always_parses(path),
        team(1, tmp_path, "codex", service) as workers,
    ):
        for number, kill_point in enumerate(HARMLESS, 1):
            workers.send(0, number * STEP, kill_point)
            assert workers.receive(0) is None, kill_point
            assert workers.round(number * STEP) == [{"access": access(number)}], kill_point
            assert (rotation.rotations, rotation.reuses) == (number, 0), kill_point
            assert stored_refresh(path) == rotation.current
        workers.round((len(HARMLESS) + 1) * STEP)
        assert sorted(item.name for item in path.parent.iterdir()) == ["auth.json", "auth.json.lock"]


def test_a_process_killed_before_the_response_arrives_costs_a_login_and_one_request(tmp_path: Path) -> None:
    path = write_session(tmp_path, "codex", "access-first", FIRST, 0.0)
    before = path.read_bytes()
    rotation = Rotation(FIRST, LIFE, access)
    with login_service(rotation) as service, team(3, tmp_path, "codex", service) as workers:
        service.kill = "after"
        answers = [*workers.round(STEP), *workers.round(STEP)]
        assert answers.count(None) == 1
        message = [answer["error"] for answer in answers if answer is not None]
        assert all("refresh_token_reused" in error and "`codex login`" in error for error in message)
        assert sum("an earlier refresh was cut off" in error for error in message) == 1
        assert (service.posts, rotation.reuses) == (2, 1)
        assert path.read_bytes() == before
        rotation.login("refresh-again")
        write_session(tmp_path, "codex", "access-again", "refresh-again", 0.0)
        assert workers.round(STEP) == [{"access": access(2)}] * 3


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["opencode", "codex"])
def test_eight_processes_and_two_hundred_expiries(tmp_path: Path, kind: str) -> None:
    expire(200, 8, tmp_path, kind)


@pytest.mark.thorough
def test_eight_processes_two_hundred_expiries_and_a_hundred_kills(tmp_path: Path, figures: Figures) -> None:
    rotation = expire(200, 8, tmp_path, "codex", kills=100)
    figures.add("R26", "refreshes for 200 expiries in 8 processes with 100 kills", rotation.rotations)
    figures.add("R26", "tokens used twice", rotation.reuses)
