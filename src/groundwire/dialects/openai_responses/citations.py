"""Annotations, both ways.

A `url_citation` counts code points of its own content part, end exclusive, and its span is the Markdown link
itself. Offsets are believed where the text bears them out. Without offsets (xAI) or with 0 to 0 (OpenRouter's
engines) it is about the links to its address, or about the answer as a whole.

What is written here keeps that form; `content` is the quoted passage, as OpenRouter has it. A span that is no
link to its source, a citation without a place, and the pieces of one that reaches over several parts say so
in the field `groundwire`, so that nobody goes looking for a link elsewhere. Neither goes back to a provider.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple, TypeAlias

from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_responses.wire import NAME, native
from groundwire.model import Citation, Evidence, Json, JsonObject, Source, Span, Text
from groundwire.model.source import Anchor
from groundwire.model.value import replace, value
from groundwire.text.links import TextLink, find_markdown_links
from groundwire.text.spans import LinkLocator, anchor_at, anchor_kind, is_link, is_link_at
from groundwire.text.urls import domain_of, safe_url

MAX_REPEATS = 2_000
"""How many pieces of citations are told besides the first: one that reaches over several parts has a piece in
each, and thousands of them in thousands of parts would grow with the square of their number."""

_KNOWN = ("type", "start_index", "end_index", "url", "title", "content")
_ANCHORS: dict[str, Anchor] = {"claim": "claim", "marker": "marker"}
_WHOLE = "answer"
_NUMBER = re.compile(r"\[(?:web:)?(\d{1,4})\](?!\()")
"""`[1]` or `[web:1]`, and no label of a link."""
_NO_TITLE = re.compile(r"[\[\]\d\s]*")


Key: TypeAlias = "tuple[int, int, str, str, str, Span | None]"


@value
class Annotation:
    """A citation as the wire has it, in offsets of its part.

    `anchor` and `whole`, the span over the whole answer of which this is a piece, are known of our own.
    """

    start: int
    end: int
    url: str
    evidence: Evidence
    anchor: str = ""
    whole: Span | None = None

    @property
    def key(self) -> Key:
        """Equal when the same annotation is told again, as the `done` events do."""
        return self.start, self.end, self.url, self.evidence.quote, self.anchor, self.whole


def decode_annotation(fields: Fields) -> Annotation | None:
    """A web citation; None for citations of files, which stay what they are."""
    if fields.text("type", "url_citation") != "url_citation":
        return None
    body = fields.obj("url_citation") if fields.has("url_citation") else fields
    url = body.text("url")
    source = Source(safe_url(url), body.text("title"), "cited")
    own = fields.obj(FIELD)
    anchor = own.text("anchor")
    start, end = own.offset("start"), own.offset("end")
    return Annotation(
        body.offset("start_index") or 0,
        body.offset("end_index") or 0,
        url,
        Evidence(source, body.text("content"), extras={NAME: fields.rest(*_KNOWN, "url_citation", FIELD)}),
        anchor if anchor in _ANCHORS or anchor == _WHOLE else "",
        None if start is None or end is None else Span(start, end),
    )


def place(
    annotation: Annotation, text: str, shift: Callable[[int], int], links: LinkLocator
) -> list[Citation]:
    """The citations an annotation means, in offsets of its part, whose text is complete."""
    certain = place_early(annotation, text, shift)
    if certain is not None:
        return [certain]
    span = None
    if annotation.end > annotation.start and not annotation.anchor:
        span = links.locate(shift(annotation.start), shift(annotation.end), annotation.url)
    if span is not None:
        return [_cite(annotation, text, span)]
    if annotation.end > annotation.start or annotation.anchor or not annotation.url:
        return [Citation(None, (annotation.evidence,))]
    spans = links.links_to(annotation.url)
    return [_cite(annotation, text, span) for span in spans] or [Citation(None, (annotation.evidence,))]


def place_early(annotation: Annotation, text: str, shift: Callable[[int], int]) -> Citation | None:
    """The citation, if its place is certain whatever text is still to come."""
    start, end = shift(annotation.start), shift(annotation.end)
    if not 0 <= start <= end <= len(text) or end == 0 or annotation.anchor == _WHOLE:
        return None
    if start == end or annotation.anchor or is_link_at(text, start, end, annotation.url):
        return _cite(annotation, text, Span(start, end))
    return None


def is_misplaced(annotation: Annotation, citation: Citation) -> bool:
    """Did the wire tell a place that the text does not have?"""
    return citation.span is None and annotation.end > annotation.start


def derive(text: str) -> Iterator[Citation]:
    """Citations by the links of a text whose provider made none (the Codex backend)."""
    for link in find_markdown_links(text):
        source = Source(safe_url(link.url), _title_of(link), "cited")
        if source.url:
            yield Citation(link.span, (Evidence(source, extras={NAME: {"derived": True}}),), "marker")


def derive_numbers(text: str, numbered: Mapping[str, Source]) -> Iterator[Citation]:
    """Citations by the numbers in a text whose provider numbered its results and annotated nothing."""
    for match in _NUMBER.finditer(text):
        source = numbered.get(match[1])
        if source is not None:
            evidence = Evidence(source, extras={NAME: {"derived": True}})
            yield Citation(Span(*match.span()), (evidence,), "marker")


def _cite(annotation: Annotation, text: str, span: Span) -> Citation:
    kind = _ANCHORS.get(annotation.anchor) or anchor_at(span, lambda start, end: text[start:end])
    return Citation(span, (annotation.evidence,), kind)


def anchor_of(annotation: Annotation, words: str) -> Anchor:
    """What kind of anchor it has: as we told it ourselves, else by the words it is about."""
    return _ANCHORS.get(annotation.anchor) or anchor_kind(words)


def _title_of(link: TextLink) -> str:
    """The label of a link, unless it is only a number or whose page it is."""
    named = domain_of("https://" + link.label) != domain_of(link.url)
    return link.label if named and not _NO_TITLE.fullmatch(link.label) else ""


class Slice(NamedTuple):
    """The share of a text part in a citation, in offsets of the part."""

    part: int
    start: int
    end: int


def bounds_of(texts: Iterable[Text]) -> list[int]:
    """Where each part begins in the whole text, and where the last one ends."""
    return list(accumulate((len(part.text) for part in texts), initial=0))


def cut(span: Span, bounds: Sequence[int]) -> Iterator[Slice]:
    """A span of the whole text, cut at the borders of its parts. A point belongs to the part it ends."""
    is_point = span.start == span.end
    find = bisect_left if is_point else bisect_right
    for part in range(max(find(bounds, span.start) - 1, 0), len(bounds) - 1):
        start, end = bounds[part], bounds[part + 1]
        if start >= span.end:
            return
        low, high = max(span.start, start), min(span.end, end)
        if low < high or (is_point and high == span.end):
            yield Slice(part, low - start, high - start)


def annotate(texts: Sequence[Text], citations: Iterable[Citation]) -> list[list[JsonObject]]:
    """The annotations of each text part of an answer; what has no place goes to the last that takes any."""
    bounds = bounds_of(texts)
    told = [AnnotationList() for _ in texts]
    takers = [index for index, part in enumerate(texts) if part.phase != "refusal"]
    unplaced: list[Citation] = []
    repeats = MAX_REPEATS
    for citation in citations:
        found = cut(citation.span, bounds) if citation.span else iter(())
        slices = list(islice((item for item in found if texts[item.part].phase != "refusal"), repeats + 1))
        repeats -= max(len(slices) - 1, 0)
        for index, start, end in slices:
            told[index].add(citation, start, end, texts[index].text[start:end])
        if not slices:
            unplaced.append(citation)
    for citation in unplaced if takers else ():
        told[takers[-1]].add_unplaced(citation)
    return [list(annotations) for annotations in told]


class AnnotationList(list[JsonObject]):
    """The annotations of one part, each once."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: set[tuple[Json, ...]] = set()

    def add(self, citation: Citation, start: int, end: int, words: str) -> list[JsonObject]:
        """One annotation for each source of a citation; gives those that are new."""
        return self._add(
            _with_extensions(_plain(item, start, end), item, citation, words) for item in citation.evidence
        )

    def add_unplaced(self, citation: Citation) -> list[JsonObject]:
        """The same for a citation of the answer as a whole."""
        return self.add(replace(citation, span=None), 0, 0, "")

    def add_plain(self, evidence: Iterable[Evidence], start: int, end: int) -> None:
        """Without what only we understand."""
        self._add(_plain(item, start, end) for item in evidence if "derived" not in native(item.extras))

    def _add(self, annotations: Iterable[JsonObject]) -> list[JsonObject]:
        new: list[JsonObject] = []
        for annotation in annotations:
            key = (*(annotation.get(name) for name in _KNOWN), repr(annotation.get(FIELD)))
            if key not in self._keys:
                self._keys.add(key)
                new.append(annotation)
        self.extend(new)
        return new


