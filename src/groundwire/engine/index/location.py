"""Opens the index: in a folder of this machine, or in a PostgreSQL database that many gateways share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from groundwire.engine.index.errors import translate_errors
from groundwire.errors import ConfigError
from groundwire.files.text_file import make_private_folder

if TYPE_CHECKING:
    from groundwire.engine.index.base import Index

PAGES_FILE = "pages.sqlite3"


def open_index(folder: Path, *, create: bool = True) -> Index:
    """Opens the index in a folder. Older formats are upgraded, interrupted writes are finished.

    Raises `ConfigError` if the folder cannot be used, or has no index and `create` is false.
    """
    with translate_errors(folder):
        if not create and not (folder / PAGES_FILE).is_file():
            raise ConfigError(f"there is no index in {folder}")
        make_private_folder(folder)
    # Here, because tantivy is loaded with it.
    from groundwire.engine.index.embedded import EmbeddedIndex  # noqa: PLC0415

    return EmbeddedIndex(folder)


_DATABASES = ("postgresql://", "postgres://")


def open_configured_index(folder: Path, store: str = "") -> Index:
    """The index in the database at `store`, if that is a PostgreSQL URL, else in the folder."""
    if not store.startswith(_DATABASES):
        return open_index(folder)
    from groundwire.engine.index.postgres import PostgresIndex  # noqa: PLC0415  brings psycopg along

    return PostgresIndex(store, folder)
