"""One annotation, and one found page: decode beside encode.

Chat nests (`{"type": "url_citation", "url_citation": {…}}`); flat ones are read too. Indices are code
points of `content`, end exclusive. `0/0`, or none, means "somewhere": OpenRouter's own engines list all
they found like that, with the passage in `content`. Annotations in the style of Assistants and Copilot have
their indices beside the `url_citation`, and repeat the marker they are about (`【3:0†source】`) as `text`.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_chat.parts import NAME, marked, own
from groundwire.model import Evidence, Json, JsonObject, Source, SourceState, Span
from groundwire.model.value import value
from groundwire.text.annotate import is_dagger
from groundwire.text.urls import safe_url

# A page under the names of all who list some: Perplexity, Groq, Qwen, Hunyuan, Baidu, GLM, Azure.
_URL = ("url", "link", "uri")
_TITLE = ("title", "name")
_DATE = ("date", "publish_date", "publish_time", "published_date")
_SNIPPET = ("snippet", "content", "text", "description", "summary")


@value
class Annotation:
    """A `url_citation` as told: the place is not verified yet."""

    evidence: Evidence
    start: int
    end: int
    label: str = ""
    """The marker in the text that it is about, where it says so."""

    @property
    def placed(self) -> bool:
        """Does it claim a place? A start equal to a positive end is a point."""
        return 0 <= self.start <= self.end and self.end > 0


def decode_annotation(annotation: Fields) -> Annotation | None:
    """A citation of a web page; None for annotations of other types, and for one that names nothing."""
    if annotation.text("type", "url_citation") != "url_citation":
        return None
    body = annotation.obj("url_citation") if annotation.has("url_citation") else annotation
    source = Source(safe_url(body.text("url")), body.text("title"), "cited")
    if not source.url and not source.title:
        return None
    place = body if body.has("end_index") else annotation
    label = annotation.text("text")
    # Some proxies leave a start of 0 out.
    start, end = place.offset("start_index") or 0, place.offset("end_index") or 0
    return Annotation(cite(source, body.text("content")), start, end, label if is_dagger(label) else "")


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


def decode_page(page: JsonObject, state: SourceState = "retrieved") -> Source:
    """A page that was found; fields of other types than expected are only kept."""
    names, (url, title, date, snippet) = zip(
        *(_text(page, *keys) for keys in (_URL, _TITLE, _DATE, _SNIPPET)), strict=True
    )
    rest: JsonObject = {key: value for key, value in page.items() if key not in names and value is not None}
    return Source(safe_url(url), title, state, (snippet,) if snippet else (), date, extras=marked(rest))


def _text(page: JsonObject, *names: str) -> tuple[str, str]:
    """The first of these fields that holds words, and its value."""
    for name in names:
        value = page.get(name)
        if isinstance(value, str) and value:
            return name, value
    return names[0], ""


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
