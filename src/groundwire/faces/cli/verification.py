"""A verification report for the terminal: a table of all citations, then what is wrong or open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groundwire.faces.cli.console import BOLD, DIM, RED, YELLOW, Console, styled
from groundwire.faces.cli.style import shorten, text_width
from groundwire.text.sanitise import one_line
from groundwire.text.urls import shown_address
from groundwire.verify.facts import MEANINGS, CitationFact, Standing, StatementFact, VerifyReport

_GREEN = "32"
_STYLES: Mapping[Standing, str] = {"supported": _GREEN, "open": YELLOW, "failed": RED, "unchecked": DIM}
_HEAD = ("#", "result", "address", "quote", "claim", "source")
_WIDTHS = (4, 10, 13, 10, 16)
_LABEL = 9
_MOST_MISSING = 12


def write_report(console: Console, report: VerifyReport, *, every: bool) -> None:
    """Write the table, details of what is not supported (of everything with `every`), and the sum."""
    if not report.facts:
        console.print("The answer cites no source: there is nothing to verify.")
        return
    columns, _ = console.size()
    lines = [_styled(console, _row(_HEAD, columns), BOLD)]
    for number, fact in enumerate(report.facts, 1):
        lines.append(_styled(console, _row(_cells(number, fact), columns), _STYLES[fact.standing]))
    for number, fact in enumerate(report.facts, 1):
        if every or fact.standing != "supported":
            lines += ["", *_details(console, number, fact, columns)]
    lines += ["", _summary(report)]
    console.write("\n".join(lines) + "\n")


def _cells(number: int, fact: CitationFact) -> tuple[str, ...]:
    return (
        str(number),
        fact.standing,
        fact.address.verdict,
        fact.quote.verdict,
        fact.claimed.verdict,
        shown_address(fact.url) or one_line(fact.title),
    )


def _row(cells: tuple[str, ...], columns: int) -> str:
    fixed = "".join(
        cell + " " * max(1, width - text_width(cell)) for cell, width in zip(cells, _WIDTHS, strict=False)
    )
    return fixed + shorten(cells[-1], max(12, columns - text_width(fixed)))


def _details(console: Console, number: int, fact: CitationFact, columns: int) -> Iterator[str]:
    yield _styled(console, f"{number}. {shown_address(fact.url) or one_line(fact.title)}", BOLD)
    for label, text in _facts(fact):
        shown = one_line(text)
        yield f"   {label:<{_LABEL}}" + shorten(shown, max(20, columns - _LABEL - 3))


def _facts(fact: CitationFact) -> Iterator[tuple[str, str]]:
    address = fact.address
    if address.verdict != "alive":
        yield "address", f"{MEANINGS[address.verdict]}: {address.evidence or address.target}"
        if address.target:
            yield "", f"→ {address.target}"
    if address.is_cut:
        yield "address", "the page is longer than what was compared"
    if not fact.allowed:
        yield "site", "not among the allowed ones"
    if fact.quote.verdict not in ("none", "verbatim"):
        yield "quote", MEANINGS[fact.quote.verdict]
        for claimed, stated in fact.quote.changes:
            yield "", f"quote “{claimed}”, page “{stated}”"
    if fact.claim:
        yield "claim", f"“{fact.claim}”"
    for statement in fact.claimed.statements:
        yield from _statement(statement, single=len(fact.claimed.statements) == 1)
    if fact.claimed.model_quote:
        yield "model", f"{fact.claimed.model}: “{fact.claimed.model_quote}”"


def _statement(statement: StatementFact, *, single: bool) -> Iterator[tuple[str, str]]:
    if not single:
        yield "", f"“{statement.text}”"
    yield "page", MEANINGS[statement.verdict] + (f" ({statement.note})" if statement.note else "")
    if statement.claimed:
        yield "", f"claim “{statement.claimed}”, page “{statement.stated}”"
    elif statement.missing:
        yield "missing", ", ".join(statement.missing[:_MOST_MISSING])
    if statement.passage:
        place = "" if statement.place == "text" else f" [{statement.place}]"
        yield "", f"“{statement.passage}”{place}"


def _summary(report: VerifyReport) -> str:
    counts = ", ".join(f"{count} {standing}" for standing, count in report.counts().items() if count)
    what = "citation" if len(report.facts) == 1 else "citations"
    pages = "page" if report.pages == 1 else "pages"
    return f"{len(report.facts)} {what} of {report.pages} {pages}: {counts}."


def _styled(console: Console, text: str, style: str) -> str:
    return styled(text, style) if console.colored else text
