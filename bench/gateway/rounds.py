"""The measurement: every contender runs every workload, in turns."""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import monotonic, sleep
from typing import NamedTuple

from gateway.contenders import Contender
from gateway.load import JobResult
from gateway.payloads import read_answer, whole_text
from gateway.processes import BenchmarkFailed, Running, WorkerProcess
from gateway.workloads import (
    CAPACITY_CONTENDERS,
    CAPACITY_SECONDS,
    CAPACITY_WORKLOAD,
    FIRST_STREAMS,
    FIRST_TOKENS,
    GROWTH_WORKLOADS,
    LATE_MS,
    LENGTHS,
    MOST_STREAMS,
    WORKLOADS,
    Workload,
)

SETTLE_SECONDS = 2.0
Key = tuple[Workload, int]
Log = Callable[[str], None]


class Rounds(NamedTuple):
    """The number of rounds, and the seconds of each measurement."""

    times: int
    seconds: float


class Rows:
    """Figures by workload and contender, one per round."""

    def __init__(self) -> None:
        self._found: dict[tuple[Workload, int, str], list[float]] = defaultdict(list)

    def add(self, workload: Workload, concurrency: int, name: str, figure: float) -> None:
        self._found[workload, concurrency, name].append(figure)

    def of(self, workload: Workload, concurrency: int, name: str) -> float | None:
        """The median of the rounds."""
        found = self._found.get((workload, concurrency, name))
        return median(found) if found else None


class Drivers(NamedTuple):
    """The processes on both sides of a contender."""

    load: WorkerProcess
    upstream: WorkerProcess

    def cpu(self) -> float:
        return self.load.cpu() + self.upstream.cpu()


class RunningContender(NamedTuple):
    """A contender and its server process."""

    contender: Contender
    server: Running


class Capacity(NamedTuple):
    """A number of paced streams that were not late, and one that was too many."""

    streams: int
    too_many: int
    """0 if the search ended before."""
    reason: str
    """Why that was too many, or why the search ended."""


class Measured(NamedTuple):
    """All figures of the tables."""

    costs: Rows
    """CPU milliseconds per request."""
    rates: Rows
    """Requests per second."""
    first_tokens: Rows
    """Milliseconds to the first token, one stream at a time."""
    events: Rows
    """CPU microseconds per event; the key has the number of events in place of the concurrency."""
    late: Rows
    """Milliseconds between two reads of a paced stream, 99th percentile."""
    drivers: Rows
    """CPU seconds per second of the load generator and the upstream together."""
    memory_before: dict[str, float]
    """Megabytes (PSS) before the first request."""
    memory_after: dict[str, float]
    """Megabytes (PSS) after the last request."""
    capacity: dict[str, Capacity]
    """Paced streams that one core carries."""
    failed: set[tuple[Workload, int, str]]
    delivered: dict[tuple[Workload, str], str]
    """Whether the text arrived unchanged, and the number of citations."""


def empty() -> Measured:
    return Measured(Rows(), Rows(), Rows(), Rows(), Rows(), Rows(), {}, {}, {}, set(), {})


def measure_all(
    contenders: list[RunningContender], drivers: Drivers, work: Sequence[str], rounds: Rounds, log: Log
) -> Measured:
    """Run every workload on every contender; if `work` is not empty, those with one of its words."""
    measured = empty()
    sleep(SETTLE_SECONDS)  # servers continue to initialise after they listen
    measured.memory_before.update(_memory(contenders))
    _check_answers(contenders, drivers.load, measured, log)
    steps = [step for step in _steps() if not work or any(word in step.title for word in work)]
    for number in range(1, rounds.times + 1):
        log(f"round {number} of {rounds.times}")
        for step in steps:
            for running in _capable(contenders, step, measured):
                try:
                    step.measure(running, drivers, step.key, rounds.seconds, measured)
                except BenchmarkFailed as failure:
                    log(f"{running.contender.name}, {step.title}: {failure}")
                    measured.failed.add((step.workload, step.concurrency, running.contender.name))
    measured.memory_after.update(_memory(contenders))
    if any(word in "streams per core" for word in work) if work else rounds.times > 1:
        for running in contenders:
            if running.contender.name in CAPACITY_CONTENDERS:
                log(f"streams per core of {running.contender.name}")
                measured.capacity[running.contender.name] = _capacity(running, drivers)
    return measured


