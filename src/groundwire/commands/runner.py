"""Command runner: turns every error into a message, advice and an exit code."""

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

_MODULES: Mapping[str, str] = {"login": "providers", "restore": "backup", "tool": "tools"}
"""Modules of `groundwire.commands` whose name is not that of the command."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|COOKIE")


def run_command(name: str, arguments: Namespace, console: Console | None = None) -> int:
    """Run a command; returns its exit code."""
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
    except Exception as error:  # noqa: BLE001  nothing above catches it
        return _report_unexpected(error, console)
    return code


def report_error(error: GroundwireError, console: Console) -> int:
    """Print an error and what to do next; returns the exit code."""
    status = exit_codes.exit_status(error)
    if isinstance(error, AllTargetsFailed):
        console.note("groundwire: no provider could answer", RED)
        for name, attempt in error.attempts:
            console.note(f"  {name}: {error_line(attempt, console.env)}")
    else:
        console.note(f"groundwire: {error_line(error, console.env)}", RED)
    if status.advice:
        console.note(status.advice)
    return status.code


def error_line(error: GroundwireError, env: Mapping[str, str]) -> str:
    """The message of an error on one line, without secrets."""
    return one_line(redactor(env).redact(error.message)) or error.code


def _report_unexpected(error: Exception, console: Console) -> int:
    redactor_ = redactor(console.env)
    message = one_line(redactor_.redact(f"{type(error).__name__}: {error}"))
    console.note(f"groundwire: unexpected error: {message}", RED)
    if console.env.get("GROUNDWIRE_DEBUG", "") in ("", "0"):
        console.note("Please report it; GROUNDWIRE_DEBUG=1 shows where it happened.")
    else:
        console.note(redactor_.redact("".join(traceback.format_exception(error))))
        console.note("Please report it.")
    return exit_codes.FAILURE


def redactor(env: Mapping[str, str]) -> Redactor:
    """A redactor that knows every secret of the environment; it recognises others by their form."""
    known = Redactor()
    for name, text in env.items():
        if _SECRET_NAME.search(name.upper()) and is_sendable(text):
            known.add(text)
    return known
