"""Entry point of the command line: parses the arguments, runs the command, returns the exit code.

Nothing else is imported before the command is known, so that help and usage errors are fast.
"""

from __future__ import annotations

import gc
import os
import sys
from argparse import Namespace
from importlib import import_module

from groundwire.faces.cli.arguments import COMMANDS, OVERVIEW, UsageError, spread_domains
from groundwire.text.sanitise import one_line

_GC_THRESHOLD = 100_000
"""Objects after which the garbage collector runs. Importing allocates many that are never freed, which the
collector would search in vain: a tenth of the time of a short command. A search allocates fewer."""
_INTERRUPTED = 130
_USAGE = 2


def run(words: list[str]) -> int:
    """Run a command line; returns the exit code."""
    gc.set_threshold(_GC_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = _run(words)
    except KeyboardInterrupt:
        sys.stderr.write("groundwire: interrupted\n")
        code = _INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has closed it
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
        return _report_usage(error, as_json="--json" in words)
    except SystemExit:  # a help text was printed
        return 0
    runner = import_module("groundwire.commands.runner")
    code: int = runner.run_command(words[0], arguments)
    return code


def _report_usage(error: UsageError, *, as_json: bool) -> int:
    """Report a usage error on standard error, and with `--json` on standard output as well."""
    message = one_line(error.message)
    sys.stderr.write(f"groundwire: {message}\nTry: {error.prog} --help\n")
    if as_json:
        from json import dumps  # noqa: PLC0415  only for programs that made a mistake

        sys.stdout.write(dumps({"version": 1, "error": {"code": "INVALID_USAGE", "message": message}}) + "\n")
    return _USAGE


def parse(words: list[str]) -> Namespace:
    """Parse a command line; raises `UsageError`."""
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
