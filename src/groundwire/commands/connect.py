"""`groundwire connect`: shows, writes or removes the configuration of a client."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Mapping

from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.connect.changes import Change, connect, snippet, undo
from groundwire.faces.connect.clients import (
    CLIENTS,
    GATEWAY,
    Surroundings,
    http_change,
    local_change,
    tool_changes,
)
from groundwire.faces.connect.files import Before
from groundwire.faces.connect.gateways import WAYS, gateway_change
from groundwire.faces.connect.ways import all_changes


def run_connect(arguments: Namespace, console: Console) -> int:
    """Run the command."""
    modes = [mode for mode in ("http", "gateway", "tools") if getattr(arguments, mode)]
    if len(modes) > 1:
        raise UsageError(f"choose one of {', '.join(f'--{mode}' for mode in modes)}")
    if arguments.write and arguments.undo:
        raise UsageError("choose one of --write and --undo")
    around = Surroundings(
        console.env, console.home, _command(console.env), (arguments.url or GATEWAY).rstrip("/")
    )
    if arguments.undo:
        return _undo(arguments.client, around, console)
    changes = _changes(arguments, around)
    if arguments.write:
        return _write(arguments, changes, all_changes(arguments.client, around), console)
    return _show(arguments, changes, console)


def _changes(arguments: Namespace, around: Surroundings) -> list[Change]:
    if arguments.tools:
        return tool_changes(arguments.client, around)
    if arguments.gateway:
        return [gateway_change(arguments.client, around)]
    return [(http_change if arguments.http else local_change)(arguments.client, around)]


def _show(arguments: Namespace, changes: list[Change], console: Console) -> int:
    for change in changes:
        verb = "Put this into" if change.form == "whole" else "Add this to"
        console.note(f"{verb} {_shown(change.file, console.home)}:")
        console.write(snippet(change))
    console.note("Or let it be done, with a copy of what is there: add --write")
    if arguments.gateway:
        console.note(WAYS[arguments.client].after)
    return exit_codes.OK


def _write(arguments: Namespace, changes: list[Change], known: list[list[Change]], console: Console) -> int:
    for change in changes:
        shown = _shown(change.file, console.home)
        variants = [variant for file in known for variant in file if variant.file == change.file]
        if connect(change, variants) == "already there":
            console.print(f"{shown}: is connected already")
            continue
        console.print(f"{shown}: connected")
        if copy := Before(os.path.realpath(change.file)).place:
            console.print(f"What was there is kept in {_shown(copy, console.home)}")
    table = WAYS if arguments.gateway else CLIENTS
    console.note(table[arguments.client].after)
    return exit_codes.OK


def _undo(client: str, around: Surroundings, console: Console) -> int:
    done = [(variants[0].file, undo(variants)) for variants in all_changes(client, around)]
    found = [(file, outcome) for file, outcome in done if outcome != "not there"]
    for file, outcome in found:
        console.print(f"{_shown(file, console.home)}: {_OUTCOMES[outcome]}")
    if not found:
        console.print(f"{CLIENTS[client].title} is not connected; nothing was changed")
    return exit_codes.OK


_OUTCOMES: Mapping[str, str] = {
    "restored": "is as it was before",
    "removed": "was made by groundwire, and is removed",
    "taken out": "was changed by others since; only the entry is taken out",
}


def _command(env: Mapping[str, str]) -> tuple[str, ...]:
    """The command with which a client starts groundwire: a full path, because not every client has the PATH
    of the shell."""
    installed = os.path.join(os.path.dirname(sys.executable), "groundwire")
    if os.access(installed, os.X_OK):
        return (installed,)
    found = shutil.which("groundwire", path=env.get("PATH"))
    return (os.path.abspath(found),) if found else (sys.executable, "-m", "groundwire")


def _shown(path: str, home: str) -> str:
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path
