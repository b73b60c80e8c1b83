"""Measured figures: thorough tests write them down, `scripts/reliability.py` prints them.

`GROUNDWIRE_FIGURES` names the file; without it nothing is written. Each line is JSON: a figure, or the
outcome of a thorough test.
"""

from __future__ import annotations

import json
import os
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

    def add(self, requirement: str, what: str, number: float, unit: str = "") -> None:
        """Write down a figure of a requirement."""
        self._write(Figure(requirement, what, round(number, 6), unit, self._test, self._day))

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
    figures: dict[tuple[str, str], Figure] = {}
    outcomes: dict[str, Outcome] = {}
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            fields = json.loads(line)
            if "outcome" in fields:
                outcomes[fields["test"]] = Outcome(**fields)
            else:
                figures[fields["requirement"], fields["what"]] = Figure(**fields)
    return Measurements(list(figures.values()), list(outcomes.values()))
