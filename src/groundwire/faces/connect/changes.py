"""One change to one file of another program: made, found, and taken back.

Every edit is checked by reading the result again: the file must say what it said before, and the entry.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import permutations
from typing import Literal, TypeAlias

from groundwire.errors import ConfigError
from groundwire.faces.connect.files import Before, delete, read, write
from groundwire.files import env_edit, json_edit, toml_edit
from groundwire.model import Json
from groundwire.model.value import replace, value

Form: TypeAlias = Literal["json", "toml", "env", "whole"]
Outcome: TypeAlias = Literal["written", "already there", "restored", "removed", "taken out", "not there"]

_MARK = "\ufeff"


@value
class Change:
    """An entry at a path of names in a file; a `whole` file is its entry."""

    file: str
    form: Form
    path: tuple[str, ...]
    entry: Json


def snippet(change: Change) -> str:
    """The entry as it would stand in a file of its own."""
    return _edited("", change)


def connect(change: Change, variants: Sequence[Change] = ()) -> Outcome:
    """Put the entry into the file. What was there before is kept beside it until it is taken back.

    `variants` are all changes that may have been made to this file: what was there before is what was there
    before any of them.
    """
    file = os.path.realpath(change.file)
    current = read(file)
    if current is not None and _says(current, change):
        return "already there"
    edited = _edited(current or "", change)
    before = Before(file)
    changed = current is not None and any(_entry(current, one) is not None for one in (change, *variants))
    if not before.known or not changed:
        before.keep(current)
    if read(file) != current:
        raise ConfigError(f"{change.file} was changed by somebody else just now; try again")
    write(file, edited)
    return "written"


def undo(variants: Sequence[Change]) -> Outcome:
    """Put back what was there before any of these changes to one file.

    If the file is as we left it, every byte is as before; if others wrote to it since, only the entry goes.
    """
    file = os.path.realpath(variants[0].file)
    current, before = read(file), Before(file)
    if current is None:
        before.forget()
        return "not there"
    old = before.text()
    outcome: Outcome
    if before.known and current in _results(old or "", [*variants, *_as_found(current, variants)]):
        outcome = "removed" if old is None else "restored"
        delete(file) if old is None else write(file, old)
    else:
        outcome = _take_out(file, current, old, variants)
    before.forget()
    return outcome


def _as_found(current: str, variants: Sequence[Change]) -> Iterator[Change]:
    """The same changes with the entries that are there: they may have been made for another gateway."""
    for change in {variant.path: variant for variant in variants}.values():
        found = _entry(current, change)
        if found is not None and change.form != "whole":
            yield replace(change, entry=found)


def _results(old: str, variants: Sequence[Change]) -> Iterator[str]:
    """What a text can have become by our hands: one entry at each path, in any order."""
    paths = {variant.path for variant in variants}
    for count in range(1, len(paths) + 1):
        for chosen in permutations(variants, count):
            if len({variant.path for variant in chosen}) == count:
                yield reduce(_edited, chosen, old)


def _take_out(file: str, current: str, old: str | None, variants: Sequence[Change]) -> Outcome:
    text = current
    for change in {variant.path: variant for variant in variants}.values():
        found = _entry(text, change)
        entries = [variant.entry for variant in variants if variant.path == change.path]
        if found is None or not (isinstance(found, dict) or found in entries):
            continue
        if change.form == "whole":
            delete(file)
            return "removed"
        text = _removed(text, old or "", change)
    if text == current:
        return "not there"
    write(file, text)
    return "taken out"


def _edited(text: str, change: Change) -> str:
    mark, text = _unmarked(text)
    if change.form == "whole":
        return str(change.entry)
    with_entry = _put(text, change, change.entry)
    if _entry(with_entry, change) != change.entry:
        raise ConfigError(f"{change.file} cannot be edited safely; add the entry by hand")
    return mark + with_entry


def _put(text: str, change: Change, entry: Json) -> str:
    if change.form == "toml" and isinstance(entry, dict):
        return toml_edit.put(text, change.path, entry, change.file)
    if change.form == "env":
        return env_edit.put(text, change.path[0], str(entry))
    with _placed(change.file):
        return json_edit.put(text, change.path, entry)


def _removed(text: str, old: str, change: Change) -> str:
    """The text with what used to stand in the entry's place, or without it."""
    mark, text = _unmarked(text)
    former = _entry(old, change)
    if former is not None:
        return mark + _put(text, change, former)
    if change.form == "toml":
        return mark + toml_edit.remove(text, change.path, change.file)
    if change.form == "env":
        return mark + env_edit.remove(text, change.path[0])
    with _placed(change.file):
        kept = next(
            (depth for depth, _ in enumerate(change.path) if _at(old, change.path[: depth + 1]) is None),
            len(change.path),
        )
        return mark + json_edit.remove(text, change.path, kept)


def _says(text: str, change: Change) -> bool:
    """Is the entry there already, perhaps with more in it?"""
    found = _entry(text, change)
    if isinstance(found, dict) and isinstance(change.entry, dict):
        return all(name in found and found[name] == item for name, item in change.entry.items())
    return found == change.entry


def _entry(text: str, change: Change) -> Json:
    if change.form == "whole":
        return text or None
    if change.form == "toml":
        return toml_edit.table_at(_unmarked(text)[1], change.path, change.file)
    if change.form == "env":
        return env_edit.value_of(_unmarked(text)[1], change.path[0])
    with _placed(change.file):
        return _at(text, change.path)


def _at(text: str, path: Sequence[str]) -> Json:
    return json_edit.value_at(_unmarked(text)[1], path)


def _unmarked(text: str) -> tuple[str, str]:
    return (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)


@contextmanager
def _placed(file: str) -> Iterator[None]:
    """Name the file in what is said about its text."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{file}: {error.message}; correct it, and try again") from None
