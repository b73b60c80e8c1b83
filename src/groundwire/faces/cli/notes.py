"""What stands around an answer: its sources, and what a person should know about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from groundwire.faces.cli.console import BOLD, DIM, YELLOW, Console, linked, styled
from groundwire.faces.cli.forms import Asked, answered_by
from groundwire.faces.cli.paper import shortened, text_width
from groundwire.model import NOTHING_FOUND, Answer, Citation, Source, Usage
from groundwire.model.events import FinishReason
from groundwire.text.domains import display_domain
from groundwire.text.sanitise import one_line
from groundwire.text.sources import SourceNumberer, label_of
from groundwire.text.urls import safe_url

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
        lines += _entry(console, number, source, columns)
        for claim in _claims(source, unplaced, answer, order):
            lines.append(
                _indented(number) + _faint(console, _quoted(claim, columns - len(_indented(number))))
            )
    console.write("\n".join(lines) + "\n")


def write_notes(console: Console, answer: Answer, asked: Asked, seconds: float) -> None:
    """Warnings, and on a terminal what was done and what it cost."""
    notes = [(text, YELLOW) for text in _cautions(answer)]
    if console.stderr.isatty() and (answer.text.strip() or answer.searches):
        columns, _ = console.size()
        notes += ((shortened(line, columns), DIM) for line in _summary(answer, asked, seconds))
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


def _summary(answer: Answer, asked: Asked, seconds: float) -> Iterator[str]:
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


def _entry(console: Console, number: int, source: Source, columns: int) -> Iterator[str]:
    label = shortened(one_line(label_of(source)), columns - len(_indented(number)))
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
    return f"“{shortened(claim, width - 2)}”"


def _indented(number: int) -> str:
    return " " * (len(str(number)) + 3)


def _faint(console: Console, text: str) -> str:
    return styled(text, DIM) if console.colored else text
