"""Several mentions of one page become one source."""

from __future__ import annotations

from groundwire.model.extras import Extras, JsonObject
from groundwire.model.source import Source, SourceState

_RANK: dict[SourceState, int] = {"retrieved": 0, "opened": 1, "cited": 2}


class SourceMerge:
    """The first mention gives the value; later ones fill what it left open and add their excerpts.

    Mentions are collected, and the source is made once: a page may be mentioned thousands of times.
    """

    __slots__ = ("_date", "_domain", "_excerpts", "_extras", "_first", "_merged", "_state", "_title")

    def __init__(self, first: Source) -> None:
        self._first = first
        self._title = first.title
        self._state = first.state
        self._excerpts = dict.fromkeys(first.excerpts)
        self._date = first.date
        self._domain = first.domain
        self._extras: dict[str, JsonObject] | None = None
        self._merged = False

    def add(self, other: Source, *, with_extras: bool = True) -> None:
        """Another mention of the page."""
        self._merged = True
        self._title = self._title or other.title
        self._state = max(self._state, other.state, key=_RANK.__getitem__)
        self._excerpts.update(dict.fromkeys(other.excerpts))
        self._date = self._date or other.date
        self._domain = self._domain or other.domain
        if with_extras and other.extras:
            self._add_extras(other.extras)

    def source(self) -> Source:
        """The page with everything that was said of it."""
        if not self._merged:
            return self._first
        return Source(
            self._first.url,
            self._title,
            self._state,
            tuple(self._excerpts),
            self._date,
            self._domain,
            self._first.extras if self._extras is None else self._extras,
        )

    def _add_extras(self, extras: Extras) -> None:
        """What was said first holds."""
        if self._extras is None:
            self._extras = {name: dict(held) for name, held in self._first.extras.items()}
        for name, held in extras.items():
            known = self._extras.setdefault(name, {})
            for key, value in held.items():
                known.setdefault(key, value)
