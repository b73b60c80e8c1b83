"""From what an answer lists to where its text leans on it.

An annotation with a place is believed as far as the text bears it out. Without places the list is a
numbered one: `[3]` in the text is its third entry (Perplexity, OpenRouter's engines), and a Markdown link
to an address is a citation of that address. What is found nowhere speaks for the whole answer.

Pages listed next to an `annotations` list are only what was found, because then the annotations do the
citing. A marker such as `【3:0†source】` cites what its annotation names, what other markers of the same
wording cite, or the page that gpt-oss's browser showed under its number. One that leads nowhere stays in
the text, which may be with the caller already, and is warned of.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_chat.annotations import Annotation, cite, decode_annotation
from groundwire.dialects.openai_chat.lists import SourceLists
from groundwire.model import Citation, Cited, Evidence, Json, Source, Span, Warned
from groundwire.model.source import MAX_EVIDENCE
from groundwire.model.value import replace
from groundwire.text.annotate import find_dagger_markers, find_number_markers
from groundwire.text.links import find_markdown_links
from groundwire.text.spans import LinkLocator, anchor_at
from groundwire.text.urls import canonical_url

_SHOWN = re.compile(r"【(\d{1,4})†")


class Told:
    """What an answer lists, collected while it comes in. Lists may come at once, piecewise or again."""

    __slots__ = ("_counts", "annotated", "annotations", "lists", "others", "references")

    def __init__(self) -> None:
        self.annotations: list[Annotation] = []
        self.others: list[Json] = []
        self.annotated = False
        self.lists = SourceLists()
        self.references: list[tuple[int, int]] = []
        """Places in the text, each with the number of the entry that it names (Mistral)."""
        self._counts: Counter[str] = Counter()

    def annotate(self, holder: Fields) -> None:
        """Take the `annotations` of a message or delta; those told before are known again."""
        self.annotated = True
        seen: Counter[str] = Counter()
        for told in holder.objs("annotations"):
            key = dump_json(told.raw)
            seen[key] += 1
            if seen[key] <= self._counts[key]:
                continue
            self._counts[key] += 1
            annotation = decode_annotation(told)
            if annotation is not None:
                self.annotations.append(annotation)
            else:
                self.others.append(told.raw)

    def files(self) -> list[Json]:
        """OpenRouter's parsed documents, which spare a second parse if they come back with the history."""
        return [note for note in self.others if isinstance(note, dict) and note.get("type") == "file"]


def resolve(
    text: str, told: Told, place: Callable[[int], int], shown: Mapping[int, Source] = MappingProxyType({})
) -> Iterator[Cited | Warned]:
    """The citations of a complete text; `place` tells where a told position is in it, `shown` which pages
    gpt-oss's numbers name."""
    # An address may be linked to thousands of times, and listed as often.
    return islice(_resolved(text, told, place, shown), 2 * MAX_EVIDENCE)


def _resolved(
    text: str, told: Told, place: Callable[[int], int], shown: Mapping[int, Source]
) -> Iterator[Cited | Warned]:
    links = LinkLocator(text)
    markers = _Markers(text, links)
    loose: list[Evidence] = []
    for annotation in told.annotations:
        if markers.has(annotation.label):
            markers.learn(annotation, place)
        elif annotation.placed:
            for event in _placed(text, annotation, place, links):
                yield markers.cover(event)
        else:
            loose.append(annotation.evidence)
    if not told.annotations:
        yield from _derived(text, _listed(text, told), keep=not told.lists.pages)
    elif loose:
        is_numbered = len(loose) == len(told.annotations)
        yield from _derived(text, list(enumerate(loose, 1)), numbered=is_numbered, keep=True)
    yield from markers.resolve(shown)
    yield from _referred(told, place)


