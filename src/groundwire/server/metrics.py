"""Prometheus metrics of the HTTP server, collected with `prometheus_client`.

With `--workers`, the library's multiprocess mode is used: each worker keeps its values in memory-mapped files
in a common directory, and the worker that is scraped returns the sum. Counters of a worker outlive it; its
open requests are dropped by `mark_worker_dead`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

    from groundwire.routing.health import ProviderHealth
    from groundwire.server.app import AccessRecord

BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_DIRECTORY_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_MAX_CACHED_LABELS = 512


def share_metrics(directory: str) -> None:
    """Share metrics between workers through files in a directory; an empty name keeps them in the process.

    Call this before the first `Metrics` is created and before workers fork: the library reads the variable
    when it is imported. A variable that was set for another program is ignored.
    """
    for name in (_DIRECTORY_VARIABLE, _DIRECTORY_VARIABLE.lower()):
        os.environ.pop(name, None)
    if directory:
        os.environ[_DIRECTORY_VARIABLE] = directory


def mark_worker_dead(pid: int) -> None:
    """Remove the gauges of a worker that has exited; its counters stay."""
    if _DIRECTORY_VARIABLE in os.environ:
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415  see `Metrics`

        mark_process_dead(pid)  # type: ignore[no-untyped-call]


class Metrics:
    """Counters and histograms of one application."""

    def __init__(self) -> None:
        # Imported here: it takes 0.1 s, which only a server should pay.
        from prometheus_client import (  # noqa: PLC0415
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            disable_created_metrics,
        )
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "groundwire_requests",
            "Completed requests by dialect, route, provider, status and outcome.",
            ("dialect", "path", "provider", "status", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "groundwire_request_seconds",
            "Duration of requests, from the request head to the last byte of the response.",
            ("dialect",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._refused = Counter(
            "groundwire_refused_requests",
            "Requests refused by load shedding because the event loop was late.",
            registry=registry,
        )
        self._cost = Counter(
            "groundwire_cost_usd",
            "Cost of answers in USD by provider and model, as reported or by the price list.",
            ("provider", "model"),
            registry=registry,
        )
        self._unpriced = Counter(
            "groundwire_unpriced_answers",
            "Answers whose cost is not known, by provider and model.",
            ("provider", "model"),
            registry=registry,
        )
        self._open = Gauge(
            "groundwire_open_requests",
            "Requests in progress.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._remaining = Gauge(
            "groundwire_provider_remaining",
            "What is left of the rate limits of a provider, as it reported last.",
            ("provider", "kind"),
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self._children: dict[tuple[str, ...], Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._priced: dict[tuple[str, str, bool], Counter] = {}
        self._collected = registry
        if _DIRECTORY_VARIABLE in os.environ:
            self._collected = CollectorRegistry()
            MultiProcessCollector(self._collected)  # type: ignore[no-untyped-call]

    def observe(self, record: AccessRecord) -> None:
        """Count one completed request."""
        labels = (record.dialect, record.path, record.provider, str(record.status), record.outcome)
        counter = self._children.get(labels)
        if counter is None:
            counter = self._requests.labels(*labels)
            if len(self._children) < _MAX_CACHED_LABELS:
                self._children[labels] = counter
        counter.inc()
        histogram = self._histograms.get(record.dialect)
        if histogram is None:
            histogram = self._histograms[record.dialect] = self._seconds.labels(record.dialect)
        histogram.observe(record.seconds)

    def count_cost(self, provider: str, model: str, usd: float | None) -> None:
        """Count the cost of an answer; None if it is not known."""
        if usd is not None and usd <= 0:
            return
        key = (provider, model, usd is None)
        counter = self._priced.get(key)
        if counter is None:
            counter = (self._unpriced if usd is None else self._cost).labels(provider, model)
            if len(self._priced) < _MAX_CACHED_LABELS:
                self._priced[key] = counter
        counter.inc(1 if usd is None else usd)

    def count_refused(self) -> None:
        """Count one request that load shedding refused."""
        self._refused.inc()

    def set_open_requests(self, count: int) -> None:
        """Publish how many requests this process has in progress."""
        self._open.set(count)

    def set_quotas(self, health: Mapping[str, ProviderHealth]) -> None:
        """Publish what is left of the rate limits of the providers."""
        for provider, known in health.items():
            for quota in known.quotas:
                self._remaining.labels(provider, quota.kind).set(quota.remaining)

    def text(self, open_requests: int) -> str:
        """All metrics, of all workers, in the text exposition format."""
        from prometheus_client import generate_latest  # noqa: PLC0415  see above

        self.set_open_requests(open_requests)
        return generate_latest(_ShortBounds(self._collected)).decode()


class _ShortBounds:
    """Collector that writes the bounds of buckets as `1` and not `1.0`: label values are compared as text."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            for sample in metric.samples:
                if "le" in sample.labels and sample.labels["le"] != "+Inf":
                    sample.labels["le"] = f"{float(sample.labels['le']):g}"
            yield metric
