"""The answer in the forms that programs read: JSON, events, Markdown, plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from groundwire.dialects.extras import VERSION, encode_citation, encode_search, encode_source
from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.faces.cli.console import BOLD, DIM, YELLOW, Console, linked, styled
from groundwire.faces.cli.exit_codes import exit_status
from groundwire.faces.cli.style import shorten, text_width
from groundwire.model import (
    NOTHING_FOUND,
    Answer,
    Citation,
    Event,
    Json,
    JsonObject,
    SearchCall,
    Source,
    Usage,
)
from groundwire.model.events import FinishReason
from groundwire.model.json import encode
from groundwire.model.value import field_names, value
from groundwire.text.annotate import NumberWriter, annotate_numbers, paragraph_breaks
from groundwire.text.domains import display_domain
from groundwire.text.markdown import render_answer, to_markdown
from groundwire.text.sanitise import escape_invisible_json, one_line, sanitise
from groundwire.text.sources import Numbering, SourceNumberer, label_of, number_answer
from groundwire.text.urls import safe_url

_SIGNS = re.compile(r"([\\\[\]`*_<>])")


@value
class SearchQuestion:
    """What was asked, and whom."""

    query: str
    provider: str = ""
    model: str = ""


def as_json(answer: Answer, asked: SearchQuestion) -> str:
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
    lines = [_source_item(number, numbering) for number in range(1, len(numbering.sources) + 1)]
    return sanitise("\n".join([body.rstrip(), "", "## Sources", "", *lines] if lines else [body.rstrip()]))


def encode_answer(answer: Answer, asked: SearchQuestion) -> JsonObject:
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
    advice = exit_status(error).advice
    return {**body, "advice": advice} if advice else body


def answered_by(answer: Answer, asked: SearchQuestion) -> tuple[str, str]:
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


def _source_item(number: int, numbering: Numbering) -> str:
    label = _SIGNS.sub(r"\\\1", one_line(label_of(numbering.sources[number - 1])))
    url = _target(numbering, number)
    return f"{number}. [{label}]({url})" if url else f"{number}. {label}"


def _target(numbering: Numbering, number: int) -> str:
    """An address as Markdown takes it between round brackets."""
    url = safe_url(numbering.sources[number - 1].url)
    return url.replace("(", "%28").replace(")", "%29")


"""The detail of an answer's end when no page answers: then its text says so, and claims nothing."""

_QUERIES_SHOWN = 6

_ENDINGS: Mapping[FinishReason, str] = {
    "length": "The answer was cut off: it reached the limit of its length.",
    "pause": "The provider paused before the answer was complete.",
    "filtered": "A filter of the provider's cut the answer.",
    "refused": "The model declined to answer.",
}


def write_sources(
    console: Console, order: SourceNumberer, unplaced: Sequence[Citation], answer: Answer
) -> None:
    """The list of sources, with the claims that could not be numbered where they stand."""
    if not order.sources:
        return
    columns, _ = console.size()
    title = "Sources" if answer.grounded else "Found, but not cited"
    lines = [styled(title, BOLD) if console.colored else title]
    for number, source in enumerate(order.sources, 1):
        lines += _source_lines(console, number, source, columns)
        for claim in _claims(source, unplaced, answer, order):
            lines.append(
                _indented(number) + _faint(console, _quoted(claim, columns - len(_indented(number))))
            )
    console.write("\n".join(lines) + "\n")


def write_footer(console: Console, answer: Answer, asked: SearchQuestion, seconds: float) -> None:
    """Warnings, and on a terminal what was done and what it cost."""
    notes = [(text, YELLOW) for text in _cautions(answer)]
    if console.stderr.isatty() and (answer.text.strip() or answer.searches):
        columns, _ = console.size()
        notes += ((shorten(line, columns), DIM) for line in _summary(answer, asked, seconds))
    if notes and console.moves and answer.text.strip():
        console.note("")
    for text, style in notes:
        console.note(text, style)


def _cautions(answer: Answer) -> Iterator[str]:
    """What a reader must know before believing the answer."""
    is_told = answer.grounded or answer.detail == NOTHING_FOUND
    if answer.error is None and answer.text.strip() and not is_told:
        yield "Not grounded: nothing in this answer names a source."
    if answer.finish is not None and answer.finish in _ENDINGS:
        yield _ENDINGS[answer.finish]
    for warning in answer.warnings:
        yield f"Warning: {one_line(warning.message)}"


def _summary(answer: Answer, asked: SearchQuestion, seconds: float) -> Iterator[str]:
    made = (one_line(search.query) for search in answer.searches if search.kind == "search")
    queries = list(dict.fromkeys(made))
    if queries:
        more = f" and {len(queries) - _QUERIES_SHOWN} more" if len(queries) > _QUERIES_SHOWN else ""
        yield f"Searched: {' · '.join(queries[:_QUERIES_SHOWN])}{more}"
    provider, model = answered_by(answer, asked)
    facts = [one_line(provider), one_line(model), *_counts(answer.usage), f"{seconds:.1f} s"]
    yield " · ".join(fact for fact in facts if fact)


def _counts(usage: Usage) -> Iterator[str]:
    if usage.searches is not None:
        yield "1 search" if usage.searches == 1 else f"{usage.searches} searches"
    if usage.input_tokens is not None or usage.output_tokens is not None:
        yield f"{usage.input_tokens or 0:,} tokens in, {usage.output_tokens or 0:,} out"
    if usage.cost is not None:
        yield f"${usage.cost:.4f}"


def _source_lines(console: Console, number: int, source: Source, columns: int) -> Iterator[str]:
    label = shorten(one_line(label_of(source)), columns - len(_indented(number)))
    url = safe_url(source.url)
    mark = f"[{number}]"
    domain = one_line(display_domain(source))
    shown = linked(label, url) if url and console.linked else label
    yield f"{_faint(console, mark)} {shown}"
    if not url:
        return
    # An address that can be clicked above need not be whole; one that cannot must be.
    if console.linked and text_width(url) > columns - len(_indented(number)):
        if domain and domain != label:
            yield _indented(number) + _faint(console, domain)
    else:
        yield _indented(number) + _faint(console, url)


def _claims(
    source: Source, unplaced: Iterable[Citation], answer: Answer, order: SourceNumberer
) -> Iterator[str]:
    for citation in unplaced:
        numbers = {order.number(item.source) for item in citation.evidence}
        if citation.span is not None and order.number(source) in numbers:
            claim = one_line(answer.text[citation.span.start : citation.span.end])
            if claim:
                yield claim


def _quoted(claim: str, width: int) -> str:
    return f"“{shorten(claim, width - 2)}”"


def _indented(number: int) -> str:
    return " " * (len(str(number)) + 3)


def _faint(console: Console, text: str) -> str:
    return styled(text, DIM) if console.colored else text