def replay(texts: Sequence[Text], citations: Iterable[Citation]) -> list[list[JsonObject]]:
    """The annotations of each text part of an earlier turn, as the provider itself would have them."""
    bounds = bounds_of(texts)
    told = [AnnotationList() for _ in texts]
    repeats = MAX_REPEATS
    for citation in citations if texts else ():
        found = cut(citation.span, bounds) if citation.span else [Slice(len(texts) - 1, 0, 0)]
        slices = list(islice(found, repeats + 1))
        repeats -= max(len(slices) - 1, 0)
        for index, start, end in slices:
            told[index].add_plain(citation.evidence, start, end)
    return [list(annotations) for annotations in told]


def _with_extensions(
    annotation: JsonObject, evidence: Evidence, citation: Citation, words: str
) -> JsonObject:
    if evidence.quote:
        annotation["content"] = evidence.quote
    span = citation.span
    if span is None:
        annotation[FIELD] = {"anchor": _WHOLE}
    elif span.end - span.start != len(words):
        annotation[FIELD] = {"anchor": citation.anchor, "start": span.start, "end": span.end}
    elif citation.anchor == "claim" or not is_link(words, evidence.source.url):
        annotation[FIELD] = {"anchor": citation.anchor}
    return annotation


def _plain(evidence: Evidence, start: int, end: int) -> JsonObject:
    extras = {key: value for key, value in native(evidence.extras).items() if key != "derived"}
    return {
        "type": "url_citation",
        "start_index": start,
        "end_index": end,
        "url": evidence.source.url,
        "title": evidence.source.title,
        **extras,
    }
