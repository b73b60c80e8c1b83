"""Sources, and the citations that attach them to spans of the answer."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, NamedTuple, TypeAlias

from groundwire.model.extras import NO_EXTRAS, Extras, frozen_extras
from groundwire.model.value import value

SourceState: TypeAlias = Literal["retrieved", "opened", "cited"]
"""`retrieved`: a search found it; `opened`: the provider read the page; `cited`: the answer cites it."""

Anchor: TypeAlias = Literal["claim", "marker"]
"""`claim`: the span is the supported statement; `marker`: the span is a link or a marker such as `[1]` that
represents the source, and is replaced when the answer is rendered with its own numbers."""

MAX_EVIDENCE = 10_000
"""Citations of one answer or message, counted by source: a citation of three sources counts three. Answers of
providers have some hundreds; more than this is not kept."""

EvidenceKey: TypeAlias = tuple[Hashable, ...]


class Span(NamedTuple):
    """A range of the answer text in code points, end exclusive.

    `start == end` is a point: the claim ends here, and its beginning is unknown.
    """

    start: int
    end: int


@value
class Source:
    """A web page that a provider named. `url` is unchanged, and empty for feeds that have only a name."""

    url: str
    title: str = ""
    state: SourceState = "retrieved"
    excerpts: tuple[str, ...] = ()
    """Passages of the page, never text of the answer."""
    date: str = ""
    """Age or date of the page, as the provider writes it."""
    domain: str = ""
    """Domain that the provider reports, if the URL does not show it (redirects)."""
    extras: Extras = NO_EXTRAS


@value
class Evidence:
    """One source of a citation, with the quoted passage of its page, if the provider quoted one."""

    source: Source
    quote: str = ""
    """Text of the page, or empty."""
    confidence: float | None = None
    """Confidence that the provider reports."""
    extras: Extras = NO_EXTRAS


@value
class Citation:
    """A span of the answer and its evidence. Without a span, it applies to the whole answer."""

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
