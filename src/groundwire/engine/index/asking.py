"""What to search for when something is asked of one view.

Reading a question and looking its words up costs as much as searching a small index for them. What was made
of the latest questions is kept as long as the view is, in case they are asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from tantivy import Query

from groundwire.engine.index.matching import Matching, is_limited
from groundwire.engine.index.question import LONGEST, read_question
from groundwire.model import SearchOptions

Asking: TypeAlias = Callable[[str, SearchOptions], Iterable[Query]]
"""The queries for what was typed, one after the other, until enough is found."""

_REMEMBERED = 256
_NO_LIMITS = SearchOptions()


def asking(matching: Matching) -> Asking:
    """Asking in what a searcher sees. Questions with limits are read each time: they vary too much."""

    @lru_cache(_REMEMBERED)
    def unlimited(query: str) -> tuple[Query, ...]:
        return tuple(matching.queries(read_question(query), _NO_LIMITS))

    def queries(query: str, options: SearchOptions) -> Iterable[Query]:
        if is_limited(options):
            return matching.queries(read_question(query), options)
        return unlimited(query[:LONGEST])

    return queries
