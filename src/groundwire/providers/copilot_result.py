"""What the Copilot CLI's search found, in each of the forms in which it can be told.

The tool's own result is a JSON document: a text with markers (`【3:2†source】`), and annotations whose
offsets count code points and cover exactly the marker, not the claim. They are believed only where a marker
stands. A document without searches and without annotations is an answer that nobody looked up. No hits may be
told in plain words instead.

The model's retelling is the second best: a message, perhaps with citations of its own (UTF-16 units), or the
JSON object that the prompt asks for, taken only if it is exactly that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError
from groundwire.model import Citation, Evidence, Json, Source, Span
from groundwire.model.value import replace, value
from groundwire.text.annotate import DAGGER, strip_markers
from groundwire.text.offsets import to_points
from groundwire.text.spans import anchor_kind, locate_quote
from groundwire.text.urls import safe_url

NOTHING_FOUND = "No relevant web results found."
_MARKER = re.compile(DAGGER)
_RETOLD = {"query", "summary", "sources"}
_BRACES_TRIED = 8
# Each sign becomes one sign, so that offsets stay what they were.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t\r\x85"}
_IN_TEXT = {**_CONTROLS, ord("\r"): " ", 0x85: " "}
_IN_LINE = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029), " ")


@value
class Found:
    """A text, what it leans on, and what was looked for."""

    text: str
    citations: tuple[Citation, ...] = ()
    sources: tuple[Source, ...] = ()
    queries: tuple[str, ...] = ()
    searched: bool = True
    unplaced: int = 0
    """Citations whose place could not be verified: they speak for the whole text."""


def clean_text(text: str) -> str:
    """The text without control characters, and as long as before."""
    return text.translate(_IN_TEXT)


def clean_line(text: str) -> str:
    """The text on one line, without control characters."""
    return text.translate(_IN_LINE).strip()


def tool_result(content: str) -> Found | None:
    """What the `web_search` tool gave back; None if it is in no form that we know."""
    if content.strip() == NOTHING_FOUND:
        return Found("")
    try:
        document = Fields.of(load_json(content, UpstreamWireError), UpstreamWireError)
        told = document.obj("text")
        if not told.has("value"):
            return None
        annotations = list(told.objs("annotations")) or list(document.objs("annotations"))
        queries = tuple(clean_line(item.text("text")) for item in document.objs("bing_searches"))
        return _annotated(clean_text(told.text("value")), annotations, queries)
    except UpstreamWireError:
        return None


def _annotated(text: str, annotations: list[Fields], queries: tuple[str, ...]) -> Found:
    placed: dict[Span, list[Source]] = {}
    labels: dict[str, list[Source]] = {}
    unplaced: list[Source] = []
    pages: dict[str, Source] = {}
    for item in annotations:
        source = _source(item.obj("url_citation"))
        if source is None:
            continue
        pages.setdefault(source.url, source)
        span = _marker_span(text, item)
        if span is None:
            _add(unplaced, source)
        else:
            _add(placed.setdefault(span, []), source)
            _add(labels.setdefault(text[span.start : span.end], []), source)
    kept, citations = _cited(text, placed, labels)
    citations += [Citation(None, (Evidence(source),)) for source in unplaced]
    return Found(
        kept,
        tuple(citations),
        tuple(pages.values()),
        tuple(query for query in queries if query),
        searched=bool(queries or annotations),
        unplaced=len(unplaced),
    )


def _add(sources: list[Source], source: Source) -> None:
    if source not in sources:
        sources.append(source)


def _cited(
    text: str, placed: dict[Span, list[Source]], labels: dict[str, list[Source]]
) -> tuple[str, list[Citation]]:
    """The text without markers that lead nowhere, and the citations where the others are now."""
    pieces: list[str] = []
    citations: list[Citation] = []
    at = gone = 0
    for match in _MARKER.finditer(text):
        span = Span(*match.span())
        # Markers repeat: one that has no annotation means what its twins mean, if they agree.
        twins = labels.get(match[0], [])
        sources = placed.get(span) or (twins if len(twins) == 1 else [])
        pieces.append(text[at : span.start])
        at = span.end
        if sources:
            pieces.append(match[0])
            place = Span(span.start - gone, span.end - gone)
            citations.append(Citation(place, tuple(map(Evidence, sources)), "marker"))
        else:
            gone += len(match[0])
    return "".join((*pieces, text[at:])), citations


def _marker_span(text: str, annotation: Fields) -> Span | None:
    """Where the marker of an annotation stands: at its offsets, or where it stands just once."""
    start, end = annotation.integer("start_index"), annotation.integer("end_index")
    label = annotation.text("text")
    if start is not None and end is not None:
        for span in (Span(start, end), Span(*to_points(text, (start, end), "utf16"))):
            there = text[max(span.start, 0) : max(span.end, 0)]
            if _MARKER.fullmatch(there) and label in ("", there):
                return span
    return locate_quote(text, -1, -1, label) if _MARKER.fullmatch(label) else None


def message(content: str, told_citations: Json, query: str) -> Found:
    """What the model said; `searched` only if the message itself has citations."""
    try:
        citations = Fields.of({} if told_citations is None else told_citations, UpstreamWireError)
        sources = {
            item.text("id"): source
            for item in citations.objs("sources")
            if (source := _source(item)) is not None
        }
        spans = list(citations.objs("spans"))
        cited = tuple(_message_citations(content, spans, sources)) if sources else ()
    except UpstreamWireError:
        cited, sources = (), {}
    told = retold(content, query)
    if told is not None:
        whole = tuple(Citation(None, (Evidence(source),)) for source in sources.values())
        return Found(told.text, whole, tuple(sources.values()), searched=bool(cited))
    text = clean_text(content)
    if cited:
        text, cited = _without_strays(text, cited)
        return Found(text, cited, tuple(sources.values()))
    return Found(strip_markers(text), searched=False)


def _without_strays(text: str, citations: tuple[Citation, ...]) -> tuple[str, tuple[Citation, ...]]:
    """The text without markers that no citation covers, and the citations where they are now."""
    spans = [citation.span for citation in citations if citation.span]
    strays: list[Span] = []

    def replaced(match: re.Match[str]) -> str:
        if any(span.start < match.end() and match.start() < span.end for span in spans):
            return match[0]
        strays.append(Span(*match.span()))
        return ""

    def moved(span: Span) -> Span:
        start, end = (
            place - sum(stray.end - stray.start for stray in strays if stray.end <= place) for place in span
        )
        return Span(start, end)

    text = _MARKER.sub(replaced, text)
    return text, tuple(
        replace(citation, span=moved(citation.span)) if citation.span else citation for citation in citations
    )


def _message_citations(content: str, spans: list[Fields], sources: dict[str, Source]) -> Iterator[Citation]:
    for item in spans:
        start, end = to_points(
            content, (item.integer("startIndex") or 0, item.integer("endIndex") or 0), "utf16"
        )
        evidence = tuple(
            Evidence(sources[name], clean_text(reference.text("citedText")))
            for reference in item.objs("references")
            if (name := reference.text("sourceId")) in sources
        )
        if evidence:
            span = Span(start, end) if start < end else None
            yield Citation(span, evidence, anchor_kind(content[start:end]) if span else "claim")


def retold(text: str, query: str) -> Found | None:
    """The object that the prompt asks for, somewhere in a text; None if it is not exactly that."""
    start, end = text.find("{"), text.rfind("}") + 1
    for _ in range(_BRACES_TRIED):
        if start < 0 or end <= start:
            return None
        try:
            item = load_json(text[start:end], UpstreamWireError)
        except UpstreamWireError:
            start = text.find("{", start + 1)
            continue
        return _exactly(item, query)
    return None


def _exactly(item: Json, query: str) -> Found | None:
    if not isinstance(item, dict) or set(item) != _RETOLD or not isinstance(item["sources"], list):
        return None
    said, summary, sources = item["query"], item["summary"], [_plain_source(each) for each in item["sources"]]
    if not isinstance(said, str) or said.strip() != query.strip():
        return None
    if not isinstance(summary, str) or not summary.strip() or None in sources:
        return None
    pages = tuple({source.url: source for source in sources if source is not None}.values())
    citations = tuple(Citation(None, (Evidence(source),)) for source in pages)
    return Found(strip_markers(clean_text(summary)), citations, pages)


def _plain_source(item: Json) -> Source | None:
    if not isinstance(item, dict) or set(item) != {"title", "url"}:
        return None
    try:
        return _source(Fields(item, UpstreamWireError))
    except UpstreamWireError:
        return None


def _source(item: Fields) -> Source | None:
    """The page; None if its address is none that may be shown."""
    url = safe_url(item.text("url"))
    return Source(url, clean_line(item.text("title"))) if url else None
