"""From what an answer lists to where its text leans on it.

An annotation with a place is believed as far as the text bears it out. Without places the list is a
numbered one: `[3]` in the text is its third entry (Perplexity, OpenRouter's engines), and a Markdown link to
an address is a citation of that address. What is found nowhere speaks for the whole answer.

Perplexity says `citations` (addresses) and `search_results` (pages) beside the message. `search_results`
beside an `annotations` list are only what was found, because then the annotations do the citing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from groundwire.dialects.fields import Fields
from groundwire.dialects.jsontext import dump_json
from groundwire.dialects.openai_chat.annotations import (
    Annotation,
    cite,
    decode_annotation,
    decode_page,
)
from groundwire.model import Citation, Cited, Evidence, Json, Source, Span, Warned
from groundwire.model.source import MAX_EVIDENCE
from groundwire.model.value import replace
from groundwire.text.addresses import canonical_address, safe_address
from groundwire.text.anchors import LinkPlaces, anchor_at
from groundwire.text.links import find_markdown_links

# Numbers in code are not citations; a number that is the label of a link is part of that link.
_NUMBER = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|(?<!\[)\[(\d{1,3})\](?![(\]])", re.DOTALL)


class Told:
    """What an answer lists, collected while it comes in. Lists may come at once, piecewise or again."""

    __slots__ = ("_counts", "_listed", "annotated", "annotations", "others", "pages", "urls")

    def __init__(self) -> None:
        self.annotations: list[Annotation] = []
        self.others: list[Json] = []
        self.annotated = False
        self.urls: tuple[Source, ...] = ()
        self.pages: tuple[Source, ...] = ()
        self._counts: Counter[str] = Counter()
        self._listed: dict[str, list[Json]] = {}

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

    def read_lists(self, body: Fields) -> None:
        """Take Perplexity's lists; each telling holds all of the one before."""
        if self._is_new(body, "citations"):
            self.urls = tuple(_addresses(body.items("citations")))
        if self._is_new(body, "search_results"):
            self.pages = tuple(decode_page(page) for page in body.objs("search_results"))

    def _is_new(self, body: Fields, key: str) -> bool:
        if body.raw.get(key) is None:
            return False
        told = body.items(key)
        if not told or told == self._listed.get(key):
            return False
        self._listed[key] = told
        return True


def resolve(text: str, told: Told, place: Callable[[int], int]) -> Iterator[Cited | Warned]:
    """The citations of a complete text; `place` tells where a told position is in it."""
    # An address may be linked to thousands of times, and listed as often.
    return islice(_resolved(text, told, place), 2 * MAX_EVIDENCE)


def _resolved(text: str, told: Told, place: Callable[[int], int]) -> Iterator[Cited | Warned]:
    loose = [annotation.evidence for annotation in told.annotations if not annotation.placed]
    links = LinkPlaces(text)
    for annotation in told.annotations:
        if annotation.placed:
            yield from _placed(text, annotation, place, links)
    if not told.annotations:
        yield from _derived(text, _listed(told), numbered=True, keep=not told.pages)
    elif loose:
        yield from _derived(text, loose, numbered=len(loose) == len(told.annotations), keep=True)


def _placed(
    text: str, told: Annotation, place: Callable[[int], int], links: LinkPlaces
) -> Iterator[Cited | Warned]:
    span = _verified(text, place(told.start), place(told.end), told.evidence.source.url, links)
    if span is None:
        yield Warned("citation_unplaced", f"no place in the text for {told.evidence.source.url}")
        yield Cited(Citation(None, (told.evidence,)))
    else:
        kind = anchor_at(span, lambda start, end: text[start:end])
        yield Cited(Citation(span, (told.evidence,), kind))


def _verified(text: str, start: int, end: int, url: str, links: LinkPlaces) -> Span | None:
    """The place told, or the link it meant. A claim stays although a link to its page stands elsewhere:
    only a link as long as the place told, or exactly there in UTF-16 units, was meant."""
    given = Span(start, end)
    if start == end:
        return given if 0 < end <= len(text) else None
    span = links.place(start, end, url)
    if span is None or end > len(text) or span.end - span.start == end - start:
        return span
    return span if span == links.as_utf16(given) else given


def _derived(text: str, listed: Iterable[Evidence], *, numbered: bool, keep: bool) -> Iterator[Cited]:
    numbers = _numbers(text) if numbered else {}
    links: dict[str, list[Span]] = {}
    for link in find_markdown_links(text):
        links.setdefault(canonical_address(link.url), []).append(link.span)
    for number, item in enumerate(listed, 1):
        if not item.source.url and not item.source.title:
            continue  # it only kept its number
        spans = [*numbers.get(number, ()), *links.get(canonical_address(item.source.url), ())]
        for span in spans:
            yield Cited(Citation(span, (item,), "marker"))
        if keep and not spans:
            yield Cited(Citation(None, (item,)))


def _numbers(text: str) -> dict[int, list[Span]]:
    found: dict[int, list[Span]] = {}
    for match in _NUMBER.finditer(text):
        if match[1]:
            found.setdefault(int(match[1]), []).append(Span(*match.span()))
    return found


def _listed(told: Told) -> Iterator[Evidence]:
    """What numbers count where nothing was annotated."""
    known = {canonical_address(page.url): page for page in told.pages}
    sources = told.urls or (() if told.annotated else told.pages)
    for source in sources:
        page = known.get(canonical_address(source.url), source)
        yield cite(replace(page, url=source.url, state="cited"))


def _addresses(listed: Iterable[Json]) -> Iterator[Source]:
    """Addresses, or objects that hold one; an unusable entry keeps its number."""
    for item in listed:
        url = item.get("url") if isinstance(item, dict) else item
        title = item.get("title") if isinstance(item, dict) else ""
        yield Source(
            safe_address(url) if isinstance(url, str) else "", title if isinstance(title, str) else ""
        )
