"""Runs a command, and turns whatever goes wrong into a sentence, what to do next, and an exit code."""

from __future__ import annotations

import re
import traceback
from argparse import Namespace
from collections.abc import Mapping
from importlib import import_module

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import is_sendable
from groundwire.errors import AllTargetsFailed, GroundwireError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import RED, Console
from groundwire.text.sanitise import one_line

_MODULES: Mapping[str, str] = {"login": "providers", "tool": "tools"}
"""Modules of `groundwire.commands` whose name is not that of the command."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|COOKIE")


def run_command(name: str, arguments: Namespace, console: Console | None = None) -> int:
    """Run a command."""
    console = console or Console()
    try:
        module = import_module(f"groundwire.commands.{_MODULES.get(name, name)}")
        code: int = getattr(module, f"run_{name}")(arguments, console)
    except UsageError as error:
        console.note(f"groundwire: {one_line(error.message)}", RED)
        console.note(f"Try: groundwire {name} --help")
        return exit_codes.USAGE
    except GroundwireError as error:
        return report_error(error, console)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  the last place where anybody could catch it
        return _report_unexpected(error, console)
    return code


def report_error(error: GroundwireError, console: Console) -> int:
    """Say what went wrong and what to do next; the result is the exit code."""
    ending = exit_codes.exit_status(error)
    if isinstance(error, AllTargetsFailed):
        console.note("groundwire: nobody who was asked could answer", RED)
        for name, attempt in error.attempts:
            console.note(f"  {name}: {error_line(attempt, console.env)}")
    else:
        console.note(f"groundwire: {error_line(error, console.env)}", RED)
    if ending.advice:
        console.note(ending.advice)
    return ending.code


def error_line(error: GroundwireError, env: Mapping[str, str]) -> str:
    """What an error says, on one line, without secrets."""
    return one_line(redactor(env).redact(error.message)) or error.code


def _report_unexpected(error: Exception, console: Console) -> int:
    masked = redactor(console.env)
    said = one_line(masked.redact(f"{type(error).__name__}: {error}"))
    console.note(f"groundwire: something went wrong that should not have: {said}", RED)
    if console.env.get("GROUNDWIRE_DEBUG", "") in ("", "0"):
        console.note("Please report it; GROUNDWIRE_DEBUG=1 shows where it happened.")
    else:
        console.note(masked.redact("".join(traceback.format_exception(error))))
        console.note("Please report it.")
    return exit_codes.FAILURE


def redactor(env: Mapping[str, str]) -> Redactor:
    """Knows every secret of the environment; the rest is recognised by how it looks."""
    made = Redactor()
    for name, text in env.items():
        if _SECRET_NAME.search(name.upper()) and is_sendable(text):
            made.add(text)
    return made
