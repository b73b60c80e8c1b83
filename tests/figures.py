"""Measured figures: thorough tests write them down, `scripts/reliability.py` prints them.

`GROUNDWIRE_FIGURES` names the file; without it nothing is written. Each line is one figure as JSON.
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


class Figures:
    """Appends the figures of one test to the file, if there is one."""

    def __init__(self, test: str, path: str | None = None) -> None:
        self._test = test
        self._path = os.environ.get(VARIABLE) if path is None else path

    def add(self, requirement: str, what: str, number: float, unit: str = "") -> None:
        """Write down a figure of a requirement."""
        if not self._path:
            return
        day = datetime.now(UTC).date().isoformat()
        line = json.dumps(Figure(requirement, what, round(number, 6), unit, self._test, day)._asdict())
        with Path(self._path).open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def read_figures(path: Path) -> list[Figure]:
    """The newest figure of each kind, in the order in which the kinds were first measured."""
    found: dict[tuple[str, str], Figure] = {}
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            figure = Figure(**json.loads(line))
            found[figure.requirement, figure.what] = figure
    return list(found.values())
