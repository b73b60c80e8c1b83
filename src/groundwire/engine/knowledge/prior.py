"""Who is meant when many could be: what most questions are about comes before what few have heard of.

A question in plain words fits the methods of seldom used modules as well as it fits what everybody uses;
words alone do not tell them apart. Pages that somebody has added, and all others, stand as they are found.
"""

from __future__ import annotations

from pathlib import Path

from groundwire.engine.data_files import data_words
from groundwire.engine.index.base import Index
from groundwire.engine.knowledge.inventory import BASE_URL, CORE_MODULES, PART_OF, module_url
from groundwire.engine.pages import Passage
from groundwire.model import SearchOptions
from groundwire.model.value import replace

_RARELY_USED = frozenset(data_words(Path(__file__).parent, "rarely_used_pages"))
_LIBRARY = f"{BASE_URL}library/"
_PART = f" — {PART_OF}"
_PACKAGE = " — Python package"
_SELDOM_WORTH = 0.8
_OTHERS_WORTH = 0.92
_WIDER = 3
"""So many more passages are looked at than are asked for."""
_LEEWAY = 10
"""Places; the more, the further down the first ones may go."""


def search_with_prior(index: Index, query: str, options: SearchOptions, limit: int) -> list[Passage]:
    """The passages that answer best, at most `limit`; what is often meant before what seldom is."""
    placed: list[tuple[float, Passage]] = []
    for place, passage in enumerate(index.search(query, options, _WIDER * limit)):
        worth = page_prior(passage.url, passage.title)
        placed.append(((place + _LEEWAY) / worth, replace(passage, score=passage.score * worth)))
    placed.sort(key=lambda item: item[0])
    return [passage for _, passage in placed[:limit]]


def page_prior(url: str, title: str) -> float:
    """What a page counts among others that fit as well; at most 1."""
    if url.startswith(_LIBRARY):
        page = url.removeprefix(_LIBRARY).partition(".html")[0]
        return 1.0 if page in _USUAL else _SELDOM_WORTH if page in _RARELY_USED else _OTHERS_WORTH
    if _PART in title:
        return _SELDOM_WORTH
    return _OTHERS_WORTH if title.endswith(_PACKAGE) else 1.0


def _page_of(module: str) -> str:
    return module_url(module).removeprefix(_LIBRARY).partition(".html")[0]


_USUAL = frozenset(map(_page_of, CORE_MODULES)) | {"stdtypes", "exceptions"}
