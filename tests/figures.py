"""Measured figures: thorough tests write them down, `scripts/reliability.py` prints them.

`GROUNDWIRE_FIGURES` names the file; without it nothing is written. Each line is JSON: a figure, or the
outcome of a thorough test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

VARIABLE = "GROUNDWIRE_FIGURES"


class Figure(NamedTuple):
    """A number that a test has measured."""

    requirement: str
    what: str
    number: float
    unit: str
    test: str
    day: str
    part: str = ""
    """What of a count this is, if several tests count together."""
    load: float | None = None
    """How many programs wanted a core in the minute before the test; None if that was not recorded."""

    @property
    def text(self) -> str:
        """The figure as it is printed."""
        number = f"{self.number:,.0f}" if self.number >= 100 or self.number % 1 == 0 else f"{self.number:.3g}"
        return f"{self.what}: {number} {self.unit}".rstrip()


class Outcome(NamedTuple):
    """How a thorough test ended."""

    test: str
    outcome: str
    day: str


class Figures:
    """Appends what one test has measured to the file, if there is one."""

    def __init__(self, test: str, path: str | None = None) -> None:
        self._test = test
        self._path = os.environ.get(VARIABLE) if path is None else path
        self._day = datetime.now(UTC).date().isoformat()
        self._load = round(os.getloadavg()[0], 1)

    def add(self, requirement: str, what: str, number: float, unit: str = "", *, part: str = "") -> None:
        """Write down a figure of a requirement. The parts of a count are printed as their sum."""
        figure = Figure(requirement, what, round(number, 6), unit, self._test, self._day, part, self._load)
        self._write(figure)

    def end(self, outcome: str) -> None:
        """Write down how the test ended."""
        self._write(Outcome(self._test, outcome, self._day))

    def _write(self, line: Figure | Outcome) -> None:
        if self._path:
            with Path(self._path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line._asdict()) + "\n")


class Measurements(NamedTuple):
    """The newest figure of each kind, and the newest outcome of each thorough test."""

    figures: list[Figure]
    outcomes: list[Outcome]


def read_measurements(path: Path) -> Measurements:
    """What is written in a file, in the order in which it was first measured."""
    figures: dict[tuple[str, str, str], Figure] = {}
    outcomes: dict[str, Outcome] = {}
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            fields = json.loads(line)
            if "outcome" in fields:
                outcomes[fields["test"]] = Outcome(**fields)
            else:
                figure = Figure(**fields)
                figures[figure.requirement, figure.what, figure.part] = figure
    return Measurements(_added(figures.values()), list(outcomes.values()))


def _added(figures: Iterable[Figure]) -> list[Figure]:
    """One figure for all parts of a count, of the newest day."""
    sums: dict[tuple[str, str], Figure] = {}
    for figure in figures:
        before = sums.get((figure.requirement, figure.what), figure._replace(number=0))
        sums[figure.requirement, figure.what] = figure._replace(
            number=before.number + figure.number,
            day=max(before.day, figure.day),
            load=max((load for load in (before.load, figure.load) if load is not None), default=None),
        )
    return list(sums.values())
