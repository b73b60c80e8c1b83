"""Run the benchmark: start all processes, measure the contenders in turns, print the tables."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from gateway.contenders import CONTENDERS, Contender
from gateway.processes import BenchmarkFailed, WorkerProcess
from gateway.rounds import Drivers, Measured, Rounds, RunningContender, measure_all
from gateway.tables import show

QUICK = Rounds(1, 0.3)
FULL = Rounds(3, 1.0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gateway", description=__doc__)
    parser.add_argument("--rounds", type=int, help=f"number of rounds (default {FULL.times})")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    parser.add_argument(
        "--work", nargs="+", default=[], metavar="WORDS", help='workloads with these words, e.g. "paced Chat"'
    )
    return parser.parse_args()


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def start(stack: ExitStack, contender: Contender, root: Path, upstream: int) -> RunningContender | None:
    """Start a contender, which runs until the stack is closed; None if it does not start."""
    log(f"starting {contender.name}")
    try:
        server = stack.enter_context(contender.running(root / contender.name, upstream))
    except (BenchmarkFailed, OSError) as failure:
        log(f"{contender.name} does not start: {failure}")
        return None
    return RunningContender(contender, server)


def measure(names: list[str], work: list[str], rounds: Rounds) -> tuple[Measured, list[str]]:
    """Return the figures, and the names of the contenders that started."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(TemporaryDirectory()))
        upstream = stack.enter_context(WorkerProcess("stub"))
        port = int(upstream.read_line())
        drivers = Drivers(stack.enter_context(WorkerProcess("load")), upstream)
        started = [start(stack, CONTENDERS[name], root, port) for name in CONTENDERS if name in names]
        running = [contender for contender in started if contender is not None]
        measured = measure_all(running, drivers, work, rounds, log)
        return measured, [contender.contender.name for contender in running]


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt  # unwinds the stack, which stops all processes


def main() -> int:
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    rounds = QUICK if options.quick else FULL
    rounds = Rounds(options.rounds or rounds.times, rounds.seconds)
    try:
        measured, names = measure(options.only, options.work, rounds)
    except KeyboardInterrupt:
        return 130
    if not names:
        return 1
    print(f"Medians of {rounds.times} rounds, contenders in turns, CPU time of each with its children")
    show(measured, names)
    return 0 if set(names) == set(options.only) else 1


if __name__ == "__main__":
    sys.exit(main())
