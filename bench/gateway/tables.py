"""The tables, and whether groundwire keeps to what it must."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.rounds import Measured
from gateway.works import ADDED_MS, FIRST_TOKENS, GROWING, IDLE, LENGTHS, STRAIGHT, WORKS, Limit, Work

OURS = "groundwire"


def show(measured: Measured, names: Sequence[str]) -> None:
    """Prints everything."""
    _heard(measured, names)
    _costs(measured, names)
    _limits(measured)
    _rates(measured, names)
    _first_tokens(measured, names)
    _idle(measured)
    _growth(measured, names)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> None:
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{'---|' * words}{'--:|' * (len(heads) - words)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:,.0f}" if figure >= 1000 else f"{figure:.3g}"


def _judged(figure: float | None, most: float | None) -> str:
    if figure is None or most is None:
        return "not measured"
    return "PASS" if figure <= most else "MISS"


def _heard(measured: Measured, names: Sequence[str]) -> None:
    rows = [[work.title, *(measured.heard.get((work, name), "") for name in names)] for work in WORKS]
    _table("What comes through: the text, and how many of 8 citations", ["work", *names], rows)


def _costs(measured: Measured, names: Sequence[str]) -> None:
    rows = [
        [work.title, str(at_once), *(_shown(measured.costs.of(work, at_once, name)) for name in names)]
        for work in WORKS
        for at_once in work.at_once
    ]
    _table("CPU ms for each request (direct: of the client)", ["work", "at once", *names], rows)


def _limits(measured: Measured) -> None:
    rows = [
        _limit(measured, work, at_once, limit)
        for work in WORKS
        for at_once in work.at_once
        for limit in work.limits
    ]
    heads = ["work", "at once", "at most", "ms", "groundwire ms", "ratio", ""]
    _table("What groundwire may cost", heads, rows)


def _limit(measured: Measured, work: Work, at_once: int, limit: Limit) -> list[str]:
    ours = measured.costs.of(work, at_once, OURS)
    theirs = measured.costs.of(work, at_once, limit.contender)
    most = None if theirs is None else theirs * limit.times
    ratio = None if ours is None or theirs is None else ours / theirs
    told = "" if ratio is None else f"1/{1 / ratio:.1f}" if ratio < 1 else f"{ratio:.2f}"
    figures = [_shown(most), _shown(ours), told]
    return [work.title, str(at_once), str(limit), *figures, _judged(ours, most)]


def _rates(measured: Measured, names: Sequence[str]) -> None:
    rows = [
        [work.title, *(_shown(measured.rates.of(work, 32, name)) for name in names)]
        for work in WORKS
        if work.variant == "plain"
    ]
    _table("Requests in a second, 32 at once (all share the machine)", ["work", *names], rows)


def _first_tokens(measured: Measured, names: Sequence[str]) -> None:
    rows = []
    for work in FIRST_TOKENS:
        direct = measured.first_tokens.of(work, 1, "direct")
        added = {}
        for name in names:
            figure = measured.first_tokens.of(work, 1, name)
            added[name] = None if figure is None or direct is None else figure - direct
        judged = _judged(added.get(OURS), ADDED_MS)
        rows.append([work.title, *(_shown(added[name]) for name in names), judged])
    _table(f"Added ms to the first token (at most {ADDED_MS:.0f})", ["work", *names, ""], rows)


def _idle(measured: Measured) -> None:
    rows = []
    for title, figures in (("before the first request", measured.idle), ("after the last", measured.rested)):
        theirs = figures.get(IDLE.contender)
        most = None if theirs is None else theirs * IDLE.times
        names = list(figures)
        rows.append([title, *(_shown(figures[name]) for name in names), _judged(figures.get(OURS), most)])
    _table(f"MB resident (at most {IDLE})", ["", *names, ""], rows)


def _growth(measured: Measured, names: Sequence[str]) -> None:
    rows = []
    for work in GROWING:
        for name in names:
            figures = [measured.events.of(work, length, name) for length in LENGTHS]
            if any(figure is not None for figure in figures):
                before, longest = figures[-2], figures[-1]
                most = None if before is None else before * STRAIGHT
                judged = _judged(longest, most) if name == OURS else ""
                rows.append([work.title, name, *map(_shown, figures), judged])
    title = f"CPU µs for each event (of the longest stream at most {STRAIGHT} times the one before)"
    _table(title, ["work", "contender", *(f"{length:,} events" for length in LENGTHS), ""], rows, words=2)
