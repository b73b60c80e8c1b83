"""The answer in the forms that programs read: JSON, events, Markdown, plain text."""

from __future__ import annotations

import re

from groundwire.dialects.extras import VERSION, encode_citation, encode_search, encode_source
from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.faces.cli.exits import ending_of
from groundwire.model import Answer, Event, Json, JsonObject, SearchCall, Usage
from groundwire.model.json import encode
from groundwire.model.value import field_names, value
from groundwire.text.annotate import NumberWriter, annotate_numbers, paragraph_breaks
from groundwire.text.markdown import render_answer, to_markdown
from groundwire.text.sanitise import escape_invisible_json, one_line, sanitise
from groundwire.text.sources import Numbering, label_of, number_answer
from groundwire.text.urls import safe_url

_SIGNS = re.compile(r"([\\\[\]`*_<>])")


@value
class Asked:
    """What was asked, and whom."""

    query: str
    provider: str = ""
    model: str = ""


def as_json(answer: Answer, asked: Asked) -> str:
    """The answer as one JSON object."""
    return escape_invisible_json(dump_json(encode_answer(answer, asked)))


def as_line(event: Event) -> str:
    """An event as one line of JSON."""
    return escape_invisible_json(dump_json(encode(event)))


def as_text(answer: Answer) -> str:
    """The answer to read: numbers where sources are cited, and the list of them."""
    return sanitise(render_answer(answer))


def as_raw(answer: Answer) -> str:
    """The words alone."""
    return sanitise(answer.text)


def as_markdown(answer: Answer) -> str:
    """The answer as Markdown: numbers that are links, and a list of sources."""
    answer = to_markdown(answer)
    numbering = number_answer(answer)
    writer = NumberWriter(numbering.number, lambda number: _reference(number, numbering))
    breaks = paragraph_breaks(answer, after=(SearchCall,))
    body = annotate_numbers(answer.text, answer.citations, writer, breaks, strip=True).text
    lines = [_entry(number, numbering) for number in range(1, len(numbering.sources) + 1)]
    return sanitise("\n".join([body.rstrip(), "", "## Sources", "", *lines] if lines else [body.rstrip()]))


def encode_answer(answer: Answer, asked: Asked) -> JsonObject:
    """The answer as an object, for programs; spans count code points of `text`."""
    sources = answer.sources
    places = {source.url or f"name:{source.title}": place for place, source in enumerate(sources)}
    provider, model = answered_by(answer, asked)
    return {
        "version": VERSION,
        "query": asked.query,
        "text": answer.text,
        "citations": [encode_citation(citation, places) for citation in answer.citations],
        "sources": [encode_source(source) for source in sources],
        "searches": [encode_search(search) for search in answer.searches],
        "grounded": answer.grounded,
        "warnings": [{"code": warning.code, "message": warning.message} for warning in answer.warnings],
        "usage": _encode_usage(answer.usage),
        "provider": provider,
        "model": model,
        "finish": answer.finish,
        "error": None if answer.error is None else encode_error(answer.error),
    }


def encode_error(error: GroundwireError) -> JsonObject:
    """An error, for programs."""
    body: JsonObject = {"code": error.code, "message": error.message, "retryable": error.retryable}
    advice = ending_of(error).advice
    return {**body, "advice": advice} if advice else body


def answered_by(answer: Answer, asked: Asked) -> tuple[str, str]:
    """Provider and model; the answer itself knows best."""
    signature = answer.extras.get("groundwire", {})
    named = "" if asked.provider == "auto" else asked.provider
    return (
        str(signature.get("provider") or named),
        answer.model or str(signature.get("model") or asked.model),
    )


def _encode_usage(usage: Usage) -> JsonObject:
    counts: dict[str, Json] = {name: getattr(usage, name) for name in field_names(Usage)}
    return counts


def _reference(number: int, numbering: Numbering) -> str:
    url = _target(numbering, number)
    return f"[[{number}]]({url})" if url else f"[{number}]"


def _entry(number: int, numbering: Numbering) -> str:
    label = _SIGNS.sub(r"\\\1", one_line(label_of(numbering.sources[number - 1])))
    url = _target(numbering, number)
    return f"{number}. [{label}]({url})" if url else f"{number}. {label}"


def _target(numbering: Numbering, number: int) -> str:
    """An address as Markdown takes it between round brackets."""
    url = safe_url(numbering.sources[number - 1].url)
    return url.replace("(", "%28").replace(")", "%29")
