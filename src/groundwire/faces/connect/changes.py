"""Change one entry in a configuration file of another program, and undo it.

Every edit is checked by reading the result again: the file must hold what it held before, and the entry. The
previous text is kept in a backup next to the file until the change is undone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import permutations
from typing import Literal, Protocol, TypeAlias

from groundwire.errors import ConfigError
from groundwire.files import env_edit, json_edit, toml_edit, yaml_edit
from groundwire.files.text_file import delete, read_text, write_shared
from groundwire.model import Json
from groundwire.model.value import replace, value

FileFormat: TypeAlias = Literal["json", "toml", "yaml", "env", "whole"]
ChangeResult: TypeAlias = Literal["written", "already there", "restored", "removed", "taken out", "not there"]

_MAX_SIZE = 64 * 1024 * 1024
_BACKUP = ".groundwire-backup"
_CREATED = ".groundwire-created"
_BOM = "\ufeff"
_URL = re.compile(r"https?://[\w.:\[\]-]+")


class Editor(Protocol):
    """Edits nested members of a text in place."""

    def value_at(self, text: str, path: Sequence[str]) -> Json:
        """The value at a path; None if there is none."""

    def put(self, text: str, path: Sequence[str], value: Json) -> str:
        """The text with a value at a path."""

    def remove(self, text: str, path: Sequence[str], kept: int) -> str:
        """The text without the member at a path, and without the parents that it would leave empty."""


_EDITORS: Mapping[str, Editor] = {"json": json_edit, "yaml": yaml_edit}


@value
class Change:
    """An entry at a path of names in a file. With the format `whole` the entry is the text of the file."""

    file: str
    form: FileFormat
    path: tuple[str, ...]
    entry: Json


class Backup:
    """The text of a file before groundwire first changed it."""

    def __init__(self, path: str) -> None:
        self._backup = path + _BACKUP
        self._created = path + _CREATED

    @property
    def exists(self) -> bool:
        """Is it known what the file was before?"""
        return os.path.exists(self._backup) or os.path.exists(self._created)

    @property
    def path(self) -> str:
        """The path of the copy; empty if there was no file."""
        return self._backup if os.path.exists(self._backup) else ""

    def text(self) -> str | None:
        """The text; None if there was no file."""
        return _read(self._backup)

    def save(self, text: str | None) -> None:
        """Keep the current text; None records that there is no file."""
        self.discard()
        write_shared(self._created if text is None else self._backup, text or "")

    def discard(self) -> None:
        """Remove the backup."""
        delete(self._backup)
        delete(self._created)


def snippet(change: Change) -> str:
    """The entry as the text of an otherwise empty file."""
    return _edited("", change)


def has_entry(variants: Sequence[Change]) -> bool:
    """Does one file hold an entry of ours? A file that is not valid does not."""
    text = _read(os.path.realpath(variants[0].file))
    try:
        return text is not None and any(_has_entry(text, variant) for variant in variants)
    except ConfigError:
        return False


def connect(change: Change, variants: Sequence[Change] = ()) -> ChangeResult:
    """Put the entry into the file, and keep the previous text in a backup.

    `variants` are all changes that groundwire may have made to this file before: the backup holds the text
    from before the first of them.
    """
    file = os.path.realpath(change.file)
    current = _read(file)
    if current is not None and _has_entry(current, change):
        return "already there"
    edited = _edited(current or "", change)
    backup = Backup(file)
    changed = current is not None and any(_entry(current, one) is not None for one in (change, *variants))
    if not backup.exists or not changed:
        backup.save(current)
    if _read(file) != current:
        raise ConfigError(f"{change.file} was changed by another program just now; try again")
    write_shared(file, edited)
    return "written"


def undo(variants: Sequence[Change]) -> ChangeResult:
    """Undo whichever of these changes were made to one file.

    If no other program has written to the file since, every byte is restored; otherwise only the entry is
    removed.
    """
    file = os.path.realpath(variants[0].file)
    current, backup = _read(file), Backup(file)
    if current is None:
        backup.discard()
        return "not there"
    old = backup.text()
    result: ChangeResult
    if backup.exists and current in _possible_results(old or "", [*variants, *_as_found(current, variants)]):
        result = "removed" if old is None else "restored"
        delete(file) if old is None else write_shared(file, old)
    else:
        result = _remove_entries(file, current, old, variants)
    backup.discard()
    return result


def _read(path: str) -> str | None:
    return read_text(path, _MAX_SIZE, keep_bom=True)


def _as_found(current: str, variants: Sequence[Change]) -> Iterator[Change]:
    """The same changes with the entries in the file: they may have been made for another gateway."""
    for change in {variant.path: variant for variant in variants}.values():
        found = _entry(current, change)
        if found not in (None, change.entry) and (change.form != "whole" or _differs_in_url(found, change)):
            yield replace(change, entry=found)


def _differs_in_url(found: Json, change: Change) -> bool:
    """Was this whole file written for another gateway?"""
    return _URL.sub("", str(found)) == _URL.sub("", str(change.entry))


def _possible_results(old: str, variants: Sequence[Change]) -> Iterator[str]:
    """The texts that our changes can have made of a text: one entry at each path, in any order."""
    paths = {variant.path for variant in variants}
    for count in range(1, len(paths) + 1):
        for chosen in permutations(variants, count):
            if len({variant.path for variant in chosen}) == count:
                yield reduce(_edited, chosen, old)


def _remove_entries(file: str, current: str, old: str | None, variants: Sequence[Change]) -> ChangeResult:
    text = current
    for change in {variant.path: variant for variant in variants}.values():
        found = _entry(text, change)
        entries = [variant.entry for variant in variants if variant.path == change.path]
        whole = change.form == "whole" and _differs_in_url(found, change)
        if found is None or not (isinstance(found, dict) or found in entries or whole):
            continue
        if change.form == "whole":
            delete(file)
            return "removed"
        text = _without_entry(text, old or "", change)
    if text == current:
        return "not there"
    write_shared(file, text)
    return "taken out"


def _edited(text: str, change: Change) -> str:
    bom, text = _split_bom(text)
    if change.form == "whole":
        return str(change.entry)
    with_entry = _put(text, change, change.entry)
    if _entry(with_entry, change) != change.entry:
        raise ConfigError(f"{change.file} cannot be edited safely; add the entry by hand")
    return bom + with_entry


def _put(text: str, change: Change, entry: Json) -> str:
    if change.form == "toml" and isinstance(entry, dict):
        return toml_edit.put(text, change.path, entry, change.file)
    if change.form == "env":
        return env_edit.put(text, change.path[0], str(entry))
    with _naming(change.file):
        return _EDITORS[change.form].put(text, change.path, entry)


def _without_entry(text: str, old: str, change: Change) -> str:
    """The text with the previous value in the entry's place, or without it."""
    bom, text = _split_bom(text)
    former = _entry(old, change)
    if former is not None:
        return bom + _put(text, change, former)
    if change.form == "toml":
        return bom + toml_edit.remove(text, change.path, change.file)
    if change.form == "env":
        return bom + env_edit.remove(text, change.path[0])
    with _naming(change.file):
        kept = next(
            (depth for depth, _ in enumerate(change.path) if _at(old, change, depth + 1) is None),
            len(change.path),
        )
        return bom + _EDITORS[change.form].remove(text, change.path, kept)


def _has_entry(text: str, change: Change) -> bool:
    """Does the file hold the entry, perhaps with further members?"""
    found = _entry(text, change)
    if isinstance(found, dict) and isinstance(change.entry, dict):
        return all(name in found and found[name] == item for name, item in change.entry.items())
    return found == change.entry


def _entry(text: str, change: Change) -> Json:
    if change.form == "whole":
        return text or None
    if change.form == "toml":
        return toml_edit.table_at(_split_bom(text)[1], change.path, change.file)
    if change.form == "env":
        return env_edit.value_of(_split_bom(text)[1], change.path[0])
    with _naming(change.file):
        return _at(text, change, len(change.path))


def _at(text: str, change: Change, depth: int) -> Json:
    """The value at the first names of the path of a change."""
    return _EDITORS[change.form].value_at(_split_bom(text)[1], change.path[:depth])


def _split_bom(text: str) -> tuple[str, str]:
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Add the path of the file to errors about its text."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{file}: {error.message}; correct it, and try again") from None
