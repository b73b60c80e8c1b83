"""One annotation, and one found page: decode beside encode.

Chat nests (`{"type": "url_citation", "url_citation": {…}}`); flat ones are read too. Indices are code points
of `content`, end exclusive. `0/0`, or none, means "somewhere": OpenRouter's own engines list all they found
like that, with the passage in `content`. Perplexity lists pages as `search_results`.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_chat.parts import NAME, marked, own
from groundwire.model import Evidence, Json, JsonObject, Source, Span
from groundwire.model.value import value
from groundwire.text.addresses import safe_address

_PAGE = ("url", "title", "date", "snippet")


@value
class Annotation:
    """A `url_citation` as told: the place is not verified yet."""

    evidence: Evidence
    start: int
    end: int

    @property
    def placed(self) -> bool:
        """Does it claim a place? A start equal to a positive end is a point."""
        return 0 <= self.start <= self.end and self.end > 0


def decode_annotation(annotation: Fields) -> Annotation | None:
    """A citation of a web page; None for annotations of other types, and for one that names nothing."""
    if annotation.text("type", "url_citation") != "url_citation":
        return None
    body = annotation.obj("url_citation") if annotation.has("url_citation") else annotation
    source = Source(safe_address(body.text("url")), body.text("title"), "cited")
    if not source.url and not source.title:
        return None
    end = body.offset("end_index") or 0
    # Some proxies leave a start of 0 out.
    start = body.offset("start_index") or 0
    return Annotation(cite(source, body.text("content")), start, end)


def encode_annotation(item: Evidence, span: Span | None) -> JsonObject:
    """A citation of one source."""
    body: JsonObject = {
        "start_index": span.start if span else 0,
        "end_index": span.end if span else 0,
        "title": item.source.title,
        "url": item.source.url,
    }
    if item.quote:
        body["content"] = item.quote
    return {"type": "url_citation", "url_citation": body}


def cite(source: Source, quote: str = "") -> Evidence:
    """Evidence of this dialect."""
    return Evidence(source, quote, extras={NAME: {}})


def decode_page(page: Fields) -> Source:
    """An entry of `search_results`."""
    snippet = page.text("snippet")
    return Source(
        safe_address(page.text("url")),
        page.text("title"),
        "retrieved",
        (snippet,) if snippet else (),
        page.text("date"),
        extras=marked({key: value for key, value in page.rest(*_PAGE).items() if value is not None}),
    )


def encode_page(source: Source) -> JsonObject:
    """An entry of `search_results`."""
    date: Json = source.date or None
    return {
        **own(source.extras),
        "title": source.title,
        "url": source.url,
        "date": date,
        "snippet": "\n\n".join(source.excerpts),
    }
