"""The protocol of an index. Calls block: callers with an event loop use a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self

from groundwire.engine.pages import Page, Passage
from groundwire.model import SearchOptions
from groundwire.model.value import field_names, value


@value
class Stored:
    """Counts of the pages that `put` stored."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    """Pages with the words of a page under another URL; searches show one of them."""

    def __add__(self, other: Stored) -> Stored:
        return Stored(*(getattr(self, name) + getattr(other, name) for name in field_names(Stored)))


@value
class PageInfo:
    """A page without its text, for listings."""

    url: str
    title: str
    collection: str
    characters: int
    published: str = ""
    language: str = ""


@value
class Stats:
    """Size of an index."""

    pages: int
    passages: int
    bytes_on_disk: int
    collections: tuple[tuple[str, int], ...] = ()
    """Each collection with its number of pages."""
    format: int = 0


class Index(Protocol):
    """Stores pages by URL and searches their passages. One writer at a time, any number of readers."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def close(self) -> None:
        """Closes files and connections."""
        ...

    def put(self, pages: Iterable[Page]) -> Stored:
        """Adds or updates pages. When this returns they survive a crash, and every later search sees them."""
        ...

    def remove(self, *, urls: Iterable[str] = (), collection: str = "") -> int:
        """Removes pages by URL, or a whole collection; returns their number."""
        ...

    def page(self, url: str) -> Page | None:
        """The page as it was stored, by its URL or the URL of one of its sections; None if there is none."""
        ...

    def words_with_prefix(self, prefix: str) -> list[tuple[str, int]]:
        """The words of all passages that begin with a prefix, and how many passages have each; empty if the
        index cannot list its words."""
        ...

    def search(self, query: str, options: SearchOptions = ..., limit: int = 20) -> list[Passage]:
        """Best passages first. Domain lists and dates of the options are honoured. Quotation marks ask for a
        phrase, a trailing `*` for a prefix."""
        ...

    def pages(self, collection: str = "", prefix: str = "") -> Iterator[PageInfo]:
        """Lists the stored pages, sorted by URL."""
        ...

    def stats(self) -> Stats:
        """Counts pages, passages and bytes."""
        ...
