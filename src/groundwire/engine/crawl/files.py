"""Files and folders: what can be read of them, without following a link out of the folder or in a circle."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from groundwire.engine.crawl.addresses import address_of
from groundwire.engine.crawl.outcomes import Outcome, Scope, Skipped, outcome_of
from groundwire.engine.crawl.warc import gather_warc, is_warc
from groundwire.engine.read import Document
from groundwire.engine.read.apart import read_apart
from groundwire.engine.read.decoding import decode
from groundwire.engine.read.formats import media_type_of
from groundwire.transport.threads import run_in_thread

LARGEST_FILE = 20_000_000
_IGNORED = frozenset(("CVS", "node_modules", "__pycache__"))
"""Folders that hold no documents of their own; hidden ones, `.git` among them, are never entered."""


async def gather_path(path: Path, scope: Scope) -> AsyncGenerator[Outcome, None]:
    """The pages of a file, or of all files below a folder."""
    if path.is_dir():
        for found in _walk(path):
            if isinstance(found, Skipped):
                yield found
                continue
            async for outcome in _gather_file(found, path, scope, named=False):
                yield outcome
    else:
        async for outcome in _gather_file(path, path.parent, scope, named=True):
            yield outcome


async def _gather_file(path: Path, root: Path, scope: Scope, *, named: bool) -> AsyncGenerator[Outcome, None]:
    """A file that somebody named is looked into whatever its name; others only if it says what they are."""
    if is_warc(path.name) and path.is_file():
        async for outcome in gather_warc(path):
            yield outcome
        return
    media_type = media_type_of(path.name)
    if not media_type and not named:
        yield Skipped(shown(path), f"not a document ({path.suffix.lower() or 'no ending'})")
        return
    address = address_of(path, root, scope.base_url, as_html=scope.as_html)
    yield await run_in_thread(lambda: _read_file(path, media_type, address))


def _read_file(path: Path, media_type: str, address: str) -> Outcome:
    data = _bytes(path)
    if isinstance(data, Skipped):
        return data
    title = decode(os.fsencode(path.name), "utf-8")
    return outcome_of(read_apart(Document(data, media_type, address, title=title)), shown(path))


def _bytes(path: Path) -> bytes | Skipped:
    try:
        # Opening a pipe must not wait for somebody to write into it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return Skipped(shown(path), "not a regular file")
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        return Skipped(shown(path), f"cannot be read: {error.strerror or 'input/output error'}")
    if len(data) > LARGEST_FILE:
        return Skipped(shown(path), f"larger than {LARGEST_FILE // 1_000_000} MB")
    return data


def _walk(root: Path) -> Iterator[Path | Skipped]:
    """Files below a folder, by name; each folder once, however many links lead to it."""
    top = os.path.realpath(root)
    waiting = [root]
    entered: set[tuple[int, int]] = set()
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(shown(folder), f"cannot be read: {error.strerror}")
            continue
        if (status.st_dev, status.st_ino) in entered:
            continue
        entered.add((status.st_dev, status.st_ino))
        inner: list[Path] = []
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _IGNORED:
                continue
            path = Path(entry.path)
            if entry.is_symlink() and not _is_below(path, top):
                yield Skipped(shown(path), "a link that leads out of the folder")
            elif entry.is_dir():
                inner.append(path)
            else:
                yield path
        waiting += reversed(inner)


def _is_below(path: Path, top: str) -> bool:
    target = os.path.realpath(path)
    return target == top or target.startswith(top.rstrip(os.sep) + os.sep)


def shown(path: Path) -> str:
    """The name of a file as text, whatever its bytes."""
    return os.fsencode(path).decode("utf-8", "replace")
