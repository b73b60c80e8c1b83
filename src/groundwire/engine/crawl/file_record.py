"""What is known of the files of a folder that was added: their state, and the URLs of their pages.

A file with the same size and time of change is not read again, if its pages are still stored. Pages of files
that no longer exist are removed. The record is a file in the data directory, one for each folder and way to
add it; without it, everything is read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import WireError
from groundwire.files.text_file import make_private_folder, write_private
from groundwire.model import Json

READER_EDITION = "2"
"""Changed when files are read differently: all are then read again."""
_SAVE_INTERVAL = 10.0
_SETTLED_NS = 1_000_000_000
"""A file that changed this shortly before it was read may change again without a new time."""


class FileState(NamedTuple):
    """The state of a file, and the URLs of its pages."""

    changed: int
    """In nanoseconds."""
    size: int
    urls: tuple[str, ...] = ()


class FileRecord:
    """The files of one folder."""

    def __init__(
        self,
        kept: Path,
        root: Path,
        options: tuple[str, ...],
        *,
        stored: Container[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        key = "\0".join((os.fsencode(root.absolute()).decode("utf-8", "replace"), READER_EDITION, *options))
        self._path = kept / f"{blake2b(key.encode(), digest_size=12).hexdigest()}.files"
        self._stored = stored
        self._clock = clock
        self._saved = clock()
        self._files = self._loaded()

    def unchanged(self, path: Path) -> int | None:
        """The number of pages of a file that is as it was; None if it must be read."""
        known = self._files.get(_name(path))
        if known is None or state_of(path) != known._replace(urls=()):
            return None
        return len(known.urls) if all(url in self._stored for url in known.urls) else None

    def add(self, path: Path, state: FileState | None, urls: tuple[str, ...]) -> None:
        """A file was read that had this state before."""
        if state is None or not urls:
            self._files.pop(_name(path), None)
            return
        is_settled = time.time_ns() - state.changed > _SETTLED_NS
        self._files[_name(path)] = FileState(state.changed if is_settled else -1, state.size, urls)

    def removed(self) -> Iterator[tuple[str, ...]]:
        """The URLs of each file that no longer exists, unless another file has them now."""
        gone = [name for name in self._files if not os.path.lexists(name)]
        found = [self._files.pop(name) for name in gone]
        taken = {url for state in self._files.values() for url in state.urls}
        for state in found:
            if urls := tuple(url for url in state.urls if url not in taken and url in self._stored):
                yield urls

    def save(self, *, at_once: bool = False) -> None:
        """Writes the record, every ten seconds at most."""
        if not at_once and self._clock() - self._saved < _SAVE_INTERVAL:
            return
        self._saved = self._clock()
        files: dict[str, Json] = {
            name: [state.changed, state.size, *state.urls] for name, state in self._files.items()
        }
        with suppress(OSError):
            make_private_folder(self._path.parent)
            write_private(str(self._path), dump_json({"files": files}))

    def _loaded(self) -> dict[str, FileState]:
        try:
            found = load_json(self._path.read_bytes(), WireError)
        except (OSError, WireError):
            return {}
        files = found.get("files") if isinstance(found, dict) else None
        return dict(_decoded(files)) if isinstance(files, dict) else {}


def _decoded(files: dict[str, Json]) -> Iterator[tuple[str, FileState]]:
    for name, fields in files.items():
        match fields:
            case [int(changed), int(size), *urls]:
                yield name, FileState(changed, size, tuple(map(str, urls)))


def state_of(path: Path) -> FileState | None:
    """The state of a file now; None if it cannot be read."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return FileState(found.st_mtime_ns, found.st_size)


def _name(path: Path) -> str:
    """JSON has no lone surrogates: a name that is not UTF-8 is not remembered correctly, and read again."""
    return os.fsencode(path.absolute()).decode("utf-8", "replace")
