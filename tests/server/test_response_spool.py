"""The spool of background responses, in files and in each kind of store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import time

import pytest

from groundwire.errors import TurnedAway
from groundwire.model import JsonObject
from groundwire.server.response_spool import (
    KEEP_SECONDS,
    LOST_SECONDS,
    FileSpool,
    KeptResponse,
    ResponseSpool,
    SpoolLimits,
    make_room,
)
from groundwire.server.stored_spool import StoredSpool
from groundwire.store.open import open_store
from tests.memory_folders import tmp_path
from tests.servers.fixtures import postgres, postgres_server
from tests.store.conftest import on_postgres, on_sqlite

__all__ = ["postgres", "postgres_server", "tmp_path"]
pytestmark = pytest.mark.server

RUNNING: JsonObject = {"status": "in_progress"}
DONE: JsonObject = {"status": "completed"}
LIMITS = SpoolLimits(running=6, running_of_owner=3, kept=8, kept_of_owner=5)


class AgingSpool:
    """A spool, and a way to make its responses older."""

    def __init__(self, spool: ResponseSpool, age: Callable[[str, float], None]) -> None:
        self.spool = spool
        self.age = age


@pytest.fixture(params=["files", "sqlite", "postgres"])
def aging(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AgingSpool]:
    if request.param == "files":

        def age_file(name: str, seconds: float) -> None:
            then = time() - seconds
            os.utime(tmp_path / "spool" / f"{name}.events", (then, then))

        yield AgingSpool(FileSpool(tmp_path / "spool", limits=LIMITS), age_file)
        return
    path = tmp_path / "store.db"
    if request.param == "sqlite":
        address = f"sqlite:///{path}"
        execute = partial(on_sqlite, path)
    else:
        address = request.getfixturevalue("postgres")
        execute = partial(on_postgres, address)

    def age_row(name: str, seconds: float) -> None:
        execute("UPDATE groundwire_responses SET saved = saved - ? WHERE name = ?", [seconds, name])

    with open_store(address) as store:
        yield AgingSpool(StoredSpool(store, LIMITS), age_row)


@pytest.fixture
def spool(aging: AgingSpool) -> ResponseSpool:
    return aging.spool


def test_events_and_state_are_read_as_they_were_saved(spool: ResponseSpool) -> None:
    spool.create("resp_1", "me", {"status": "queued", "text": 'a "b" \\ ü'})
    assert spool.save("resp_1", 0, "data: ä\n\n".encode(), RUNNING)
    assert spool.save("resp_1", 10, b"data: 2\n\n", None)
    found = spool.read("resp_1", "me", 0)
    assert found is not None
    assert (found.body, found.is_final, found.events) == (RUNNING, False, "data: ä\n\ndata: 2\n\n".encode())
    for offset in range(20):
        later = spool.read("resp_1", "me", offset)
        assert later is not None
        assert later.events == found.events[offset:]
    polled = spool.read("resp_1", "me")
    assert polled is not None
    assert polled.events == b""
    assert spool.save("resp_1", 19, b"", DONE)
    ended = spool.read("resp_1", "me", 19)
    assert ended is not None
    assert (ended.is_final, ended.events) == (True, b"")


def test_a_repeated_save_replaces_the_first(spool: ResponseSpool) -> None:
    """The store may have saved the events although its reply was lost."""
    spool.create("resp_1", "me", RUNNING)
    spool.save("resp_1", 0, b"data: 1\n\n", None)
    spool.save("resp_1", 0, b"data: 1\n\ndata: 2\n\n", None)
    found = spool.read("resp_1", "me", 0)
    assert found is not None
    assert found.events == b"data: 1\n\ndata: 2\n\n"


def test_a_response_belongs_to_its_owner(spool: ResponseSpool) -> None:
    spool.create("resp_1", "me", RUNNING)
    assert spool.read("resp_1", "you", 0) is None
    assert spool.read("resp_1", "", 0) is None
    assert spool.read("../resp_1", "me") is None
    assert spool.read("resp_2", "me") is None


def test_a_response_is_stopped_or_removed_while_it_runs(spool: ResponseSpool) -> None:
    spool.create("resp_1", "me", RUNNING)
    assert spool.save("resp_1", 0, b"data: 1\n\n", None)
    spool.stop("resp_1")
    assert not spool.save("resp_1", 9, b"", None)
    assert not spool.save("resp_1", 9, b"", {"status": "cancelled"})
    stopped = spool.read("resp_1", "me")
    assert stopped is not None
    assert stopped.body["status"] == "cancelled"
    spool.remove("resp_1")
    assert spool.read("resp_1", "me", 0) is None
    assert not spool.save("resp_1", 9, b"data: 2\n\n", DONE)
    assert spool.read("resp_1", "me", 0) is None


def test_a_response_whose_process_is_gone_has_failed(aging: AgingSpool) -> None:
    spool = aging.spool
    for number in range(LIMITS.running_of_owner):
        spool.create(f"resp_{number}", "me", RUNNING)
    with pytest.raises(TurnedAway, match="too many"):
        spool.create("resp_more", "me", RUNNING)
    spool.save("resp_1", 0, b"", DONE)
    for name in ("resp_0", "resp_1"):
        aging.age(name, LOST_SECONDS + 5)
    lost, done = spool.read("resp_0", "me"), spool.read("resp_1", "me")
    assert lost is not None
    assert done is not None
    assert (lost.is_final, "restarted" in str(lost.body["error"]), done.body) == (True, True, DONE)
    spool.create("resp_more", "me", RUNNING)
    aging.age("resp_1", KEEP_SECONDS)
    spool.create("resp_other", "you", RUNNING)
    assert spool.read("resp_1", "me") is None


def test_requests_at_once_do_not_exceed_the_limit(spool: ResponseSpool) -> None:
    def create(number: int) -> bool:
        try:
            spool.create(f"resp_{number}", "me", RUNNING)
        except TurnedAway:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(16))) == LIMITS.running_of_owner


def kept(name: str, owner: str, age: float, status: str = "completed") -> KeptResponse:
    return KeptResponse(name, owner, age, is_final=status == "completed")


def test_an_owner_who_adds_many_removes_only_their_own() -> None:
    mine = [kept(f"mine{number}", "me", number) for number in range(5)]
    yours = [kept(f"yours{number}", "you", 1000 + number) for number in range(2)]
    assert make_room([*mine, *yours], "me", LIMITS) == ["mine4"]
    assert make_room([*mine, *yours], "third", LIMITS) == []
    assert make_room([*mine, *yours, kept("third", "third", 5000)], "third", LIMITS) == ["mine4"]


def test_a_running_response_is_never_removed_to_make_room() -> None:
    running = [kept(f"r{number}", "me", number, "in_progress") for number in range(2)]
    done = [kept(f"d{number}", "me", 10 + number) for number in range(3)]
    assert make_room([*running, *done], "me", LIMITS) == ["d2"]
    lost = kept("lost", "me", LOST_SECONDS + 1, "in_progress")
    assert make_room([*running, *done, lost], "me", LIMITS) == ["lost", "d2"]
