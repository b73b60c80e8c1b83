"""Ranking prior: pages of widely used modules rank above equally good matches in rarely used ones.

A question in plain words matches methods of rarely used modules as well as widely used ones. Pages that the
user added keep their rank.
"""

from __future__ import annotations

from pathlib import Path

from groundwire.engine.data_files import data_words
from groundwire.engine.index.base import Index
from groundwire.engine.knowledge.addresses import library_page, local_address
from groundwire.engine.knowledge.inventory import CORE_MODULES, PART_OF
from groundwire.engine.pages import Passage
from groundwire.model import SearchOptions
from groundwire.model.value import replace

_RARELY_USED = frozenset(data_words(Path(__file__).parent, "rarely_used_pages"))
_PART = f" — {PART_OF}"
_PACKAGE = " — Python package"
_RARE_PRIOR = 0.8
_OTHER_PRIOR = 0.92
"""Priors of rarely used pages, and of pages that are neither core nor rare. Chosen by hand."""
_CANDIDATES = 3
"""Passages that are searched for each one that is returned. Chosen."""
_RANK_OFFSET = 10
"""Added to the rank before it is divided by the prior: the more, the further the first hits may fall.
Chosen."""


def search_with_prior(index: Index, query: str, options: SearchOptions, limit: int) -> list[Passage]:
    """Searches the index and re-ranks the passages by the prior of their pages; at most `limit`."""
    ranked: list[tuple[float, Passage]] = []
    for rank, passage in enumerate(index.search(query, options, _CANDIDATES * limit)):
        prior = page_prior(passage.url, passage.title)
        ranked.append(((rank + _RANK_OFFSET) / prior, replace(passage, score=passage.score * prior)))
    ranked.sort(key=lambda item: item[0])
    return [passage for _, passage in ranked[:limit]]


def page_prior(url: str, title: str) -> float:
    """The prior of a page, at most 1."""
    if page := library_page(url, title):
        return 1.0 if page in _CORE_PAGES else _RARE_PRIOR if page in _RARELY_USED else _OTHER_PRIOR
    if _PART in title:
        return _RARE_PRIOR
    return _OTHER_PRIOR if title.endswith(_PACKAGE) else 1.0


_CORE_PAGES = frozenset(library_page(local_address(name), name) for name in CORE_MODULES) | {
    *("functions", "stdtypes", "exceptions")
}
