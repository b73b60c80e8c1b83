"""A process that writes to a store, or migrates it, until it is killed; it prints what it has done."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

from groundwire.model import Message, Text
from groundwire.store.base import StoredMessage
from groundwire.store.migrations import ON_SQLITE
from groundwire.store.open import open_store
from groundwire.store.sqlite import open_sqlite
from groundwire.transport.migrations import Migration

TEXT = "Nothing that was acknowledged is lost. " * 40
# Takes long enough that a kill can hit any part of it.
LARGE_STEP = Migration(
    ON_SQLITE[-1].version + 1,
    (
        "CREATE TABLE large (id integer, body text)",
        """
        WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 60000)
        INSERT INTO large SELECT id, hex(randomblob(40)) FROM n
        """,
        "CREATE INDEX large_body ON large (body)",
        "UPDATE groundwire_sessions SET title = 'migrated'",
    ),
)


def write(path: Path, name: str) -> None:
    """Add messages until killed."""
    with open_sqlite(path) as store:
        for number in count(1):
            key = f"{name}-{number}"
            store.add_message(StoredMessage(key, "s", Message("user", (Text(key + TEXT),))))
            os.write(1, f"{key}\n".encode())


def migrate(path: Path) -> None:
    """Run a long migration."""
    os.write(1, b"started\n")
    open_sqlite(path, (*ON_SQLITE, LARGE_STEP)).close()
    os.write(1, b"done\n")


def upgrade(address: str) -> None:
    """Migrate a store of an earlier version."""
    os.write(1, b"started\n")
    open_store(address).close()
    os.write(1, b"done\n")


if __name__ == "__main__":
    job, target, *names = sys.argv[1:]
    if job == "write":
        write(Path(target), names[0])
    elif job == "migrate":
        migrate(Path(target))
    else:
        upgrade(target)