class _Markers:
    """Markers such as `【3:0†source】`, and what is known of them."""

    __slots__ = ("_at", "_covered", "_labels", "_links", "_spans", "_text", "_wordings")

    def __init__(self, text: str, links: LinkLocator) -> None:
        self._text = text
        self._links = links
        self._spans = list(find_dagger_markers(text))
        self._wordings = {text[span.start : span.end] for span in self._spans}
        self._at: dict[Span, list[Evidence]] = {}
        self._labels: dict[str, list[Evidence]] = {}
        self._covered: list[Span] = []

    def has(self, label: str) -> bool:
        """Is there a marker of this wording in the text?"""
        return label in self._wordings

    def learn(self, annotation: Annotation, place: Callable[[int], int]) -> None:
        """An annotation that repeats its marker."""
        label = annotation.label
        told = Span(place(annotation.start), place(annotation.end))
        for span in (told, self._links.as_utf16(told)):
            if self._text[max(span.start, 0) : max(span.end, 0)] == label:
                self._at.setdefault(span, []).append(annotation.evidence)
                break
        self._labels.setdefault(label, []).append(annotation.evidence)

    def cover(self, event: Cited | Warned) -> Cited | Warned:
        """A citation with a place; if that is a marker, others of the same wording mean the same."""
        if isinstance(event, Cited) and event.citation.span:
            span = event.citation.span
            self._covered.append(span)
            if event.citation.anchor == "marker":
                self._labels.setdefault(self._text[span.start : span.end], []).extend(event.citation.evidence)
        return event

    def resolve(self, shown: Mapping[int, Source]) -> Iterator[Cited | Warned]:
        """The citations of the markers that no place covers, and a warning of those that lead nowhere."""
        covered = deque(sorted(self._covered))
        end = 0
        lost: list[str] = []
        for span in self._spans:
            while covered and covered[0].start <= span.start:
                end = max(end, covered.popleft().end)
            label = self._text[span.start : span.end]
            evidence = self._at.get(span) or self._twins(label) or _shown(label, shown)
            if span.end <= end:
                continue
            if evidence:
                yield Cited(Citation(span, tuple(evidence), "marker"))
            else:
                lost.append(label)
        if lost:
            yield Warned(
                "citation_unresolved",
                f"citation markers without a known source: {len(lost)}, for example {lost[0]}",
            )

    def _twins(self, label: str) -> list[Evidence]:
        """What other markers of this wording cite, if they agree."""
        found = self._labels.get(label, [])
        return found if len({item.source.url for item in found}) == 1 else []


def _shown(label: str, shown: Mapping[int, Source]) -> list[Evidence]:
    number = _SHOWN.match(label)
    page = shown.get(int(number[1])) if number else None
    return [cite(replace(page, state="cited"))] if page else []


def _referred(told: Told, place: Callable[[int], int]) -> Iterator[Cited | Warned]:
    """Mistral's `reference` chunks: the claim ends where the chunk stands."""
    listed = told.lists.numbered(number for _, number in told.references) if told.references else {}
    lost = 0
    for offset, number in told.references:
        point = place(offset)
        if number in listed:
            evidence = cite(replace(listed[number], state="cited"))
            yield Cited(Citation(Span(point, point) if point else None, (evidence,)))
        else:
            lost += 1
    if lost:
        yield Warned("citation_unresolved", f"references to sources that the provider did not list: {lost}")


def _placed(
    text: str, told: Annotation, place: Callable[[int], int], links: LinkLocator
) -> Iterator[Cited | Warned]:
    span = _verified(text, place(told.start), place(told.end), told.evidence.source.url, links)
    if span is None:
        yield Warned("citation_unplaced", f"no place in the text for {told.evidence.source.url}")
        yield Cited(Citation(None, (told.evidence,)))
    else:
        kind = anchor_at(span, lambda start, end: text[start:end])
        yield Cited(Citation(span, (told.evidence,), kind))


def _verified(text: str, start: int, end: int, url: str, links: LinkLocator) -> Span | None:
    """The place told, or the link it meant. A claim stays although a link to its page stands elsewhere:
    only a link as long as the place told, or exactly there in UTF-16 units, was meant."""
    given = Span(start, end)
    if start == end:
        return given if 0 < end <= len(text) else None
    span = links.locate(start, end, url)
    if span is None or end > len(text) or span.end - span.start == end - start:
        return span
    return span if span == links.as_utf16(given) else given


def _derived(
    text: str, listed: Iterable[tuple[int, Evidence]], *, keep: bool, numbered: bool = True
) -> Iterator[Cited]:
    numbers = _numbers(text) if numbered else {}
    links: dict[str, list[Span]] = {}
    for link in find_markdown_links(text):
        links.setdefault(canonical_url(link.url), []).append(link.span)
    for number, item in listed:
        if not item.source.url and not item.source.title:
            continue  # it only kept its number
        spans = [*numbers.get(number, ()), *links.get(canonical_url(item.source.url), ())]
        for span in spans:
            yield Cited(Citation(span, (item,), "marker"))
        if keep and not spans:
            yield Cited(Citation(None, (item,)))


def _numbers(text: str) -> dict[int, list[Span]]:
    found: dict[int, list[Span]] = {}
    for span, numbers in find_number_markers(text):
        for number in numbers:
            found.setdefault(number, []).append(span)
    return found


def _listed(text: str, told: Told) -> Iterator[tuple[int, Evidence]]:
    """What numbers count where nothing was annotated."""
    pages = told.lists.pages
    known = {canonical_url(page.url): page for page in pages if page.url}
    if told.annotated and not told.lists.has_addresses:
        return
    for number, source in told.lists.numbered(_numbers(text)).items():
        page = known.get(canonical_url(source.url), source)
        yield number, cite(replace(page, url=source.url, state="cited"))
