"""Which of the hits are shown: of the allowed addresses, a few for each page, nothing twice.

Pages of the same words, and passages of the same words on different pages, are shown once, where they
score best. This is decided when searching, not when storing: a mirror is needed when its original is blocked.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.engine.index.cut import trimmed
from groundwire.engine.index.records import Hit
from groundwire.engine.pages import Passage
from groundwire.model import SearchOptions, Source
from groundwire.text.domains import admits

PER_PAGE = 3


class Selection:
    """Takes hits as they come, best first, and keeps those to show."""

    def __init__(self, options: SearchOptions, limit: int) -> None:
        self.passages: list[Passage] = []
        self._limit = limit
        self._options = options
        # Hosts were matched when searching; paths are not indexed.
        self._has_paths = any("/" in entry for entry in options.allowed_domains + options.blocked_domains)
        self._passage_words: set[int] = set()
        self._shown: dict[int, int] = {}
        self._page_words: dict[int, int] = {}

    @property
    def missing(self) -> int:
        """How many more could be shown."""
        return self._limit - len(self.passages)

    def offer(self, hits: Mapping[int, float], known: Mapping[int, Hit]) -> None:
        """Show of these hits, best first, those for which there is place."""
        for passage, score in hits.items():
            hit = known.get(passage)
            if hit is not None:
                self._consider(hit, score)
                if len(self.passages) >= self._limit:
                    return

    def _consider(self, hit: Hit, score: float) -> None:
        start, text, words, page, page_words, url, title, published, language = hit
        shown = self._shown.get(page, 0)
        if (
            shown >= PER_PAGE
            or words in self._passage_words
            or self._page_words.get(page_words, page) != page
        ):
            return
        if self._has_paths and not admits(self._options, Source(url)):
            return
        self._shown[page] = shown + 1
        self._page_words[page_words] = page
        self._passage_words.add(words)
        # A passage with all the words may score below one with some: its place in the list counts.
        if self.passages and self.passages[-1].score < score:
            score = self.passages[-1].score
        before, text = trimmed(text)
        self.passages.append(Passage(url, title, text, start + before, score, published, language))
