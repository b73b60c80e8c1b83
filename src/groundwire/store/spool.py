"""The tables of background responses: their state, and the events of their streams as they grow.

Names are chosen by the caller. Ages are by the clock of the database. Events are whole lines of text, stored
at their offset in bytes, so a write that is repeated replaces the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, LiteralString, cast

from groundwire.store.base import BackgroundResponse, ResponseEntry
from groundwire.store.rows import cells

if TYPE_CHECKING:
    from groundwire.store.sql import Transaction

# Locks out other gateways that add a response until the transaction ends.
_LOCK: LiteralString = """
INSERT INTO groundwire_revisions (name, number) VALUES ('responses', 1)
ON CONFLICT (name) DO UPDATE SET number = groundwire_revisions.number + 1
"""
_ENTRIES: LiteralString = "SELECT name, owner, saved, final FROM groundwire_responses"
_INSERT: LiteralString = """
INSERT INTO groundwire_responses (name, owner, body, final, stopping, saved)
VALUES (:name, :owner, :body, 0, 0, :now)
"""
_READ: LiteralString = """
SELECT body, final, saved FROM groundwire_responses WHERE name = :name AND owner = :owner
"""
_EVENTS: LiteralString = """
SELECT start, data FROM groundwire_response_events WHERE name = :name AND start + size > :offset
ORDER BY start
"""
_TOUCH: LiteralString = """
UPDATE groundwire_responses SET saved = :now WHERE name = :name RETURNING stopping
"""
_UPDATE: LiteralString = """
UPDATE groundwire_responses SET saved = :now, body = :body, final = :final
WHERE name = :name RETURNING stopping
"""
_APPEND: LiteralString = """
INSERT INTO groundwire_response_events (name, start, size, data) VALUES (:name, :start, :size, :data)
ON CONFLICT (name, start) DO UPDATE SET size = excluded.size, data = excluded.data
"""
_STOP: LiteralString = "UPDATE groundwire_responses SET stopping = 1 WHERE name = :name"
_REMOVE: LiteralString = "DELETE FROM groundwire_responses WHERE name = :name"


def create(
    transaction: Transaction,
    now: float,
    name: str,
    owner: str,
    body: str,
    make_room: Callable[[Sequence[ResponseEntry]], Sequence[str]],
) -> None:
    """Add a response; those that `make_room` names are removed before."""
    transaction.rows(_LOCK, {})
    entries = [
        ResponseEntry(str(row[0]), str(row[1]), now - cast("float", row[2]), bool(row[3]))
        for row in transaction.rows(_ENTRIES, {})
    ]
    for old in make_room(entries):
        transaction.rows(_REMOVE, cells(name=old))
    transaction.rows(_INSERT, cells(name=name, owner=owner, body=body, now=now))


def read(
    transaction: Transaction, now: float, name: str, owner: str, offset: int | None
) -> BackgroundResponse | None:
    """A response of an owner, with its events from an offset on if one is given."""
    for body, final, saved in transaction.rows(_READ, cells(name=name, owner=owner)):
        events = b"" if offset is None else _events(transaction, name, offset)
        return BackgroundResponse(str(body), now - cast("float", saved), bool(final), events)
    return None


def _events(transaction: Transaction, name: str, offset: int) -> bytes:
    rows = transaction.rows(_EVENTS, cells(name=name, offset=offset))
    return b"".join(str(data).encode()[max(0, offset - cast("int", start)) :] for start, data in rows)


def save(
    transaction: Transaction,
    now: float,
    name: str,
    offset: int,
    events: bytes,
    state: tuple[str, bool] | None,
) -> bool:
    """Write events, and the body of a new state with whether it is final; False if the response is to stop,
    or does not exist."""
    if state is None:
        found = transaction.rows(_TOUCH, cells(name=name, now=now))
    else:
        body, final = state
        found = transaction.rows(_UPDATE, cells(name=name, now=now, body=body, final=int(final)))
    if not found:
        return False
    if events:
        values = cells(name=name, start=offset, size=len(events), data=events.decode())
        transaction.rows(_APPEND, values)
    return not found[0][0]


def stop(transaction: Transaction, name: str) -> None:
    """Ask the gateway that runs a response to stop it."""
    transaction.rows(_STOP, cells(name=name))


def remove(transaction: Transaction, name: str) -> None:
    """Remove a response with its events."""
    transaction.rows(_REMOVE, cells(name=name))
