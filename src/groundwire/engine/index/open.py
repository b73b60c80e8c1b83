"""Open the embedded index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from groundwire.engine.index.failures import told
from groundwire.errors import ConfigError
from groundwire.files.text_file import make_private_folder

if TYPE_CHECKING:
    from groundwire.engine.index.base import Index

_STORE = "pages.sqlite3"


def open_index(folder: Path, *, create: bool = True) -> Index:
    """The index in a folder. Older formats are brought up to date, and interrupted work is finished.

    Raises `ConfigError` when the folder cannot be used, or holds no index and none is to be made.
    """
    with told(folder):
        if not create and not (folder / _STORE).is_file():
            raise ConfigError(f"there is no index in {folder}")
        make_private_folder(folder)
    # Here, because tantivy is loaded with it.
    from groundwire.engine.index.embedded import EmbeddedIndex  # noqa: PLC0415

    return EmbeddedIndex(folder)
