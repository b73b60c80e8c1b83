"""Bars by day, drawn as SVG here: no script, no style but classes of our own."""

from __future__ import annotations

from html import escape
from math import floor, log10

from groundwire.chat.usage import Series
from groundwire.text.sanitise import one_line

WIDTH, HEIGHT = 720, 180
_LEFT, _BOTTOM, _TOP = 52, 24, 10
_COLOURS = 6


def bars(series: Series, label: str) -> str:
    """Stacked bars, one for each day, in a colour for each provider."""
    days = len(series.days)
    top = _round_up(max((sum(stack) for stack in zip(*series.values.values(), strict=True)), default=0.0))
    step = (WIDTH - _LEFT) / max(days, 1)
    parts = [*_axis(top), *_dates(series, step)]
    for place in range(days):
        parts += _stack(series, place, step, top)
    title = f"<title>{escape(label)}</title>"
    plot = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{title}'
    return plot + "".join(parts) + "</svg>" + _legend(series)


def _stack(series: Series, place: int, step: float, top: float) -> list[str]:
    base = float(HEIGHT - _BOTTOM)
    parts = []
    for colour, (name, numbers) in enumerate(series.values.items()):
        amount = numbers[place]
        if not amount:
            continue
        tall = amount / top * (HEIGHT - _BOTTOM - _TOP)
        base -= tall
        told = f"{series.days[place]} · {one_line(name)}: {_short(amount)}"
        parts.append(
            f'<rect class="series-{colour % _COLOURS}" x="{_LEFT + place * step + step * 0.15:.1f}" '
            f'y="{base:.1f}" width="{step * 0.7:.1f}" height="{tall:.1f}">'
            f"<title>{escape(told)}</title></rect>"
        )
    return parts


def _axis(top: float) -> list[str]:
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = HEIGHT - _BOTTOM - share * (HEIGHT - _BOTTOM - _TOP)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(top * share)}</text>')
    return parts


def _dates(series: Series, step: float) -> list[str]:
    every = max(1, len(series.days) // 8)
    return [
        f'<text x="{_LEFT + (place + 0.5) * step:.1f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(day[5:])}</text>"
        for place, day in enumerate(series.days)
        if place % every == 0
    ]


def _legend(series: Series) -> str:
    items = (
        f'<li><span class="swatch series-{colour % _COLOURS}"></span>{escape(one_line(name) or "?")}</li>'
        for colour, name in enumerate(series.values)
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _round_up(number: float) -> float:
    """The next number that reads well."""
    if number <= 0:
        return 1.0
    size = 10.0 ** floor(log10(number))
    return next((factor * size for factor in (1, 2, 5) if factor * size >= number), 10.0 * size)


def _short(number: float) -> str:
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{sign}"
    return f"{number:.3g}"
