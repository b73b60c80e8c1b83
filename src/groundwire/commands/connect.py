"""`groundwire connect`: shows, writes or removes the configuration that a program needs to use groundwire."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Mapping

from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import BOLD, Console, styled
from groundwire.faces.cli.style import align_columns
from groundwire.faces.connect.changes import (
    Backup,
    Change,
    ChangeResult,
    connect,
    has_entry,
    snippet,
    undo,
)
from groundwire.faces.connect.clients import (
    CLIENTS,
    ClientSpec,
    all_changes,
    gateway_changes,
    http_changes,
    local_changes,
    tool_changes,
)
from groundwire.faces.connect.gateways import GATEWAY_SPECS
from groundwire.faces.connect.locations import GATEWAY, ConnectContext
from groundwire.text.sanitise import sanitise


def run_connect(arguments: Namespace, console: Console) -> int:
    """Run the command."""
    modes = [mode for mode in ("http", "gateway", "tools") if getattr(arguments, mode)]
    if len(modes) > 1:
        raise UsageError(f"choose one of {', '.join(f'--{mode}' for mode in modes)}")
    if arguments.write and arguments.undo:
        raise UsageError("choose one of --write and --undo")
    url = (arguments.url or GATEWAY).rstrip("/")
    context = ConnectContext(console.env, console.home, _command(console.env), url, cwd=console.cwd)
    if arguments.list:
        return _list(context, console)
    if not arguments.client:
        raise UsageError("name the program to connect, or list them all with --list")
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
        return gateway_changes(arguments.client, context)
    return (http_changes if arguments.http else local_changes)(arguments.client, context)


def _list(context: ConnectContext, console: Console) -> int:
    rows = [("PROGRAM", "INSTALLED", "CONNECTED", "FILE")]
    for name, client in CLIENTS.items():
        file = client.file(context)
        files = all_changes(name, context)
        connected = any(has_entry(variants) for variants in files)
        rows.append(
            (name, _installed(client, context), "yes" if connected else "", _shown(file, console.home))
        )
    for number, line in enumerate(align_columns(rows)):
        text = sanitise(line)
        console.write((styled(text, BOLD) if console.colored and not number else text) + "\n")
    return exit_codes.OK


def _installed(client: ClientSpec, context: ConnectContext) -> str:
    """How it is known that a program is installed; empty if it seems not to be."""
    for command in client.commands:
        if found := shutil.which(command, path=context.env.get("PATH")):
            return _shown(found, context.home)
    folder = os.path.dirname(client.file(context))
    if folder not in (context.home, context.cwd) and os.path.isdir(folder):
        return "has a folder"
    return "has a file" if os.path.exists(client.file(context)) else ""


def _show(arguments: Namespace, changes: list[Change], console: Console) -> int:
    shown = ""
    for change in changes:
        if change.file != shown:
            verb = "Put this into" if change.form == "whole" else "Add this to"
            console.note(f"{verb} {_shown(change.file, console.home)}:")
            shown = change.file
        console.write(snippet(change))
    console.note("To change the file, add --write; a backup is kept.")
    if arguments.gateway:
        console.note(GATEWAY_SPECS[arguments.client].after)
    return exit_codes.OK


def _write(arguments: Namespace, changes: list[Change], known: list[list[Change]], console: Console) -> int:
    results: dict[str, set[ChangeResult]] = {}
    for change in changes:
        variants = [variant for file in known for variant in file if variant.file == change.file]
        results.setdefault(change.file, set()).add(connect(change, variants))
    for file, outcomes in results.items():
        shown = _shown(file, console.home)
        if outcomes == {"already there"}:
            console.print(f"{shown}: already connected")
            continue
        console.print(f"{shown}: connected")
        if copy := Backup(os.path.realpath(file)).path:
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
