"""A comparison for the terminal: who answered, which claims are agreed or contradicted, and the sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groundwire.compare.comparison import Agreement, ClaimGroup, Comparison, Contribution, MergedSource
from groundwire.faces.cli.console import BOLD, DIM, RED, YELLOW, Console, styled
from groundwire.faces.cli.style import shorten, text_width
from groundwire.text.sanitise import one_line
from groundwire.text.urls import shown_address

_GREEN = "32"
_HEADINGS: Mapping[Agreement, tuple[str, str]] = {
    "contradicted": ("Contradicted", RED),
    "agreed": ("Agreed", _GREEN),
    "single": ("Only one says", YELLOW),
}
_HEAD = ("provider", "time", "cost", "searches", "sources", "cited", "answer")
_MOST_SINGLE = 8
_MOST_SOURCES = 12


def write_comparison(console: Console, comparison: Comparison) -> None:
    """Write the tables."""
    columns, _ = console.size()
    console.write("\n".join(_lines(console, comparison, columns)) + "\n")


def _lines(console: Console, comparison: Comparison, columns: int) -> Iterator[str]:
    rows = [_cells(item, comparison) for item in comparison.contributions]
    widths = [max(text_width(row[at]) for row in (_HEAD, *rows)) + 2 for at in range(len(_HEAD) - 1)]
    yield _styled(console, _row(_HEAD, widths, columns), BOLD)
    for item, row in zip(comparison.contributions, rows, strict=True):
        yield _styled(console, _row(row, widths, columns), "" if item.outcome == "answered" else RED)
    for kind, (heading, style) in _HEADINGS.items():
        groups = [group for group in comparison.claims if group.agreement == kind]
        if groups:
            yield ""
            yield _styled(console, f"{heading} ({len(groups)})", f"{BOLD};{style}")
            shown = groups if kind != "single" else groups[:_MOST_SINGLE]
            for group in shown:
                yield from _group(console, group, columns)
            if len(groups) > len(shown):
                yield f"  and {len(groups) - len(shown)} more; --json has all"
    if comparison.sources:
        yield ""
        yield _styled(console, "Sources", BOLD)
        for source in comparison.sources[:_MOST_SOURCES]:
            yield from _source(console, source, columns)
        if len(comparison.sources) > _MOST_SOURCES:
            yield f"  and {len(comparison.sources) - _MOST_SOURCES} more; --json has all"
    if comparison.removed:
        yield f"{comparison.removed} sources outside of the allowed domains were left out."


def _cells(item: Contribution, comparison: Comparison) -> tuple[str, ...]:
    used = [source for source in comparison.sources if any(name == item.provider for name, _ in source.ranks)]
    cited = sum(item.provider in source.cited_by for source in used)
    searches = item.answer.usage.searches
    text = item.answer.text if item.outcome == "answered" else (item.reason or "nothing found")
    return (
        one_line(item.provider),
        f"{item.seconds:.1f} s",
        _cost(item.answer.usage.cost),
        "?" if searches is None else str(searches),
        str(len(used)),
        str(cited),
        one_line(text),
    )


def _cost(usd: float | None) -> str:
    return "?" if usd is None else f"${usd:.4f}" if usd else "free"


def _row(cells: tuple[str, ...], widths: list[int], columns: int) -> str:
    fixed = "".join(
        cell + " " * (width - text_width(cell)) for cell, width in zip(cells, widths, strict=False)
    )
    return fixed + shorten(cells[-1], max(12, columns - text_width(fixed)))


def _group(console: Console, group: ClaimGroup, columns: int) -> Iterator[str]:
    for number, side in enumerate(group.sides):
        mark = "•" if number == 0 else " "
        label = f"{mark} {one_line(side.provider)}: "
        yield f"  {label}" + shorten(one_line(side.text), max(20, columns - text_width(label) - 2))
    for item in group.differences:
        note = one_line(f"{item.one_says} ({item.one}), {item.other_says} ({item.other})")
        yield _styled(console, "    " + shorten(note, max(20, columns - 4)), DIM)


def _source(console: Console, source: MergedSource, columns: int) -> Iterator[str]:
    names = ", ".join(name if name in source.cited_by else f"{name} (found)" for name, _ in source.ranks)
    yield "  " + shorten(one_line(source.title) or shown_address(source.url), max(20, columns - 2))
    used = f"{shown_address(source.url)}  {one_line(names)}"
    yield _styled(console, "    " + shorten(used, max(20, columns - 4)), DIM)


def _styled(console: Console, text: str, style: str) -> str:
    return styled(text, style) if style and console.colored else text
