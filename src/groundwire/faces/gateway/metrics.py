"""What the gateway has done, counted; told in the text form of Prometheus.

Workers of one gateway each count for themselves. With a folder in common every one of them leaves its counts
there, and whoever is asked tells the sum; what a worker counted outlives it.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import Json

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Seen

Sample: TypeAlias = tuple[str, str]
"""The name of a series, and its labels as they are printed."""

BOUNDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_REQUESTS = "groundwire_requests_total"
_BUCKETS = "groundwire_request_seconds_bucket"
_COUNT = "groundwire_request_seconds_count"
_SUM = "groundwire_request_seconds_sum"
_REFUSED = "groundwire_refused_requests_total"
OPEN = "groundwire_open_requests"
_ABOUT = (
    (_REQUESTS, "counter", "Requests that are over, by dialect, provider, status and outcome."),
    ("groundwire_request_seconds", "histogram", "How long they took, from head to last byte."),
    (_REFUSED, "counter", "Requests that were refused at once, because the event loop was late."),
    (OPEN, "gauge", "Requests under way."),
)
_EVERY = 1.0
_KEPT = 512
"""Labels that need not be written anew for every request."""


class Metrics:
    """Counts of one process."""

    def __init__(self) -> None:
        self._samples: defaultdict[Sample, float] = defaultdict(float)
        self._folder: Path | None = None
        self._left = 0.0

    def share(self, folder: Path) -> None:
        """Leave the counts in a folder, where others find them."""
        self._folder = folder

    def observe(self, seen: Seen) -> None:
        """Count one request."""
        labels = _labels(
            ("dialect", seen.dialect),
            ("path", seen.path),
            ("provider", seen.provider),
            ("status", str(seen.status)),
            ("outcome", seen.outcome),
        )
        dialect = _labels(("dialect", seen.dialect))
        self._samples[_REQUESTS, labels] += 1
        self._samples[_COUNT, dialect] += 1
        self._samples[_SUM, dialect] += seen.seconds
        place = bisect_left(BOUNDS, seen.seconds)
        if place < len(BOUNDS):
            self._samples[_BUCKETS, _bound(seen.dialect, place)] += 1

    def refuse(self) -> None:
        """Count one request that was refused before it was handled."""
        self._samples[_REFUSED, ""] += 1

    def leave(self, under_way: int) -> None:
        """Put the counts where others find them, now and then."""
        if self._folder is None or monotonic() - self._left < _EVERY:
            return
        self._left = monotonic()
        target = self._folder / f"{os.getpid()}.json"
        beside = target.with_suffix(".new")
        rows: list[Json] = [[*sample, count] for sample, count in self._samples.items()]
        beside.write_text(dump_json({"open": under_way, "samples": rows}), "utf-8")
        os.replace(beside, target)

    def text(self, under_way: int) -> str:
        """Everything, for a scrape."""
        total = defaultdict(float, self._samples)
        total[OPEN, ""] += under_way
        for path in self._folder.glob("*.json") if self._folder else ():
            if path.stem != str(os.getpid()):
                for sample, count in _left_in(path):
                    total[sample] += count
        return "".join(f"{line}\n" for line in _lines(total))


def _left_in(path: Path) -> Iterator[tuple[Sample, float]]:
    """What another worker has counted; what it had open counts only while it lives."""
    body = as_object(load_json(path.read_bytes(), ClientWireError))
    rows = body.get("samples")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, list) and len(row) == 3 and isinstance(row[2], int | float):
            yield (str(row[0]), str(row[1])), row[2]
    under_way = body.get("open")
    if _is_alive(path.stem) and isinstance(under_way, int):
        yield (OPEN, ""), under_way


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, OSError):
        return False
    return True


def _lines(samples: Mapping[Sample, float]) -> Iterator[str]:
    for name, kind, about in _ABOUT:
        yield f"# HELP {name} {about}"
        yield f"# TYPE {name} {kind}"
        if kind == "histogram":
            yield from _histogram(samples)
        else:
            yield from (f"{one}{labels} {count:g}" for (one, labels), count in samples.items() if one == name)


def _histogram(samples: Mapping[Sample, float]) -> Iterator[str]:
    """Buckets are kept apart and told one upon the other."""
    for (name, labels), count in samples.items():
        if name != _COUNT:
            continue
        dialect = labels.partition('"')[2].rpartition('"')[0]
        below = 0.0
        for place in range(len(BOUNDS)):
            bound = _bound(dialect, place)
            below += samples.get((_BUCKETS, bound), 0)
            yield f"{_BUCKETS}{bound} {below:g}"
        yield f"{_BUCKETS}{_labels(('dialect', dialect), ('le', '+Inf'))} {count:g}"
        yield f"{_SUM}{labels} {samples.get((_SUM, labels), 0):.6f}"
        yield f"{_COUNT}{labels} {count:g}"


@lru_cache(_KEPT)
def _bound(dialect: str, place: int) -> str:
    return _labels(("dialect", dialect), ("le", f"{BOUNDS[place]:g}"))


@lru_cache(_KEPT)
def _labels(*pairs: tuple[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in pairs)
    return f"{{{inner}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
