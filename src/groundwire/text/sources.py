"""Numbers sources: every page once, under all its URLs. A section of a page that has an address of its own
is a source of its own, so that a number leads to the place where the quote is."""

from __future__ import annotations

import math
from collections.abc import Iterable

from groundwire.model import Answer, Citation, Source
from groundwire.model.source import SourceMerge
from groundwire.model.value import value
from groundwire.text.domains import display_domain
from groundwire.text.urls import canonical_section, canonical_url


@value
class Numbering:
    """Sources in order; the first has number 1."""

    sources: tuple[Source, ...]
    _numbers: dict[str, int]

    def number(self, source: Source) -> int | None:
        """The number of a source, by any of its URLs."""
        return self._numbers.get(section_key(source))


class SourceNumberer:
    """Numbers sources in the order of their first use."""

    __slots__ = ("_numbers", "sources")

    def __init__(self) -> None:
        self.sources: list[Source] = []
        """The first has number 1."""
        self._numbers: dict[str, int] = {}

    def number(self, source: Source) -> int:
        """The number of a source; a new one if it has none."""
        key = section_key(source)
        if key not in self._numbers:
            self.sources.append(source)
            self._numbers[key] = len(self.sources)
        return self._numbers[key]

    def add(self, citation: Citation) -> None:
        """Number the sources of a citation."""
        for item in citation.evidence:
            self.number(item.source)

    @property
    def urls(self) -> dict[int, str]:
        """The URL of each number."""
        return {number: source.url for number, source in enumerate(self.sources, 1)}


def source_key(source: Source) -> str:
    """A key that is equal for the same page; a source without a URL is identified by its title."""
    return canonical_url(source.url) if source.url else f"name:{source.title}"


def section_key(source: Source) -> str:
    """A key that is equal for the same section of a page."""
    return canonical_section(source.url) if source.url else f"name:{source.title}"


def number_sources(sources: Iterable[Source]) -> Numbering:
    """Number sources in the order given. Duplicates are merged and keep all their excerpts."""
    numbers: dict[str, int] = {}
    unique: list[SourceMerge] = []
    for source in sources:
        key = section_key(source)
        if key in numbers:
            unique[numbers[key] - 1].add(source, with_extras=False)
        else:
            unique.append(SourceMerge(source))
            numbers[key] = len(unique)
    return Numbering(tuple(merge.source() for merge in unique), numbers)


def number_answer(answer: Answer) -> Numbering:
    """Number the cited sources of an answer in the order in which the text cites them, then those cited for
    the whole answer; if it cites none, all its sources."""
    sources = answer.sources
    cited = [source for source in sources if source.state == "cited"]
    if not cited:
        return number_sources(sources)
    positions: dict[str, int] = {}
    for index, citation in enumerate(sorted(answer.citations, key=_position)):
        for item in citation.evidence:
            positions.setdefault(section_key(item.source), index)
    # Sources of the same citation keep the order in which the provider listed them.
    cited.sort(key=lambda source: positions.get(section_key(source), len(answer.citations)))
    return number_sources(cited)


def number_listed(answer: Answer) -> Numbering:
    """Number the cited sources of an answer in the order in which the provider listed them, as the contract
    of the search tools wants it; if it cites none, all its sources."""
    sources = answer.sources
    return number_sources([source for source in sources if source.state == "cited"] or sources)


def _position(citation: Citation) -> tuple[float, float]:
    """Where the number of a citation is written; at the end without a span."""
    return (citation.span.end, citation.span.start) if citation.span else (math.inf, math.inf)


def label_of(source: Source) -> str:
    """The label of a source: its title, else its domain, else its URL."""
    return " ".join(source.title.split()) or display_domain(source) or source.url
