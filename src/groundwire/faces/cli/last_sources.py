"""The sources of the last answer, kept for `groundwire open`: one small file in the data directory, for its
owner alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, ConfigError, GroundwireError
from groundwire.files.lock import locked
from groundwire.files.text_file import make_private_folder, read_text, write_private
from groundwire.model import JsonObject, Source

_FILE = "last_sources.json"
_VERSION = 1
_MOST = 200
"""More sources than any answer cites."""
_LOCK_TIMEOUT = 1.0
"""Seconds: another answer that ends now holds the lock only while it writes."""


def save_sources(data_dir: str, sources: Sequence[Source]) -> bool:
    """Keep the numbered sources of an answer; False if they cannot be written, which is not an error."""
    entries: list[JsonObject] = [{"url": source.url, "title": source.title} for source in sources[:_MOST]]
    path = os.path.join(data_dir, _FILE)
    try:
        make_private_folder(Path(data_dir))
        with locked(f"{path}.lock", _LOCK_TIMEOUT):
            text = dump_json({"version": _VERSION, "sources": [*entries]})
            # To wait for the disk would take longer than writing the answer.
            write_private(path, text, synced=False)
    except (OSError, GroundwireError):
        return False
    return True


def load_sources(data_dir: str) -> tuple[Source, ...] | None:
    """The numbered sources of the last answer; None if there was none. Raises `ConfigError`."""
    path = os.path.join(data_dir, _FILE)
    text = read_text(path)
    if text is None:
        return None
    try:
        fields = Fields.of(load_json(text, ClientWireError), ClientWireError)
        return tuple(Source(entry.text("url"), entry.text("title")) for entry in fields.objs("sources"))
    except ClientWireError:
        raise ConfigError(f"{path} is damaged; remove it, or search again") from None
