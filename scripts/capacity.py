"""Compute how many requests and streams a core serves, and how many machines a number of users needs.

The figures are those that bench/RESULTS.md has for the gateway; the rest is arithmetic. Without options, the
tables of docs/deployment.md are printed; `--write` puts them there. With `--check`, nothing is written; the
exit status is 1 if the page is out of date. With `--users`, one line for your own numbers is printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "RESULTS.md"
PAGE = ROOT / "docs" / "deployment.md"
BEGIN, END = "<!-- scripts/capacity.py -->\n", "<!-- end -->\n"

_CONTENDER = "groundwire"
_EVENTS = 150
"""Events of a paced stream in the benchmark."""
_USERS = (100, 1_000, 10_000, 100_000, 1_000_000)
_RATES = (5, 20, 50)


class MissingFigure(Exception):
    """The results do not contain a figure."""


class Measured(NamedTuple):
    """Figures of one gateway process."""

    whole: float
    """CPU ms of a response that is not streamed."""
    streamed: float
    """CPU ms of a stream of `_EVENTS` events that arrive one by one."""
    stream_kb: float
    """Resident memory of an open stream."""
    process_mb: float
    """Resident memory of a process that has served requests."""

    @property
    def event(self) -> float:
        """CPU ms of one event of a stream."""
        return (self.streamed - self.whole) / _EVENTS

    def answer(self, events: int) -> float:
        """CPU ms of a streamed answer."""
        return self.whole + events * self.event


class Load(NamedTuple):
    """What users do at the busiest time, and what a machine has."""

    questions: float = 10.0
    """Of one user, in an hour."""
    events: int = 400
    """Of one answer."""
    seconds: float = 20.0
    """Of one answer."""
    cores: int = 4
    memory_gb: float = 8.0
    share: float = 0.6
    """Of the CPU and the memory that may be in use."""


class Need(NamedTuple):
    """What a number of users needs."""

    rate: float
    """Answers in a second."""
    streams: float
    """Streams that are open at the same time."""
    cores: float
    memory_gb: float
    machines: int
    """One of them may fail."""


def read_measured(text: str, whole: str, streamed: str) -> Measured:
    """Read the figures of two workloads from the results."""
    return Measured(
        _table_cell(text, "CPU ms per request", f"{whole} | 32"),
        _table_cell(text, "CPU ms per request", f"{streamed} | 32"),
        _figure(text, r"\| resident KB per stream \| ([\d.]+) "),
        _table_cell(text, "Memory in MB", "after the last"),
    )


def _table_cell(text: str, title: str, row: str) -> float:
    """The cell of a row in our column, in the table after a title."""
    table = text[text.index(title) :] if title in text else ""
    heads = re.search(r"^\|.*\|$", table, re.MULTILINE)
    line = re.search(rf"^\| {re.escape(row)} \|.*$", table, re.MULTILINE)
    if heads is None or line is None:
        raise MissingFigure(f"{RESULTS.name}: {title}: {row}")
    names = [cell.strip() for cell in heads[0].split("|")]
    cells = [cell.strip() for cell in line[0].split("|")]
    return float(cells[names.index(_CONTENDER)].replace(",", ""))


def _figure(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise MissingFigure(f"{RESULTS.name}: {pattern}")
    return float(found[1])


def need(users: int, load: Load, measured: Measured) -> Need:
    """What users need, with one machine more than that."""
    rate = users * load.questions / 3600
    streams = rate * load.seconds
    cores = rate * measured.answer(load.events) / 1000 / load.share
    processes = ceil(cores)
    memory = (streams * measured.stream_kb / 1024 + processes * measured.process_mb) / 1024 / load.share
    machines = max(ceil(cores / load.cores), ceil(memory / load.memory_gb)) + 1
    return Need(rate, streams, cores, memory, machines)


def render(text: str) -> str:
    """Return the section with both tables."""
    passed = read_measured(text, "unary Chat", "paced Chat")
    translated = read_measured(text, "unary Messages <- Gemini", "paced Messages <- Gemini")
    load = Load()
    lines = [
        f"One core, of which {load.share:.0%} is used:",
        "",
        "| | passed through | translated |",
        "|---|--:|--:|",
        _row("requests per second, not streamed", _per_second(passed, load), _per_second(translated, load)),
        *(
            _row(f"open streams at {rate} events per second", *_streams(rate, load, passed, translated))
            for rate in _RATES
        ),
        _row("CPU per event, ms", f"{passed.event:.2f}", f"{translated.event:.2f}"),
        "",
        f"Memory: {passed.process_mb:.0f} MB for a worker and {passed.stream_kb:.0f} KB for an open stream.",
        "",
        (
            f"Machines with {load.cores} cores and {load.memory_gb:g} GB, of which one may fail. "
            f"At the busiest time each user asks {load.questions:g} questions an hour; an answer is "
            f"translated and has {load.events} events in {load.seconds:g} seconds:"
        ),
        "",
        "| users | answers per second | open streams | cores | memory, GB | machines |",
        "|--:|--:|--:|--:|--:|--:|",
        *(_users_row(users, need(users, load, translated)) for users in _USERS),
    ]
    return "\n".join(lines) + "\n"


def _per_second(measured: Measured, load: Load) -> str:
    return _rounded(1000 * load.share / measured.whole)


def _streams(rate: int, load: Load, *gateways: Measured) -> Iterator[str]:
    for measured in gateways:
        yield _rounded(1000 * load.share / (rate * measured.event))


def _users_row(users: int, needed: Need) -> str:
    cells = map(_rounded, (needed.rate, needed.streams, needed.cores, needed.memory_gb))
    return _row(f"{users:,}", *cells, f"{needed.machines:,}")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _rounded(number: float) -> str:
    """Two significant digits: more would pretend to know."""
    if number < 0.1:
        return "under 0.1"
    if number < 10:
        return f"{number:.1f}"
    digits = len(str(int(number))) - 2
    return f"{round(number, -digits):,.0f}"


def main(arguments: Sequence[str]) -> int:
    """Print, write or check the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="update docs/deployment.md")
    parser.add_argument("--check", action="store_true", help="fail if docs/deployment.md is out of date")
    parser.add_argument("--users", type=int, help="how many users there are")
    for name, default in Load()._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    given = parser.parse_args(arguments)
    text = RESULTS.read_text("utf-8")
    if given.users:
        load = Load(*(getattr(given, name) for name in Load._fields))
        measured = read_measured(text, "unary Messages <- Gemini", "paced Messages <- Gemini")
        for name, number in need(given.users, load, measured)._asdict().items():
            print(f"{name:<10} {number:,.1f}")
        return 0
    section = render(text)
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    new = f"{before}{BEGIN}\n{section}\n{END}{rest.partition(END)[2]}"
    if given.check and new != page:
        print(f"{PAGE.name} is out of date: run scripts/capacity.py --write", file=sys.stderr)
        return 1
    if given.write:
        PAGE.write_text(new, "utf-8")
    elif not given.check:
        print(section, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
