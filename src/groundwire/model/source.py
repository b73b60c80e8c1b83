"""Where a claim comes from: sources, and the citations that bind them to a span of the answer."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, NamedTuple, TypeAlias

from groundwire.model.extras import NO_EXTRAS, Extras, JsonObject, frozen_extras
from groundwire.model.value import value

SourceState: TypeAlias = Literal["retrieved", "opened", "cited"]
"""retrieved: a search listed it; opened: the page was read; cited: the answer cites it."""

Anchor: TypeAlias = Literal["claim", "marker"]
"""claim: the span is the supported statement; marker: the span is a link or symbol in place of the source,
and is replaced when the answer is rendered with numbered sources."""

MAX_EVIDENCE = 10_000
"""Limit of citations of one answer or message, counted by source: a citation of three sources counts three.
Answers of providers have some hundreds; more than this is not kept."""

EvidenceKey: TypeAlias = tuple[Hashable, ...]


class Span(NamedTuple):
    """A range of the whole answer text in code points, end exclusive.

    `start == end` is a point: the claim ends here, and its beginning is unknown.
    """

    start: int
    end: int


@value
class Source:
    """A page, as a provider named it. `url` is verbatim, and empty for sources that have only a title."""

    url: str
    title: str = ""
    state: SourceState = "retrieved"
    excerpts: tuple[str, ...] = ()
    """Text of the page, never text of the answer."""
    date: str = ""
    """Age or date as the provider wrote it."""
    domain: str = ""
    """As given by the provider, where the URL does not show it (redirects)."""
    extras: Extras = NO_EXTRAS


@value
class Evidence:
    """One source of a citation, and the quoted passage (page text, or empty)."""

    source: Source
    quote: str = ""
    """Text of the page, or empty."""
    confidence: float | None = None
    """Confidence that the provider reports."""
    extras: Extras = NO_EXTRAS


@value
class Citation:
    """A span of the answer and its evidence. Without a span it applies to the whole answer."""

    span: Span | None
    """The cited range of the answer text; None for the whole answer."""
    evidence: tuple[Evidence, ...]
    """The sources that support it."""
    anchor: Anchor = "claim"
    """Whether the span is a claim or a marker."""


def evidence_key(item: Evidence) -> EvidenceKey:
    """Hashable, and equal for equal evidence: finds duplicates without comparing each with each."""
    source = item.source
    return (
        source.url,
        source.title,
        source.state,
        source.excerpts,
        source.date,
        source.domain,
        item.quote,
        item.confidence,
        frozen_extras(source.extras),
        frozen_extras(item.extras),
    )


_RANK: dict[SourceState, int] = {"retrieved": 0, "opened": 1, "cited": 2}


class SourceMerge:
    """Merges several mentions of one page into one source.

    The first mention gives the value; later ones fill empty fields and add their excerpts. The source is
    created once, at the end: a page may be mentioned thousands of times.
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
        """Add another mention of the page."""
        self._merged = True
        self._title = self._title or other.title
        self._state = max(self._state, other.state, key=_RANK.__getitem__)
        self._excerpts.update(dict.fromkeys(other.excerpts))
        self._date = self._date or other.date
        self._domain = self._domain or other.domain
        if with_extras and other.extras:
            self._add_extras(other.extras)

    def source(self) -> Source:
        """The merged source."""
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
        """Add extras; the first value of a key wins."""
        if self._extras is None:
            self._extras = {name: dict(held) for name, held in self._first.extras.items()}
        for name, held in extras.items():
            known = self._extras.setdefault(name, {})
            for key, item in held.items():
                known.setdefault(key, item)
