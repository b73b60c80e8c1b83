"""Output formats of an answer (JSON, events, Markdown, text), and its footer: sources, warnings, usage."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from groundwire.client_protocol import Quota
from groundwire.config.kinds import format_time
from groundwire.dialects.extras import (
    FIELD,
    VERIFICATION,
    VERSION,
    encode_citation,
    encode_search,
    encode_source,
)
from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.faces.cli.console import BOLD, DIM, YELLOW, Console, linked, styled
from groundwire.faces.cli.exit_codes import exit_status
from groundwire.faces.cli.style import shorten, text_width
from groundwire.model import (
    NOTHING_FOUND,
    NOTICES,
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
from groundwire.text.bibliography import bibtex, csl_items, markdown_list, ris
from groundwire.text.domains import display_domain
from groundwire.text.markdown import render_answer, to_markdown
from groundwire.text.sanitise import escape_invisible_json, one_line, sanitise
from groundwire.text.sources import Numbering, SourceNumberer, label_of, number_answer
from groundwire.text.urls import safe_url, shown_address

if TYPE_CHECKING:
    from decimal import Decimal

_MARKUP = re.compile(r"([\\\[\]`*_<>])")


@value
class SearchQuestion:
    """The question, and the provider, model and most cost that were requested."""

    query: str
    provider: str = ""
    model: str = ""
    max_cost: Decimal | None = None
    """In USD."""


def as_json(answer: Answer, question: SearchQuestion, quotas: Sequence[Quota] = ()) -> str:
    """The answer as one JSON object, with what is left of the provider's rate limits if it reports them."""
    limits: JsonObject = {"rate_limits": [_encode_quota(quota) for quota in quotas]} if quotas else {}
    return escape_invisible_json(dump_json({**encode_answer(answer, question), **limits}))


def as_line(event: Event) -> str:
    """An event as one line of JSON."""
    return escape_invisible_json(dump_json(encode(event)))


def as_text(answer: Answer) -> str:
    """The answer as text, with numbered citations and the list of sources."""
    return sanitise(render_answer(answer))


def as_raw(answer: Answer) -> str:
    """The text without citations."""
    return sanitise(answer.text)


def as_markdown(answer: Answer) -> str:
    """The answer as Markdown, with citations as links and the list of sources."""
    answer = to_markdown(answer)
    numbering = number_answer(answer)
    writer = NumberWriter(numbering.number, lambda number: _reference(number, numbering))
    breaks = paragraph_breaks(answer, after=(SearchCall,))
    body = annotate_numbers(answer.text, answer.citations, writer, breaks, strip=True).text
    lines = [_source_item(number, numbering) for number in range(1, len(numbering.sources) + 1)]
    return sanitise("\n".join([body.rstrip(), "", "## Sources", "", *lines] if lines else [body.rstrip()]))


def as_bibliography(answer: Answer, form: str, now: float) -> str:
    """The sources of an answer in one of the forms of bibliographies; `now` is when they were looked up."""
    sources = [source for source in number_answer(answer).sources if source.url or source.title]
    accessed = format_time(now)[:10]
    if form == "csl-json":
        return escape_invisible_json(dump_json(csl_items(sources, accessed))) + "\n" if sources else ""
    return _BIBLIOGRAPHIES[form](sources, accessed)


_BIBLIOGRAPHIES: Mapping[str, Callable[[Sequence[Source], str], str]] = {
    "bibtex": bibtex,
    "ris": ris,
    "markdown": markdown_list,
}


def encode_answer(answer: Answer, question: SearchQuestion) -> JsonObject:
    """The answer as a JSON object; spans count code points of `text`."""
    sources = answer.sources
    positions = {source.url or f"name:{source.title}": index for index, source in enumerate(sources)}
    provider, model = answered_by(answer, question)
    verification = answer.extras.get(FIELD, {}).get(VERIFICATION)
    return {
        "version": VERSION,
        "query": question.query,
        "text": answer.text,
        "citations": [encode_citation(citation, positions) for citation in answer.citations],
        "sources": [encode_source(source) for source in sources],
        "searches": [encode_search(search) for search in answer.searches],
        "grounded": answer.grounded,
        "warnings": [{"code": warning.code, "message": warning.message} for warning in answer.warnings],
        "usage": _encode_usage(answer),
        "provider": provider,
        "model": model,
        "finish": answer.finish,
        "error": None if answer.error is None else encode_error(answer.error),
        **({} if verification is None else {VERIFICATION: verification}),
    }


def _encode_quota(quota: Quota) -> JsonObject:
    return {name: getattr(quota, name) for name in field_names(Quota)}


def encode_error(error: GroundwireError) -> JsonObject:
    """An error as a JSON object."""
    body: JsonObject = {"code": error.code, "message": error.message, "retryable": error.retryable}
    advice = exit_status(error).advice
    return {**body, "advice": advice} if advice else body


def answered_by(answer: Answer, question: SearchQuestion) -> tuple[str, str]:
    """Provider and model that answered; as requested where the answer does not name them."""
    signature = answer.extras.get("groundwire", {})
    named = "" if question.provider == "auto" else question.provider
    return (
        str(signature.get("provider") or named),
        answer.model or str(signature.get("model") or question.model),
    )


def _encode_usage(answer: Answer) -> JsonObject:
    """Counts and cost, and the price list that the cost is from; without one, the provider reported it."""
    counts: dict[str, Json] = {name: getattr(answer.usage, name) for name in field_names(Usage)}
    prices = answer.extras.get("groundwire", {}).get("prices")
    return {**counts, "prices": prices} if prices else counts


