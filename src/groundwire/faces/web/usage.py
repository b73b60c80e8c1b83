"""What was used: searches, tokens and cost by provider and day."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from groundwire.chat.usage import by_model, cost_of, days_until, searches_of, series, tokens_of
from groundwire.faces.web.app import Face, Page, PageRequest
from groundwire.faces.web.charts import bars
from groundwire.faces.web.pages import Texts
from groundwire.store.base import UsageTotal

_SPANS = (7, 30, 90)
_MEASURES = (("usage_searches", searches_of), ("usage_tokens", tokens_of), ("usage_cost", cost_of))


async def usage(face: Face, request: PageRequest) -> None:
    """Charts, and a row for each model."""
    told = request.inbound.parameter("days")
    count = int(told) if told in map(str, _SPANS) else 30
    today = datetime.fromtimestamp(face.clock(), UTC).date()
    totals = await face.chat.usage(request.visit.owner, (today - timedelta(days=count - 1)).isoformat())
    texts = face.pages.texts[request.visit.language]
    # Beside the loop: many models make many totals.
    charts = await asyncio.to_thread(_charts, totals, days_until(today, count), texts)
    models = await asyncio.to_thread(by_model, totals)
    await face.send(request, "usage", totals=models, charts=charts, days=count, place="usage")


def _charts(totals: Sequence[UsageTotal], days: tuple[str, ...], texts: Texts) -> list[tuple[str, str]]:
    drawn = ((texts[name], series(totals, days, measure)) for name, measure in _MEASURES)
    return [(label, bars(numbers, label)) for label, numbers in drawn if not numbers.is_empty]


PAGES: tuple[Page, ...] = (Page("GET", "/usage", usage, about="What was used."),)
