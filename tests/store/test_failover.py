"""A PostgreSQL primary is lost and its standby promoted: what was acknowledged is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from threading import Thread
from time import monotonic

import pytest

from groundwire.errors import GroundwireError
from groundwire.model import Message, Text
from groundwire.store.base import Session, Store, StoredMessage
from groundwire.store.postgres import open_postgres
from tests.servers.postgres import ReplicatedPostgres

pytestmark = pytest.mark.server
SECONDS = 30.0
LOST = "503 STORE_UNAVAILABLE"


@pytest.fixture
def servers() -> Iterator[ReplicatedPostgres]:
    with closing(ReplicatedPostgres()) as servers:
        yield servers


def write(store: Store, name: str) -> str:
    """Add a message; returns its id, or the error."""
    try:
        store.add_message(StoredMessage(name, "s", Message("user", (Text(name),))))
    except GroundwireError as error:
        return f"{error.status_hint} {error.code}"
    return name


def stored(store: Store) -> set[str]:
    return {message.id for message in store.messages("s")}


def test_no_acknowledged_message_is_lost_when_a_standby_takes_over(servers: ReplicatedPostgres) -> None:
    address = servers.database()
    with closing(open_postgres(address)) as store:
        store.put_session(Session("s", "a", ""))
        seen: list[str] = []
        until = monotonic() + SECONDS

        def write_until_recovered() -> None:
            while len(seen) < 20 or LOST not in seen or LOST in seen[-5:]:
                seen.append(write(store, f"m{len(seen)}"))
                assert monotonic() < until

        writer = Thread(target=write_until_recovered)
        writer.start()
        while len(seen) < 10:
            assert monotonic() < until
        servers.fail_over()
        writer.join(SECONDS)
        assert not writer.is_alive()
        acknowledged = {one for one in seen if one != LOST}
        assert len(acknowledged) >= 15
        assert acknowledged <= stored(store)
        with closing(open_postgres(address)) as another:
            assert acknowledged <= stored(another)


@pytest.mark.thorough
def test_a_change_that_no_standby_confirms_is_not_acknowledged(servers: ReplicatedPostgres) -> None:
    with closing(open_postgres(servers.database())) as store:
        store.put_session(Session("s", "a", ""))
        assert write(store, "before") == "before"
        servers.standby.kill()
        assert Counter(write(store, f"m{number}") for number in range(2)) == {LOST: 2}


@pytest.mark.thorough
def test_a_standby_alone_is_reported_and_used_when_it_is_promoted(servers: ReplicatedPostgres) -> None:
    with closing(open_postgres(servers.database())) as store:
        store.put_session(Session("s", "a", ""))
    standby = f"postgresql://tests@127.0.0.1:{servers.standby.port}/{servers.name}"
    with closing(open_postgres(standby)) as store:
        assert stored(store) == set()
        assert write(store, "early") == LOST
        servers.fail_over()
        assert write(store, "late") == "late"
