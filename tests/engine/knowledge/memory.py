"""An index in memory: pages in a dictionary, ranked by the number of shared words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from groundwire.engine.index.base import PageInfo, Stats, Stored
from groundwire.engine.pages import Page, Passage
from groundwire.engine.words import tokenize
from groundwire.errors import ConfigError
from groundwire.model import SearchOptions

ANY = SearchOptions()


class MemoryIndex:
    """An index in memory whose writes can be made to fail, as on a full disk."""

    notice = ""

    def __init__(self) -> None:
        self.stored: dict[str, Page] = {}
        self.puts: list[int] = []
        self.fails_after = 1000
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True

    def put(self, pages: Iterable[Page]) -> Stored:
        if len(self.puts) >= self.fails_after:
            raise ConfigError("the disk is full")
        listed = list(pages)
        self.puts.append(len(listed))
        known = [self.stored.get(page.url) for page in listed]
        self.stored |= {page.url: page for page in listed}
        unchanged = sum(old == new for old, new in zip(known, listed, strict=True))
        added = known.count(None)
        return Stored(added=added, updated=len(listed) - added - unchanged, unchanged=unchanged)

    def remove(self, *, urls: Iterable[str] = (), collection: str = "") -> int:
        gone = {url for url in urls if url in self.stored}
        gone |= {url for url, page in self.stored.items() if collection and page.collection == collection}
        for url in gone:
            del self.stored[url]
        return len(gone)

    def page(self, url: str) -> Page | None:
        return self.stored.get(url)

    def words_with_prefix(self, prefix: str) -> list[tuple[str, int]]:
        words = Counter(word for page in self.stored.values() for word in set(tokenize(page.text)))
        return [(word, count) for word, count in words.items() if word.startswith(prefix)]

    def search(
        self,
        query: str,
        options: SearchOptions = ANY,
        limit: int = 20,
    ) -> list[Passage]:
        words = set(re.findall(r"\w+", query.lower()))
        scored = [
            (len(words & set(re.findall(r"\w+", page.text.lower()))), page) for page in self.stored.values()
        ]
        best = sorted((item for item in scored if item[0]), key=lambda item: -item[0])
        return [
            Passage(page.url, page.title, page.text, 0, score, language=page.language)
            for score, page in best[:limit]
        ]

    def pages(self, collection: str = "", prefix: str = "") -> Iterator[PageInfo]:
        for page in list(self.stored.values()):
            if page.url.startswith(prefix) and collection in ("", page.collection):
                yield PageInfo(page.url, page.title, page.collection, len(page.text))

    def stats(self) -> Stats:
        return Stats(len(self.stored), len(self.stored), 0)

    def passage_store(self) -> None:
        """It has no vectors."""
