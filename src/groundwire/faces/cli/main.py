"""The outermost edge of the command line: picks the command, and says how it ended.

Nothing is imported before the command is known, so that help comes at once.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib import import_module

from groundwire.faces.cli.parsers import COMMANDS, OVERVIEW, UsageError, spread_domains
from groundwire.text.sanitise import one_line

_INTERRUPTED = 130
_USAGE = 2


def run(words: list[str]) -> int:
    """Run a command line and give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = _run(words)
    except KeyboardInterrupt:
        sys.stderr.write("groundwire: interrupted\n")
        code = _INTERRUPTED
    except BrokenPipeError:  # whoever reads has read enough
        code = 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try again, and complain, while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _run(words: list[str]) -> int:
    if words[:1] in (["-h"], ["--help"], ["help"]):
        sys.stdout.write(OVERVIEW + "\n")
        return 0
    if not words:
        sys.stderr.write(OVERVIEW + "\n")
        return _USAGE
    try:
        arguments = parse(words)
    except UsageError as error:
        return _refuse(error, told="--json" in words)
    except SystemExit:  # a help text was printed
        return 0
    edge = import_module("groundwire.faces.cli.edge")
    code: int = edge.perform(words[0], arguments)
    return code


def _refuse(error: UsageError, *, told: bool) -> int:
    """Say what cannot be understood; `told` to a program as well."""
    message = one_line(error.message)
    sys.stderr.write(f"groundwire: {message}\nTry: {error.prog} --help\n")
    if told:
        from json import dumps  # noqa: PLC0415  only for programs that made a mistake

        sys.stdout.write(dumps({"version": 1, "error": {"code": "INVALID_USAGE", "message": message}}) + "\n")
    return _USAGE


def parse(words: list[str]) -> Namespace:
    """The arguments of a command line; `UsageError` where there are none."""
    name = words[0]
    if name not in COMMANDS:
        raise UsageError(_unknown(name))
    parser = COMMANDS[name].parser(name)
    return parser.parse_intermixed_args(spread_domains(words[1:]))


def _unknown(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  only on the way to an error

    near = get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
    return f"{name!r} is not a command; {hint}"
