"""Which of the hits are shown: of the allowed addresses, a few for each page, nothing twice.

Pages of the same words, and passages of the same words on different pages, are shown once, where they
score best. This is decided when searching, not when storing: a mirror is needed when its original is blocked.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial

from groundwire.engine.index.passages import PARTED
from groundwire.engine.pages import Passage
from groundwire.model import SearchOptions, Source
from groundwire.text.domains import admits

PER_PAGE = 3
_PARTINGS = 8


def selected(
    hits: Iterable[tuple[float, str]], options: SearchOptions, limit: int, gone: Container[str]
) -> list[Passage]:
    """Of scores and what is kept of the passages, best first, those to show; no more is taken than needed.

    Scores are told as they are: a passage with all the words may score below a later one with some.
    """
    passages: list[Passage] = []
    shown_of_page: dict[str, int] = {}
    page_of_words: dict[str, str] = {}
    words_shown: set[str] = set()
    may_show = _admission(options)
    for score, kept in hits:
        page, page_words, words, start, url, title, published, language, text = kept.split(PARTED, _PARTINGS)
        shown = shown_of_page.get(page, 0)
        if (
            words in words_shown
            or shown >= PER_PAGE
            or page_of_words.get(page_words, page) != page
            or page in gone
            or not (may_show is None or may_show(Source(url)))
        ):
            continue
        shown_of_page[page] = shown + 1
        page_of_words[page_words] = page
        words_shown.add(words)
        passages.append(Passage(url, title, text, int(start), score, published, language))
        if len(passages) >= limit:
            break
    return passages


def _admission(options: SearchOptions) -> Callable[[Source], bool] | None:
    """Hosts were matched when searching; paths are not indexed."""
    has_paths = any("/" in entry for entry in options.allowed_domains + options.blocked_domains)
    return partial(admits, options) if has_paths else None
