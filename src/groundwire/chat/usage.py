"""Usage statistics: series by day, and sums by model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta

from groundwire.model.value import value
from groundwire.store.base import KeyUsageTotal, UsageTotal


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


@value
class Series:
    """One number for each day, by provider."""

    days: tuple[str, ...]
    values: dict[str, tuple[float, ...]]

    @property
    def is_empty(self) -> bool:
        """Is there nothing to show?"""
        return not any(any(numbers) for numbers in self.values.values())


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
    return ModelUsage(
        provider,
        model,
        sum(item.requests for item in items),
        sum(item.errors for item in items),
        int(sum(map(searches_of, items))),
        int(sum(map(tokens_of, items))),
        sum(costs) if costs else None,
    )
