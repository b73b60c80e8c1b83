"""`groundwire login`: stores a vendor's key in our own file. The key is never printed."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from getpass import getpass

from groundwire.credentials.own import FILE_NAME, ORIGIN, store_key
from groundwire.credentials.secret import Secret, sendable
from groundwire.errors import RequestError
from groundwire.faces.cli import exits
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.parsers import UsageError
from groundwire.faces.cli.session import Asker, connect
from groundwire.faces.cli.table import lined_up
from groundwire.text.sanitise import one_line

_LONGEST = 4096


def run(arguments: Namespace, console: Console) -> int:
    """Store a key, remove one, or list who takes one."""
    if arguments.key:
        raise UsageError("a key is not written on the command line, where others can see it; it is asked for")
    asker = connect(arguments, console)
    if not arguments.provider:
        return _list(asker, console)
    name: str = arguments.provider
    if name not in asker.keyed:
        raise RequestError(_not_keyed(asker, name))
    path = os.path.join(asker.config.config_dir, FILE_NAME)
    if arguments.remove:
        return _remove(asker, name, path, console)
    key = _ask(name, console)
    replaced = asyncio.run(store_key(asker.config.config_dir, name, key))
    console.note(
        f"{'Replaced' if replaced else 'Stored'} the key of {name} in {path}, readable by you alone."
    )
    used = next((finding.place for finding in asker.findings(name) if finding.found), "")
    if used and not used.startswith(ORIGIN):
        console.note(f"It is not used yet: {one_line(used)} comes first.")
    return exits.OK


def _remove(asker: Asker, name: str, path: str, console: Console) -> int:
    if not asyncio.run(store_key(asker.config.config_dir, name, None)):
        console.note(f"groundwire: there is no key of {name} in {path}")
        return exits.NOTHING_FOUND
    console.note(f"Removed the key of {name} from {path}.")
    return exits.OK


def _ask(name: str, console: Console) -> Secret:
    """The key, from the terminal without echo, or from a pipe."""
    typed = console.stdin.isatty()
    text = (getpass(f"Key of {name}: ", console.stderr) if typed else console.read()).strip()
    if not text:
        raise UsageError("no key was given; type it when asked, or pipe it in")
    key = sendable(text)
    if not key or len(text) > _LONGEST:
        raise UsageError("this cannot be a key: a key is one line of printable ASCII without blanks")
    return key


def _list(asker: Asker, console: Console) -> int:
    rows = [("PROVIDER", "KEY FOUND IN")]
    for name in asker.keyed:
        found = next((finding.place for finding in asker.findings(name) if finding.found), "-")
        rows.append((one_line(name), one_line(found)))
    for line in lined_up(rows):
        console.write(line + "\n")
    return exits.OK


def _not_keyed(asker: Asker, name: str) -> str:
    known = ", ".join(asker.keyed)
    status = next((item for item in asker.providers() if item.name == name), None)
    if status is None:
        return f"unknown provider {name!r}; these take a key: {known}"
    why = "" if status.usable else f" {status.reason}"
    return f"{name} takes no key.{why} These do: {known}"