def _reference(number: int, numbering: Numbering) -> str:
    url = _target(numbering, number)
    return f"[[{number}]]({url})" if url else f"[{number}]"


def _source_item(number: int, numbering: Numbering) -> str:
    label = _MARKUP.sub(r"\\\1", one_line(label_of(numbering.sources[number - 1])))
    url = _target(numbering, number)
    if url:
        return f"{number}. [{label}]({url})"
    address = shown_address(numbering.sources[number - 1].url)
    return f"{number}. {label}" + (f" (`{address}`)" if address else "")


def _target(numbering: Numbering, number: int) -> str:
    """The URL of a source, escaped for Markdown."""
    url = safe_url(numbering.sources[number - 1].url)
    return url.replace("(", "%28").replace(")", "%29")


_QUERIES_SHOWN = 6

_FINISH_NOTES: Mapping[FinishReason, str] = {
    "length": "The answer was cut off: it reached the limit of its length.",
    "pause": "The provider paused before the answer was complete.",
    "filtered": "A filter of the provider's cut the answer.",
    "refused": "The model declined to answer.",
}


def write_sources(
    console: Console, numberer: SourceNumberer, unplaced: Sequence[Citation], answer: Answer
) -> None:
    """Write the list of sources, with quotes of the claims that have no number in the text."""
    if not numberer.sources:
        return
    columns, _ = console.size()
    title = "Sources" if answer.grounded else "Found, but not cited"
    lines = [styled(title, BOLD) if console.colored else title]
    for number, source in enumerate(numberer.sources, 1):
        lines += _source_lines(console, number, source, columns)
        for claim in _claims(source, unplaced, answer, numberer):
            lines.append(
                _indented(number) + _faint(console, _quoted(claim, columns - len(_indented(number))))
            )
    console.write("\n".join(lines) + "\n")


def write_footer(console: Console, answer: Answer, question: SearchQuestion, seconds: float) -> None:
    """Write warnings, and on a terminal the searches, the provider and the usage."""
    notes = [(one_line(one.message), DIM) for one in answer.warnings if one.code in NOTICES]
    notes += ((text, YELLOW) for text in _cautions(answer))
    if console.stderr.isatty() and (answer.text.strip() or answer.searches):
        columns, _ = console.size()
        notes += ((shorten(line, columns), DIM) for line in _summary(answer, question, seconds))
    if notes and console.moves and answer.text.strip():
        console.note("")
    for text, style in notes:
        console.note(text, style)


def _cautions(answer: Answer) -> Iterator[str]:
    """Reasons to doubt the answer."""
    is_explained = answer.grounded or answer.detail == NOTHING_FOUND
    if answer.error is None and answer.text.strip() and not is_explained:
        yield "Not grounded: nothing in this answer names a source."
    if answer.finish is not None and answer.finish in _FINISH_NOTES:
        yield _FINISH_NOTES[answer.finish]
    for warning in answer.warnings:
        if warning.code not in NOTICES:
            yield f"Warning: {one_line(warning.message)}"


def _summary(answer: Answer, question: SearchQuestion, seconds: float) -> Iterator[str]:
    made = (one_line(search.query) for search in answer.searches if search.kind == "search")
    queries = list(dict.fromkeys(made))
    if queries:
        more = f" and {len(queries) - _QUERIES_SHOWN} more" if len(queries) > _QUERIES_SHOWN else ""
        yield f"Searched: {' · '.join(queries[:_QUERIES_SHOWN])}{more}"
    provider, model = answered_by(answer, question)
    facts = [one_line(provider), one_line(model), *_counts(answer.usage), f"{seconds:.1f} s"]
    yield " · ".join(fact for fact in facts if fact)


def _counts(usage: Usage) -> Iterator[str]:
    if usage.searches is not None:
        yield "1 search" if usage.searches == 1 else f"{usage.searches} searches"
    if usage.input_tokens is not None or usage.output_tokens is not None:
        yield f"{usage.input_tokens or 0:,} tokens in, {usage.output_tokens or 0:,} out"
    if usage.cost:
        yield f"${usage.cost:.4f}"
    elif usage.cost is not None:
        yield "free"
    elif usage.input_tokens is not None or usage.output_tokens is not None:
        yield "cost unknown"


def _source_lines(console: Console, number: int, source: Source, columns: int) -> Iterator[str]:
    label = shorten(one_line(label_of(source)), columns - len(_indented(number)))
    url = safe_url(source.url)
    marker = f"[{number}]"
    domain = one_line(display_domain(source))
    shown = linked(label, url) if url and console.linked else label
    yield f"{_faint(console, marker)} {shown}"
    if not url:
        if address := shown_address(source.url):
            yield _indented(number) + _faint(console, address)
        return
    # A URL that is linked above may be shortened to its domain; otherwise it is shown in full.
    if console.linked and text_width(url) > columns - len(_indented(number)):
        if domain and domain != label:
            yield _indented(number) + _faint(console, domain)
    else:
        yield _indented(number) + _faint(console, url)


def _claims(
    source: Source, unplaced: Iterable[Citation], answer: Answer, numberer: SourceNumberer
) -> Iterator[str]:
    for citation in unplaced:
        numbers = {numberer.number(item.source) for item in citation.evidence}
        if citation.span is not None and numberer.number(source) in numbers:
            claim = one_line(answer.text[citation.span.start : citation.span.end])
            if claim:
                yield claim


def _quoted(claim: str, width: int) -> str:
    return f"“{shorten(claim, width - 2)}”"


def _indented(number: int) -> str:
    return " " * (len(str(number)) + 3)


def _faint(console: Console, text: str) -> str:
    return styled(text, DIM) if console.colored else text
