"""Opens, checks, updates and rebuilds the search index from the page table.

The page table records the folder of the search index, the version of its analysis, the last page it contains
and its number of passages. A folder that is missing, unreadable or incomplete is not repaired: the search
index is rebuilt in another folder.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from groundwire.engine.index import page_table
from groundwire.engine.index.search_index import ANALYSIS_VERSION, TANTIVY_ERRORS, PassageWriter, SearchIndex
from groundwire.model.value import replace

_PAGES_AT_ONCE = 10_000
_NAME = "passages-{}"
_LEFT_OVER = "FileAlreadyExists"


def search_index_folder(folder: Path, store: sqlite3.Connection) -> Path:
    """The folder of the current search index."""
    return folder / _NAME.format(page_table.state_of(store).folder)


def open_search_index(folder: Path, store: sqlite3.Connection) -> SearchIndex | None:
    """Opens the search index that the page table describes; None if it must be rebuilt."""
    state = page_table.state_of(store)
    found = search_index_folder(folder, store)
    if state.analysis != ANALYSIS_VERSION or not (found / "meta.json").is_file():
        return None
    try:
        passages = SearchIndex(found)
        held = passages.searcher().num_docs
    except TANTIVY_ERRORS:
        return None
    complete = not is_behind(store)
    return None if complete and held != page_table.state_of(store).passages else passages


def is_behind(store: sqlite3.Connection) -> bool:
    """Are there stored pages that are not indexed, or removed pages that are?"""
    return page_table.last_id(store) > page_table.state_of(store).indexed or bool(
        page_table.removed_pages(store)
    )


def is_of_another_version(store: sqlite3.Connection) -> bool:
    """Was the search index made by another version, with other terms or stored fields?"""
    return page_table.state_of(store).analysis not in (0, ANALYSIS_VERSION) and page_table.last_id(store) > 0


def create_search_index(folder: Path, store: sqlite3.Connection) -> SearchIndex:
    """Creates an empty search index in a new folder; the caller holds the write lock."""
    import shutil  # noqa: PLC0415  slow to import, and most processes only search

    number = page_table.state_of(store).folder + 1
    fresh = folder / _NAME.format(number)
    shutil.rmtree(fresh, ignore_errors=True)
    passages = SearchIndex(fresh)
    with page_table.transaction(store):
        page_table.set_state(store, page_table.IndexState(number, ANALYSIS_VERSION, 0, 0))
        page_table.clear_removed(store, page_table.removed_pages(store))
    for other in folder.glob(_NAME.format("*")):
        if other != fresh:
            shutil.rmtree(other, ignore_errors=True)
    return passages


def bring_up_to_date(
    folder: Path,
    store: sqlite3.Connection,
    passages: SearchIndex,
    unsure: int,
    added: PassageWriter | None = None,
) -> SearchIndex:
    """Indexes everything that is stored; the caller holds the write lock. `added` has the pages that were
    just stored, if all others are indexed already.

    A writer that was killed during a commit leaves files whose names the next one needs: then the index is
    rebuilt in another folder.
    """
    try:
        catch_up(store, passages, unsure, added)
    except ValueError as error:
        if _LEFT_OVER not in str(error):
            raise
        passages = create_search_index(folder, store)
        catch_up(store, passages, 0)
    return passages


def catch_up(
    store: sqlite3.Connection, passages: SearchIndex, unsure: int, added: PassageWriter | None = None
) -> None:
    """Indexes stored pages and removes removed ones; the caller holds the write lock.

    An interrupted writer may have left passages of pages up to `unsure`, which are deleted first.
    """
    while is_behind(store):
        state, removed = page_table.state_of(store), page_table.removed_pages(store)
        writer = added or passages.writer()
        if added is None:
            for page in page_table.pages_after(store, state.indexed, _PAGES_AT_ONCE):
                if page.id <= unsure:
                    writer.remove((page.id,))
                writer.add(page)
        writer.remove(removed)
        writer.commit()
        held = passages.searcher().num_docs
        with page_table.transaction(store):
            indexed = writer.last or state.indexed
            page_table.set_state(store, replace(state, indexed=indexed, passages=held))
            page_table.clear_removed(store, removed)
        added = None
