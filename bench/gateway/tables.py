"""The tables, and whether groundwire keeps its limits."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gateway.rounds import Capacity, Measured, Rows
from gateway.workloads import (
    ADDED_MS,
    FIRST_TOKENS,
    GROWTH_WORKLOADS,
    LATE_MS,
    LENGTHS,
    MAX_GROWTH,
    MEMORY_MB,
    WORKLOADS,
    Limit,
    Workload,
)
from gateway.workloads import WORKERS_WORKLOAD as WORKERS

OURS = "groundwire"


def show(measured: Measured, names: Sequence[str]) -> None:
    """Print all tables."""
    _delivered(measured, names)
    _costs(measured, names)
    _limits(measured)
    _late(measured, names)
    _drivers(measured, names)
    _rates(measured, names)
    _first_tokens(measured, names)
    _memory(measured)
    _workers(measured)
    _capacity(measured)
    _growth(measured, names)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> None:
    rows = [row for row in rows if any(row[words:])]
    if not rows:
        return
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{'---|' * words}{'--:|' * (len(heads) - words)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:,.0f}" if figure >= 1000 else f"{figure:.3g}"


def _verdict(figure: float | None, most: float | None) -> str:
    if figure is None or most is None:
        return "not measured"
    return "PASS" if figure <= most else "MISS"


def _delivered(measured: Measured, names: Sequence[str]) -> None:
    rows = [
        [workload.title, *(measured.delivered.get((workload, name), "") for name in names)]
        for workload in WORKLOADS
    ]
    _table("What clients receive: the text, and how many of 8 citations", ["workload", *names], rows)


def _costs(measured: Measured, names: Sequence[str]) -> None:
    rows = [
        [
            workload.title,
            str(concurrency),
            *(_cost(measured, workload, concurrency, name) for name in names),
        ]
        for workload in WORKLOADS
        for concurrency in workload.concurrency
    ]
    title = "CPU ms per request (direct: CPU of the client)"
    _table(title, ["workload", "concurrency", *names], rows, words=2)


def _cost(measured: Measured, workload: Workload, concurrency: int, name: str) -> str:
    figure = _shown(measured.costs.of(workload, concurrency, name))
    return figure or ("failed" if (workload, concurrency, name) in measured.failed else "")


def _limits(measured: Measured) -> None:
    rows = [
        _limit(measured, workload, concurrency, limit)
        for workload in WORKLOADS
        for concurrency in workload.concurrency
        for limit in workload.limits
        if _cost(measured, workload, concurrency, OURS)
    ]
    heads = ["workload", "concurrency", "limit", "ms", "groundwire ms", "ratio", ""]
    _table("Limits for groundwire", heads, rows, words=3)


def _limit(measured: Measured, workload: Workload, concurrency: int, limit: Limit) -> list[str]:
    ours = measured.costs.of(workload, concurrency, OURS)
    theirs = measured.costs.of(workload, concurrency, limit.contender)
    most = None if theirs is None else theirs * limit.times
    ratio = None if ours is None or theirs is None else ours / theirs
    shown = "" if ratio is None else f"1/{1 / ratio:.1f}" if ratio < 1 else f"{ratio:.2f}"
    figures = [_shown(most), _shown(ours), shown]
    verdict = "MISS: failed" if (workload, concurrency, OURS) in measured.failed else _verdict(ours, most)
    # A process that cannot keep up reads several events at once, which makes each of them cheaper.
    for name, unfair in (
        (limit.contender, f"not comparable: {limit.contender} is late"),
        (OURS, "MISS: late"),
    ):
        if (measured.late.of(workload, concurrency, name) or 0.0) > LATE_MS:
            verdict = unfair
            break
    return [workload.title, str(concurrency), str(limit), *figures, verdict]


def _late(measured: Measured, names: Sequence[str]) -> None:
    title = f"Paced streams: p99 of the time between two reads, in ms (late: more than {LATE_MS:.0f})"
    _table(title, ["workload, streams", *names], _paced_rows(measured.late, names))


def _drivers(measured: Measured, names: Sequence[str]) -> None:
    title = (
        "Cores used by the load generator and the upstream, which share one: close to 1, they are the limit"
    )
    _table(title, ["workload, streams", *names], _paced_rows(measured.drivers, names))


def _paced_rows(figures: Rows, names: Sequence[str]) -> list[list[str]]:
    return [
        [f"{workload.title}, {streams}", *(_shown(figures.of(workload, streams, name)) for name in names)]
        for workload in WORKLOADS
        for streams in workload.concurrency
        if workload.variant == "paced"
    ]


def _rates(measured: Measured, names: Sequence[str]) -> None:
    rows = [
        [workload.title, *(_shown(measured.rates.of(workload, 32, name)) for name in names)]
        for workload in WORKLOADS
        if workload.variant == "plain"
    ]
    _table(
        "Requests per second at concurrency 32 (all processes share the machine)", ["workload", *names], rows
    )


def _first_tokens(measured: Measured, names: Sequence[str]) -> None:
    rows = []
    for workload in FIRST_TOKENS:
        direct = measured.first_tokens.of(workload, 1, "direct")
        added = {}
        for name in names:
            figure = measured.first_tokens.of(workload, 1, name)
            added[name] = None if figure is None or direct is None else figure - direct
        verdict = _verdict(added.get(OURS), ADDED_MS)
        rows.append([workload.title, *(_shown(added[name]) for name in names), verdict])
    _table(f"Time added to the first token, in ms (limit {ADDED_MS:g})", ["workload", *names, ""], rows)


def _memory(measured: Measured) -> None:
    names = list(measured.memory_after)
    rows = [
        [title, *(_shown(figures[name]) for name in names), verdict]
        for title, figures, verdict in (
            ("before the first request", measured.memory_before, ""),
            ("after the last", measured.memory_after, _verdict(measured.memory_after.get(OURS), MEMORY_MB)),
        )
    ]
    _table(f"Memory in MB (PSS, limit {MEMORY_MB:.0f})", ["", *names, ""], rows)


def _workers(measured: Measured) -> None:
    one = measured.rates.of(WORKERS, 32, OURS)
    two = measured.rates.of(WORKERS, 32, "2 workers")
    if one is not None and two is not None:
        busy = measured.drivers.of(WORKERS, 32, "2 workers")
        print(
            f"\nTwo workers, {WORKERS.title}, 32 connections: {two / one:.2f} times the requests of "
            f"one per second, on {os.cpu_count()} cores, {_shown(busy)} used by load generator and upstream"
        )


def _capacity(measured: Measured) -> None:
    ours = measured.capacity.get(OURS)
    rows = [
        [name, str(found.streams), str(found.too_many or ""), found.reason, _ratio(found.streams, ours)]
        for name, found in measured.capacity.items()
    ]
    heads = ["contender", "streams", "too many", "why", f"{OURS} carries"]
    _table(f"Streams per core, an event every 20 ms, p99 at most {LATE_MS:.0f} ms", heads, rows)


def _ratio(streams: int, ours: Capacity | None) -> str:
    return "" if ours is None or not streams else f"{ours.streams / streams:.2f} x"


def _growth(measured: Measured, names: Sequence[str]) -> None:
    rows = []
    for workload in GROWTH_WORKLOADS:
        for name in names:
            figures = [measured.events.of(workload, length, name) for length in LENGTHS]
            if any(figure is not None for figure in figures):
                before, longest = figures[-2], figures[-1]
                most = None if before is None else before * MAX_GROWTH
                verdict = _verdict(longest, most) if name == OURS else ""
                rows.append([workload.title, name, *map(_shown, figures), verdict])
    title = f"CPU µs per event (limit for the longest stream: {MAX_GROWTH} times the column before)"
    _table(title, ["workload", "contender", *(f"{length:,} events" for length in LENGTHS), ""], rows, words=2)
