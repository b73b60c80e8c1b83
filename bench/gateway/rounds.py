"""The measurement: every contender runs every workload, in turns."""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterator
from statistics import median
from time import sleep
from typing import NamedTuple

from gateway.contenders import Contender
from gateway.load import JobResult
from gateway.payloads import read_answer, whole_text
from gateway.processes import BenchmarkFailed, Running, WorkerProcess
from gateway.workloads import FIRST_TOKENS, GROWTH_WORKLOADS, LENGTHS, WORKLOADS, Workload

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


class RunningContender(NamedTuple):
    """A contender and its server process."""

    contender: Contender
    server: Running


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
    memory_before: dict[str, float]
    """Resident megabytes before the first request."""
    memory_after: dict[str, float]
    """Resident megabytes after the last request."""
    delivered: dict[tuple[Workload, str], str]
    """Whether the text arrived unchanged, and the number of citations."""


def empty() -> Measured:
    return Measured(Rows(), Rows(), Rows(), Rows(), {}, {}, {})


def measure_all(
    contenders: list[RunningContender], load: WorkerProcess, rounds: Rounds, log: Log
) -> Measured:
    """Run every workload on every contender."""
    measured = empty()
    sleep(SETTLE_SECONDS)  # servers continue to initialise after they listen
    measured.memory_before.update(_memory(contenders))
    _check_answers(contenders, load, measured, log)
    for number in range(1, rounds.times + 1):
        log(f"round {number} of {rounds.times}")
        for measure, (workload, concurrency) in _steps():
            for running in _capable(contenders, workload, measured):
                try:
                    measure(running, load, (workload, concurrency), rounds.seconds, measured)
                except BenchmarkFailed as failure:
                    log(f"{running.contender.name}, {workload.title}, concurrency {concurrency}: {failure}")
    measured.memory_after.update(_memory(contenders))
    return measured


def _memory(contenders: list[RunningContender]) -> dict[str, float]:
    return {running.contender.name: running.server.memory() for running in contenders if running.server.pid}


def _capable(
    contenders: list[RunningContender], workload: Workload, measured: Measured
) -> list[RunningContender]:
    """Contenders that support a workload and answered it in the first check."""
    plain = (
        workload if workload in WORKLOADS else next(one for one in WORKLOADS if _kind(one) == _kind(workload))
    )
    return [running for running in contenders if (plain, running.contender.name) in measured.delivered]


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
            text, citations = read_answer(
                workload.client_dialect, b64decode(result["body"]), stream=workload.stream
            )
            state = "whole" if text == whole_text(workload.variant) else "text differs"
            measured.delivered[workload, name] = f"{state}, {citations}"


def _run(running: RunningContender, load: WorkerProcess, key: Key, seconds: float) -> tuple[JobResult, float]:
    """Run a job; return its result and the CPU seconds of the server, or of the client if there is none."""
    workload, concurrency = key
    job = running.contender.job(workload, running.server.port, concurrency, seconds)
    before = running.server.cpu() if running.server.pid else 0.0
    result = load.run(job)
    return result, running.server.cpu() - before if running.server.pid else result["cpu"]


def _cost(
    running: RunningContender, load: WorkerProcess, key: Key, seconds: float, measured: Measured
) -> None:
    result, cpu = _run(running, load, key, 0.0 if key[0].variant == "paced" else seconds)
    measured.costs.add(*key, running.contender.name, cpu / result["requests"] * 1000)
    measured.rates.add(*key, running.contender.name, result["requests"] / result["seconds"])


def _first_token(
    running: RunningContender, load: WorkerProcess, key: Key, seconds: float, measured: Measured
) -> None:
    result, _ = _run(running, load, key, 4 * seconds)
    measured.first_tokens.add(*key, running.contender.name, median(result["first_token"]) * 1000)


def _length(
    running: RunningContender, load: WorkerProcess, key: Key, seconds: float, measured: Measured
) -> None:
    workload, length = key
    result, cpu = _run(running, load, (workload._replace(variant=f"n{length}"), 1), seconds)
    measured.events.add(*key, running.contender.name, cpu / result["requests"] / length * 1e6)


Measure = Callable[[RunningContender, WorkerProcess, Key, float, Measured], None]


def _steps() -> Iterator[tuple[Measure, Key]]:
    yield from (
        (_cost, (workload, concurrency)) for workload in WORKLOADS for concurrency in workload.concurrency
    )
    yield from ((_first_token, (workload, 1)) for workload in FIRST_TOKENS)
    yield from ((_length, (workload, length)) for workload in GROWTH_WORKLOADS for length in LENGTHS)
