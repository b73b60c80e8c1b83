"""Measuring: every contender does every work, in turns."""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterator
from statistics import median
from time import sleep
from typing import NamedTuple

from gateway.contenders import Contender
from gateway.load import Found
from gateway.payloads import heard, whole_text
from gateway.processes import Failed, Running, Talking
from gateway.works import FIRST_TOKENS, GROWING, LENGTHS, WORKS, Work

QUIET = 2.0
Key = tuple[Work, int]
Say = Callable[[str], None]


class Rounds(NamedTuple):
    """How long and how often."""

    times: int
    seconds: float


class Rows:
    """Figures by work and contender, one for each round."""

    def __init__(self) -> None:
        self._found: dict[tuple[Work, int, str], list[float]] = defaultdict(list)

    def add(self, work: Work, at_once: int, name: str, figure: float) -> None:
        self._found[work, at_once, name].append(figure)

    def of(self, work: Work, at_once: int, name: str) -> float | None:
        """The median of the rounds."""
        found = self._found.get((work, at_once, name))
        return median(found) if found else None


class Racing(NamedTuple):
    """A contender that runs."""

    contender: Contender
    server: Running


class Measured(NamedTuple):
    """Everything that the tables show."""

    costs: Rows
    """CPU milliseconds for each request."""
    rates: Rows
    """Requests in a second."""
    first_tokens: Rows
    """Milliseconds to the first token, one stream at a time."""
    events: Rows
    """CPU microseconds for each event; the number of events stands where the concurrency does."""
    idle: dict[str, float]
    """Resident megabytes before the first request."""
    rested: dict[str, float]
    """And after the last."""
    heard: dict[tuple[Work, str], str]
    """What came through: `whole` or what is wrong, and the citations."""


def empty() -> Measured:
    return Measured(Rows(), Rows(), Rows(), Rows(), {}, {}, {})


def race(field: list[Racing], load: Talking, rounds: Rounds, say: Say) -> Measured:
    """Lets all of them do everything."""
    measured = empty()
    sleep(QUIET)  # what starts a server goes on for a while after it listens
    measured.idle.update(_memory(field))
    _listen(field, load, measured, say)
    for number in range(1, rounds.times + 1):
        say(f"round {number} of {rounds.times}")
        for measure, (work, at_once) in _steps():
            for runner in _able(field, work, measured):
                try:
                    measure(runner, load, (work, at_once), rounds.seconds, measured)
                except Failed as failure:
                    say(f"{runner.contender.name}, {work.title}, {at_once} at once: {failure}")
    measured.rested.update(_memory(field))
    return measured


def _memory(field: list[Racing]) -> dict[str, float]:
    return {runner.contender.name: runner.server.memory() for runner in field if runner.server.pid}


def _able(field: list[Racing], work: Work, measured: Measured) -> list[Racing]:
    """Who can do a work, and did it whole when it was asked first."""
    plain = work if work in WORKS else next(one for one in WORKS if _kind(one) == _kind(work))
    return [runner for runner in field if (plain, runner.contender.name) in measured.heard]


def _kind(work: Work) -> tuple[str, str, bool]:
    return work.speaks, work.asks, work.stream


def _listen(field: list[Racing], load: Talking, measured: Measured, say: Say) -> None:
    """Asks each for everything once, and reads what comes with our own decoders."""
    for runner in field:
        name = runner.contender.name
        for work in WORKS:
            if not runner.contender.can(work):
                continue
            try:
                found = load.do(runner.contender.job(work, runner.server.port, 1, 0.0))
            except Failed as failure:
                say(f"{name} cannot do {work.title}: {failure}")
                continue
            text, citations = heard(work.speaks, b64decode(found["body"]), stream=work.stream)
            state = "whole" if text == whole_text(work.variant) else "text differs"
            measured.heard[work, name] = f"{state}, {citations}"


def _run(runner: Racing, load: Talking, key: Key, seconds: float) -> tuple[Found, float]:
    """What a job gave, and the CPU seconds it took; of the client, if there is nothing in between."""
    work, at_once = key
    job = runner.contender.job(work, runner.server.port, at_once, seconds)
    before = runner.server.cpu() if runner.server.pid else 0.0
    found = load.do(job)
    return found, runner.server.cpu() - before if runner.server.pid else found["cpu"]


def _cost(runner: Racing, load: Talking, key: Key, seconds: float, measured: Measured) -> None:
    found, cpu = _run(runner, load, key, 0.0 if key[0].variant == "paced" else seconds)
    measured.costs.add(*key, runner.contender.name, cpu / found["requests"] * 1000)
    measured.rates.add(*key, runner.contender.name, found["requests"] / found["seconds"])


def _first_token(runner: Racing, load: Talking, key: Key, seconds: float, measured: Measured) -> None:
    found, _ = _run(runner, load, key, 4 * seconds)
    measured.first_tokens.add(*key, runner.contender.name, median(found["first_token"]) * 1000)


def _length(runner: Racing, load: Talking, key: Key, seconds: float, measured: Measured) -> None:
    work, length = key
    found, cpu = _run(runner, load, (work._replace(variant=f"n{length}"), 1), seconds)
    measured.events.add(*key, runner.contender.name, cpu / found["requests"] / length * 1e6)


Measure = Callable[[Racing, Talking, Key, float, Measured], None]


def _steps() -> Iterator[tuple[Measure, Key]]:
    yield from ((_cost, (work, at_once)) for work in WORKS for at_once in work.at_once)
    yield from ((_first_token, (work, 1)) for work in FIRST_TOKENS)
    yield from ((_length, (work, length)) for work in GROWING for length in LENGTHS)
