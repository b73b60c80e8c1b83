"""Where the index is: in a folder of this machine, or in the database that many gateways share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from groundwire.engine.index.open import open_index

if TYPE_CHECKING:
    from groundwire.engine.index.base import Index

_DATABASES = ("postgresql://", "postgres://")


def open_placed(folder: Path, store: str = "") -> Index:
    """The index of the store, if that is a database, else of the folder."""
    if not store.startswith(_DATABASES):
        return open_index(folder)
    from groundwire.engine.index.postgres import PostgresIndex  # noqa: PLC0415  brings psycopg along

    return PostgresIndex(store)
