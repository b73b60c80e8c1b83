"""Which of the hits are shown: of the allowed addresses, a few for each page, nothing twice.

Pages of the same words, and passages of the same words on different pages, are shown once, where they
score best. This is decided when searching, not when storing: a mirror is needed when its original is blocked.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial
from itertools import chain
from typing import TypeAlias

from groundwire.engine.index.passages import PARTED
from groundwire.engine.pages import Passage
from groundwire.model import SearchOptions, Source
from groundwire.text.domains import admits

Hit: TypeAlias = tuple[float, str]
"""A score, and what is kept of the passage."""

PER_PAGE = 3
_PARTINGS = 8


def selected(
    portions: Iterable[list[Hit]], options: SearchOptions, limit: int, gone: Container[str]
) -> list[Passage]:
    """Of what was found, best first, what to show; no more portions are taken than needed.

    Scores are told as they are: a passage with all the words may score below a later one with some.
    """
    passages: list[Passage] = []
    shown: dict[str, list[str]] = {}  # by the words of a page: the page that is shown, as often as it is
    words_shown: set[str] = set()
    may_show = _admission(options)
    for score, kept in chain.from_iterable(portions):
        page, page_words, words, start, url, title, published, language, text = kept.split(PARTED, _PARTINGS)
        if words in words_shown or page in gone or not (may_show is None or may_show(Source(url))):
            continue
        shown_here = shown.get(page_words)
        if shown_here is None:
            shown[page_words] = [page]
        elif page in shown_here and len(shown_here) < PER_PAGE:
            shown_here.append(page)
        else:
            continue
        words_shown.add(words)
        passages.append(Passage(url, title, text, int(start), score, published, language))
        if len(passages) >= limit:
            break
    return passages


def _admission(options: SearchOptions) -> Callable[[Source], bool] | None:
    """Hosts were matched when searching; paths are not indexed."""
    entries = options.allowed_domains + options.blocked_domains
    return partial(admits, options) if entries and any("/" in entry for entry in entries) else None
