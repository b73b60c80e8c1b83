"""The searchable part beside the page store: opened, checked, brought up to date, made anew.

The store notes in which folder it is, by which analysis it was made, up to which page it goes and how many
passages it then held. A folder that is missing, cannot be read or does not hold that many is not repaired:
another one is made from the pages.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from groundwire.engine.index import records
from groundwire.engine.index.analysis import ANALYSIS
from groundwire.engine.index.passages import BROKEN, Passages, Pieces
from groundwire.model.value import replace

_PAGES_AT_ONCE = 10_000
_NAME = "passages-{}"
_LEFT_OVER = "FileAlreadyExists"


def folder_of(folder: Path, store: sqlite3.Connection) -> Path:
    """Where the searchable part is."""
    return folder / _NAME.format(records.state_of(store).folder)


def open_passages(folder: Path, store: sqlite3.Connection) -> Passages | None:
    """The searchable part as the store describes it; None where it must be made anew."""
    state = records.state_of(store)
    found = folder_of(folder, store)
    if state.analysis != ANALYSIS or not (found / "meta.json").is_file():
        return None
    try:
        passages = Passages(found)
        held = passages.searcher().num_docs
    except BROKEN:
        return None
    complete = not is_behind(store)
    return None if complete and held != records.state_of(store).passages else passages


def is_behind(store: sqlite3.Connection) -> bool:
    """Is there something stored that is not searchable, or the reverse?"""
    return records.last_id(store) > records.state_of(store).indexed or bool(records.gone(store))


def make_passages(folder: Path, store: sqlite3.Connection) -> Passages:
    """An empty searchable part in a folder of its own; the writer's lock is held."""
    number = records.state_of(store).folder + 1
    fresh = folder / _NAME.format(number)
    shutil.rmtree(fresh, ignore_errors=True)
    passages = Passages(fresh)
    with records.transaction(store):
        records.set_state(store, records.State(number, ANALYSIS, 0, 0))
        records.forget_gone(store, records.gone(store))
    for other in folder.glob(_NAME.format("*")):
        if other != fresh:
            shutil.rmtree(other, ignore_errors=True)
    return passages


def brought_up(folder: Path, store: sqlite3.Connection, passages: Passages, unsure: int) -> Passages:
    """Passages with all that is stored; the writer's lock is held.

    A writer that was killed while it committed leaves files of names that the next one wants: then another
    folder is made.
    """
    try:
        catch_up(store, passages, unsure)
    except ValueError as error:
        if _LEFT_OVER not in str(error):
            raise
        passages = make_passages(folder, store)
        catch_up(store, passages, 0)
    return passages


def catch_up(store: sqlite3.Connection, passages: Passages, unsure: int) -> None:
    """Make searchable what is stored, and only that; the writer's lock is held.

    Of pages up to `unsure` an interrupted writer may have left passages.
    """
    while is_behind(store):
        state, removed = records.state_of(store), records.gone(store)
        pages = records.pages_after(store, state.indexed, _PAGES_AT_ONCE)
        with passages.writing() as writer:
            passages.remove(writer, removed)
            passages.remove(writer, (page for page in pages if page <= unsure))
            for page, pieces in records.pieces_of_pages(store, min(pages, default=0), max(pages, default=-1)):
                passages.add(writer, Pieces(page, *pages[page], tuple(pieces)))
        indexed = max(pages, default=state.indexed)
        held = passages.searcher().num_docs
        with records.transaction(store):
            records.set_state(store, replace(state, indexed=indexed, passages=held))
            records.forget_gone(store, removed)
