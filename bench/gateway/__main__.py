"""Runs the benchmark: starts everything, lets the contenders take turns, prints the tables."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from gateway.contenders import CONTENDERS, Contender
from gateway.processes import Failed, Talking
from gateway.rounds import Measured, Racing, Rounds, race
from gateway.tables import show

QUICK = Rounds(1, 0.3)
FULL = Rounds(3, 1.0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gateway", description=__doc__)
    parser.add_argument("--rounds", type=int, help=f"medians of so many (default {FULL.times})")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def enter(stack: ExitStack, contender: Contender, root: Path, upstream: int) -> Racing | None:
    """The contender, running until the stack is left; told and left out if it does not start."""
    say(f"starting {contender.name}")
    try:
        server = stack.enter_context(contender.running(root / contender.name, upstream))
    except (Failed, OSError) as failure:
        say(f"{contender.name} does not start: {failure}")
        return None
    return Racing(contender, server)


def measure(names: list[str], rounds: Rounds) -> tuple[Measured, list[str]]:
    """The figures, and who took part."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(TemporaryDirectory()))
        upstream = int(stack.enter_context(Talking("stub")).line())
        load = stack.enter_context(Talking("load"))
        field = [enter(stack, CONTENDERS[name], root, upstream) for name in CONTENDERS if name in names]
        running = [runner for runner in field if runner is not None]
        return race(running, load, rounds, say), [runner.contender.name for runner in running]


def leave(*_: object) -> NoReturn:
    raise KeyboardInterrupt  # so that whatever was started is stopped


def main() -> int:
    options = arguments()
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, leave)
    rounds = QUICK if options.quick else FULL
    rounds = Rounds(options.rounds or rounds.times, rounds.seconds)
    try:
        measured, names = measure(options.only, rounds)
    except KeyboardInterrupt:
        return 130
    if not names:
        return 1
    print(f"Medians of {rounds.times} rounds, contenders in turns, CPU time of each with its children")
    show(measured, names)
    return 0 if set(names) == set(options.only) else 1


if __name__ == "__main__":
    sys.exit(main())
