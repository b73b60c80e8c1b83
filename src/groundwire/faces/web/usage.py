"""Usage page: searches, tokens and cost by provider and day, with SVG charts that need no script."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from html import escape
from math import floor, log10

from groundwire.chat.usage import (
    Series,
    by_model,
    cost_of,
    days_until,
    requests_of,
    searches_of,
    series,
    tokens_of,
    usage_as_csv,
    whole,
)
from groundwire.client_protocol import SearchClient
from groundwire.faces.web.headers import send_export
from groundwire.faces.web.locales import Texts
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp
from groundwire.faces.web.session_list import short_day
from groundwire.model.value import replace
from groundwire.store.base import UsageTotal
from groundwire.text.sanitise import one_line

WIDTH, HEIGHT = 720, 180
_LEFT, _BOTTOM, _TOP = 52, 36, 12
_COLOURS = 6


def stacked_bars(series: Series, label: str, texts: Texts) -> str:
    """SVG of stacked bars: one bar for each day, one colour for each provider."""
    days = len(series.days)
    top = _round_up(max((sum(stack) for stack in zip(*series.values.values(), strict=True)), default=0.0))
    step = (WIDTH - _LEFT) / max(days, 1)
    parts = [*_axis(top), *_dates(series, step, texts)]
    for day in range(days):
        parts += _stack(series, day, step, top)
    title = f"<title>{escape(label)}</title>"
    plot = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{title}'
    return plot + "".join(parts) + "</svg>" + _legend(series)


def _stack(series: Series, day: int, step: float, top: float) -> list[str]:
    base = float(HEIGHT - _BOTTOM)
    parts = []
    for colour, (name, numbers) in enumerate(series.values.items()):
        amount = numbers[day]
        if not amount:
            continue
        height = amount / top * (HEIGHT - _BOTTOM - _TOP)
        base -= height
        label = f"{series.days[day]} · {one_line(name)}: {_short(amount)}"
        parts.append(
            f'<rect class="series-{colour % _COLOURS}" x="{_LEFT + day * step + step * 0.15:.1f}" '
            f'y="{base:.1f}" width="{step * 0.7:.1f}" height="{height:.1f}">'
            f"<title>{escape(label)}</title></rect>"
        )
    return parts


def _axis(top: float) -> list[str]:
    parts = []
    # Half a request means nothing, half a dollar does.
    shares = (0.0, 1.0) if top >= 1 and top % 2 else (0.0, 0.5, 1.0)
    for share in shares:
        y = HEIGHT - _BOTTOM - share * (HEIGHT - _BOTTOM - _TOP)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 5:.1f}" text-anchor="end">{_short(top * share)}</text>')
    return parts


def _dates(series: Series, step: float, texts: Texts) -> list[str]:
    every = max(1, -(-len(series.days) // 7))
    return [
        f'<text x="{_LEFT + (index + 0.5) * step:.1f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(short_day(date.fromisoformat(day), texts))}</text>"
        for index, day in enumerate(series.days)
        if index % every == 0
    ]


def _legend(series: Series) -> str:
    items = (
        f'<li><span class="swatch series-{colour % _COLOURS}"></span>{escape(one_line(name) or "?")}</li>'
        for colour, name in enumerate(series.values)
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _round_up(number: float) -> float:
    """The next number of the form 1, 2 or 5 times a power of ten."""
    if number <= 0:
        return 1.0
    size = 10.0 ** floor(log10(number))
    return next((factor * size for factor in (1, 2, 5) if factor * size >= number), 10.0 * size)


def _short(number: float) -> str:
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{suffix}"
    return f"{number:.3g}"


_DAY_RANGES = (7, 30, 90)
_MEASURES = (
    ("usage_requests", requests_of),
    ("usage_searches", searches_of),
    ("usage_tokens", tokens_of),
    ("usage_cost", cost_of),
)


async def usage(web: WebApp, request: PageRequest) -> None:
    """The charts, and a table with a row for each model."""
    today, count = _range(web, request)
    totals = await _totals(web, request, today, count)
    texts = web.pages.texts[request.visitor.language]
    named = [replace(total, provider=total.provider or texts["no_provider"]) for total in totals]
    # In threads: many models make many totals.
    charts = await asyncio.to_thread(_charts, named, days_until(today, count), texts)
    models = await asyncio.to_thread(by_model, totals)
    rules = await asyncio.to_thread(SearchRules, request.app.groundwire)
    await web.send(
        request,
        "usage",
        totals=[(row, rules(row.provider, row.model), row.provider in rules.engines) for row in models],
        sum=whole(models),
        charts=charts,
        days=count,
        section="usage",
    )


async def export_csv(web: WebApp, request: PageRequest) -> None:
    """Download the usage by day and model."""
    today, count = _range(web, request)
    totals = await _totals(web, request, today, count)
    rules = await asyncio.to_thread(SearchRules, request.app.groundwire)
    rows = usage_as_csv(totals, rules)
    await send_export(request.exchange, f"usage-{today.isoformat()}.csv", "text/csv", rows)


class SearchRules:
    """By which rule each provider counts searches: by call, by query or by answer."""

    def __init__(self, client: SearchClient) -> None:
        self._capabilities = {status.name: status.capabilities for status in client.providers()}
        self.engines = client.engines

    def __call__(self, provider: str, model: str) -> str:
        """The rule for a model; empty if the provider is not known any more."""
        capabilities = self._capabilities.get(provider)
        return capabilities.billing_for(model) if capabilities is not None else ""


def _range(web: WebApp, request: PageRequest) -> tuple[date, int]:
    """The last day, and the number of days."""
    days = request.exchange.query_param("days")
    count = int(days) if days in map(str, _DAY_RANGES) else 30
    return datetime.fromtimestamp(web.clock(), UTC).date(), count


async def _totals(web: WebApp, request: PageRequest, last: date, count: int) -> list[UsageTotal]:
    since = last - timedelta(days=count - 1)
    return await web.chat.usage(request.visitor.owner, since.isoformat())


def _charts(totals: Sequence[UsageTotal], days: tuple[str, ...], texts: Texts) -> list[tuple[str, str]]:
    drawn = ((texts[name], series(totals, days, measure)) for name, measure in _MEASURES)
    return [(label, stacked_bars(numbers, label, texts)) for label, numbers in drawn if not numbers.is_empty]


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/usage", usage, about="The usage page."),
    PageRoute("GET", "/usage.csv", export_csv, about="The usage as CSV."),
)
