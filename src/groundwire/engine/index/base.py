"""The protocol of an index. Calls block: callers with an event loop use a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from groundwire.engine.dense.encoder import SentenceEncoder
from groundwire.engine.dense.stored_vectors import VectorSink, VectorSource
from groundwire.engine.dense.texts import VectorKey
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
    vectors: tuple[tuple[str, int], ...] = ()
    """Each encoder with the number of passages that have a vector of it."""


class StoredText(NamedTuple):
    """What is encoded of a passage."""

    text: str
    language: str
    """Empty if it is not known."""
    url: str
    """The address of its page."""


class PassageStore(Protocol):
    """Passages by the keys of their vectors, and these vectors."""

    @property
    def folder(self) -> Path:
        """The folder of the index on this machine; encoders keep prepared files next to it."""
        ...

    def has_vectors(self, encoder: str) -> bool:
        """Are there vectors of passages that an encoder with this name made? Cheap."""
        ...

    def vector_source(self, encoder: SentenceEncoder, what: str) -> VectorSource:
        """The vectors of an encoder: of `PASSAGES` or `PHRASES`."""
        ...

    def writing_vectors(self, encoder: SentenceEncoder, what: str) -> AbstractContextManager[VectorSink]:
        """Writes vectors, as the only one; raises `TimedOut` while another process does."""
        ...

    def texts(self) -> Iterator[StoredText]:
        """What is encoded of all passages that have text, the newest first."""
        ...

    def passages(
        self, scored: Sequence[tuple[VectorKey, float]], options: SearchOptions, limit: int
    ) -> list[Passage]:
        """The passages with these vectors and scores that a search may return, best first, by the rules of
        `Index.search`."""
        ...

    def admitted_keys(self, options: SearchOptions, limit: int) -> list[VectorKey]:
        """The keys of some passages that the filters admit, at most `limit`."""
        ...


class Index(Protocol):
    """Stores pages by URL and searches their passages. One writer at a time, any number of readers."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def close(self) -> None:
        """Closes files and connections."""
        ...

    @property
    def notice(self) -> str:
        """What happened when it was opened, for the user; empty if nothing did."""
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

    def passage_store(self) -> PassageStore | None:
        """Passages by the keys of their vectors; None if the index cannot have vectors next to it."""
        ...
