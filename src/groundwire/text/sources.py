"""Numbers sources: every page once, under all its URLs."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.model import Answer, Citation, Source
from groundwire.model.source import SourceMerge
from groundwire.model.value import value
from groundwire.text.domains import display_domain
from groundwire.text.urls import canonical_url


@value
class Numbering:
    """Sources in order; the first has number 1."""

    sources: tuple[Source, ...]
    _numbers: dict[str, int]

    def number(self, source: Source) -> int | None:
        """The number of a source, by any of its URLs."""
        return self._numbers.get(source_key(source))


class SourceNumberer:
    """Numbers sources in the order of their first use."""

    __slots__ = ("_numbers", "sources")

    def __init__(self) -> None:
        self.sources: list[Source] = []
        """The first has number 1."""
        self._numbers: dict[str, int] = {}

    def number(self, source: Source) -> int:
        """The number of a source; a new one if it has none."""
        key = source_key(source)
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


def number_sources(sources: Iterable[Source]) -> Numbering:
    """Number sources in the order given. Duplicate pages are merged and keep all their excerpts."""
    numbers: dict[str, int] = {}
    unique: list[SourceMerge] = []
    for source in sources:
        key = source_key(source)
        if key in numbers:
            unique[numbers[key] - 1].add(source, with_extras=False)
        else:
            unique.append(SourceMerge(source))
            numbers[key] = len(unique)
    return Numbering(tuple(merge.source() for merge in unique), numbers)


def number_answer(answer: Answer) -> Numbering:
    """Number the cited sources of an answer; if it cites none, all its sources.

    Sections of one page share a number, and the title of the section that is cited first.
    """
    sources = answer.sources
    cited = [source for source in sources if source.state == "cited"]
    if not cited:
        return number_sources(sources)
    pages: dict[str, int] = {}
    for source in cited:
        pages.setdefault(source_key(source), len(pages))
    evidence = (item.source for citation in answer.citations for item in citation.evidence)
    positions = {key: index for index, key in reversed(list(enumerate(map(_exact_key, evidence))))}
    cited.sort(
        key=lambda source: (pages[source_key(source)], positions.get(_exact_key(source), len(positions)))
    )
    return number_sources(cited)


def _exact_key(source: Source) -> str:
    return source.url or source.title


def label_of(source: Source) -> str:
    """The label of a source: its title, else its domain, else its URL."""
    return " ".join(source.title.split()) or display_domain(source) or source.url