def _capacity(running: RunningContender, drivers: Drivers) -> Capacity:
    """Search by doubling, then by halving the interval to an eighth."""
    deadline = monotonic() + CAPACITY_SECONDS
    low, high, streams, reason = 0, 0, FIRST_STREAMS, ""
    while streams <= MOST_STREAMS and (not high or high - low > max(high // 8, 1)):
        if monotonic() > deadline:
            return Capacity(low, high, "the time is over")
        if problem := _problem_with(running, drivers, streams):
            high, reason = streams, problem
        else:
            low = streams
        streams = (low + high) // 2 if high else 2 * streams
    return Capacity(low, high, reason or "no more were tried")


def _problem_with(running: RunningContender, drivers: Drivers, streams: int) -> str:
    before = drivers.cpu()
    try:
        result, _ = _run(running, drivers, (CAPACITY_WORKLOAD, streams), 0.0)
    except BenchmarkFailed as failure:
        return f"failed: {str(failure)[:60]}"
    busy = (drivers.cpu() - before) / result["seconds"]
    if result["late"] * 1000 <= LATE_MS:
        return ""
    return f"p99 {result['late'] * 1000:.0f} ms, load generator and upstream used {busy:.2f} cores"


def _memory(contenders: list[RunningContender]) -> dict[str, float]:
    return {running.contender.name: running.server.memory() for running in contenders if running.server.pid}


def _capable(contenders: list[RunningContender], step: Step, measured: Measured) -> list[RunningContender]:
    """Contenders that support a workload and answered it in the first check."""
    workload = step.workload
    plain = (
        workload if workload in WORKLOADS else next(one for one in WORKLOADS if _kind(one) == _kind(workload))
    )
    return [
        running
        for running in contenders
        if (plain, running.contender.name) in measured.delivered
        and running.contender.can(workload, step.concurrency)
    ]


def _kind(workload: Workload) -> tuple[str, str, bool]:
    return workload.client_dialect, workload.upstream_dialect, workload.stream


def _check_answers(
    contenders: list[RunningContender], load: WorkerProcess, measured: Measured, log: Log
) -> None:
    """Send each contender every workload once, and decode the responses with our own decoders."""
    for running in contenders:
        name = running.contender.name
        for workload in WORKLOADS:
            if not running.contender.can(workload):
                continue
            try:
                result = load.run(running.contender.job(workload, running.server.port, 1, 0.0))
            except BenchmarkFailed as failure:
                log(f"{name} does not support {workload.title}: {failure}")
                continue
            if running.contender.proof not in result["head"]:
                log(f"{name} does not handle {workload.title} itself: no header {running.contender.proof}")
                continue
            text, citations = read_answer(
                workload.client_dialect, b64decode(result["body"]), stream=workload.stream
            )
            state = "whole" if text == whole_text(workload.variant) else "text differs"
            measured.delivered[workload, name] = f"{state}, {citations}"


def _run(running: RunningContender, drivers: Drivers, key: Key, seconds: float) -> tuple[JobResult, float]:
    """Run a job; return its result and the CPU seconds of the server, or of the client if there is none."""
    workload, concurrency = key
    job = running.contender.job(workload, running.server.port, concurrency, seconds)
    before = running.server.cpu() if running.server.pid else 0.0
    result = drivers.load.run(job)
    return result, running.server.cpu() - before if running.server.pid else result["cpu"]


def _cost(running: RunningContender, drivers: Drivers, key: Key, seconds: float, measured: Measured) -> None:
    before = drivers.cpu()
    result, cpu = _run(running, drivers, key, seconds)
    measured.late.add(*key, running.contender.name, result["late"] * 1000)
    measured.drivers.add(*key, running.contender.name, (drivers.cpu() - before) / result["seconds"])
    measured.costs.add(*key, running.contender.name, cpu / result["requests"] * 1000)
    measured.rates.add(*key, running.contender.name, result["requests"] / result["seconds"])


def _first_token(
    running: RunningContender, drivers: Drivers, key: Key, seconds: float, measured: Measured
) -> None:
    result, _ = _run(running, drivers, key, 4 * seconds)
    measured.first_tokens.add(*key, running.contender.name, median(result["first_token"]) * 1000)


def _length(
    running: RunningContender, drivers: Drivers, key: Key, seconds: float, measured: Measured
) -> None:
    workload, length = key
    result, cpu = _run(running, drivers, (workload._replace(variant=f"n{length}"), 1), seconds)
    measured.events.add(*key, running.contender.name, cpu / result["requests"] / length * 1e6)


Measure = Callable[[RunningContender, Drivers, Key, float, Measured], None]


class Step(NamedTuple):
    """One measurement of a workload."""

    measure: Measure
    workload: Workload
    concurrency: int
    """Or the number of events, where the growth is measured."""

    @property
    def key(self) -> Key:
        return self.workload, self.concurrency

    @property
    def title(self) -> str:
        return f"{self.workload.title}, {self.concurrency}"


def _steps() -> Iterator[Step]:
    yield from (Step(_cost, workload, number) for workload in WORKLOADS for number in workload.concurrency)
    yield from (Step(_first_token, workload, 1) for workload in FIRST_TOKENS)
    yield from (Step(_length, workload, length) for workload in GROWTH_WORKLOADS for length in LENGTHS)
