"""Usage statistics: series by day, and sums by model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta

from groundwire.model.value import value
from groundwire.store.base import KeyUsageTotal, UsageTotal
from groundwire.text.sanitise import one_line


@value
class ModelUsage:
    """Usage of one model of one provider."""

    provider: str
    model: str
    requests: int
    errors: int
    searches: int
    tokens: int
    cost: float | None
    cached_tokens: int = 0
    """Input tokens that the provider read from its own cache."""
    cache_hits: int = 0
    """Answers from our response cache; no provider was called for them."""
    seconds: float | None = None
    """The mean duration of the requests that a provider answered; None if there were none."""


@value
class Series:
    """One number for each day, by provider."""

    days: tuple[str, ...]
    values: dict[str, tuple[float, ...]]

    @property
    def is_empty(self) -> bool:
        """Is there nothing to show?"""
        return not any(any(numbers) for numbers in self.values.values())


def requests_of(total: UsageTotal) -> float:
    """The number of requests."""
    return total.requests


def tokens_of(total: UsageTotal | KeyUsageTotal) -> float:
    """Input and output tokens."""
    return (total.usage.input_tokens or 0) + (total.usage.output_tokens or 0)


def searches_of(total: UsageTotal | KeyUsageTotal) -> float:
    """The number of searches."""
    return total.usage.searches or 0


def cost_of(total: UsageTotal) -> float:
    """The reported cost."""
    return total.usage.cost or 0.0


def days_until(last: date, count: int) -> tuple[str, ...]:
    """ISO dates of a number of days up to the last one."""
    return tuple((last - timedelta(days=back)).isoformat() for back in reversed(range(count)))


def series(
    totals: Sequence[UsageTotal], days: tuple[str, ...], measure: Callable[[UsageTotal], float]
) -> Series:
    """A measure by day and provider; days without requests count nothing."""
    positions = {day: index for index, day in enumerate(days)}
    sums: dict[str, list[float]] = {}
    for total in totals:
        index = positions.get(total.day)
        if index is not None:
            sums.setdefault(total.provider, [0.0] * len(days))[index] += measure(total)
    return Series(days, {name: tuple(numbers) for name, numbers in sorted(sums.items())})


def by_model(totals: Iterable[UsageTotal]) -> list[ModelUsage]:
    """The sums of each model, the most used first."""
    found: dict[tuple[str, str], list[UsageTotal]] = {}
    for total in totals:
        found.setdefault((total.provider, total.model), []).append(total)
    used = [_sum(provider, model, items) for (provider, model), items in found.items()]
    return sorted(used, key=lambda item: (-item.requests, item.provider, item.model))


def _sum(provider: str, model: str, items: Sequence[UsageTotal]) -> ModelUsage:
    costs = [item.usage.cost for item in items if item.usage.cost is not None]
    cache_hits = sum(item.cache_hits for item in items)
    called = sum(item.requests for item in items) - cache_hits
    return ModelUsage(
        provider,
        model,
        sum(item.requests for item in items),
        sum(item.errors for item in items),
        int(sum(map(searches_of, items))),
        int(sum(map(tokens_of, items))),
        sum(costs) if costs else None,
        sum(item.usage.cached_tokens or 0 for item in items),
        cache_hits,
        sum(item.seconds for item in items) / called if called else None,
    )


def whole(models: Sequence[ModelUsage]) -> ModelUsage:
    """The sum of all models."""
    costs = [item.cost for item in models if item.cost is not None]
    called = [(item.requests - item.cache_hits, item.seconds) for item in models if item.seconds is not None]
    requests = sum(count for count, _ in called)
    return ModelUsage(
        "",
        "",
        sum(item.requests for item in models),
        sum(item.errors for item in models),
        sum(item.searches for item in models),
        sum(item.tokens for item in models),
        sum(costs) if costs else None,
        sum(item.cached_tokens for item in models),
        sum(item.cache_hits for item in models),
        sum(count * (seconds or 0) for count, seconds in called) / requests if requests else None,
    )


_CSV_HEAD = (
    *("day", "provider", "model", "requests", "errors", "cache_hits", "searches", "search_rule"),
    *("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_usd", "seconds"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def usage_as_csv(totals: Iterable[UsageTotal], rules: Callable[[str, str], str]) -> Iterator[str]:
    """Usage by day and model as lines of CSV; `rules` says by which rule a provider counts searches."""
    yield ",".join(_CSV_HEAD) + "\r\n"
    for total in totals:
        usage = total.usage
        row = (
            *(total.day, total.provider, total.model, total.requests, total.errors, total.cache_hits),
            *(usage.searches, rules(total.provider, total.model), usage.input_tokens, usage.output_tokens),
            *(usage.cached_tokens, usage.reasoning_tokens, usage.cost, round(total.seconds, 3)),
        )
        yield ",".join(map(_csv_cell, row)) + "\r\n"


def _csv_cell(cell: str | float | None) -> str:
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    # A spreadsheet would calculate a name that begins like a formula.
    text = one_line(f"'{cell}" if cell.startswith(_FORMULA) else cell)
    return '"' + text.replace('"', '""') + '"'
