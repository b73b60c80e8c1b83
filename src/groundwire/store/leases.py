"""Leases: who answers in a session. The database decides, by its own clock, so processes agree without one.

A lease has a holder (a random token of one turn) and a time at which it expires. A holder that dies does not
renew it, and the session is free again after that time.
"""

from __future__ import annotations

from typing import LiteralString

from groundwire.model.value import value


@value
class LeaseStatements:
    """The statements of one database; they differ in how it tells the time."""

    take: LiteralString
    """Answers with a row if `:holder` has the lease of `:session` now, for `:seconds`."""
    renew: LiteralString
    """Answers with a row if `:holder` still has it."""


RELEASE: LiteralString = "DELETE FROM groundwire_leases WHERE session = :session AND holder = :holder"

# `julianday` tells milliseconds in every version of SQLite; `unixepoch('subsec')` came with 3.42.
SQLITE = LeaseStatements(
    """
    INSERT INTO groundwire_leases (session, holder, expires)
    VALUES (:session, :holder, (julianday('now') - 2440587.5) * 86400.0 + :seconds)
    ON CONFLICT (session) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
        WHERE groundwire_leases.expires <= (julianday('now') - 2440587.5) * 86400.0
            OR groundwire_leases.holder = excluded.holder
    RETURNING holder
    """,
    """
    UPDATE groundwire_leases SET expires = (julianday('now') - 2440587.5) * 86400.0 + :seconds
    WHERE session = :session AND holder = :holder RETURNING holder
    """,
)
# `now()` would be the start of the transaction, which may have waited for a lock.
POSTGRES = LeaseStatements(
    """
    INSERT INTO groundwire_leases (session, holder, expires)
    VALUES (:session, :holder, extract(epoch FROM clock_timestamp()) + :seconds)
    ON CONFLICT (session) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
        WHERE groundwire_leases.expires <= extract(epoch FROM clock_timestamp())
            OR groundwire_leases.holder = excluded.holder
    RETURNING holder
    """,
    """
    UPDATE groundwire_leases SET expires = extract(epoch FROM clock_timestamp()) + :seconds
    WHERE session = :session AND holder = :holder RETURNING holder
    """,
)
