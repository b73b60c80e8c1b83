"""`groundwire connect`: shows, writes or removes the configuration that a client needs to use groundwire."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Mapping

from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.connect.changes import Backup, Change, connect, snippet, undo
from groundwire.faces.connect.clients import (
    CLIENTS,
    GATEWAY,
    GATEWAY_SPECS,
    ConnectContext,
    all_changes,
    gateway_change,
    http_change,
    local_change,
    tool_changes,
)


def run_connect(arguments: Namespace, console: Console) -> int:
    """Run the command."""
    modes = [mode for mode in ("http", "gateway", "tools") if getattr(arguments, mode)]
    if len(modes) > 1:
        raise UsageError(f"choose one of {', '.join(f'--{mode}' for mode in modes)}")
    if arguments.write and arguments.undo:
        raise UsageError("choose one of --write and --undo")
    context = ConnectContext(
        console.env, console.home, _command(console.env), (arguments.url or GATEWAY).rstrip("/")
    )
    if arguments.undo:
        return _undo(arguments.client, context, console)
    changes = _changes(arguments, context)
    if arguments.write:
        return _write(arguments, changes, all_changes(arguments.client, context), console)
    return _show(arguments, changes, console)


def _changes(arguments: Namespace, context: ConnectContext) -> list[Change]:
    if arguments.tools:
        return tool_changes(arguments.client, context)
    if arguments.gateway:
        return [gateway_change(arguments.client, context)]
    return [(http_change if arguments.http else local_change)(arguments.client, context)]


def _show(arguments: Namespace, changes: list[Change], console: Console) -> int:
    for change in changes:
        verb = "Put this into" if change.form == "whole" else "Add this to"
        console.note(f"{verb} {_shown(change.file, console.home)}:")
        console.write(snippet(change))
    console.note("To change the file, add --write; a backup is kept.")
    if arguments.gateway:
        console.note(GATEWAY_SPECS[arguments.client].after)
    return exit_codes.OK


def _write(arguments: Namespace, changes: list[Change], known: list[list[Change]], console: Console) -> int:
    for change in changes:
        shown = _shown(change.file, console.home)
        variants = [variant for file in known for variant in file if variant.file == change.file]
        if connect(change, variants) == "already there":
            console.print(f"{shown}: already connected")
            continue
        console.print(f"{shown}: connected")
        if copy := Backup(os.path.realpath(change.file)).path:
            console.print(f"The previous file is kept as {_shown(copy, console.home)}")
    table = GATEWAY_SPECS if arguments.gateway else CLIENTS
    console.note(table[arguments.client].after)
    return exit_codes.OK


def _undo(client: str, context: ConnectContext, console: Console) -> int:
    done = [(variants[0].file, undo(variants)) for variants in all_changes(client, context)]
    found = [(file, outcome) for file, outcome in done if outcome != "not there"]
    for file, outcome in found:
        console.print(f"{_shown(file, console.home)}: {_RESULTS[outcome]}")
    if not found:
        console.print(f"{CLIENTS[client].title} is not connected; nothing was changed")
    return exit_codes.OK


_RESULTS: Mapping[str, str] = {
    "restored": "restored",
    "removed": "removed, because groundwire had created it",
    "taken out": "only the entry was removed, because another program has changed the file since",
}


def _command(env: Mapping[str, str]) -> tuple[str, ...]:
    """The command that starts groundwire, with its full path: not every client has the shell's PATH."""
    script = os.path.join(os.path.dirname(sys.executable), "groundwire")
    if os.access(script, os.X_OK):
        return (script,)
    found = shutil.which("groundwire", path=env.get("PATH"))
    return (os.path.abspath(found),) if found else (sys.executable, "-m", "groundwire")


def _shown(path: str, home: str) -> str:
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path
